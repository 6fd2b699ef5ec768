"""Jobs of kubectl that wait for other jobs: in any order, as their conditions say, and by no later edit."""

from pathlib import Path
from typing import Any

import pytest

from hub.controllers.chains import Chains
from hub.services.jobs import cancel
from hub.store import workloads
from tests.bridge.hub_cluster import World, until, warnings
from tests.bridge.rest import JOB, mirror
from tests.bridge.showing import showing
from tests.services.members.hubs import ran

pytestmark = pytest.mark.anyio


def a_chained(name: str, after: str) -> str:
    notes = f', annotations: {{roadstead.dev/after: "{after}"}}' if after else ""
    return JOB.replace("{name: train,", f"{{name: {name},").replace("team}}", f"team}}{notes}}}")


async def said(it: World, name: str, reason: str) -> Any:
    """Condition Suspended of a Job, once it has this reason."""
    job = await it.get("Job", name, "team-a")
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next((c for c in conditions if c["reason"] == reason), None)


async def refused(it: World, name: str) -> bool:
    """Whether an Event says that a later edit is not taken."""
    reason, message = (await warnings(it)).get(name, ("", ""))
    return reason == "Immutable" and "roadstead.dev/after" in message


async def test_kubectl_applies_a_chain_in_any_order(tmp_path: Path):
    """The one that waits comes first: its condition says for whom, its Workload is active and gated."""
    async with showing(tmp_path) as it:
        await mirror(it, "LocalQueue", "team", "team-a")
        chains = Chains(it.hub.hub, lambda: 1)
        chains.follow()
        (train,) = await it.apply(a_chained("train", "prepare"))
        waits = await until(lambda: said(it, "train", "WaitsForJobs"))
        assert (waits["type"], waits["message"]) == ("Suspended", "waits for prepare to succeed")
        (prepare,) = await it.apply(a_chained("prepare", ""))
        uid = prepare["metadata"]["uid"]
        await until(lambda: it.hub.hub.read(workloads.get, uid))
        await it.apply(a_chained("prepare", "train"))
        await until(lambda: refused(it, "prepare"))
        agent = await it.hub.join("north")
        await it.hub.place(uid, "north")
        await agent.sync()
        await agent.sync(ran(uid, succeeded=2, result="Succeeded"))
        while await chains.tick() == 0.0:
            pass
        await chains.tick()
        row = await it.hub.job(train["metadata"]["uid"])
        assert (row.state, row.reason) == ("Pending", "")


async def test_one_that_can_never_go_says_so_to_kubectl(tmp_path: Path):
    """Condition and Event name the job and what to do."""
    async with showing(tmp_path) as it:
        await mirror(it, "LocalQueue", "team", "team-a")
        chains = Chains(it.hub.hub, lambda: 1)
        chains.follow()
        (prepare,) = await it.apply(a_chained("prepare", ""))
        uid = prepare["metadata"]["uid"]
        await until(lambda: it.hub.hub.read(workloads.get, uid))
        await it.apply(a_chained("train", "prepare"))
        await until(lambda: said(it, "train", "WaitsForJobs"))
        await it.hub.write(cancel.cancel_job, uid, "ann")
        await chains.tick()
        never = await until(lambda: said(it, "train", "DependencyNeverSatisfied"))
        assert "prepare was to succeed and was cancelled" in never["message"]

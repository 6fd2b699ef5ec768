"""A CronJob gets a queue only while no member may still have one of its name: members run those."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.objects.apply import Applied, apply_documents
from hub.services.objects.delete import delete_object
from hub.services.reading.draft import draft
from shared.kinds.registry import parse
from tests.services.hubs import a_queue
from tests.services.jobs.cron_jobs import a_cron_job
from tests.services.members.hubs import Running, running_hub, seen
from tests.services.placements.fleet import FLEET, Fleet

pytestmark = pytest.mark.anyio
PLACEMENT = """
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: everywhere, namespace: team-a}
spec:
  resourceSelectors: [{group: batch, version: v1, kind: CronJob, name: nightly}]
"""


async def given_queue(hub: Running, name: str = "nightly") -> Applied:
    """Apply the CronJob with a queue, as a client does."""

    def apply(tx: Any) -> Applied:
        given = draft(parse(a_cron_job(name)), tx.now, origin=Origin.REST)
        return apply_documents(tx, [given], Intake())[0]

    return await hub.write(apply)


async def placed(hub: Running) -> Fleet:
    """A fleet of one member that has CronJob nightly by a placement."""
    fleet = await Fleet.start(hub, "m1")
    queue = "\n---\n".join(orjson.dumps(each).decode() for each in a_queue("q"))
    cron_job = orjson.dumps(a_cron_job(queue="")).decode()
    await fleet.apply(f"{queue}\n---\n{cron_job}\n---\n{PLACEMENT}")
    await fleet.sync()
    assert fleet.held("m1") == ["CronJob/nightly"]
    return fleet


async def deleted(hub: Running, group: str, kind: str, name: str) -> None:
    await hub.write(delete_object, group, kind, "team-a", name, origin="rest", principal="ada")


def refusal(told: Applied) -> str:
    assert told.error is not None
    assert told.error.code == "Conflict"
    return told.error.detail


async def test_a_deleted_one_that_a_member_may_still_have_keeps_its_name(tmp_path: Path):
    """From the deletion until the member's agent has reported that it is gone, however long that takes."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub)
        await deleted(hub, "batch", "CronJob", "nightly")
        assert "which they run (m1)" in refusal(await given_queue(hub))
        await fleet.turn()
        hub.clock.advance(30 * 24 * 3600)
        assert "which they run (m1)" in refusal(await given_queue(hub))
        assert (await given_queue(hub, "other")).error is None
        await fleet.sync()
        assert (await given_queue(hub)).error is None


async def test_the_end_of_its_placement_does_not_free_the_name(tmp_path: Path):
    """The CronJob itself is deleted as well, and the removal waits for the member."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub)
        await deleted(hub, FLEET, "ResourcePlacement", "everywhere")
        await fleet.turn()
        await deleted(hub, "batch", "CronJob", "nightly")
        assert "which they run (m1)" in refusal(await given_queue(hub))


async def test_a_left_cron_job_keeps_its_name(tmp_path: Path):
    """A member reports one of which the store knows nothing."""
    async with running_hub(tmp_path) as hub:
        await Fleet.start(hub)
        agent = await hub.join("m1")
        left = {"api_version": "batch/v1", "kind": "CronJob", "namespace": "team-a"}
        told = {**left, "name": "nightly", "created": True}
        await agent.sync(seen("o-1", "Applied", 0, object_uid="m-1", reason="Orphan", left=told))
        assert "which they run (m1)" in refusal(await given_queue(hub))
        assert (await given_queue(hub, "other")).error is None

"""What people do by REST to a job that kubectl made works on it, and shows in its object."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.jobs import cancel, hold
from hub.store import workloads
from shared.errors import Rejected
from tests.bridge.hub_cluster import World, until
from tests.bridge.rest import JOB, mirror, remove_job
from tests.bridge.showing import showing

pytestmark = pytest.mark.anyio


async def test_holding_and_releasing_show_in_job_and_workload(tmp_path: Path):
    """The Job is suspended with who did it, its Workload not active; and back."""
    async with showing(tmp_path) as it:
        uid = await made(it)
        await it.hub.write(hold.hold_job, uid, "ann")
        await until(lambda: suspended(it, "HeldByUser"))
        await until(lambda: active(it, value=False))
        await it.hub.write(hold.release_job, uid, "ann")
        await until(lambda: active(it, value=True))
        assert (await it.hub.job(uid)).state == "Pending"


async def test_cancelling_ends_the_job_there(tmp_path: Path):
    """Failed, and by whom; the object stays until kubectl deletes it."""
    async with showing(tmp_path) as it:
        uid = await made(it)
        await it.hub.write(cancel.cancel_job, uid, "ann")
        failed = await until(lambda: condition(it, "Failed"))
        assert (failed["reason"], "ann" in failed["message"]) == ("CancelledByUser", True)


async def test_deleting_is_refused_with_the_way_to_go(tmp_path: Path):
    """The object would stay: kubectl deletes it, or it becomes REST's first."""
    async with showing(tmp_path) as it:
        uid = await made(it)
        with pytest.raises(Rejected) as refused:
            await remove_job(it, uid)
        assert refused.value.code == "OwnedElsewhere"
        assert "kubectl delete job train -n team-a" in refused.value.detail
        assert "roadstead hand-over job team-a/train" in refused.value.detail


async def made(it: World) -> str:
    """A Job that kubectl made, once the hub has it and its Workload is there."""
    await mirror(it, "LocalQueue", "team", "team-a")
    (job,) = await it.apply(JOB)
    uid: str = job["metadata"]["uid"]
    await until(lambda: it.hub.hub.read(workloads.get, uid))
    await until(lambda: active(it, value=True))
    return uid


async def condition(it: World, kind: str) -> Any:
    job = await it.get("Job", "train", "team-a")
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next((c for c in conditions if c["type"] == kind and c["status"] == "True"), None)


async def suspended(it: World, reason: str) -> bool:
    found = await condition(it, "Suspended")
    return bool(found) and found["reason"] == reason


async def active(it: World, *, value: bool) -> bool:
    found = (await it.kube.list("kueue.x-k8s.io/v1beta1", "Workload", "team-a")).items
    told = [each for each in found if (each.get("status") or {}).get("conditions")]
    return [each["spec"].get("active", True) for each in told] == [value]

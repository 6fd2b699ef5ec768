"""Work of other kinds whose object on the hub cluster loses managedBy: an operator there may run it too."""

from typing import Any

import pytest

from hub.domain.workloads.states import State
from hub.services.explain.job import explain_job
from hub.services.jobs.hold import release_job
from hub.services.works.evict import evict
from shared import labels
from shared.kube import errors
from tests.bridge.kinds import bridged, in_lab, placed, says, taken
from tests.bridge.parts import Parts
from tests.services.kinds.fleet import a_jobset

pytestmark = pytest.mark.anyio
RUNNING = {
    "conditions": [],
    "restarts": 0,
    "replicatedJobsStatus": [{"name": "workers", "ready": 2}],
}
DONE = {"conditions": [{"type": "Completed", "status": "True", "reason": "AllJobsCompleted"}]}


async def _loses_manager(it: Parts, obj: dict[str, Any]) -> None:
    """Its managedBy goes, which the bridge sees."""
    await it.patch(obj, {"spec": {"managedBy": None}})
    await it.level(obj)
    await it.take()


async def _reasons(it: Parts, uid: str) -> list[tuple[str, str]]:
    """The warnings that `explain` shows."""
    told = await it.hub.hub.read(explain_job, uid)
    return [
        (each["type"], each["reason"]) for each in told["timeline"] if each["type"] != "Normal"
    ]


UNPROTECTED = ("Warning", "JobsUnprotected")


async def test_the_policies_keep_managed_by_on_what_the_hub_hastaken(tmp_path):
    """The simulated hub cluster refuses it as the real one does."""
    async with bridged(tmp_path) as it:
        obj = await taken(it, in_lab(a_jobset(), "managedBy"))
        with pytest.raises(errors.Invalid, match="keeps managedBy"):
            await it.patch(obj, {"spec": {"managedBy": None}})


async def test_a_waiting_job_whose_object_loses_its_manager_is_held(tmp_path):
    """Without the policies an operator there may run it: no member starts it, and everybody is told why."""
    async with bridged(tmp_path, policies=False) as it:
        obj = await taken(it, in_lab(a_jobset(), "managedBy"))
        uid = obj["metadata"]["uid"]
        await _loses_manager(it, obj)
        row = await it.job(obj)
        assert (row.state, row.reason, row.epoch) == (State.HELD, "JobsUnprotected", 0)
        assert await _reasons(it, uid) == [UNPROTECTED]
        it.writeback.note(uid)
        await it.writeback.turn()
        told = [(each[2]["type"], each[2]["reason"]) for each in it.events._queue]
        assert UNPROTECTED in told
        it.mirror.retry_refused()
        await it.take()
        assert await _reasons(it, uid) == [UNPROTECTED]


async def test_a_job_that_runs_keeps_its_result_when_its_object_loses_its_manager(tmp_path):
    """Its epoch goes on, and its end is stored and shown."""
    async with bridged(tmp_path, policies=False) as it:
        await it.hub.add_cluster("m1")
        obj = await taken(it, in_lab(a_jobset(), "managedBy"))
        uid = obj["metadata"]["uid"]
        await placed(it, uid)
        await says(it, uid, job={"active": 2, "ready": 2}, status=RUNNING)
        await _loses_manager(it, obj)
        row = await it.job(obj)
        assert (row.state, row.cluster, row.epoch) == (State.APPLIED, "m1", 1)
        assert await _reasons(it, uid) == [UNPROTECTED]
        await says(it, uid, job={"result": "Succeeded"}, status=DONE)
        it.mirror.retry_refused()
        await it.take()
        row = await it.job(obj)
        assert (row.state, row.epoch) == (State.SUCCEEDED, 1)
        it.writeback.note(uid)
        await it.writeback.turn()
        assert (await it.live(obj))["status"]["conditions"][0]["type"] == "Completed"


async def test_a_job_on_its_way_back_to_the_queue_starts_no_second_epoch(tmp_path):
    """It is evicted while its object lacks managedBy: it becomes held once its member has let it go."""
    async with bridged(tmp_path, policies=False) as it:
        await it.hub.add_cluster("m1")
        obj = await taken(it, in_lab(a_jobset(), "managedBy"))
        uid = obj["metadata"]["uid"]
        await placed(it, uid)
        await _loses_manager(it, obj)
        await it.hub.write(evict, [uid], "Preempted", "by another")
        assert it.mirror.look_again([uid])
        await it.take()
        await says(it, uid, phase="Gone")
        row = await it.job(obj)
        assert (row.state, row.reason, row.epoch) == (State.HELD, "JobsUnprotected", 1)


async def test_an_object_that_gets_its_manager_back_is_followed_again(tmp_path):
    """Nothing stands against it any more, and its job may be released."""
    async with bridged(tmp_path, policies=False) as it:
        obj = await taken(it, in_lab(a_jobset(), "managedBy"))
        uid = obj["metadata"]["uid"]
        await _loses_manager(it, obj)
        await it.patch(obj, {"spec": {"managedBy": labels.MULTIKUEUE_CONTROLLER}})
        await it.level(obj)
        await it.take()
        assert it.mirror.refusals == {}
        await it.hub.write(release_job, uid, "ana")
        it.mirror.retry_refused()
        await it.take()
        assert (await it.job(obj)).state == State.PENDING

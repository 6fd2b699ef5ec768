"""JobSets and their kin on the hub cluster: taken where its operators leave them alone, with their status."""

import datetime as dt

import pytest

from hub.bridge.work_kinds import is_left_alone, not_left_alone
from hub.bridge.work_status import work_status
from hub.domain.workloads.states import State
from shared import labels
from shared.errors import Rejected
from shared.kinds.registry import parse
from shared.kube import errors
from tests.bridge.hub_cluster import FIELDS
from tests.bridge.kinds import bridged, in_lab, placed, says
from tests.services.kinds.fleet import (
    QUEUE,
    a_jobset,
    a_pytorchjob,
    a_raycluster,
    a_rayjob,
    a_rayservice,
    a_sparkapplication,
    an_appwrapper,
    an_lws,
)
from tests.store.build import a_workload

pytestmark = pytest.mark.anyio
NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
RUNNING = {
    "conditions": [],
    "restarts": 0,
    "replicatedJobsStatus": [{"name": "workers", "ready": 2}],
}
DONE = {"conditions": [{"type": "Completed", "status": "True", "reason": "AllJobsCompleted"}]}


@pytest.mark.parametrize(
    "made",
    [
        in_lab(a_jobset(), "managedBy"),
        in_lab(a_pytorchjob(), "runPolicy", "managedBy"),
        in_lab(a_rayjob(), "managedBy"),
        in_lab(a_raycluster(), "managedBy"),
        in_lab(a_rayservice(), "managedBy"),
        in_lab(an_appwrapper(), "managedBy"),
    ],
    ids=["jobset", "pytorch", "rayjob", "raycluster", "rayservice", "appwrapper"],
)
async def test_an_object_that_operators_leave_alone_is_taken_as_work(tmp_path, made):
    """By its uid, with our finalizer on it first; its queue need not be there yet."""
    async with bridged(tmp_path) as it:
        obj = await it.create(made)
        await it.take()
        await it.level(obj)
        await it.take()
        row = await it.job(obj)
        assert row is not None
        assert (row.kind, row.origin, row.queue) == (made["kind"], "hub-cluster", "q")
        assert labels.FINALIZER in (await it.live(obj))["metadata"]["finalizers"]


@pytest.mark.parametrize(
    "made",
    [
        in_lab(a_jobset(), "managedBy"),
        in_lab(a_pytorchjob(), "runPolicy", "managedBy"),
        in_lab(a_rayjob(), "managedBy"),
        in_lab(a_raycluster(), "managedBy"),
        in_lab(a_rayservice(), "managedBy"),
        in_lab(an_appwrapper(), "managedBy"),
    ],
    ids=["jobset", "pytorch", "rayjob", "raycluster", "rayservice", "appwrapper"],
)
async def test_who_submitted_an_object_owns_its_work(tmp_path, made):
    """The policies write the name down and keep it; the object keeps its queue, too."""
    async with bridged(tmp_path) as it:
        obj = await it.create(made)
        at = made["apiVersion"], made["kind"], "lab", made["metadata"]["name"]
        await it.take()
        await it.level(obj)
        await it.take()
        row = await it.job(obj)
        assert row is not None
        assert row.owner == "kubernetes-admin"
        assert row.annotations[labels.SUBMITTED_BY] == "kubernetes-admin"
        for part, told in (
            ({"annotations": {labels.SUBMITTED_BY: "ann"}}, "kubernetes-admin"),
            ({"annotations": {labels.SUBMITTED_BY: None}}, "kubernetes-admin"),
        ):
            changed = await it.kube.merge_patch(*at, {"metadata": part}, field_manager=FIELDS)
            assert changed["metadata"]["annotations"][labels.SUBMITTED_BY] == told
        unqueued = {"metadata": {"labels": {QUEUE: None}}}
        with pytest.raises(errors.Invalid, match="keeps a queue"):
            await it.kube.merge_patch(*at, unqueued, field_manager=FIELDS)


def test_by_rest_nobody_writes_who_submitted_an_object():
    """The hub writes the caller's own name."""
    made = a_jobset()
    made["metadata"]["annotations"] = {labels.SUBMITTED_BY: "ann"}
    with pytest.raises(Rejected, match="users may set the annotations"):
        parse(made)


async def test_a_kind_without_a_manager_field_is_not_taken_from_the_hub_cluster(tmp_path):
    """No field keeps the operator of Spark away there: it is submitted by REST."""
    app = in_lab(a_sparkapplication(queue=""))
    async with bridged(tmp_path) as it:
        obj = await it.create(app)
        with pytest.raises(errors.Invalid, match="submit it with `roadstead submit`"):
            await it.patch(obj, {"metadata": {"labels": {QUEUE: "q"}}})
        refusal = not_left_alone({**obj, "kind": "SparkApplication"})
        assert refusal.code == "JobsUnprotected"
        assert "roadstead submit" in refusal.detail


async def test_an_object_that_an_operator_there_may_start_is_refused_with_an_event(tmp_path):
    """It would run there and in a member: the Event says which field to give it.

    Policies refuse it where it is created; without them, or after a change, it gets this far.
    """
    jobset = in_lab(a_jobset(queue=""), "managedBy")
    jobset["metadata"]["annotations"] = {QUEUE: "q"}
    async with bridged(tmp_path, policies=False) as it:
        obj = await it.create(jobset)
        await it.patch(obj, {"spec": {"managedBy": None}})
        await it.take()
        assert await it.job(obj) is None
        refusal = it.mirror.refusals[obj["metadata"]["uid"]]
        assert refusal.code == "JobsUnprotected"
        assert "spec.managedBy: kueue.x-k8s.io/multikueue" in refusal.detail
        it.writeback.note(obj["metadata"]["uid"])
        await it.writeback.turn()
        assert [each[2]["reason"] for each in it.events._queue] == ["JobsUnprotected"]


async def test_a_leaderworkerset_is_refused_with_the_door_that_takes_it(tmp_path):
    """It has no managedBy, and the operator there would run it: policies refuse it, or an Event tells."""
    lws = in_lab(an_lws(queue=""), "managedBy")
    async with bridged(tmp_path) as it:
        obj = await it.create(lws)
        queued = {**obj, "metadata": {**obj["metadata"], "labels": {QUEUE: "q"}}}
        assert not is_left_alone(queued)
        assert "roadstead submit" in not_left_alone(queued).detail
        with pytest.raises(errors.Invalid, match="roadstead submit"):
            await it.patch(obj, {"metadata": {"labels": {QUEUE: "q"}}})
        await it.take()
        assert await it.job(obj) is None


def test_a_service_that_waits_says_so_in_the_words_of_its_kind():
    """A RayCluster by its state; others by condition Suspended."""
    row = a_workload("u", state=State.PENDING, reason="WaitingForQuota", message="cpu is short")
    told = work_status("RayCluster", {}, row, None, NOW)
    assert told == {"state": "suspended", "reason": "cpu is short"}
    told = work_status("RayService", {}, row, None, NOW)
    assert told is not None
    (condition,) = told["conditions"]
    assert (condition["type"], condition["reason"]) == ("Suspended", "WaitingForQuota")


@pytest.mark.parametrize("part", ["labels", "annotations"])
async def test_policies_refuse_one_that_names_its_queue_by_either_mark(tmp_path, part):
    """At creation: the operator there would start it at once."""
    pytorch = in_lab(a_pytorchjob(queue=""))
    pytorch["metadata"][part] = {QUEUE: "q"}
    async with bridged(tmp_path) as it:
        with pytest.raises(errors.Invalid, match="roadstead-kinds"):
            await it.create(pytorch)


async def test_an_object_without_a_queue_is_nobodys_work(tmp_path):
    """As today: it concerns the hub where a placement selects it."""
    async with bridged(tmp_path) as it:
        obj = await it.create(in_lab(a_jobset(queue=""), "managedBy"))
        await it.take()
        assert (await it.job(obj), it.mirror.refusals) == (None, {})


async def test_what_nobody_will_run_gets_an_event_with_the_remedy(tmp_path):
    """Operators there leave it alone, and it names no queue; without managedBy it is the operators' own."""
    async with bridged(tmp_path) as it:
        for made in (
            in_lab(a_jobset("idle", queue=""), "managedBy"),
            in_lab(a_jobset("theirs", queue="")),
        ):
            await it.create(made)
        await it.take()
        ((_, obj, event),) = it.events._queue
        assert (obj["metadata"]["name"], event["reason"]) == ("idle", "QueueRequired")
        assert "set label kueue.x-k8s.io/queue-name to a LocalQueue" in event["message"]


async def test_what_has_ended_is_never_begun_again(tmp_path):
    """A hub that does not know an ended object takes none: its end was somebody's result."""
    async with bridged(tmp_path) as it:
        obj = await it.create(in_lab(a_jobset(), "managedBy"))
        await it.patch(obj, {"status": DONE}, "status")
        await it.take()
        await it.level(obj)
        await it.take()
        assert await it.job(obj) is None


async def test_a_deleted_object_goes_once_its_member_has_nothing_of_it(tmp_path):
    """The finalizer stays until the agent says Gone."""
    async with bridged(tmp_path) as it:
        await it.hub.add_cluster("m1")
        obj = await it.create(in_lab(a_jobset(), "managedBy"))
        await it.take()
        await it.level(obj)
        await it.take()
        uid = obj["metadata"]["uid"]
        await placed(it, uid)
        await it.kube.delete(obj["apiVersion"], obj["kind"], "lab", "sweep")
        await it.level(obj)
        await it.take()
        assert (await it.job(obj)).state == State.WITHDRAWING
        assert labels.FINALIZER in (await it.live(obj))["metadata"]["finalizers"]
        await says(it, uid, phase="Gone")
        it.mirror.leaving.add(it.sources.place_of(uid))
        await it.take()
        assert (await it.job(obj)).state == State.CANCELLED


async def test_the_status_of_the_member_is_shown_and_its_end_stands(tmp_path):
    """As the operator there wrote it; while it waits the object says Suspended and why."""
    async with bridged(tmp_path) as it:
        await it.hub.add_cluster("m1")
        obj = await it.create(in_lab(a_jobset(), "managedBy"))
        await it.take()
        await it.level(obj)
        await it.take()
        uid = obj["metadata"]["uid"]
        it.writeback.note(uid)
        await it.writeback.turn()
        (waits,) = (await it.live(obj))["status"]["conditions"]
        assert (waits["type"], waits["status"], waits["reason"]) == (
            "Suspended",
            "True",
            "QueueNotFound",
        )
        await placed(it, uid)
        await it.level(obj)
        await says(it, uid, job={"active": 2, "ready": 2}, status=RUNNING)
        it.writeback.note(uid)
        await it.writeback.turn()
        assert (await it.live(obj))["status"] == RUNNING
        await it.level(obj)
        await says(it, uid, job={"result": "Succeeded"}, status=DONE)
        it.writeback.note(uid)
        await it.writeback.turn()
        assert (await it.live(obj))["status"]["conditions"][0]["type"] == "Completed"


def test_an_end_of_which_no_member_told_is_shown_in_the_words_of_the_kind():
    """A cancelled JobSet is Failed, a cancelled RayJob has phase Failed."""
    row = a_workload("u", kind="JobSet", state=State.CANCELLED, reason="CancelledByUser")
    (failed,) = work_status("JobSet", None, row, None, NOW)["conditions"]
    assert (failed["type"], failed["reason"]) == ("Failed", "CancelledByUser")
    assert work_status("RayJob", None, row, None, NOW)["jobDeploymentStatus"] == "Failed"
    told = work_status("AppWrapper", None, row, None, NOW)
    assert (told["phase"], told["conditions"][0]["type"]) == ("Failed", "Failed")
    assert work_status("JobSet", {"conditions": [failed]}, row, None, NOW) is None


def test_a_failure_that_is_tried_again_is_not_shown_as_the_end():
    """Once written it would stand, and the object would be over for everybody who looks."""
    row = a_workload("u", kind="JobSet", state=State.WITHDRAWING, reason="Retrying")
    failed = {"conditions": [{"type": "Failed", "status": "True"}]}
    assert work_status("JobSet", {}, row, failed, NOW) is None

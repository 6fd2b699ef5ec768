"""What others write into Workload objects on the hub cluster, and what the hub makes of it."""

from pathlib import Path
from typing import Any

import pytest

from hub.bridge.workload_words import is_orphan, job_of
from hub.domain.workloads.states import Transition
from hub.services.kueue_view.workload import JOB_UID
from hub.store import objects, workloads
from hub.store.records.workloads import WorkloadMove
from tests.bridge.guide import apply_guide, workload
from tests.bridge.hub_cluster import World, until, world
from tests.bridge.workload_objects import KUEUE, NAMESPACE, patch, says, shown

pytestmark = pytest.mark.anyio

CHECK = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: AdmissionCheck
metadata: {name: budget}
spec: {controllerName: example.com/budget}
"""
BARE = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: Workload
metadata: {name: by-hand, namespace: compute-jobs}
spec:
  queueName: local-queue
  podSets:
    - name: main
      count: 2
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: busybox, resources: {requests: {cpu: "1"}}}]
"""

OWNER_JOB = {"kind": "Job", "uid": "u-1"}


async def state(it: World, expected: str) -> bool:
    row = await workload(it, "mock-workload")
    return bool(row and row.state == expected)


async def test_active_false_holds_the_job_and_true_releases_it(tmp_path: Path):
    """`spec.active` of a Job's Workload is a wish: as `roadstead jobs hold` and `release`."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        obj = await until(lambda: shown(it))
        await patch(it, obj, {"spec": {"active": False}})
        await until(lambda: state(it, "Held"))
        await until(lambda: says(it, "QuotaReserved", "False OnHold"))
        await patch(it, obj, {"spec": {"active": True}})
        await until(lambda: state(it, "Pending"))


async def test_a_hold_from_elsewhere_is_shown_there(tmp_path: Path):
    """Held by REST: the object's `spec.active` follows, and is no wish."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        await until(lambda: shown(it))
        row = await workload(it, "mock-workload")
        moved: WorkloadMove = {"uid": row.uid, "epoch": row.epoch, "reason": "HeldByUser"}
        await it.hub.write(lambda unit: workloads.transition(unit, Transition.HOLD, [moved]))

        async def inactive() -> bool:
            found = await shown(it)
            return found is not None and found["spec"]["active"] is False

        await until(inactive)
        assert await state(it, "Held")


async def reserved(it: World) -> Any:
    """The guide's Job with quota reserved and check budget open; its Workload."""
    await apply_guide(it)
    await until(lambda: shown(it))
    row = await workload(it, "mock-workload")
    given: WorkloadMove = {
        "uid": row.uid,
        "epoch": row.epoch,
        "cluster_queue": "cluster-queue",
        "cluster": "north",
        "admission": {"podSets": [{"name": "main", "count": 3, "flavors": {}, "usage": {}}]},
        "checks": {
            "budget": {"state": "Pending", "message": "", "at": "2026-05-01T00:00:00+00:00"}
        },
    }
    await it.hub.write(lambda unit: workloads.transition(unit, Transition.RESERVE, [given]))
    return await until(lambda: says(it, "Admitted", "False UnsatisfiedAdmissionChecks"))


async def test_a_controller_answers_a_check_in_the_status(tmp_path: Path):
    """The state that somebody wrote with kubectl is the check's; who answered stands in an event."""
    async with world(tmp_path) as it:
        obj = await reserved(it)
        (open_,) = obj["status"]["admissionChecks"]
        assert (open_["name"], open_["state"]) == ("budget", "Pending")
        answer = {**open_, "state": "Ready", "message": "paid"}
        await patch(it, obj, {"status": {"admissionChecks": [answer]}}, "status")

        async def ready() -> bool:
            row = await workload(it, "mock-workload")
            said = row.checks["budget"]
            return (said["state"], said["message"]) == ("Ready", "paid")

        await until(ready)


async def test_an_answer_that_can_not_be_is_set_back(tmp_path: Path):
    """A state that does not exist changes nothing, and stops nothing."""
    async with world(tmp_path) as it:
        obj = await reserved(it)
        wrong = {**obj["status"]["admissionChecks"][0], "state": "Perhaps"}
        await patch(it, obj, {"status": {"admissionChecks": [wrong]}}, "status")

        async def back() -> bool:
            found = await shown(it)
            return (
                found is not None and found["status"]["admissionChecks"][0]["state"] == "Pending"
            )

        await until(back)
        assert (await workload(it, "mock-workload")).checks["budget"]["state"] == "Pending"


async def test_whether_a_check_is_served_is_taken_from_its_conditions(tmp_path: Path):
    """Condition Active of an AdmissionCheck, written by its controller there."""
    async with world(tmp_path) as it:
        await apply_guide(it, last=1)
        await it.apply(CHECK)
        active = {"type": "Active", "status": "True", "reason": "Active", "message": "here"}
        active["lastTransitionTime"] = "2026-05-01T00:00:00Z"
        await it.kube.merge_patch(
            KUEUE, "AdmissionCheck", "", "budget", {"status": {"conditions": [active]}},
            field_manager="budget", subresource="status",
        )  # fmt: skip

        async def heard() -> bool:
            row = await it.hub.hub.read(
                objects.find, "kueue.x-k8s.io", "AdmissionCheck", "", "budget"
            )
            conditions = ((row.status if row else None) or {}).get("conditions") or ()
            return [c["status"] for c in conditions if c["type"] == "Active"] == ["True"]

        await until(heard)


async def bare(it: World) -> Any:
    found = await it.hub.hub.read(workloads.live_by_name, [(NAMESPACE, "by-hand")], "Workload")
    return found.get((NAMESPACE, "by-hand"))


async def by_hand(it: World) -> Any:
    """The bare Workload's object, once it has conditions."""
    found = await it.kube.get(KUEUE, "Workload", NAMESPACE, "by-hand")
    return found if (found.get("status") or {}).get("conditions") else None


async def test_a_bare_workload_shows_its_conditions_and_is_ended_there(tmp_path: Path):
    """Its executor sees it admitted, and writes Finished."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        await it.apply(BARE)
        row = await until(lambda: bare(it))
        await until(lambda: by_hand(it))
        placed: WorkloadMove = {
            "uid": row.uid,
            "epoch": row.epoch,
            "cluster_queue": "cluster-queue",
        }
        placed["admission"] = {"podSets": []}
        await it.hub.write(lambda unit: workloads.transition(unit, Transition.PLACE, [placed]))

        async def admitted() -> Any:
            obj = await by_hand(it)
            held = [c["type"] for c in obj["status"]["conditions"] if c["status"] == "True"]
            return obj if "Admitted" in held else None

        obj = await until(admitted)
        done = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "done"}
        done["lastTransitionTime"] = "2026-05-01T00:00:00Z"
        both = [*obj["status"]["conditions"], done]
        await it.kube.merge_patch(
            KUEUE, "Workload", NAMESPACE, "by-hand", {"status": {"conditions": both}},
            field_manager="executor", subresource="status",
        )  # fmt: skip

        async def ended() -> bool:
            return (await it.hub.job(row.uid)).state == "Succeeded"

        await until(ended)


async def test_a_bare_workload_deleted_there_gives_its_quota_back(tmp_path: Path):
    """No member holds anything of it: it is gone at once, and its name is free."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        await it.apply(BARE)
        row = await until(lambda: bare(it))
        placed: WorkloadMove = {
            "uid": row.uid,
            "epoch": row.epoch,
            "cluster_queue": "cluster-queue",
        }
        placed["admission"] = {"podSets": []}
        await it.hub.write(lambda unit: workloads.transition(unit, Transition.PLACE, [placed]))
        await it.kube.delete(KUEUE, "Workload", NAMESPACE, "by-hand")

        async def gone() -> bool:
            return await bare(it) is None

        await until(gone)
        assert (await it.hub.job(row.uid)).state == "Cancelled"


@pytest.mark.parametrize(
    ("manager", "subresource", "owners", "uid", "orphan"),
    [
        ("roadstead-bridge", None, [], "u-1", True),
        ("roadstead-bridge", None, [OWNER_JOB], "u-1", False),
        ("kubectl-client-side-apply", None, [], "", False),  # somebody's copy
        ("roadstead-bridge", "status", [], "", False),
    ],
)
def test_a_workload_whose_label_the_bridge_wrote_is_of_that_job_without_an_owner_too(
    manager: str, subresource: Any, owners: Any, uid: str, orphan: bool
):
    """`kubectl delete job --cascade=orphan` takes the owner off; managed fields are the API server's."""
    written: Any = {"f:metadata": {"f:labels": {f"f:{JOB_UID}": {}}}}
    entry = {"manager": manager, "fieldsV1": written, "subresource": subresource}
    metadata = {
        "labels": {JOB_UID: "u-1"}, "ownerReferences": owners, "managedFields": [entry],
    }  # fmt: skip
    assert job_of({"metadata": metadata}) == uid
    assert is_orphan({"metadata": metadata}) is orphan

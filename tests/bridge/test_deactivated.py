"""A Job of the hub cluster that is deactivated, or gets another priority class: what is shown there."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.bridge.job_status import DISPATCHED, is_finished, job_status
from hub.domain.workloads.states import State, WithdrawTo
from hub.services.jobs import hold
from hub.services.works.evict import evict
from hub.store import objects
from hub.store.records.workloads import Workload
from shared import labels
from shared.conditions import find, rfc3339
from tests.bridge.guide import apply_guide, workload
from tests.bridge.hub_cluster import World, until, world
from tests.bridge.workload_objects import NAMESPACE, shown
from tests.store.build import a_workload

pytestmark = pytest.mark.anyio
URGENT = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: WorkloadPriorityClass
metadata: {name: urgent}
value: 7
"""


NOW, HOUR = dt.datetime(2026, 5, 1, 20, tzinfo=dt.UTC), dt.timedelta(hours=1)
MARKED = {"managedBy": labels.JOB_CONTROLLER}


def a_row(**columns: Any) -> Workload:
    given = {"state": State.RUNNING, "cluster": "north", "placed_at": NOW - 4 * HOUR}
    return a_workload("w", **given | columns)


def said(status: Any) -> dict[str, tuple[str, str, str]]:
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in status["conditions"]}


def deactivated(**columns: Any) -> Workload:
    why = {"reason": "MaximumExecutionTimeExceeded", "message": "ran for 6 s"}
    times = {"started_at": NOW - 3 * HOUR, "finished_at": NOW - HOUR}
    return a_row(state=State.DEACTIVATED, **times | why | columns)


@pytest.mark.parametrize("spec", [MARKED, {}], ids=["managed", "not managed"])
def test_a_deactivated_job_that_can_be_released_is_suspended(spec: Any):
    """Failed is final in Kubernetes, and its time to live would delete the Job while it runs again."""
    status = job_status(spec, {"startTime": rfc3339(NOW - 3 * HOUR)}, deactivated(), None, NOW)
    assert not is_finished(status)
    kind, value = ("Suspended", "True") if spec else (DISPATCHED, "False")
    assert said(status)[kind] == (value, "MaximumExecutionTimeExceeded", "ran for 6 s")
    assert "completionTime" not in status


def test_a_deactivated_job_that_gave_its_name_back_has_failed():
    """Nobody can release it any more."""
    assert is_finished(job_status(MARKED, None, deactivated(live=None), None, NOW))


def test_a_job_that_was_deactivated_runs_and_succeeds_there():
    """Its status goes on from Suspended."""
    live = job_status(MARKED, None, deactivated(), None, NOW)
    runs = {"active": 1, "started_at": NOW - 3 * HOUR}
    live = job_status(MARKED, live, a_row(**runs), None, NOW)
    assert said(live)["Suspended"][0] == "False"
    done = a_row(state=State.SUCCEEDED, succeeded=1, finished_at=NOW)
    assert said(job_status(MARKED, live, done, None, NOW))["Complete"][0] == "True"


async def suspended_for(it: World) -> str:
    """The reason of condition Suspended of the guide's Job; "" while it is not suspended."""
    job = await it.kube.get("batch/v1", "Job", NAMESPACE, "mock-workload")
    told = job.get("status", {}).get("conditions")
    assert find(told, "Failed") is None
    found = find(told, "Suspended")
    return found["reason"] if found and found["status"] == "True" else ""


async def urgent(it: World) -> Any:
    """The class, once the hub has it."""
    group = "kueue.x-k8s.io"
    return await it.hub.hub.read(objects.find, group, "WorkloadPriorityClass", "", "urgent")


async def test_a_deactivated_job_is_suspended_until_it_is_released(tmp_path: Path):
    """It is not Failed, which the hub cluster would take for its end."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        row = await until(lambda: workload(it, "mock-workload"))
        why = "MaximumExecutionTimeExceeded"
        await it.hub.write(evict, [row.uid], why, "ran for 6 s", to=WithdrawTo.DEACTIVATED)

        async def deactivated() -> bool:
            return await suspended_for(it) == why

        await until(deactivated)
        await it.hub.write(hold.release_job, row.uid, "ann")

        async def waits() -> bool:
            return await suspended_for(it) not in ("", why)

        await until(waits)
        assert (await it.hub.job(row.uid)).state == "Pending"


async def test_the_class_of_a_workload_follows_the_label_of_its_job(tmp_path: Path):
    """Name and number; written once."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        await it.apply(URGENT)
        await until(lambda: shown(it))
        await until(lambda: urgent(it))
        label: Any = {"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "urgent"}}}
        await it.kube.merge_patch(
            "batch/v1", "Job", NAMESPACE, "mock-workload", label, field_manager="kubectl-label"
        )

        async def follows() -> Any:
            found = await shown(it)
            spec = (found or {}).get("spec") or {}
            named = (spec.get("priorityClassRef") or {}).get("name") or spec.get(
                "priorityClassName"
            )
            return found if (named, spec.get("priority")) == ("urgent", 7) else None

        first = await until(follows)
        await it.hub.write(hold.hold_job, (await workload(it, "mock-workload")).uid, "ann")

        async def held() -> Any:
            found = await shown(it)
            return found if found and found["spec"].get("active") is False else None

        later = await until(held)
        assert later["metadata"]["generation"] == first["metadata"]["generation"] + 1


async def test_the_number_of_a_workload_follows_its_class(tmp_path: Path):
    """`kubectl edit workloadpriorityclass`: the Workload of a Job that waits shows the new value."""
    async with world(tmp_path) as it:
        await it.apply(URGENT)
        await until(lambda: urgent(it))
        await apply_guide(it)
        row = await until(lambda: workload(it, "mock-workload"))
        await it.hub.write(hold.hold_job, row.uid, "ann")
        label: Any = {"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "urgent"}}}
        await it.kube.merge_patch(
            "batch/v1", "Job", NAMESPACE, "mock-workload", label, field_manager="kubectl-label"
        )

        async def has(value: int) -> bool:
            found = await shown(it)
            return bool(found) and found["spec"].get("priority") == value

        await until(lambda: has(7))
        await it.apply(URGENT.replace("7", "9"))
        await until(lambda: has(9))

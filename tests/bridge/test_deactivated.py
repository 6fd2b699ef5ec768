"""A Job of the hub cluster that is deactivated, or gets another priority class: what is shown there."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.states import WithdrawTo
from hub.services.jobs import hold
from hub.services.works.evict import evict
from hub.store import objects
from shared.conditions import find
from tests.bridge.guide import apply_guide, workload
from tests.bridge.hub_cluster import World, until, world
from tests.bridge.workload_objects import NAMESPACE, shown

pytestmark = pytest.mark.anyio
URGENT = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: WorkloadPriorityClass
metadata: {name: urgent}
value: 7
"""


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

"""Workload objects on the hub cluster: kept beside Jobs as Kueue would, and heard when others write there."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.queues import usage
from hub.store import on_members, workloads
from tests.bridge.guide import absent, apply_guide, workload
from tests.bridge.hub_cluster import until, world
from tests.bridge.workload_objects import KUEUE, NAMESPACE, patch, running, said, says, shown
from tests.services.members.hubs import ran, seen

pytestmark = pytest.mark.anyio


async def test_a_job_gets_a_workload_that_it_owns(tmp_path: Path):
    """Named as Kueue names it, with queue, pod sets and the Job's own template."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        obj = await until(lambda: shown(it))
        job = await it.get("Job", "mock-workload", NAMESPACE)
        (owner,) = obj["metadata"]["ownerReferences"]
        assert owner["uid"] == job["metadata"]["uid"]
        assert obj["spec"]["queueName"] == "local-queue"
        (pod_set,) = obj["spec"]["podSets"]
        containers = job["spec"]["template"]["spec"]["containers"]
        assert pod_set["template"]["spec"]["containers"] == containers
        assert said(obj)["QuotaReserved"].startswith("False ")


async def test_the_workload_follows_its_job(tmp_path: Path):
    """Admitted with its cluster while it runs, finished when it has."""
    async with world(tmp_path) as it:
        row = await running(it)
        obj = await until(lambda: says(it, "Admitted", "True Admitted"))
        assert obj["status"]["clusterName"] == "north"
        await it.agents["north"].sync(ran(row.uid, succeeded=3, result="Succeeded"))
        await until(lambda: says(it, "Finished", "True Succeeded"))


async def test_a_deleted_workload_is_made_again(tmp_path: Path):
    """It shows a Job that still is there."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        first = await until(lambda: shown(it))
        await it.kube.delete(KUEUE, "Workload", NAMESPACE, first["metadata"]["name"])

        async def another() -> Any:
            found = await shown(it)
            return found and found["metadata"]["uid"] != first["metadata"]["uid"]

        await until(another)
        assert (await workload(it, "mock-workload")).state == "Pending"


async def test_the_workload_goes_with_its_job(tmp_path: Path):
    """The hub cluster collects what a deleted Job owned; the hub does not make it again."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        obj = await until(lambda: shown(it))
        await it.delete("Job", "mock-workload", NAMESPACE)
        await until(lambda: absent(it, "Job", "mock-workload", NAMESPACE))

        async def gone() -> bool:
            listing = await it.kube.list(KUEUE, "Workload", NAMESPACE)
            return obj["metadata"]["name"] not in [o["metadata"]["name"] for o in listing.items]

        await until(gone)


async def test_an_orphaned_workload_ends_with_its_job(tmp_path: Path):
    """`kubectl delete job --cascade=orphan`: the member's Job is withdrawn, and no Workload holds quota."""
    async with world(tmp_path) as it:
        row = await running(it)
        obj = await until(lambda: shown(it))
        await it.kube.delete("batch/v1", "Job", NAMESPACE, "mock-workload", propagation="Orphan")

        async def withdrawing() -> bool:
            return (await workload(it, "mock-workload")).state == "Withdrawing"

        await until(withdrawing)
        await it.agents["north"].sync(seen(row.uid, "Gone"))
        await until(lambda: absent(it, "Job", "mock-workload", NAMESPACE))

        async def gone() -> bool:
            listing = await it.kube.list(KUEUE, "Workload", NAMESPACE)
            return obj["metadata"]["name"] not in [o["metadata"]["name"] for o in listing.items]

        await until(gone)
        charged = (await it.hub.hub.read(usage.count)).queues
        assert not any(figures.reservation for figures in charged.values())
        live = await it.hub.hub.read(lambda tx: on_members.live_of(tx, "hub-cluster", "Workload"))
        assert live == {}


async def test_what_others_change_in_the_spec_is_set_back(tmp_path: Path):
    """The queue of a Workload is its Job's."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        obj = await until(lambda: shown(it))
        await patch(it, obj, {"spec": {"queueName": "elsewhere"}})

        async def back() -> bool:
            found = await shown(it)
            return found is not None and found["spec"]["queueName"] == "local-queue"

        await until(back)


async def test_a_condition_of_somebody_else_stays(tmp_path: Path):
    """Controllers may keep their own words in the status."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        obj = await until(lambda: shown(it))
        theirs = {"type": "Billed", "status": "True", "reason": "Paid", "message": ""}
        theirs["lastTransitionTime"] = "2026-05-01T00:00:00Z"
        both = [*obj["status"]["conditions"], theirs]
        await patch(it, obj, {"status": {"conditions": both}}, "status")
        row = await workload(it, "mock-workload")
        await it.hub.write(
            lambda unit: workloads.refuse(
                unit, [{"uid": row.uid, "reason": "WaitingForQuota", "message": "2 cpu more"}]
            )
        )
        obj = await until(lambda: says(it, "QuotaReserved", "False WaitingForQuota"))
        assert said(obj)["Billed"] == "True Paid"

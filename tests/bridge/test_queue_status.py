"""Statuses of queues on the hub cluster, and Workload objects switched off."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.context.settings import BridgeSettings, Settings
from hub.store import workloads
from hub.store.records.workloads import change_of
from tests.bridge.guide import apply_guide, suspended, workload
from tests.bridge.hub_cluster import World, until, world
from tests.bridge.workload_objects import KUEUE, NAMESPACE, running

pytestmark = pytest.mark.anyio

COHORT = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: Cohort
metadata: {name: all}
spec: {}
"""


async def status(it: World, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    found = await it.kube.get(KUEUE, kind, namespace, name)
    return dict(found.get("status") or {})


async def test_queues_show_their_figures(tmp_path: Path):
    """What runs is reserved and used, in the ClusterQueue and in the LocalQueue."""
    async with world(tmp_path) as it:
        row = await running(it)
        flavors = {"cpu": "default-flavor"}
        usage = {"name": "main", "count": 3, "flavors": flavors, "usage": {"cpu": 3000}}
        charge: Any = {"cluster_queue": "cluster-queue", "admission": {"podSets": [usage]}}
        await it.hub.write(lambda unit: workloads.change(unit, [change_of(row.uid, charge)]))

        async def counted() -> Any:
            got = await status(it, "ClusterQueue", "cluster-queue")
            return got if got.get("admittedWorkloads") == 1 else None

        got = await until(counted)
        assert got["reservingWorkloads"] == 1
        assert got["fairSharing"] == {"weightedShare": 0}
        (flavor,) = got["flavorsUsage"]
        cpu = {"name": "cpu", "total": "3", "borrowed": "0"}
        assert (flavor["name"], flavor["resources"][0]) == ("default-flavor", cpu)

        async def entrance() -> bool:
            door = await status(it, "LocalQueue", "local-queue", NAMESPACE)
            return door.get("admittedWorkloads") == 1 and "flavorsUsage" in door

        await until(entrance)


async def test_a_cohort_shows_its_share(tmp_path: Path):
    """It is mirrored like the queues, and carries our finalizer."""
    async with world(tmp_path) as it:
        await apply_guide(it, last=1)
        await it.apply(COHORT)

        async def shared() -> bool:
            return (await status(it, "Cohort", "all")).get("fairSharing") == {"weightedShare": 0}

        await until(shared)
        found = await it.kube.get(KUEUE, "Cohort", "", "all")
        assert "roadstead.dev/hub" in found["metadata"]["finalizers"]


async def test_workload_objects_can_be_switched_off(tmp_path: Path):
    """ROADSTEAD_BRIDGE_WORKLOADS=Off: the Job's own status alone is written."""
    async with world(tmp_path, limits=Settings(bridge=BridgeSettings(workloads="Off"))) as it:
        await apply_guide(it)
        await until(lambda: workload(it, "mock-workload"))
        await until(lambda: suspended(it))
        assert not (await it.kube.list(KUEUE, "Workload", NAMESPACE)).items

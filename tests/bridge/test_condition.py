"""When the bridge stops and asks, and what it survives. Invariant R-16."""

from pathlib import Path

import pytest
import yaml

from hub.services.context import hub_cluster
from hub.services.mirror import objects as mirrored
from hub.store import objects
from shared.kubesim.cluster import SimCluster
from tests.bridge.defined import with_hub_kinds
from tests.bridge.guide import SHOP, absent, apply_guide, condition, shop, workload
from tests.bridge.hub_cluster import World, until, world
from tests.services.members.hubs import ran, seen
from tests.services.placements.fleet import GUIDE

pytestmark = pytest.mark.anyio


async def test_another_cluster_behind_the_address_stops_the_bridge(tmp_path: Path):
    """The identity is the uid of kube-system: nothing is taken, nothing deleted."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        first = await until(lambda: workload(it, "mock-workload"))
    async with world(tmp_path) as it:
        await until(lambda: stopped(it, "HubClusterChanged"))
        assert (await it.hub.job(first.uid)).live is True
        await until(lambda: told(it, "False"))


async def test_an_absence_without_deletion_stops_the_bridge(tmp_path: Path):
    """A Job with our finalizer can not vanish: was the hub cluster restored?"""
    cluster = with_hub_kinds()
    await cluster.start()
    try:
        async with world(tmp_path, cluster) as it:
            await apply_guide(it)
            first = await until(lambda: workload(it, "mock-workload"))
        vanish(cluster, "jobs.batch", "compute-jobs", "mock-workload")
        async with world(tmp_path, cluster) as it:
            await until(lambda: stopped(it, "AbsentWithoutDeletion"))
            assert (await it.hub.job(first.uid)).state == "Pending"
    finally:
        await cluster.stop()


async def test_what_was_deleted_meanwhile_is_noticed_by_the_first_list(tmp_path: Path):
    """A plain object without finalizer, deleted while the hub was away, is deleted in the hub."""
    cluster = with_hub_kinds()
    await cluster.start()
    try:
        async with world(tmp_path, cluster) as it:
            await shop(it)
            await until(lambda: settings(it))
        vanish(cluster, "configmaps", "shop", "settings")
        async with world(tmp_path, cluster) as it:
            await until(lambda: gone(it))
            assert not it.bridge.condition.stopped
    finally:
        await cluster.stop()


async def test_more_than_a_fifth_vanishing_at_once_stops_the_bridge(tmp_path: Path):
    """Ten of ten ConfigMaps are no user's doing until somebody says so."""
    cluster = with_hub_kinds()
    await cluster.start()
    try:
        async with world(tmp_path, cluster) as it:
            await shop(it)
            many = [SHOP.split("---")[1].replace("settings", f"c{n}") for n in range(10)]
            await it.apply("---".join(many))
            await it.apply(SHOP.split("---")[2].replace(", name: settings", ""))
            await until(lambda: mirrored_count(it, 11))
        for n in range(10):
            vanish(cluster, "configmaps", "shop", f"c{n}")
        async with world(tmp_path, cluster) as it:
            await until(lambda: stopped(it, "TooManyDeletions"))
            assert await mirrored_count(it, 11)
    finally:
        await cluster.stop()


async def test_errors_of_the_api_server_delay_and_lose_nothing(tmp_path: Path):
    """429, 500, 503, lost replies and cut watches: the Job still gets there and back."""
    async with world(tmp_path) as it:
        await apply_guide(it, last=5)
        faults = it.cluster.faults
        for action in ("429", "500", "503", "drop-after", "409"):
            faults.add(action, verb="patch", resource="jobs", count=2)
        faults.add("cut", verb="watch", resource="jobs")
        faults.add("compact", resource="jobs")
        (file,) = GUIDE.glob("*6-*.yaml")
        for document in yaml.safe_load_all(file.read_text()):
            await it.kube.create(document, field_manager="kubectl")
        row = await until(lambda: workload(it, "mock-workload"), 30)
        agent = await it.hub.join("north")
        await it.hub.place(row.uid, "north")
        await agent.sync()
        await agent.sync(ran(row.uid, succeeded=3, result="Succeeded"))
        await until(lambda: condition(it, "Complete"), 30)


async def test_a_forged_status_is_mended_and_moves_nothing(tmp_path: Path):
    """The hub derives, it never trusts what stands in a status (S-18)."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        row = await until(lambda: workload(it, "mock-workload"))
        await it.kube.merge_patch(
            "batch/v1",
            "Job",
            "compute-jobs",
            "mock-workload",
            {"status": {"active": 7}},
            field_manager="mallory",
            subresource="status",
        )
        await until(lambda: honest(it))
        assert (await it.hub.job(row.uid)).active == 0


async def test_a_restart_of_the_hub_takes_nothing_twice(tmp_path: Path):
    """What was taken is known by its uid; a deletion begun before goes on after."""
    cluster = with_hub_kinds()
    await cluster.start()
    try:
        async with world(tmp_path, cluster) as it:
            await apply_guide(it)
            first = await until(lambda: workload(it, "mock-workload"))
        cluster.store.delete("jobs.batch", "compute-jobs", "mock-workload")
        async with world(tmp_path, cluster) as it:
            await until(lambda: absent(it, "Job", "mock-workload", "compute-jobs"))
            assert (await it.hub.job(first.uid)).state == "Cancelled"
            second = await workload(it, "model-evaluation")
            assert second.epoch == 0
    finally:
        await cluster.stop()


async def test_a_job_that_ends_while_it_is_deleted_stops_nothing(tmp_path: Path):
    """Its name comes free, and a hub that starts again does not take it for lost."""
    cluster = with_hub_kinds()
    await cluster.start()
    try:
        async with world(tmp_path, cluster) as it:
            await apply_guide(it)
            first = await until(lambda: workload(it, "mock-workload"))
            agent = await it.hub.join("north")
            await it.hub.place(first.uid, "north")
            await agent.sync()
            await agent.sync(ran(first.uid, active=3))
            await it.delete("Job", "mock-workload", "compute-jobs")
            await until(lambda: withdrawing(it, first.uid))
            await it.hub.settled()
            await agent.sync(ran(first.uid, succeeded=3, result="Succeeded"))
            await agent.sync(seen(first.uid, "Gone"))
            await until(lambda: absent(it, "Job", "mock-workload", "compute-jobs"))
            await apply_guide(it)
            second = await until(lambda: workload(it, "mock-workload"))
            assert second.uid != first.uid
        async with world(tmp_path, cluster) as it:
            await until(lambda: told(it, "True"))
            await compared(it)
            assert not it.bridge.condition.stopped
    finally:
        await cluster.stop()


async def test_a_job_whose_deletion_was_known_may_be_absent(tmp_path: Path):
    """Somebody took our finalizer off a Job that was being deleted: no reason to stop."""
    cluster = with_hub_kinds()
    await cluster.start()
    try:
        async with world(tmp_path, cluster) as it:
            await apply_guide(it)
            first = await until(lambda: workload(it, "mock-workload"))
            agent = await it.hub.join("north")
            await it.hub.place(first.uid, "north")
            await agent.sync()
            await it.hub.write(mirrored.delete_jobs, [first.uid])
        vanish(cluster, "jobs.batch", "compute-jobs", "mock-workload")
        async with world(tmp_path, cluster) as it:
            await compared(it)
            assert not it.bridge.condition.stopped
    finally:
        await cluster.stop()


async def test_a_lifted_stop_takes_what_is_absent_for_deleted(tmp_path: Path):
    """An administrator names the reason: the bridge goes on, and the lost Job is taken back."""
    cluster = with_hub_kinds()
    await cluster.start()
    try:
        async with world(tmp_path, cluster) as it:
            await apply_guide(it)
            first = await until(lambda: workload(it, "mock-workload"))
        vanish(cluster, "jobs.batch", "compute-jobs", "mock-workload")
        async with world(tmp_path, cluster) as it:
            await until(lambda: stopped(it, "AbsentWithoutDeletion"))
            await it.hub.write(hub_cluster.resume, "AbsentWithoutDeletion", "admin")
            await until(lambda: told(it, "True"))
            await until(lambda: ended(it, first.uid))
            await apply_guide(it)
            await until(lambda: workload(it, "mock-workload"))
    finally:
        await cluster.stop()


async def test_a_lifted_stop_adopts_another_hub_cluster(tmp_path: Path):
    """The identity is the new one's; what the old one had is asked about next."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        await until(lambda: workload(it, "mock-workload"))
    async with world(tmp_path) as it:
        await until(lambda: stopped(it, "HubClusterChanged"))
        before = await it.hub.hub.read(hub_cluster.hub_cluster_uid)
        await it.hub.write(hub_cluster.resume, "HubClusterChanged", "admin")
        await until(lambda: stopped(it, "AbsentWithoutDeletion"))
        assert await it.hub.hub.read(hub_cluster.hub_cluster_uid) != before


def vanish(cluster: SimCluster, key: str, namespace: str, name: str) -> None:
    """Take an object out of the cluster's store as a restore from an older copy would."""
    obj = cluster.store.get(key, namespace, name)
    assert obj is not None
    bare = {**obj, "metadata": {**obj["metadata"], "finalizers": []}}
    cluster.store.update(key, bare, trusted=True)
    cluster.store.delete(key, namespace, name)


async def withdrawing(it: World, uid: str) -> bool:
    return (await it.hub.job(uid)).state == "Withdrawing"


async def ended(it: World, uid: str) -> bool:
    row = await it.hub.job(uid)
    return (row.state, row.live) == ("Cancelled", None)


async def compared(it: World) -> None:
    """The first lists were held against the store: what is applied now has been taken."""
    await it.apply(MARK)
    await until(lambda: it.hub.hub.read(objects.find, KUEUE, "Cohort", "", "mark"))


KUEUE = "kueue.x-k8s.io"
MARK = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: Cohort
metadata: {name: mark}
"""


async def stopped(it: World, reason: str) -> bool:
    return it.bridge.condition.reason == reason


async def told(it: World, status: str) -> bool:
    return (await it.hub.hub.read(hub_cluster.bridge_condition)).get("status") == status


async def settings(it: World):
    return await it.hub.hub.read(objects.find, "", "ConfigMap", "shop", "settings")


async def gone(it: World) -> bool:
    return await settings(it) is None


async def mirrored_count(it: World, count: int) -> bool:
    rows = await it.hub.hub.read(objects.list_kind, "", "ConfigMap")
    return len(rows) == count


async def honest(it: World) -> bool:
    job = await it.get("Job", "mock-workload", "compute-jobs")
    return not (job.get("status") or {}).get("active")

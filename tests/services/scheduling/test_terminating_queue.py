"""A ClusterQueue that kubectl deletes while it is in use is Terminating, as in Kueue, and admits nothing."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hub.domain.quota.declared import FlavorResource
from hub.domain.workloads.origin import Origin
from hub.services.mirror import objects as mirrored
from hub.services.objects import delete
from hub.services.objects.apply import apply_documents
from hub.services.objects.stop_queue import set_stop_policy
from hub.services.reading.draft import draft
from hub.store import objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.conditions import find
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP
from shared.kinds.registry import parse
from tests.services.hubs import Running, a_job, a_pool, a_queue, running
from tests.services.scheduling.plans import decided, written
from tests.services.steps import gone, lively, reported

pytestmark = pytest.mark.anyio
Apply = Callable[[Running, Sequence[dict[str, Any]]], Awaitable[list[str]]]


async def kubectl_apply(hub: Running, manifests: Sequence[dict[str, Any]]) -> list[str]:
    """As the bridge takes objects of the hub cluster; uids in order."""

    def run(tx: Transaction) -> list[str]:
        drafts = [draft(parse(m), tx.now, origin=Origin.HUB_CLUSTER) for m in manifests]
        assert all(a.error is None for a in apply_documents(tx, drafts, hub.hub.settings.intake))
        return [d.uid for d in drafts]

    return await hub.hub.write(run)


async def of_uid(hub: Running, uid: str) -> StoredObject | None:
    return await hub.hub.read(objects.get, uid)


async def test_a_queue_that_is_being_deleted_admits_nothing_and_goes_when_it_is_empty(
    tmp_path: Path,
) -> None:
    """Case q06: what runs is charged until it ends, what waits says that the queue is being deleted."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64"))
        flavor, queue, local = a_queue("w2", quota={"cpu": "1"})
        (_, uid, _) = await kubectl_apply(hub, [flavor, queue, local])
        long, waits = await hub.apply(a_job("long", queue="w2"), a_job("s00", queue="w2"))
        await hub.settle()
        if (await hub.job(waits)).state == "Placed":
            long, waits = waits, long
        assert not await hub.hub.write(mirrored.delete_object, uid)
        await hub.settle()
        row = await of_uid(hub, uid)
        assert row is not None
        active = find((row.status or {})["conditions"], "Active")
        assert active is not None
        assert (active["status"], active["reason"]) == ("False", "Terminating")
        assert hub.scheduler.index.ledger.used("w2", FlavorResource("w2-flavor", "cpu")) == 1000
        with pytest.raises(Rejected, match="1 jobs are charged"):
            await hub.hub.write(mirrored.delete_object, uid)
        assert (await hub.job(waits)).reason == "Misconfigured"
        assert "Terminating" in (await hub.job(waits)).message
        await hub.transition("unplace", long)
        await hub.settle()
        assert await hub.hub.write(mirrored.delete_object, uid)
        assert await of_uid(hub, uid) is None
        for job in await hub.jobs([long, waits]):
            assert (job.state, job.reason) == ("Pending", "QueueNotFound")


async def test_a_plan_places_nothing_in_a_queue_that_is_being_deleted_by_then(
    tmp_path: Path,
) -> None:
    """The deletion came between the plan and its commit."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64"))
        (_, uid, _) = await kubectl_apply(hub, a_queue("w2", quota={"cpu": "2"}))
        await hub.apply(a_job("long", queue="w2"))
        await hub.settle()
        (waits,) = await hub.apply(a_job("s00", queue="w2"))
        plan = await decided(hub)
        assert not await hub.hub.write(mirrored.delete_object, uid)
        assert (await written(hub, plan)).placed == []
        assert (await hub.job(waits)).reason == "Misconfigured"


async def test_an_unused_queue_goes_at_once(tmp_path: Path) -> None:
    """Nothing is charged to it: nothing is left to wait for."""
    async with running(tmp_path) as hub:
        (_, uid, _) = await kubectl_apply(hub, a_queue("w2"))
        assert await hub.hub.write(mirrored.delete_object, uid)
        assert uid not in await hub.hub.read(mirrored.uids_of_kind, GROUP, "ClusterQueue")


async def in_use(hub: Running, apply: Apply) -> tuple[str, str]:
    """A ClusterQueue with a job that its member runs: their uids."""
    await hub.cluster("c1", a_pool(cpu="64"))
    (_, queue, _) = await apply(hub, a_queue("w2", quota={"cpu": "2"}))
    (uid,) = await hub.apply(a_job("long", queue="w2"))
    await hub.settle()
    await lively(hub, uid)
    return queue, uid


async def by_rest(hub: Running, manifests: Sequence[dict[str, Any]]) -> list[str]:
    return await hub.apply(*manifests)


def rest_delete(tx: Transaction, expected: str = "") -> str:
    """`DELETE …/ClusterQueue/w2?drain=true`; the result. `expected`: preconditions.uid."""
    told = delete.delete_object(
        tx, GROUP, "ClusterQueue", "", "w2",
        origin=Origin.REST, principal="ann", expected=expected, drain=True,
    )  # fmt: skip
    return str(told["result"])


async def assert_drains_and_goes(hub: Running, queue: str, job: str) -> None:
    """The job leaves its member; until it has, the queue is there and its quota is charged."""
    await hub.settle()
    row = await hub.job(job)
    assert (row.state, row.reason) == ("Withdrawing", "ClusterQueueStopped")
    assert await of_uid(hub, queue) is not None
    assert hub.scheduler.index.ledger.used("w2", FlavorResource("w2-flavor", "cpu")) == 1000
    await gone(hub, job)
    await hub.settle()
    assert await of_uid(hub, queue) is None
    row = await hub.job(job)
    assert (row.state, row.reason) == ("Pending", "QueueNotFound")


async def test_a_deletion_with_drain_goes_when_the_last_job_has_left(tmp_path: Path) -> None:
    """REST: the queue is Terminating until then; asked again, it still is."""
    async with running(tmp_path) as hub:
        queue, job = await in_use(hub, by_rest)
        assert await hub.hub.write(rest_delete) == "deleting"
        row = await of_uid(hub, queue)
        assert row is not None
        assert row.deleted_at is not None
        assert await hub.hub.write(rest_delete) == "deleting"
        await assert_drains_and_goes(hub, queue, job)


async def test_another_queue_of_that_name_is_not_drained(tmp_path: Path) -> None:
    """A deletion with drain names the uid that its sender saw, also where the queue is Terminating."""
    async with running(tmp_path) as hub:
        await in_use(hub, by_rest)
        assert await hub.hub.write(rest_delete) == "deleting"
        with pytest.raises(Rejected) as refused:
            await hub.hub.write(rest_delete, "another-uid")
        assert refused.value.code == "PreconditionFailed"


async def test_a_queue_that_kubectl_deleted_is_not_drained_by_a_deletion(tmp_path: Path) -> None:
    """It is the hub cluster's, as before its deletion; the refusal says what drains it."""
    async with running(tmp_path) as hub:
        queue, job = await in_use(hub, kubectl_apply)
        assert not await hub.hub.write(mirrored.delete_object, queue)
        for uid, code in ("another-uid", "PreconditionFailed"), (queue, "OwnedElsewhere"):
            with pytest.raises(Rejected) as refused:
                await hub.hub.write(rest_delete, uid)
            assert refused.value.code == code
        assert "roadstead queues stop --drain w2" in str(refused.value)
        await hub.settle()
        assert (await hub.job(job)).state == "Running"


@pytest.mark.parametrize("way", ["kubectl", "stop"])
async def test_a_queue_that_kubectl_deleted_can_be_drained(tmp_path: Path, way: str) -> None:
    """By its stopPolicy, as in Kueue, or by `roadstead queues stop --drain`."""
    async with running(tmp_path) as hub:
        queue, job = await in_use(hub, kubectl_apply)
        assert not await hub.hub.write(mirrored.delete_object, queue)
        settings = hub.hub.settings
        if way == "kubectl":
            assert not await hub.hub.write(mirrored.delete_object, queue, drain=True)
        else:
            for _ in range(2):
                told = await hub.hub.write(
                    set_stop_policy, "", "w2", "HoldAndDrain", settings, "ann"
                )
                assert told["name"] == "w2"
        await assert_drains_and_goes(hub, queue, job)
        assert await hub.hub.write(mirrored.delete_object, queue)


@pytest.mark.parametrize("policy", ["None", "Hold"])
async def test_a_queue_that_is_being_deleted_can_not_be_resumed(
    tmp_path: Path, policy: Any
) -> None:
    """It admits nothing any more: the refusal says what can be done."""
    async with running(tmp_path) as hub:
        queue, _ = await in_use(hub, kubectl_apply)
        assert not await hub.hub.write(mirrored.delete_object, queue)
        with pytest.raises(Rejected, match="can only be drained"):
            await hub.hub.write(set_stop_policy, "", "w2", policy, hub.hub.settings, "ann")
        with pytest.raises(Rejected, match="queues stop --drain w2"):
            await hub.hub.write(mirrored.delete_object, queue)


async def test_a_queue_without_its_finalizer_goes_when_its_jobs_have_ended(tmp_path: Path) -> None:
    """Somebody took it off by force: nobody tells of the deletion again; the job keeps its charge."""
    async with running(tmp_path) as hub:
        queue, job = await in_use(hub, kubectl_apply)
        assert not await hub.hub.write(mirrored.delete_object, queue)
        assert queue not in await hub.hub.read(mirrored.uids_of_kind, GROUP, "ClusterQueue")
        await hub.settle()
        assert (await hub.job(job)).state == "Running"
        assert hub.scheduler.index.ledger.used("w2", FlavorResource("w2-flavor", "cpu")) == 1000
        await reported(hub, job, succeeded=1, result="Succeeded")
        await hub.settle()
        assert await of_uid(hub, queue) is None


async def test_a_hub_that_starts_removes_what_is_empty_by_then(tmp_path: Path) -> None:
    """The last job left while no hub ran its scheduler; a queue that can not be read goes too."""
    async with running(tmp_path) as hub:
        queue, job = await in_use(hub, kubectl_apply)
        assert not await hub.hub.write(mirrored.delete_object, queue)
        await reported(hub, job, succeeded=1, result="Succeeded")

        def spoil(tx: Transaction) -> None:
            objects.change(tx, queue, spec={"resourceGroups": "none"})

        await hub.hub.write(spoil)
        hub.scheduler.loaded = False
        await hub.settle()
        assert await of_uid(hub, queue) is None

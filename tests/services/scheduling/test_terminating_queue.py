"""A ClusterQueue that kubectl deletes while it is in use is Terminating, as in Kueue, and admits nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hub.domain.quota.declared import FlavorResource
from hub.domain.workloads.origin import Origin
from hub.services.mirror import objects as mirrored
from hub.services.objects.apply import apply_documents
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

pytestmark = pytest.mark.anyio


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
        await hub.transition("unplace", long)
        await hub.settle()
        for job in await hub.jobs([long, waits]):
            assert (job.state, job.reason) == ("Pending", "Misconfigured")
            assert "Terminating" in job.message
        assert await hub.hub.write(mirrored.delete_object, uid)
        assert await of_uid(hub, uid) is None


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

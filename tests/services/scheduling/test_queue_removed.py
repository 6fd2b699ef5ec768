"""A queue that goes while a cycle decides on its workloads."""

import asyncio
from pathlib import Path

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.objects import delete
from hub.store.transaction import Transaction
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from tests.services.build import in_cohort, states, submit
from tests.services.hubs import a_pool, running

pytestmark = pytest.mark.anyio


def remove(tx: Transaction) -> None:
    delete.delete_object(
        tx, KUEUE, "ClusterQueue", "", "a", origin=Origin.REST, principal="admin", drain=True
    )


async def test_a_queue_may_be_deleted_during_a_pass(tmp_path: Path) -> None:
    """The pass ends, nobody is lost, and whoever still waits says that its queue is gone."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=4, cpu="16"))
        await hub.apply(*in_cohort("a", "32"))
        uids = [uid for n in range(40) for uid in await submit(hub, "a", "1", f"job-{n}")]
        await hub.follow()
        await asyncio.wait_for(
            asyncio.gather(hub.scheduler.turn(), hub.hub.db.write(remove)), timeout=30
        )
        await hub.settle()
        rows = await hub.jobs(uids)
        assert len(rows) == 40
        waiting = [row for row in rows if row.state == "Pending"]
        assert {row.reason for row in waiting} <= {"QueueNotFound"}
        assert len(waiting) >= 8
        assert set(await states(hub, uids)) <= {"Pending", "Placed"}

"""A queue that a member's people have stopped: its Jobs go elsewhere, or wait there, never around it."""

from pathlib import Path
from typing import Any

import pytest

from tests.services.hubs import Running, a_job, a_pool, a_queue, running

pytestmark = pytest.mark.anyio
ROOM: dict[str, Any] = {"cpu": "16", "memory": "64Gi"}
STOPPED: dict[str, Any] = {"queue_managers": ["team-a/gold"], "stopped_queues": ["team-a/gold"]}


async def test_a_job_goes_where_its_queue_is_not_stopped(tmp_path: Path):
    """Also where the other cluster has less room; and the decision names the stopped queue."""
    async with running(tmp_path) as hub:
        await hub.cluster("large", a_pool(nodes=4, **ROOM), **STOPPED)
        await hub.cluster("small", a_pool(**ROOM))
        await hub.apply(*a_queue("gold"), *a_queue("silver"))
        gold, silver = await hub.apply(a_job("a", queue="gold"), a_job("b", queue="silver"))
        await hub.settle()
        placed = await hub.job(gold)
        assert placed.cluster == "small"
        assert (await hub.job(silver)).cluster == "large"
        told = {each["cluster"]: each for each in placed.scores["clusters"]}
        assert told["large"]["reason"] == "MemberQueueStopped"


async def test_a_job_waits_in_the_stopped_queue_where_no_other_cluster_holds_it(tmp_path: Path):
    """Room elsewhere is used up first."""
    async with running(tmp_path) as hub:
        await hub.cluster("large", a_pool(nodes=4, **ROOM), **STOPPED)
        await hub.cluster("small", a_pool(cpu="2", memory="64Gi"))
        await hub.apply(*a_queue("gold"))
        uids = await hub.apply(*(a_job(f"j{n}", queue="gold") for n in range(3)))
        await hub.settle()
        assert sorted(job.cluster for job in await hub.jobs(uids)) == ["large", "small", "small"]


async def test_a_queue_that_is_stopped_or_resumed_counts_for_the_next_job(tmp_path: Path):
    """By the member's next report, also for Jobs that wait already."""
    async with running(tmp_path) as hub:
        await hub.cluster("large", a_pool(nodes=4, **ROOM))
        await hub.cluster("small", a_pool(**ROOM))
        await hub.apply(*a_queue("gold", quota={"cpu": "1"}))
        before = await submitted(hub, "first")
        assert (await hub.job(before)).cluster == "large"
        for name, report, cluster in (
            ("second", STOPPED, "small"),
            ("third", {"queue_managers": ["team-a/gold"]}, "large"),
        ):
            waiting = await submitted(hub, name)
            assert (await hub.job(waiting)).cluster == ""
            await hub.cluster("large", a_pool(nodes=4, **ROOM), **report)
            await hub.settle()
            await hub.transition("unplace", before)
            await hub.transition("cancel", before)
            await hub.settle()
            assert (await hub.job(waiting)).cluster == cluster
            before = waiting


async def submitted(hub: Running, name: str) -> str:
    (uid,) = await hub.apply(a_job(name, queue="gold"))
    await hub.settle()
    return uid

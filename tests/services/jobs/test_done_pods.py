"""Pods of a Job that succeeded and will not be replaced give their quota back at the agent's report."""

from pathlib import Path

import pytest

from hub.services.kueue_view import pages
from hub.services.queues import usage
from hub.services.scheduling.turn import Scheduler
from tests.services.hubs import Running, a_job, a_pool, a_queue, running
from tests.services.steps import lively, offered, reported

pytestmark = pytest.mark.anyio

CPU = 1000


async def a_tail(hub: Running) -> tuple[str, str]:
    """A queue of 4 cpu: `tail` runs 4 pods at once, 5 in all; `next` waits for 3 cpu."""
    await hub.cluster("c1", a_pool(cpu="8"))
    await hub.apply(*a_queue("q", quota={"cpu": "4"}))
    job = a_job("tail", queue="q", count=4)
    job["spec"]["completions"] = 5
    (tail,) = await hub.apply(job)
    await hub.settle()
    (waiting,) = await hub.apply(a_job("next", queue="q", requests={"cpu": "3"}))
    await hub.settle()
    return tail, waiting


async def charged(hub: Running, uid: str) -> int:
    """Milli-cores charged: the row, the index and an index after a restart agree."""
    row = await hub.job(uid)
    said = sum(p["usage"]["cpu"] for p in row.admission["podSets"])
    anew = Scheduler(hub.hub, lambda: 1)
    await anew.load()
    for scheduler in (hub.scheduler, anew):
        holder = scheduler.index._charges.holder(uid)
        assert sum(holder.usage.values()) == said
    return said


async def test_done_pods_make_room_for_the_next(tmp_path: Path) -> None:
    """Four of five have succeeded: one of 4 cpu is charged, and the next job starts."""
    async with running(tmp_path) as hub:
        tail, waiting = await a_tail(hub)
        await lively(hub, tail, 4)
        await reported(hub, tail, active=4, ready=4, succeeded=1)
        await hub.settle()
        assert await charged(hub, tail) == 4 * CPU
        assert (await hub.job(waiting)).state == "Pending"
        await reported(hub, tail, active=1, ready=1, succeeded=4)
        await hub.settle()
        assert await charged(hub, tail) == CPU
        assert (await hub.job(waiting)).state == "Placed"
        figures = (await hub.hub.read(usage.count)).queue("q")
        assert sum(figures.reservation.values()) == 4 * CPU


async def test_done_pods_are_shown_as_reclaimable(tmp_path: Path) -> None:
    """The Workload says how many pods gave their quota back, and what was admitted."""
    async with running(tmp_path) as hub:
        tail, _ = await a_tail(hub)
        await lively(hub, tail, 4)
        await reported(hub, tail, active=1, ready=1, succeeded=4)
        rows = [await hub.job(tail)]
        (shown,) = await hub.hub.read(lambda tx: pages.shown(tx, rows))
        assert shown["status"]["reclaimablePods"] == [{"name": "main", "count": 3}]
        (assigned,) = shown["status"]["admission"]["podSetAssignments"]
        assert (assigned["count"], assigned["resourceUsage"]) == (4, {"cpu": "4"})


async def test_the_first_report_of_a_run_may_give_pods_back(tmp_path: Path) -> None:
    """The report that says that a job runs counts as any other."""
    async with running(tmp_path) as hub:
        tail, waiting = await a_tail(hub)
        await offered(hub, tail)
        await reported(hub, tail, active=2, ready=2, succeeded=3)
        await hub.settle()
        assert await charged(hub, tail) == 2 * CPU
        assert (await hub.job(waiting)).state == "Pending"


async def test_another_run_is_charged_whole(tmp_path: Path) -> None:
    """The next epoch of the job is charged for all of its pods."""
    async with running(tmp_path) as hub:
        tail, waiting = await a_tail(hub)
        await lively(hub, tail, 4)
        await reported(hub, tail, active=1, ready=1, succeeded=4)
        await hub.transition("withdraw", tail, withdraw_to="Pending")
        await hub.transition("requeue", tail)
        await hub.transition("cancel", waiting)
        await hub.settle()
        assert (await hub.job(tail)).state == "Placed"
        assert await charged(hub, tail) == 4 * CPU

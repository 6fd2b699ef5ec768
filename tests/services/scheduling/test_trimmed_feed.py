"""A plan is not written where the feed no longer tells what changed since the cycle began."""

import datetime as dt
from pathlib import Path

import pytest

from hub.store import changes
from hub.store.errors import FeedTrimmed
from tests.services.hubs import Running, a_job, a_pool, a_queue, running
from tests.services.scheduling.plans import decided, written

pytestmark = pytest.mark.anyio
JUMP = dt.timedelta(days=400)  # of the clock: every row of the feed is older than is kept


async def trim(hub: Running) -> None:
    """What retention does in the first turn after the clock went ahead."""
    await hub.hub.write(lambda tx: changes.trim(tx, tx.now + JUMP, 1000))


async def waiting(hub: Running) -> str:
    await hub.cluster("a", a_pool(cpu="8"))
    await hub.apply(*a_queue("q"))
    return (await hub.apply(a_job("j", queue="q")))[0]


async def test_a_trimmed_feed_does_not_hide_a_stop(tmp_path: Path) -> None:
    """The queue was stopped after the cycle began, and the row of the feed that names it is gone."""
    async with running(tmp_path) as hub:
        uid = await waiting(hub)
        plan = await decided(hub)
        await hub.apply(a_queue("q", spec={"stopPolicy": "Hold"})[1])
        await hub.apply(a_job("later", queue="q"))
        await trim(hub)
        with pytest.raises(FeedTrimmed):
            await written(hub, plan)
        assert (await hub.job(uid)).state == "Pending"
        hub.scheduler.loaded = False  # as the controller does after whatever fault
        await hub.settle()
        assert (await hub.job(uid)).reason == "QueueStopped"


async def test_a_hole_in_the_feed_does_not_hide_a_stop(tmp_path: Path) -> None:
    """The clock was behind while the queue was stopped: retention takes that row, and keeps older ones."""
    async with running(tmp_path) as hub:
        uid = await waiting(hub)
        plan = await decided(hub)
        await hub.apply(a_job("between", queue="q"))
        hub.clock.advance(-JUMP.total_seconds())
        await hub.apply(a_queue("q", spec={"stopPolicy": "Hold"})[1])
        hub.clock.advance(JUMP.total_seconds())
        await hub.apply(a_job("later", queue="q"))
        kept = JUMP / 2
        assert await hub.hub.write(lambda tx: changes.trim(tx, tx.now - kept, 1000))
        with pytest.raises(FeedTrimmed):
            await written(hub, plan)
        assert (await hub.job(uid)).state == "Pending"


async def test_what_was_trimmed_before_the_cycle_began_is_not_needed(tmp_path: Path) -> None:
    """The index had followed it: the plan is written, be it that something changed meanwhile."""
    async with running(tmp_path) as hub:
        uid = await waiting(hub)
        plan = await decided(hub)
        await trim(hub)
        await hub.cluster("b", a_pool(cpu="8"))
        assert (await written(hub, plan)).placed == [uid]

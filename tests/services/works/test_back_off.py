"""Back-off live: an evicted workload is not in line before its time, says so, and is woken in time."""

import datetime as dt

import pytest

from hub.services.works.evict import BackOff, Requeue, evict
from tests.services.hubs import Running, a_job, a_pool, a_queue, running

pytestmark = pytest.mark.anyio


async def _evicted(hub: Running, uid: str, **given) -> None:
    again = Requeue(**given)
    await hub.hub.db.write(lambda tx: evict(tx, [uid], "PodsReadyTimeout", "slow", requeue=again))


async def _two(hub: Running, *, later: bool) -> tuple[str, str]:
    """An older job that was evicted after a newer one came, both without room yet."""
    await hub.apply(*a_queue("q", quota={"cpu": "1"}))
    await hub.cluster("c1", a_pool(cpu="8"))
    older = (await hub.apply(a_job("older", queue="q")))[0]
    await hub.settle()
    hub.clock.advance(10)
    newer = (await hub.apply(a_job("newer", queue="q")))[0]
    await hub.settle()
    hub.clock.advance(10)
    await _evicted(hub, older, later=later)
    await hub.settle()
    return older, newer


async def test_it_is_not_considered_before_its_time(tmp_path):
    """With room and quota free, a workload in back-off stays Pending and says until when."""
    async with running(tmp_path) as hub:
        await hub.cluster("c1", a_pool(cpu="8"))
        await hub.apply(*a_queue("q"))
        uid = (await hub.apply(a_job("j", queue="q")))[0]
        await hub.settle()
        await _evicted(hub, uid, counted=True, back_off=BackOff(base_s=20))
        await hub.settle()
        row = await hub.job(uid)
        assert (row.state, row.reason) == ("Pending", "RequeueBackOff")
        until = row.requeue_at.isoformat(timespec="seconds").replace("+00:00", "Z")
        assert until in (await hub.explain(uid))["message"]


async def test_its_time_alone_wakes_it(tmp_path):
    """Once the back-off has passed it is admitted, though nothing else happened."""
    async with running(tmp_path) as hub:
        await hub.cluster("c1", a_pool(cpu="8"))
        await hub.apply(*a_queue("q"))
        uid = (await hub.apply(a_job("j", queue="q")))[0]
        await hub.settle()
        await _evicted(hub, uid, after=dt.timedelta(seconds=40))
        await hub.settle()
        hub.clock.advance(39)
        await hub.settle()
        assert (await hub.job(uid)).state == "Pending"
        hub.clock.advance(1)
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


async def test_a_hub_that_starts_anew_keeps_the_back_off(tmp_path):
    """The time stands in the row: an index read anew holds the workload back as before."""
    async with running(tmp_path) as hub:
        await hub.cluster("c1", a_pool(cpu="8"))
        await hub.apply(*a_queue("q"))
        uid = (await hub.apply(a_job("j", queue="q")))[0]
        await hub.settle()
        await _evicted(hub, uid, counted=True, back_off=BackOff(base_s=20))
        hub.scheduler.loaded = False
        await hub.settle()
        assert (await hub.job(uid)).state == "Pending"
        hub.clock.advance(21)
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


async def test_b4_an_evicted_workload_queues_as_of_its_eviction(tmp_path):
    """Equal priority, the older was evicted by PodsReadyTimeout after the newer came: newer first."""
    async with running(tmp_path) as hub:
        older, newer = await _two(hub, later=True)
        assert [(await hub.job(u)).state for u in (older, newer)] == ["Pending", "Placed"]


async def test_b4_with_timestamp_creation_it_keeps_its_place(tmp_path):
    """With requeuing timestamp Creation the older one goes first again."""
    async with running(tmp_path) as hub:
        older, newer = await _two(hub, later=False)
        assert [(await hub.job(u)).state for u in (older, newer)] == ["Placed", "Pending"]

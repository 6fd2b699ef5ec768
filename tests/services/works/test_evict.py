"""Eviction: what it leaves on the row, when the workload may queue again, and in which place."""

import datetime as dt

import pytest

from hub.services.works.evict import BackOff, Requeue, evict
from tests.services.hubs import Running, a_job, a_pool, a_queue, running

pytestmark = pytest.mark.anyio
MINUTE = dt.timedelta(minutes=1)
ONCE = BackOff(base_s=60, cap_s=90, limit=3)


async def _placed(hub: Running, name: str = "j") -> str:
    """A job that was admitted and not yet offered."""
    await hub.cluster("c1", a_pool(cpu="8"))
    await hub.apply(*a_queue("q"))
    uid = (await hub.apply(a_job(name, queue="q")))[0]
    await hub.settle()
    assert (await hub.job(uid)).state == "Placed"
    return uid


async def _running(hub: Running) -> str:
    """A job that runs in its cluster."""
    uid = await _placed(hub)
    for step in ("offer", "apply", "start"):
        await hub.transition(step, uid)
    return uid


async def _evict(hub: Running, uid: str, reason: str = "PodsReadyTimeout", **given) -> list[str]:
    again = Requeue(**given)
    return await hub.hub.db.write(lambda tx: evict(tx, [uid], reason, "why", requeue=again))


async def _placed_again(hub: Running, uid: str) -> None:
    """By hand: what the scheduler would do next."""
    await hub.transition("place", uid, cluster="c1", cluster_queue="q")


async def test_it_remembers_the_last_eviction_and_counts_each_reason(tmp_path):
    """The row holds reason, message and time of the last eviction, and how many of each reason."""
    async with running(tmp_path) as hub:
        uid = await _placed(hub)
        for reason in ("Preempted", "PodsReadyTimeout", "Preempted"):
            await _evict(hub, uid, reason)
            await _placed_again(hub, uid)
        row = await hub.job(uid)
        assert row.evictions == {"Preempted": 2, "PodsReadyTimeout": 1}
        at = hub.clock.now().isoformat()
        assert row.evicted == {"reason": "Preempted", "message": "why", "at": at}


async def test_a_reserved_workload_gives_its_quota_back_at_once(tmp_path):
    """Reserved holds nothing of a cluster: its eviction ends in Pending in the same transaction."""
    async with running(tmp_path) as hub:
        uid = (await hub.apply(a_job("j")))[0]
        await hub.transition("reserve", uid, cluster_queue="default")
        assert await _evict(hub, uid, "AdmissionCheck") == [uid]
        row = await hub.job(uid)
        assert (row.state, row.cluster_queue, row.reason) == (
            "Pending",
            "",
            "AdmissionCheck",
        )


async def test_a_running_workload_leaves_its_cluster_first(tmp_path):
    """A running job is Withdrawing until its member says that nothing is left; its quota stays charged."""
    async with running(tmp_path) as hub:
        uid = await _running(hub)
        await _evict(hub, uid)
        row = await hub.job(uid)
        assert (row.state, row.withdraw_to, row.cluster) == (
            "Withdrawing",
            "Pending",
            "c1",
        )


async def test_waiting_workloads_are_not_evicted(tmp_path):
    """What holds no quota can not be evicted: nothing is counted."""
    async with running(tmp_path) as hub:
        uid = (await hub.apply(a_job("j")))[0]
        assert await _evict(hub, uid, counted=True) == []
        row = await hub.job(uid)
        assert (row.evicted, row.evictions, row.requeues) == (None, None, 0)


async def test_counted_evictions_back_off_and_then_deactivate(tmp_path):
    """The n-th counted eviction waits base·2^(n-1), at most the cap; one beyond the limit deactivates."""
    async with running(tmp_path) as hub:
        uid = await _placed(hub)
        waits = []
        for _ in range(3):
            before = hub.clock.now()
            await _evict(hub, uid, counted=True, back_off=ONCE)
            waits.append((await hub.job(uid)).requeue_at - before)
            hub.clock.advance(3600)
            await _placed_again(hub, uid)
        assert waits == [MINUTE, 1.5 * MINUTE, 1.5 * MINUTE]
        await _evict(hub, uid, counted=True, back_off=ONCE)
        row = await hub.job(uid)
        assert (row.state, row.reason) == ("Deactivated", "RequeuingLimitExceeded")
        assert (row.evicted["reason"], row.evicted["cause"]) == (
            "Deactivated",
            "RequeuingLimitExceeded",
        )
        assert (row.requeues, row.requeue_at) == (0, None)


async def test_a_back_off_is_only_ever_pushed_later(tmp_path):
    """A second eviction with a shorter wait leaves the later time."""
    async with running(tmp_path) as hub:
        uid = await _placed(hub)
        start = hub.clock.now()
        for span in (10 * MINUTE, MINUTE):
            await _evict(hub, uid, "AdmissionCheck", after=span)
            await _placed_again(hub, uid)
        assert (await hub.job(uid)).requeue_at == start + 10 * MINUTE


async def test_it_queues_as_of_its_eviction_only_where_the_reason_says_so(tmp_path):
    """`later` sets the queue-order timestamp to now; any other eviction keeps the creation time."""
    async with running(tmp_path) as hub:
        uid = await _placed(hub)
        created = (await hub.job(uid)).created_at
        hub.clock.advance(60)
        await _evict(hub, uid, later=True)
        assert (await hub.job(uid)).queued_at == hub.clock.now()
        await _placed_again(hub, uid)
        await _evict(hub, uid, "Preempted")
        assert (await hub.job(uid)).queued_at == created


async def test_run_time_adds_up_over_admissions(tmp_path):
    """The seconds between admission and eviction add up over the epochs."""
    async with running(tmp_path) as hub:
        uid = await _placed(hub)
        for span in (30, 12):
            hub.clock.advance(span)
            await _evict(hub, uid)
            await _placed_again(hub, uid)
        assert (await hub.job(uid)).ran_s == 42

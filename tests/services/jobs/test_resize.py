"""Parallelism that changes while a job is on its cluster: the difference is admitted anew."""

from typing import Any

import orjson
import pytest

from hub.services.members.observe import ObservedReport, take_reports
from hub.services.works import compose
from hub.store import works
from hub.store.events import list_events
from tests.services.build import in_cohort
from tests.services.hubs import Running, a_job, a_pool, a_queue, running
from tests.services.members.hubs import seen
from tests.services.steps import gone, lively, passed, reported

pytestmark = pytest.mark.anyio


def a_crowd(pods: int, name: str = "j") -> dict[str, Any]:
    """A Job of so many pods at a time, of 20 in all."""
    job = a_job(name, queue="q", count=pods)
    job["spec"]["completions"] = 20
    return job


async def _lives(hub: Running, pods: int, quota: str = "4", cpu: str = "8") -> str:
    """A job of so many pods, all of them running."""
    await hub.cluster("c1", a_pool(cpu=cpu))
    await hub.apply(*a_queue("q", quota={"cpu": quota}))
    (uid,) = await hub.apply(a_crowd(pods))
    await hub.settle()
    await lively(hub, uid, pods)
    await hub.settle()
    assert (await hub.job(uid)).state == "Running"
    return uid


async def _resize(hub: Running, pods: int) -> None:
    await hub.apply(a_crowd(pods))
    await hub.settle()


async def _told(hub: Running, uid: str) -> int:
    """The parallelism that its member is given."""

    def read(unit):
        (work,) = works.composable(unit, "c1", [uid])
        return compose.compose_job(orjson.loads(work.job_manifest), work.options, _stamp(uid))

    return (await hub.hub.read(read))["spec"]["parallelism"]


def _stamp(uid: str) -> compose.Stamp:
    return compose.Stamp("hub", "i", uid, 1, 1, "h", "")


async def _charged(hub: Running, uid: str) -> int:
    """Milli-cores charged for it, as its row and the index say alike."""
    row = await hub.job(uid)
    usage = sum(p["usage"]["cpu"] for p in row.admission["podSets"])
    holder = hub.scheduler.index._charges.holder(uid)
    assert sum(holder.usage.values()) == usage
    return usage


async def _has_shrunk(hub: Running, uid: str, active: int, terminating: int = 0) -> None:
    """Its member reports the newest manifest in effect, with so many pods."""
    row = await hub.job(uid)
    status = {
        "active": active, "ready": active, "terminating": terminating,
        "running_since": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    said = seen(uid, "Applied", row.epoch, generation=row.generation, job=status)
    await hub.hub.db.write(lambda unit: take_reports(unit, [ObservedReport(row.cluster, [said])]))
    await hub.settle()


async def test_fewer_pods_stay_charged_until_the_member_says_so(tmp_path):
    """4 → 1 pods: told at once; what they took is charged while any of the others may still run."""
    async with running(tmp_path) as hub:
        uid = await _lives(hub, 4)
        await _resize(hub, 1)
        assert (await _charged(hub, uid), await _told(hub, uid)) == (4000, 1)
        await reported(hub, uid, active=1, ready=1)  # of the manifest before
        await hub.settle()
        assert await _charged(hub, uid) == 4000
        await _has_shrunk(hub, uid, active=1, terminating=3)
        assert await _charged(hub, uid) == 4000
        await _has_shrunk(hub, uid, active=1)
        assert await _charged(hub, uid) == 1000


async def test_on_an_unreachable_cluster_nothing_is_freed(tmp_path):
    """The pods of a job that is Unknown may all run: their quota stays charged."""
    async with running(tmp_path) as hub:
        uid = await _lives(hub, 4)
        await hub.transition("lose", uid)
        await _resize(hub, 1)
        assert await _charged(hub, uid) == 4000


async def test_fewer_pods_free_quota(tmp_path):
    """4 → 1 pods: three cores are free for who waits, while the job runs on."""
    async with running(tmp_path) as hub:
        uid = await _lives(hub, 4)
        (waits,) = await hub.apply(a_job("waits", queue="q", requests={"cpu": "3"}))
        await hub.settle()
        assert (await hub.job(waits)).state == "Pending"
        await _resize(hub, 1)
        await _has_shrunk(hub, uid, active=1)
        assert (await _charged(hub, uid), await _told(hub, uid)) == (1000, 1)
        assert (await hub.job(uid)).state == "Running"
        assert (await hub.job(waits)).state == "Placed"


async def test_more_pods_are_charged_for_the_difference(tmp_path):
    """1 → 3 pods with quota and room: charged for two more, same epoch, the member told at once."""
    async with running(tmp_path) as hub:
        uid = await _lives(hub, 1)
        await _resize(hub, 3)
        row = await hub.job(uid)
        assert (row.state, row.reason, row.epoch) == ("Running", "", 1)
        assert (await _charged(hub, uid), await _told(hub, uid)) == (3000, 3)


async def test_without_quota_the_job_runs_on_in_its_old_size_and_says_so(tmp_path):
    """2 → 4 pods with quota for 3: two run on, the row says why, and reports do not wipe it out."""
    async with running(tmp_path) as hub:
        uid = await _lives(hub, 2, quota="3")
        await _resize(hub, 4)
        await reported(hub, uid, active=2, ready=2, succeeded=1)
        row = await hub.job(uid)
        assert (row.state, row.reason) == ("Running", "WaitingToGrow")
        events = await hub.hub.read(lambda tx: list_events(tx, uid=uid))
        told = [each.message for each in events if each.reason == "WaitingToGrow"]
        assert len(told) == 1
        assert "more" in told[0]
        assert "cpu of flavor" in told[0]
        assert "2 of 4 pods" in row.message
        assert (await _charged(hub, uid), await _told(hub, uid)) == (2000, 2)


async def test_it_grows_when_quota_comes(tmp_path):
    """Another job ends: the difference is charged and the member told, with nobody asking again."""
    async with running(tmp_path) as hub:
        uid = await _lives(hub, 2, quota="4")
        (other,) = await hub.apply(a_job("other", queue="q", requests={"cpu": "2"}))
        await hub.settle()
        await lively(hub, other)
        await _resize(hub, 4)
        assert await _told(hub, uid) == 2
        await reported(hub, other, succeeded=1, result="Succeeded")
        await hub.settle()
        assert (await _charged(hub, uid), await _told(hub, uid)) == (4000, 4)
        await reported(hub, uid, active=4, ready=4)
        assert (await hub.job(uid)).reason == ""


async def test_it_grows_only_where_its_own_cluster_has_room(tmp_path):
    """Quota is free and another cluster has room; its own has not: it stays as it is."""
    async with running(tmp_path) as hub:
        uid = await _lives(hub, 2, quota="20", cpu="2")
        await hub.cluster("c2", a_pool(cpu="8"))
        await _resize(hub, 4)
        assert await _told(hub, uid) == 2
        await hub.cluster("c1", a_pool(cpu="8"))
        await hub.settle()
        assert await _told(hub, uid) == 4


async def test_a_wish_withdrawn_is_no_wish(tmp_path):
    """2 → 9 → 2: nothing is wanted any more, and the row says nothing."""
    async with running(tmp_path) as hub:
        uid = await _lives(hub, 2, quota="4")
        await _resize(hub, 9)
        await _resize(hub, 2)
        assert (await _charged(hub, uid), await _told(hub, uid)) == (2000, 2)
        await reported(hub, uid, active=2, ready=2, succeeded=1)
        assert (await hub.job(uid)).reason == ""
        assert not hub.scheduler.index.grow(hub.clock.now())


async def test_a_job_that_no_agent_was_told_of_is_admitted_anew_as_a_whole(tmp_path):
    """Placed and grown beyond its quota: back in the queue, and it waits for all of it."""
    async with running(tmp_path) as hub:
        await hub.cluster("c1", a_pool(cpu="8"))
        await hub.apply(*a_queue("q", quota={"cpu": "4"}))
        (uid,) = await hub.apply(a_crowd(2))
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"
        await _resize(hub, 5)
        row = await hub.job(uid)
        assert (row.state, row.cluster) == ("Pending", "")


async def test_the_head_of_a_strict_queue_is_served_before_a_wish(tmp_path):
    """What becomes free in a StrictFIFO queue is its head's, though a wish would fit."""
    async with running(tmp_path) as hub:
        uid = await _lives(hub, 2, quota="4")
        await hub.apply(*a_queue("q", quota={"cpu": "4"}, spec={"queueingStrategy": "StrictFIFO"}))
        (head,) = await hub.apply(a_job("head", queue="q", requests={"cpu": "3"}))
        await _resize(hub, 3)
        assert await _told(hub, uid) == 2
        assert (await hub.job(head)).state == "Pending"


async def test_growth_borrows_like_any_admission(tmp_path):
    """In a cohort the difference may be borrowed, up to the limit."""
    async with running(tmp_path) as hub:
        await hub.cluster("c1", a_pool(cpu="16"))
        await hub.apply(*in_cohort("q", "2"), *in_cohort("other", "2"))
        (uid,) = await hub.apply(a_crowd(2))
        await hub.settle()
        await lively(hub, uid, 2)
        await _resize(hub, 4)
        assert await _charged(hub, uid) == 4000
        await _resize(hub, 5)
        assert await _charged(hub, uid) == 4000


async def test_an_evicted_job_asks_for_its_new_size(tmp_path):
    """After an eviction it is admitted whole in the size it has by then."""
    async with running(tmp_path) as hub:
        uid = await _lives(hub, 2, quota="2")
        await _resize(hub, 4)
        await hub.hub.write(lambda unit: _evict(unit, uid))
        await gone(hub, uid)
        await passed(hub, 1)
        row = await hub.job(uid)
        assert (row.state, row.reason) == ("Pending", "ExceedsMaxQuota")


def _evict(unit, uid: str) -> None:
    from hub.services.works.evict import evict

    evict(unit, [uid], "Preempted", "for another")

"""waitForPodsReady live: pods that are not ready in time, pods that are lost, and blocked admission."""

import datetime as dt

import pytest

from hub.services.context.settings import Queueing, Settings
from hub.services.outside.executors import report_status
from tests.services.build import a_workload, in_cohort
from tests.services.hubs import Running, a_job, running
from tests.services.steps import admitted, gone, lively, offered, passed, reported, watching

pytestmark = pytest.mark.anyio


def wait_for(**given) -> Settings:
    """A hub that waits 30 s for pods."""
    return Settings(queueing=Queueing(**{"pods_ready_timeout_s": 30.0} | given))


async def _started(hub: Running, pods: int = 2) -> str:
    uid = await admitted(hub, count=pods)
    await offered(hub, uid)
    return uid


async def test_pods_are_ready_when_ready_and_succeeded_make_the_count(tmp_path):
    """PodsReady counts ready and succeeded pods against those that run at a time."""
    async with running(tmp_path) as hub:
        uid = await _started(hub, pods=3)
        await reported(hub, uid, active=3, ready=2)
        assert (await hub.job(uid)).pods_ready_at is None
        await reported(hub, uid, active=2, ready=2, succeeded=1)
        row = await hub.job(uid)
        assert (row.pods_ready_at, row.pods_lost_at) == (hub.clock.now(), None)


async def test_what_is_not_ready_in_time_is_evicted_and_backs_off(tmp_path):
    """After the timeout: evicted, reason PodsReadyTimeout, counted, and out of line for the base."""
    async with running(tmp_path, wait_for()) as hub:
        watch = watching(hub)
        uid = await _started(hub)
        await reported(hub, uid, active=2, ready=1, reason="FailedScheduling", message="no node")
        await passed(hub, 29, watch)
        assert (await hub.job(uid)).state == "Running"
        await passed(hub, 1, watch)
        row = await hub.job(uid)
        assert (row.state, row.reason) == ("Withdrawing", "PodsReadyTimeout")
        assert row.message == "not all pods were ready within 30 s: c1: no node"
        assert row.requeues == 1
        assert row.requeue_at - hub.clock.now() == dt.timedelta(seconds=60)
        await gone(hub, uid)
        await hub.settle()
        assert (await hub.job(uid)).reason == "RequeueBackOff"


async def test_ready_pods_stop_the_clock(tmp_path):
    """Once all pods were ready the timeout of the start is over for good."""
    async with running(tmp_path, wait_for()) as hub:
        watch = watching(hub)
        uid = await _started(hub)
        await reported(hub, uid, active=2, ready=2)
        await passed(hub, 300, watch)
        assert (await hub.job(uid)).state == "Running"


async def test_lost_pods_have_the_recovery_timeout_to_come_back(tmp_path):
    """A pod that is lost and back in time costs nothing; one that is not, the admission."""
    async with running(tmp_path, wait_for(pods_ready_recovery_timeout_s=10.0)) as hub:
        watch = watching(hub)
        uid = await _started(hub)
        await reported(hub, uid, active=2, ready=2)
        await reported(hub, uid, active=2, ready=1)
        await passed(hub, 9, watch)
        await reported(hub, uid, active=2, ready=2)
        await passed(hub, 9, watch)
        assert (await hub.job(uid)).state == "Running"
        await reported(hub, uid, active=1, ready=1)
        await passed(hub, 10, watch)
        row = await hub.job(uid)
        assert (row.state, row.reason) == ("Withdrawing", "PodsReadyTimeout")
        assert "lost" in row.message


async def test_without_a_recovery_timeout_of_its_own_the_timeout_counts(tmp_path):
    """Kueue's default: recoveryTimeout is the timeout; 0 switches it off."""
    for own, expected in ((-1.0, "Withdrawing"), (0.0, "Running")):
        folder = tmp_path / str(own)
        folder.mkdir()
        async with running(folder, wait_for(pods_ready_recovery_timeout_s=own)) as hub:
            uid = await _started(hub)
            await reported(hub, uid, active=2, ready=2)
            await reported(hub, uid, active=2, ready=1)
            await passed(hub, 30, watch := watching(hub))
            await passed(hub, 30, watch)
            assert (await hub.job(uid)).state == expected


async def test_off_nobody_waits_for_pods(tmp_path):
    """By default there is no timeout."""
    async with running(tmp_path) as hub:
        watch = watching(hub)
        uid = await _started(hub)
        await passed(hub, 40, watch)
        assert (await hub.job(uid)).state == "Offered"


async def test_more_than_the_limit_deactivates(tmp_path):
    """With a limit of 1 the second timeout deactivates the workload: RequeuingLimitExceeded."""
    limits = wait_for(requeuing_backoff_base_s=5.0, requeuing_backoff_limit=1)
    async with running(tmp_path, limits) as hub:
        watch = watching(hub)
        uid = await _started(hub)
        await passed(hub, 30, watch)
        await gone(hub, uid)
        await passed(hub, 6)
        assert (await hub.job(uid)).state == "Placed"
        await offered(hub, uid)
        await passed(hub, 31, watch)
        await gone(hub, uid)
        row = await hub.job(uid)
        assert (row.state, row.reason) == ("Deactivated", "RequeuingLimitExceeded")


async def test_what_timed_out_queues_as_of_its_eviction_or_its_creation(tmp_path):
    """requeuing_timestamp: Eviction sets the queue-order timestamp to the eviction, Creation does not."""
    for setting in ("Eviction", "Creation"):
        folder = tmp_path / setting
        folder.mkdir()
        async with running(folder, wait_for(requeuing_timestamp=setting)) as hub:
            watch = watching(hub)
            uid = await _started(hub)
            await passed(hub, 31, watch)
            row = await hub.job(uid)
            of = row.created_at if setting == "Creation" else hub.clock.now()
            assert row.queued_at == of


async def test_block_admission_admits_one_at_a_time(tmp_path):
    """Nothing more is admitted until all pods of everything admitted are ready; then the next is."""
    limits = Settings(queueing=Queueing(block_admission="On"))
    async with running(tmp_path, limits) as hub:
        first = await admitted(hub, "first")
        (second,) = await hub.apply(a_job("second", queue="q"))
        hub.clock.advance(1)
        (third,) = await hub.apply(a_job("third", queue="q"))
        await hub.settle()
        row = await hub.job(second)
        assert (row.state, row.reason) == ("Pending", "WaitingForPodsReady")
        await lively(hub, first)
        await hub.settle()
        assert [(await hub.job(u)).state for u in (second, third)] == ["Placed", "Pending"]


async def test_block_admission_ends_with_the_one_that_is_not_ready(tmp_path):
    """An unready workload that leaves blocks nobody any more."""
    limits = wait_for(block_admission="On")
    async with running(tmp_path, limits) as hub:
        watch = watching(hub)
        first = await _started(hub)
        (second,) = await hub.apply(a_job("second", queue="q"))
        await passed(hub, 31, watch)
        assert (await hub.job(second)).state == "Pending"
        await gone(hub, first)
        await hub.settle()
        assert (await hub.job(second)).state == "Placed"


async def _said(hub: Running, uid: str, ready: str) -> None:
    """Its executor's word on the pods of a Workload without owner."""
    condition = {"type": "PodsReady", "status": ready, "reason": "Told", "message": ""}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    status = {"conditions": [condition]}
    await hub.hub.db.write(lambda unit: report_status(unit, uid, status, "executor"))
    await hub.settle()


async def test_a_workload_without_owner_blocks_nobody_until_it_has_lost_pods(tmp_path):
    """It counts as ready while its executor says nothing; lost pods block, and in time cost the quota."""
    limits = wait_for(block_admission="On", pods_ready_recovery_timeout_s=10.0)
    async with running(tmp_path, limits) as hub:
        watch = watching(hub)
        await hub.apply(*in_cohort("a", "4"))
        (first,) = await hub.apply(a_workload("first"))
        await passed(hub, 31, watch)
        assert (await hub.job(first)).state == "Placed"
        await _said(hub, first, "True")
        await _said(hub, first, "False")
        (second,) = await hub.apply(a_workload("second"))
        await hub.settle()
        assert (await hub.job(second)).reason == "WaitingForPodsReady"
        await passed(hub, 10, watch)
        row = await hub.job(first)
        assert (row.state, row.evicted["reason"]) == ("Pending", "PodsReadyTimeout")
        assert (await hub.job(second)).state == "Placed"


async def test_a_workload_of_whose_pods_nobody_speaks_is_not_late(tmp_path):
    """Without an owner only its executor knows its pods: its silence costs no admission."""
    async with running(tmp_path, wait_for()) as hub:
        watch = watching(hub)
        await hub.apply(*in_cohort("a", "4"))
        (uid,) = await hub.apply(a_workload("silent"))
        await hub.settle()
        await passed(hub, 31, watch)
        assert (await hub.job(uid)).state == "Placed"


async def test_pods_that_come_back_were_ready_when_they_first_were(tmp_path):
    """A loss and its end leave the instant at which all pods of a Workload without owner were ready."""
    async with running(tmp_path, wait_for()) as hub:
        await hub.apply(*in_cohort("a", "4"))
        (uid,) = await hub.apply(a_workload("first"))
        await hub.settle()
        await _said(hub, uid, "True")
        first = (await hub.job(uid)).pods_ready_at
        for word in ("False", "True"):
            hub.clock.advance(5)
            await _said(hub, uid, word)
        row = await hub.job(uid)
        assert (row.pods_ready_at, row.pods_lost_at) == (first, None)

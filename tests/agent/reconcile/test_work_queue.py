"""What is decided about and when: everything that is due, however much; what has time, not for ever."""

import asyncio

import pytest

from agent.reconcile.finalizers import LONGEST_S, FinalizerRemoval
from agent.reconcile.work_queue import WorkQueue
from shared.clock import ManualClock
from tests.shared.clocks import InstantClock

pytestmark = pytest.mark.anyio


async def test_more_than_a_burst_is_decided_about_without_another_word():
    """Five hundred marked at once are taken in parts, all of them, in order."""
    due, taken = WorkQueue(InstantClock()), []
    uids = [f"u-{number}" for number in range(500)]
    for uid in uids:
        due.mark(uid)
    async with asyncio.timeout(5):
        async for burst in due.bursts():
            taken += burst
            if len(taken) == len(uids):
                break
    assert taken == uids


async def test_a_release_is_put_off_for_a_minute_at_most():
    """However much else is done, and however often it is decided again that the Job may go."""
    released: list[tuple[str, float]] = []

    class Busy(ManualClock):
        async def sleep(self, seconds: float) -> None:
            self.advance(seconds)
            releases.give_way()
            releases.put("u-1")
            if released or self.monotonic() > 2 * LONGEST_S:
                raise asyncio.CancelledError

    async def release(uid):
        released.append((uid, clock.monotonic()))

    clock = Busy()
    releases = FinalizerRemoval(clock, release)
    releases.put("u-1")
    with pytest.raises(asyncio.CancelledError):
        await releases.run()
    assert released == [("u-1", LONGEST_S)]

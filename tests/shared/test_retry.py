"""Waiting before the next attempt: bounded, growing, and never in step."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, strategies as st

from shared import retry
from shared.clock import ManualClock
from tests import waiting


class Flaky:
    """Fails as often as told."""

    def __init__(self, failures, error=OSError):
        self.calls = 0
        self.failures = failures
        self.error = error

    async def __call__(self):
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error(str(self.calls))
        return self.calls


def run(work, step_s=60, **options):
    async def main():
        clock = ManualClock()
        task: asyncio.Task[Any] = asyncio.create_task(
            retry.retrying(clock, is_os_error, **options)(work)
        )
        while not task.done():
            clock.advance(step_s)
            await waiting.turns()
        return await task

    return asyncio.run(main())


def is_os_error(fault):
    return isinstance(fault, OSError)


def waits_of(failures, **options):
    """The waits after so many failures in a row, in seconds."""
    waits = []
    run(Flaky(failures), before_wait=lambda _n, _fault, wait_s: waits.append(wait_s), **options)
    return waits


@given(st.integers(1, 12))
def test_a_wait_lies_between_nothing_and_a_bound_that_doubles_up_to_the_cap(failures):
    """Full jitter: any wait up to half a second, one, two, … thirty."""
    bounds = [min(30.0, 0.5 * 2**n) for n in range(failures)]
    waits = waits_of(failures)
    assert all(0.0 <= wait_s <= most for wait_s, most in zip(waits, bounds, strict=True))


def test_waits_are_spread():
    """A fleet that failed at one instant does not come back at one instant."""
    assert len({wait_s for _ in range(20) for wait_s in waits_of(1)}) > 10


def test_a_failure_may_say_itself_when_to_come_back():
    """What it asks for goes before what would be drawn, exactly; None leaves it to the dice."""
    asked = {"1": 7.0, "2": None, "3": 40.0}
    first, drawn, third = waits_of(3, asked=lambda fault: asked[str(fault)])
    assert (first, third) == (7.0, 40.0)
    assert 0.0 <= drawn <= 1.0


def test_no_attempt_begins_when_the_time_is_over():
    """A wait that would end at the deadline or later is not begun: the failure is raised at once."""
    work = Flaky(9)
    with pytest.raises(OSError, match="3"):
        run(work, asked=lambda _fault: 10.0, until=35.0, step_s=10)
    assert work.calls == 3


def test_an_attempt_that_got_somewhere_counts_as_the_first():
    """After progress the next failure is the first one again: its wait is short."""
    numbers: list[int] = []
    run(
        Flaky(5),
        fresh=lambda: len(numbers) == 3,
        before_wait=lambda number, _fault, _wait: numbers.append(number),
    )
    assert numbers == [1, 2, 3, 1, 2]


def test_an_end_from_outside_is_never_retried():
    """Cancellation goes through a policy that retries everything."""

    async def main():
        clock = ManualClock()
        task = asyncio.create_task(retry.retrying(clock)(clock.sleep, 10))
        await waiting.turns()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


@given(st.floats(0.1, 1000.0))
def test_a_period_is_jittered_by_a_twentieth(period):
    """Loops run a little early or late."""
    assert period * 0.95 <= retry.jittered(period) <= period * 1.05


def test_work_is_tried_again_until_it_succeeds():
    """Failures that may pass are waited out."""
    noted = []
    assert run(Flaky(3), before_wait=lambda n, fault, wait: noted.append((n, str(fault)))) == 4
    assert noted == [(1, "1"), (2, "2"), (3, "3")]


def test_what_will_not_pass_is_raised_at_once():
    """A failure that is not retryable comes out as it is."""
    work = Flaky(3, ValueError)
    with pytest.raises(ValueError, match="1"):
        run(work)
    assert work.calls == 1


def test_attempts_are_bounded_where_told():
    """After the last attempt its own error is raised."""
    with pytest.raises(OSError, match="3"):
        run(Flaky(9), attempts=3)

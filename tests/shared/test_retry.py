"""Waiting before the next attempt: bounded, growing, and never in step."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, strategies as st

from shared import retry
from shared.clock import ManualClock
from tests import waiting


def test_the_bound_doubles_up_to_the_cap():
    """Half a second, one, two, … thirty."""
    assert [retry.bound(n) for n in (1, 2, 3, 7, 8, 10_000)] == [0.5, 1.0, 2.0, 30.0, 30.0, 30.0]


@given(st.integers(1, 10_000))
def test_a_wait_lies_between_nothing_and_the_bound(attempt):
    """Full jitter: any wait up to the bound."""
    assert 0.0 <= retry.backoff(attempt) <= retry.bound(attempt)


@given(st.floats(0.1, 1000.0))
def test_a_period_is_jittered_by_a_twentieth(period):
    """Loops run a little early or late."""
    assert period * 0.95 <= retry.jittered(period) <= period * 1.05


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


def run(work, **options):
    async def main():
        clock = ManualClock()
        task: asyncio.Task[Any] = asyncio.create_task(
            retry.retrying(clock, is_os_error, **options)(work)
        )
        while not task.done():
            clock.advance(60)
            await waiting.turns()
        return await task

    return asyncio.run(main())


def is_os_error(fault):
    return isinstance(fault, OSError)


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

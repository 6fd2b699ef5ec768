"""The loop every controller runs in: turns, wakes, faults, the end."""

import asyncio
import itertools

import pytest

from shared.clock import ManualClock
from shared.loop import Loop
from tests import waiting

pytestmark = pytest.mark.anyio


async def until(condition: object, clock: ManualClock, step_s: float = 1.0) -> None:
    """Let the loop run, moving time on, until the condition holds."""
    for _ in range(500):
        if condition():  # type: ignore[operator]
            return
        clock.advance(step_s)
        await waiting.turns()
    raise AssertionError("it never came to be")


async def test_a_turn_that_fails_does_not_end_the_loop() -> None:
    """The loop backs off and goes on; who observes is told of the fault."""
    clock, turns, seen = ManualClock(), [], []

    async def tick() -> None:
        turns.append(clock.monotonic())
        if len(turns) < 3:
            raise ValueError("poison")

    loop = Loop("test", tick, clock, every_s=5, observe=lambda *told: seen.append(told))
    running = asyncio.ensure_future(loop.run())
    await until(lambda: len(turns) >= 4, clock)
    loop.stop()
    await until(running.done, clock)
    assert [type(fault) for _, _, fault in seen[:3]] == [ValueError, ValueError, type(None)]


async def test_news_wakes_it_before_its_time() -> None:
    """A wake makes the next turn come at once, not after `every_s`."""
    clock, turns = ManualClock(), []

    async def tick() -> None:
        turns.append(clock.monotonic())

    loop = Loop("test", tick, clock, every_s=1000)
    running = asyncio.ensure_future(loop.run())
    await until(lambda: len(turns) == 1, clock, step_s=0)
    loop.wake()
    await until(lambda: len(turns) == 2, clock, step_s=0)
    assert turns == [0.0, 0.0]
    loop.stop()
    await until(running.done, clock)


async def test_turns_keep_their_least_distance() -> None:
    """However many wakes, turns are at least `least_s` apart."""
    clock, turns = ManualClock(), []

    async def tick() -> float:
        turns.append(clock.monotonic())
        return 0.0

    loop = Loop("test", tick, clock, every_s=1000, least_s=2.0)
    running = asyncio.ensure_future(loop.run())
    await until(lambda: len(turns) == 3, clock, step_s=0.5)
    assert all(b - a >= 2.0 for a, b in itertools.pairwise(turns))
    running.cancel()


async def test_stop_ends_it_while_it_waits() -> None:
    """A stopped loop returns without another turn."""
    clock, turns = ManualClock(), []

    async def tick() -> None:
        turns.append(1)

    loop = Loop("test", tick, clock, every_s=1000)
    running = asyncio.ensure_future(loop.run())
    await until(lambda: turns, clock, step_s=0)
    loop.stop()
    await until(running.done, clock, step_s=0)
    assert turns == [1]


async def test_after_a_long_turn_it_rests() -> None:
    """Twice as long as the turn took, at most `most_rest_s`, whatever wakes it meanwhile."""
    clock, long_s = ManualClock(), [1.0, 5.0, 0.0, 0.0]
    began: list[float] = []
    ended: list[float] = []

    async def tick() -> float:
        began.append(clock.monotonic())
        clock.advance(long_s[len(ended)])
        ended.append(clock.monotonic())
        return 0.0

    loop = Loop("test", tick, clock, every_s=1000, most_rest_s=4.0)
    running = asyncio.ensure_future(loop.run())
    await until(lambda: len(ended) == 4, clock, step_s=0.25)
    rests = [later - end for end, later in zip(ended, began[1:], strict=False)]
    assert 2.0 <= rests[0] < 2.5
    assert 4.0 <= rests[1] < 4.5
    assert rests[2] < 0.5
    loop.stop()
    await until(running.done, clock)

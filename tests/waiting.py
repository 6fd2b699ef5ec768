"""The only place where tests wait: for a condition, with a bound, or for a span whose reason is given.

A test that can be told when something has happened needs none of this. `time.sleep` and
`asyncio.sleep` are refused elsewhere in tests (tests/ruff.toml).
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

T = TypeVar("T")
_CLOSES_S: Final = 0.5  # a transport over TLS goes once the peer has answered its end


def until(holds: Callable[[], T], what: str, *, within_s: float = 20.0) -> T:
    """The first true answer of `holds`, asked again and again; fails naming `what` after `within_s`."""
    ends_at = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < ends_at, f"not within {within_s:g} s: {what}"
        time.sleep(0.05)
    return found


async def eventually(holds: Callable[[], T], *, within_s: float = 20.0) -> T:
    """The same in a loop: others go on meanwhile. TimeoutError after `within_s`."""
    async with asyncio.timeout(within_s):
        while not (found := holds()):  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.02)
    return found


async def turns(count: int = 1) -> None:
    """Let everything that is ready in this loop go on, `count` times; no time passes."""
    for _ in range(count):
        await asyncio.sleep(0)


async def ended(task: asyncio.Task[Any]) -> None:
    """Cancel a task, wait for its end, and let its connections close, over TLS too."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await asyncio.sleep(_CLOSES_S)


def pause(seconds: float, *, why: str) -> None:
    """Let real time pass. `why`: what happens meanwhile, or must not, that nothing else would tell."""
    assert why
    time.sleep(seconds)


async def span(seconds: float, *, why: str) -> None:
    """The same in a loop, where others go on."""
    assert why
    await asyncio.sleep(seconds)

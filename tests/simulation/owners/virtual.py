"""An event loop whose time goes on only while nothing is due, and the dice of a run."""

import asyncio
import datetime as dt
import math
import os
import random
import selectors
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio.to_thread

from hub.services.context import ids
from hub.store import engine
from hub.store.writer import Call, Writer
from tests.simulation.world import START

_STEPS = 1 << 20
_LEAST_S = 1.0 / _STEPS


class _Jump(selectors.BaseSelector):
    """Waits for nothing: a wait moves the loop's time forward."""

    def __init__(self) -> None:
        self.now = 0.0
        self._map: dict[Any, Any] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> Any:
        fd = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        self._map[fd] = selectors.SelectorKey(fileobj, fd, events, data)
        return self._map[fd]

    def unregister(self, fileobj: Any) -> Any:
        fd = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        return self._map.pop(fd, None)

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("nothing is due: the simulation waits for what never comes")
        if timeout > 0.0:  # a step that rounding would swallow is none
            self.now += max(timeout, _LEAST_S)
        return []

    def get_map(self) -> Any:
        return self._map


class VirtualLoop(asyncio.SelectorEventLoop):
    """Everything runs in it, work for threads included."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.now

    def run_in_executor(self, _executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except BaseException as error:  # noqa: BLE001 - it is the caller's
            future.set_exception(error)
        return future

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Any = None
    ) -> Any:
        return self.call_soon(callback, *args, context=context)


async def passes(seconds: float) -> None:
    """Let virtual time pass."""
    loop = asyncio.get_running_loop()
    over = loop.create_future()

    def ring() -> None:
        if not over.done():
            over.set_result(None)

    timer = loop.call_later(max(0.0, seconds), ring)
    try:
        await over
    finally:
        timer.cancel()


class VirtualClock:
    """The loop's time, as the product reads it."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def now(self) -> dt.datetime:
        return START + dt.timedelta(seconds=self._loop.time())

    def monotonic(self) -> float:
        """In steps that floats hold exactly: differences of instants are then exact."""
        return math.ceil(self._loop.time() * _STEPS) / _STEPS

    async def sleep(self, seconds: float) -> None:
        await passes(seconds)


class _InlineWriter(Writer):
    """Commits within the call that asks for it."""

    def _run(self) -> None:
        """Nothing is done in the thread."""

    def put(self, call: Call) -> None:
        for settled, news in self._turn([call]):
            self._published(settled, news)


async def _inline(func: Callable[..., Any], *args: Any, **_: Any) -> Any:
    return func(*args)


@contextmanager
def determined(seed: int) -> Iterator[None]:
    """Within, what the product draws comes from the seed, and nothing runs in threads."""
    dice = random.Random(seed ^ 0xD1CE)
    patched: list[tuple[Any, str, Any]] = [
        (os, "urandom", dice.randbytes),
        (random, "_urandom", dice.randbytes),
        (engine, "Writer", _InlineWriter),
        (anyio.to_thread, "run_sync", _inline),
    ]
    kept = [(module, name, getattr(module, name)) for module, name, _ in patched]
    state = random.getstate()
    random.seed(seed)
    for module, name, new in patched:
        setattr(module, name, new)
    ids._pool._bytes, ids._pool._used = b"", 0
    try:
        yield
    finally:
        for module, name, old in kept:
            setattr(module, name, old)
        random.setstate(state)

"""The one queue of what happens: instants, and the coroutines of the product that wait for them.

No event loop: a coroutine that waits for an answer yields a `Call`, and whoever carries the call out
drives the coroutine on. Everything is drawn from one `random.Random(seed)`.
"""

import datetime as dt
import heapq
import random
import zlib
from collections.abc import Callable, Coroutine, Generator
from typing import Any

START = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)


class Violation(Exception):
    """An invariant does not hold. `invariant`: its id."""

    def __init__(self, invariant: str, text: str) -> None:
        super().__init__(f"{invariant}: {text}")
        self.invariant = invariant
        self.text = text


class Call:
    """A request that a coroutine waits for; its answer is what `await` gives."""

    __slots__ = ("args", "verb")

    def __init__(self, verb: str, *args: Any) -> None:
        self.verb = verb
        self.args = args

    def __await__(self) -> Generator["Call", Any, Any]:
        return (yield self)


class World:
    """Virtual time. `lines` is None unless the trace is to be read."""

    def __init__(self, seed: int, *, tell: bool = False) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.now = 0.0
        self.steps = 0
        self.crc = 0
        self.lines: list[str] | None = [] if tell else None
        self._queue: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0
        self._wall_at, self._wall = 0.0, START
        self._moments: dict[str, list[tuple[int, Callable[[str], None]]]] = {}

    def at(self, instant: float, what: Callable[..., None], *args: Any) -> None:
        """Have `what` happen at an instant, in the order of asking where instants are equal."""
        self._count += 1
        heapq.heappush(self._queue, (instant, self._count, what, args))

    def after(self, seconds: float, what: Callable[..., None], *args: Any) -> None:
        self._count += 1
        heapq.heappush(self._queue, (self.now + seconds, self._count, what, args))

    def on(self, moment: str, nth: int, what: Callable[[str], None]) -> None:
        """Have `what` told of the nth time that a moment happens, and where."""
        self._moments.setdefault(moment, []).append((nth, what))

    def happens(self, moment: str, where: str) -> None:
        """A moment that faults may follow."""
        waiting = self._moments.pop(moment, None)
        if waiting is None:
            return
        left = [(nth - 1, what) for nth, what in waiting if nth > 1]
        if left:
            self._moments[moment] = left
        for nth, what in waiting:
            if nth == 1:
                what(where)

    def run(self, until: float) -> None:
        """Let happen what is due up to an instant."""
        queue = self._queue
        while queue and queue[0][0] <= until:
            self.now, _, what, args = heapq.heappop(queue)
            self.steps += 1
            what(*args)
        self.now = until

    def note(self, text: str) -> None:
        """Enter a line into the trace."""
        line = f"{self.now:8.3f} {text}"
        self.crc = zlib.crc32(line.encode(), self.crc)
        if self.lines is not None:
            self.lines.append(line)

    def wall(self) -> dt.datetime:
        if self._wall_at != self.now:
            self._wall_at, self._wall = self.now, START + dt.timedelta(seconds=self.now)
        return self._wall


def finish(coroutine: Coroutine[Call, Any, Any]) -> Any:
    """Run a coroutine that waits for nothing to its end."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits for something")

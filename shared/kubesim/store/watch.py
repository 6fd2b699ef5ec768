"""The watch history and its streams.

`WatchHub` follows the store, keeps a bounded history per resource and hands changes to open streams
once they are durable: `release(rv)` is called by the journal after its commit, or at once where
nothing is journalled. A stream is a buffer of lines that its HTTP response drains.
"""

import asyncio
import bisect
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from shared.kubesim.apimachinery import errors
from shared.kubesim.apimachinery.selectors import Predicate
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.store.objects import Event, ObjectStore

DEFAULT_HISTORY = 20_000
_MAX_BUFFERED_LINES = 100_000

# (event type, object) -> the line for a stream, in the form its client asked for.
Render = Callable[[str, Object], bytes]


@dataclass(frozen=True, slots=True)
class Interest:
    """What a stream wants to see."""

    resource_key: str
    namespace: str | None
    predicate: Predicate | None

    def view(self, event: Event) -> str | None:
        """The event's type as this stream sees it: an object enters and leaves its selection."""
        namespace = self.namespace
        if namespace is not None and event.object["metadata"].get("namespace") != namespace:
            return None
        if self.predicate is None:
            return event.type
        now = event.type != "DELETED" and self.predicate(event.object)
        before = event.old is not None and self.predicate(event.old)
        if now:
            return "MODIFIED" if before else "ADDED"
        return "DELETED" if before else None


class Stream:
    """Lines waiting to be sent to one watcher."""

    def __init__(self, interest: Interest, render: Render, from_rv: int) -> None:
        self.interest = interest
        self.render = render
        self.rv = from_rv  # everything up to here has been seen, or was not of interest
        self.ended = False  # the client is gone, or was too slow
        self._lines: list[bytes] = []
        self._news = asyncio.Event()

    def offer(self, event: Event) -> None:
        if event.rv <= self.rv:
            return
        self.rv = event.rv
        seen_as = self.interest.view(event)
        if seen_as is None:
            return
        if len(self._lines) >= _MAX_BUFFERED_LINES:
            self.end()
            return
        self._lines.append(self.render(seen_as, event.object))
        self._news.set()

    def push(self, line: bytes) -> None:
        self._lines.append(line)
        self._news.set()

    def take(self) -> bytes:
        """All waiting lines as one chunk."""
        lines, self._lines = self._lines, []
        self._news.clear()
        return b"".join(lines)

    def wake(self) -> None:
        self._news.set()

    def end(self) -> None:
        self.ended = True
        self._news.set()

    async def wait(self, timeout_s: float) -> bool:
        """Wait for news; False when there was none in time."""
        if self._lines or self.ended:
            return True
        try:
            await asyncio.wait_for(self._news.wait(), timeout_s)
        except TimeoutError:
            return False
        return True


class WatchHub:
    """History and fan-out of a store's changes."""

    def __init__(self, store: ObjectStore, *, history: int = DEFAULT_HISTORY) -> None:
        self._limit = history
        self._history: dict[str, deque[Event]] = {}
        self._floor: dict[str, int] = {}
        self._unreleased: deque[Event] = deque()
        self._streams: dict[str, set[Stream]] = {}
        self._closing = False
        self._default_floor = 0
        self._stalled: dict[str, float] = {}
        self.released_rv = store.rv
        store.subscribe(self._note)

    def restore(self, events: list[Event], floor: int, rv: int) -> None:
        """Take over a kept history: complete for every change after `floor`, up to `rv`."""
        self._default_floor = floor
        for event in events:
            self._keep(event)
        self.released_rv = rv

    def release(self, rv: int) -> None:
        """Hand out every change up to `rv`: they are durable now."""
        while self._unreleased and self._unreleased[0].rv <= rv:
            event = self._unreleased.popleft()
            for stream in self._streams.get(event.resource_key, ()):
                stream.offer(event)
            self.released_rv = event.rv
        self.released_rv = max(self.released_rv, rv)

    def open(self, stream: Stream) -> None:
        """Attach a stream; what the history holds after its `rv` is offered at once.

        Raises ApiError Expired if the history does not reach back that far.
        """
        key = stream.interest.resource_key
        if stream.rv < self._floor.get(key, self._default_floor):
            why = f"too old resource version: {stream.rv} ({self._floor.get(key, self._default_floor)})"
            raise errors.gone(why)
        history = self._history.get(key)
        if history and history[-1].rv > stream.rv:
            start = bisect.bisect_right(history, stream.rv, key=lambda event: event.rv)
            for index in range(start, len(history)):
                event = history[index]
                if event.rv > self.released_rv:
                    break
                stream.offer(event)
        self._streams.setdefault(key, set()).add(stream)

    def close(self, stream: Stream) -> None:
        self._streams.get(stream.interest.resource_key, set()).discard(stream)

    def cut(self, resource: str = "") -> int:
        """End the open streams of a resource (plural or key), or all. Returns how many."""
        ended = 0
        for key, streams in self._streams.items():
            if resource in ("", "*", key, key.partition(".")[0]):
                for stream in streams:
                    stream.end()
                ended += len(streams)
        return ended

    def stall(self, resource: str, until: float) -> None:
        """Send nothing on the streams of a resource until the clock's monotonic time `until`."""
        self._stalled[resource or "*"] = until

    def stalled_until(self, key: str) -> float:
        """When the streams of a resource may send again, in monotonic time; 0 if now."""
        if not self._stalled:
            return 0.0
        names = ("*", key, key.partition(".")[0])
        return max(self._stalled.get(name, 0.0) for name in names)

    def forget_before(self, rv: int) -> None:
        """Drop the history up to `rv` for every resource, as compaction does."""
        self._default_floor = max(self._default_floor, rv)
        for key, history in self._history.items():
            while history and history[0].rv <= rv:
                history.popleft()
            self._floor[key] = max(self._floor.get(key, 0), rv)

    def end_all(self) -> None:
        """Wake every stream so that it can see that the server stops."""
        self._closing = True
        for streams in self._streams.values():
            for stream in streams:
                stream.wake()

    @property
    def closing(self) -> bool:
        return self._closing

    def _note(self, event: Event) -> None:
        self._keep(event)
        self._unreleased.append(event)

    def _keep(self, event: Event) -> None:
        history = self._history.setdefault(event.resource_key, deque())
        history.append(event)
        if len(history) > self._limit:
            self._floor[event.resource_key] = history.popleft().rv

"""The change feed in memory: what each commit touched, to every follower, in order, without holes.

A follower that is slow gets several commits merged into one `Change`: it learns which keys to look
at again, never a queue of history. The durable twin is the table `changes`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """Everything touched up to and with `revision` since the last one received: kind → keys."""

    revision: int
    keys: Mapping[str, frozenset[str]]


class Subscription:
    """One follower's place in the feed; belongs to the event loop it was made in.

    With `kinds` it hears of those alone, and is not woken by others. Not `keyed` it learns which kinds
    were touched and no keys: however long it takes nothing, it holds nothing.
    """

    def __init__(
        self, revision: int, kinds: frozenset[str] | None = None, *, keyed: bool = True
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self._kinds = kinds
        self._keyed = keyed
        self._revision = revision
        self._pending: dict[str, set[str]] = {}
        self._news = asyncio.Event()
        self.closed = False

    @property
    def revision(self) -> int:
        """Of the newest commit that came: a follower that has just taken all has followed up to it."""
        return self._revision

    def push(self, change: Change) -> None:
        """Add a commit; called in the follower's loop, in order."""
        self._revision = change.revision
        for kind, keys in change.keys.items():
            if self._kinds is None or kind in self._kinds:
                held = self._pending.setdefault(kind, set())
                if self._keyed:
                    held.update(keys)
                self._news.set()

    def take(self) -> Change | None:
        """Items since the last one taken, without waiting."""
        if not self._pending:
            return None
        keys, self._pending = self._pending, {}
        self._news.clear()
        return Change(self._revision, {kind: frozenset(found) for kind, found in keys.items()})

    @property
    def is_empty(self) -> bool:
        """True if all items were taken."""
        return not self._pending

    async def get(self) -> Change:
        """Wait for the next change. Safe to cancel: nothing is lost."""
        while True:
            change = self.take()
            if change is not None:
                return change
            await self._news.wait()

    async def __aiter__(self) -> AsyncIterator[Change]:
        while not self.closed:
            yield await self.get()

    def close(self) -> None:
        """Follow no longer."""
        self.closed = True


class Listener(Subscription):
    """Is called at each commit at once and in order, in its loop, before the writers are answered."""

    def __init__(self, revision: int, kind: str, told: Callable[[Change], None]) -> None:
        super().__init__(revision, frozenset({kind}))
        self._kind = kind
        self._called = told

    def push(self, change: Change) -> None:
        if self._kind in change.keys:
            self._called(change)

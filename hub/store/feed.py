"""The change feed in memory: what each commit touched, to every follower, in order, without holes.

A follower that is slow gets several commits merged into one `Change`: it learns which keys to look
at again, never a queue of history. The durable twin is the table `changes`.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """Everything touched up to and with `revision` since the last one received: kind → keys."""

    revision: int
    keys: Mapping[str, frozenset[str]]


class Subscription:
    """One follower's place in the feed; belongs to the event loop it was made in.

    With `kinds` it hears of those alone, and is not woken by others.
    """

    def __init__(self, revision: int, kinds: frozenset[str] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self._kinds = kinds
        self._revision = revision
        self._pending: dict[str, set[str]] = {}
        self._news = asyncio.Event()
        self.closed = False

    def push(self, change: Change) -> None:
        """Add a commit; called in the follower's loop, in order."""
        self._revision = change.revision
        for kind, keys in change.keys.items():
            if self._kinds is None or kind in self._kinds:
                self._pending.setdefault(kind, set()).update(keys)
                self._news.set()

    def take(self) -> Change | None:
        """What has come since the last one taken, without waiting."""
        if not self._pending:
            return None
        keys, self._pending = self._pending, {}
        self._news.clear()
        return Change(self._revision, {kind: frozenset(found) for kind, found in keys.items()})

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

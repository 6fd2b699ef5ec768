"""Limits how many lists and large bodies the hub reads at once, in all and per principal, in fair order.

A list costs processor time and memory by its page. Without this limit a dozen requests of one principal hold
a dozen pages in memory and occupy every thread that reads the store.
"""

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final

from shared.errors import Rejected
from shared.reject_codes import RejectCode

AT_ONCE: Final = 2  # of the threads that read the store, others remain for everything else
OF_ONE: Final = 1
_PASSES: Final = 2  # of the event loop: one reads from the connection, one closes it
WAITING: Final = 100  # of one person; one more is refused


class ClientGone(Exception):
    """The client closed its connection: the hub drops its request."""


class Presence:
    """The presence of one connection's client. Its protocol calls `leave` once."""

    def __init__(self) -> None:
        self.has_left = False
        self._told: set[Callable[[], None]] = set()

    def leave(self) -> None:
        """The connection closed: wake the requests of its client."""
        self.has_left = True
        told, self._told = self._told, set()
        for tell in told:
            tell()

    def check(self) -> None:
        """Raises ClientGone."""
        if self.has_left:
            raise ClientGone

    @contextlib.contextmanager
    def telling(self, tell: Callable[[], None]) -> Iterator[None]:
        """Call `tell` if the client leaves during the block."""
        self._told.add(tell)
        try:
            yield
        finally:
            self._told.discard(tell)


ALWAYS_THERE: Final = Presence()  # of callers without a connection


class FairTurns:
    """`most` at once, `of_one` of them by the same person; those who wait take turns, person by person."""

    def __init__(self, most: int = AT_ONCE, of_one: int = OF_ONE, waiting: int = WAITING) -> None:
        self._most = most
        self._of_one = of_one
        self._longest = waiting
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # the next person first

    @contextlib.asynccontextmanager
    async def turn(self, who: str, client: Presence = ALWAYS_THERE) -> AsyncIterator[None]:
        """For the length of the block it is `who`'s turn. Raises Rejected: TooManyRequests.

        A client that leaves gives up its place at once. Raises ClientGone.
        """
        client.check()
        await self._enter(who, client)
        try:
            if client is not ALWAYS_THERE:
                for _ in range(_PASSES):  # a reset that came with the request is read by now
                    await asyncio.sleep(0)  # noqa: TID251 - no time passes
                client.check()
            yield
        finally:
            self._leave(who)

    async def _enter(self, who: str, client: Presence) -> None:
        if who not in self._waiting and self._has_room(who):
            self._running[who] += 1
            return
        line = self._waiting.setdefault(who, deque())
        if len(line) >= self._longest:
            detail = (
                f"{self._longest} requests of this credential wait already; send it again later"
            )
            raise Rejected(RejectCode.TOO_MANY_REQUESTS, detail)
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(mine)
        try:
            with client.telling(lambda: self._forget(who, mine)):
                await mine
            client.check()
        except (asyncio.CancelledError, ClientGone):
            if mine.done() and not mine.cancelled():
                self._leave(who)  # the turn had come just before
            else:
                self._forget(who, mine)
            client.check()
            raise

    def _leave(self, who: str) -> None:
        self._running[who] -= 1
        if not self._running[who]:
            del self._running[who]
        self._admit()

    def _admit(self) -> None:
        """Give free turns to those who wait: one to a person, who then is the last of all persons."""
        for who in list(self._waiting):
            if not self._has_room(who):
                continue
            line = self._waiting.pop(who)
            # A waiter that was cancelled in this pass of the event loop is still in its line.
            while line and line[0].done():
                line.popleft()
            if not line:
                continue
            self._running[who] += 1
            line.popleft().set_result(None)
            if line:
                self._waiting[who] = line

    @property
    def waiting(self) -> int:
        """The number of callers that wait for their turn."""
        return sum(map(len, self._waiting.values()))

    def _has_room(self, who: str) -> bool:
        return self._running.total() < self._most and self._running[who] < self._of_one

    def _forget(self, who: str, mine: asyncio.Future[None]) -> None:
        """Take a waiter out of its line."""
        mine.cancel()
        line = self._waiting.get(who)
        if line is not None and mine in line:
            line.remove(mine)
            if not line:
                del self._waiting[who]

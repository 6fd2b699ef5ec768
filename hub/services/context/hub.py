"""The hub as seen from the edge: transactions, the feed, the settings, and the caller.

Routers and loops call service functions through it, and so never see SQL.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

import orjson

from hub.domain.access import EVERYTHING, Scope
from hub.services.access.authority import Authority
from hub.services.access.budgets import Budgets
from hub.services.access.credentials import Authenticator
from hub.services.access.roles import Roles
from hub.services.access.rotation import Rotation
from hub.services.access.sign_in.ways import SignIn
from hub.services.access.turns import FairTurns
from hub.services.context.settings import Settings
from hub.services.context.timeline import StoreTimeline
from hub.services.kinds import declared_kinds
from hub.services.kinds.declared_kinds import DeclaredKinds
from hub.store.engine import Database
from hub.store.feed import Subscription
from hub.store.transaction import Transaction
from shared.clock import Clock

READERS = 2  # threads that read bodies
BULK = 4  # requests of many documents that are worked on at once
P = ParamSpec("P")
T = TypeVar("T")
I = TypeVar("I")  # noqa: E741 - an item


class Hub:
    """One hub process. Made within the event loop that serves it."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        settings: Settings | None = None,
        *,
        page_key: bytes = b"",
    ) -> None:
        self.db = db
        self.clock = clock
        self.settings = settings or Settings()
        self.page_key = page_key  # seals continue tokens
        self.timeline: StoreTimeline | None = (
            None  # None: not checked yet whether the store rolled back
        )
        api = self.settings.api
        self.studying = asyncio.Semaphore(1)  # what-ifs cost CPU: one job at a time
        self.lists = FairTurns()
        self.bodies = FairTurns(READERS, 1)
        self.bulk = asyncio.Semaphore(BULK)  # their documents are in memory all at once
        self.waiting_writes = 0  # handed to the store and not committed yet
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="body-reader")
        self.kinds = DeclaredKinds()  # kinds of work that administrators define
        self.closing = asyncio.Event()  # set at shutdown: whatever hangs ends itself
        self.authority: Callable[[], Authority] = Authority  # of the hub's certificate; none known
        self.authenticator = Authenticator(db, clock, api.token_cache_s, api.session_idle)
        self.roles = Roles(db)
        self.sign_in = SignIn(self.settings.oidc, clock)
        self.budgets = Budgets(
            (api.reads_per_s, api.reads_burst),
            (api.writes_per_s, api.writes_burst),
            (api.streams_per_s, api.streams_burst),
            (api.failures_per_s, api.failures_burst),
        )
        self.rotation = Rotation(
            db, clock, api.agent_credential_kept, api.agent_credential_overlap
        )

    async def with_kinds(self) -> "Hub":
        """The same, knowing the kinds of work that the store has; `loops` keep it so."""
        await declared_kinds.load(self.db, self.kinds)
        return self

    @property
    def loops(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """What a process runs for it."""
        follow = functools.partial(declared_kinds.follow, self.db, self.kinds)
        return (self.rotation.pauses.run, follow)

    @property
    def stopped(self) -> str:
        """The reason why dispatch is stopped (the store rolled back to an older copy); "" otherwise."""
        return self.timeline.stopped if self.timeline is not None else ""

    def within(self, scope: Scope, via: str = "") -> "Hub":
        """The hub for a caller who may see and do `scope` of it; `via`: the way that they came by."""
        return self if scope.is_everything and not via else HubWithin(self, scope, via)

    async def write(
        self, fn: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a use case in a transaction of its own; returns when it is durable."""
        self.waiting_writes += 1
        try:
            return await self.db.write(lambda tx: fn(tx, *args, **kwargs))
        finally:
            self.waiting_writes -= 1

    async def write_shared(
        self, fn: Callable[[Transaction, Sequence[I]], Sequence[T | Exception]], item: I
    ) -> T:
        """Run a use case for one item, together with those of other callers."""
        self.waiting_writes += 1
        try:
            return await self.db.write_shared(fn, item)
        finally:
            self.waiting_writes -= 1

    async def read(
        self, fn: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a question over one snapshot."""
        return await self.db.read(functools.partial(_asked, fn, args, kwargs))

    async def read_json(self, fn: Callable[..., object], *args: object, **kwargs: object) -> bytes:
        """Run a question over one snapshot and encode its answer there, beside the event loop."""
        return await self.read(_encoded, fn, args, kwargs)

    async def beside(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run what costs only CPU beside the event loop.

        Few threads do that, however many callers there are: each of them would take the interpreter
        from the loop in turn.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, functools.partial(fn, *args, **kwargs))

    def subscribe(self, *kinds: str, keyed: bool = True) -> Subscription:
        """Follow what commits touch; not `keyed`: that they do, for whoever reads what from the store."""
        return self.db.subscribe(*kinds, keyed=keyed)


class HubWithin(Hub):
    """The same hub for a caller with limited rights: each transaction applies `scope`.

    `via`: the way that they came by, which the audit says.

    `write_shared` serves many callers at once and is the one that does not: what is handed in there is
    judged before.
    """

    __slots__ = ("scope", "via")

    def __init__(self, hub: Hub, scope: Scope, via: str = "") -> None:
        self.__dict__ = hub.__dict__  # all but the two is the hub's own
        self.scope = scope
        self.via = via

    async def write(
        self, fn: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a use case in a transaction of its own, within the scope."""
        return await super().write(_within(self.scope, self.via, fn), *args, **kwargs)

    async def read(
        self, fn: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a question over one snapshot, within the scope."""
        return await super().read(_within(self.scope, self.via, fn), *args, **kwargs)


def _within(
    scope: Scope, via: str, fn: Callable[Concatenate[Transaction, P], T]
) -> Callable[Concatenate[Transaction, P], T]:
    def scoped(tx: Transaction, /, *args: P.args, **kwargs: P.kwargs) -> T:
        tx.scope, tx.via = scope, via
        try:
            return fn(tx, *args, **kwargs)
        finally:
            tx.scope, tx.via = EVERYTHING, ""

    return scoped


def _asked(
    fn: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object], tx: Transaction
) -> T:
    return fn(tx, *args, **kwargs)


def _encoded(
    tx: Transaction,
    fn: Callable[..., object],
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> bytes:
    return orjson.dumps(fn(tx, *args, **kwargs))

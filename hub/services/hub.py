"""What the edge holds of the hub: transactions, the feed, the settings, and who is calling.

Routers and loops call service functions through it, and so never see SQL.
"""

import asyncio
import functools
from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from hub.services.limits import Limits
from hub.services.tokens import Authenticator
from hub.store.engine import Database
from hub.store.errors import StaleTerm, StoreUnavailable
from hub.store.feed import Change, Subscription
from hub.store.unit import Unit
from shared.clock import Clock

__all__ = ["Change", "Hub", "Limits", "StaleTerm", "StoreUnavailable", "Subscription", "Unit"]

P = ParamSpec("P")
T = TypeVar("T")
I = TypeVar("I")  # noqa: E741 - an item


class Hub:
    """One hub process. Made within the event loop that serves it."""

    def __init__(
        self, db: Database, clock: Clock, limits: Limits | None = None, *, page_key: bytes = b""
    ) -> None:
        self.db = db
        self.clock = clock
        self.limits = limits or Limits()
        self.page_key = page_key  # signs continue tokens
        self.studying = asyncio.Semaphore(1)  # what-ifs cost CPU: one job at a time
        self.closing = asyncio.Event()  # set at shutdown: whatever hangs ends itself
        self.authenticator = Authenticator(db, clock, self.limits.api.token_cache_s)

    async def write(
        self, fn: Callable[Concatenate[Unit, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a use case in a transaction of its own; returns when it is durable."""
        return await self.db.write(lambda unit: fn(unit, *args, **kwargs))

    async def write_shared(
        self, fn: Callable[[Unit, Sequence[I]], Sequence[T | Exception]], item: I
    ) -> T:
        """Run a use case for one item, together with those of other callers."""
        return await self.db.write_shared(fn, item)

    async def read(
        self, fn: Callable[Concatenate[Unit, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a question over one snapshot."""
        return await self.db.read(functools.partial(_asked, fn, args, kwargs))

    def subscribe(self, *kinds: str) -> Subscription:
        """Follow what commits touch."""
        return self.db.subscribe(*kinds)


def _asked(
    fn: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object], unit: Unit
) -> T:
    return fn(unit, *args, **kwargs)

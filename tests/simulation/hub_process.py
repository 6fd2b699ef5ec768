"""One of several hub processes on a database that they share, as far as it can be cut off from it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hub.controllers.chains import Chains
from hub.controllers.cron_jobs import CronJobs
from hub.controllers.heartbeats import SilenceLoop
from hub.controllers.lease import Lease
from hub.services.context.hub import Hub
from hub.services.members.sync import AgentSync
from hub.services.scheduling.turn import Scheduler
from hub.store.backends.backend import Feed
from hub.store.backends.sqlite import Sqlite
from hub.store.engine import Database
from hub.store.errors import OutcomeUnknown, StoreUnavailable
from hub.store.feed import Subscription
from hub.store.transaction import Transaction

T = TypeVar("T")


class Shared(Sqlite):
    """A file of SQLite's that several hubs have open."""

    shared = True

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.over = threading.Event()

    def open_feed(self) -> Feed | None:
        """It is followed when the simulation says so."""
        self.over.wait()
        raise StoreUnavailable("the process ends")


class Reached(Database):
    """A database that can not be reached now and then, or of whose commits nothing is heard."""

    is_cut: Callable[[], bool]
    loses: str = ""  # the next commit takes place ("done") or not ("undone"), and nobody can tell

    @property
    def is_silent(self) -> bool:
        """Never: the silence of a server is measured in the host's seconds, which no seed decides."""
        return False

    async def write(self, fn: Callable[[Transaction], T]) -> T:
        loses = self._begin()
        done = await super().write(fn)
        if loses:
            raise OutcomeUnknown("a commit broke")
        return done

    async def write_shared(self, fn: Any, item: Any) -> Any:
        loses = self._begin()
        done = await super().write_shared(fn, item)
        if loses:
            raise OutcomeUnknown("a commit broke")
        return done

    async def read(self, fn: Callable[[Transaction], T]) -> T:
        if self.is_cut():
            raise StoreUnavailable("the database is not reached")
        return await super().read(fn)

    def _begin(self) -> str:
        if self.is_cut():
            raise StoreUnavailable("the database is not reached")
        loses, self.loses = self.loses, ""
        if loses == "undone":
            raise OutcomeUnknown("a commit broke")
        return loses


@dataclass
class Process:
    """One hub process, as far as it has come; all of it is gone when it dies."""

    name: str
    backend: Shared
    db: Reached
    hub: Hub
    lease: Lease
    sync: AgentSync
    works: Subscription  # what the answers to agents follow
    news: Subscription  # what the scheduler follows
    scheduler: Scheduler
    chains: Chains
    cron_jobs: CronJobs
    silence: SilenceLoop
    write: Callable[..., Any]
    paused_until: float = 0.0

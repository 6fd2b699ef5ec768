"""Bindings and credentials in memory: what was taken away is not brought back by whoever read it before."""

import asyncio
from collections.abc import Callable
from typing import TypeVar, cast

import pytest

from hub.services.access import bindings, people
from hub.services.access.bindings import WantedBinding
from hub.services.access.credentials import Authenticator
from hub.services.access.roles import Roles
from hub.store.engine import Database
from hub.store.feed import Subscription
from hub.store.transaction import Transaction
from tests.api.serving import served

pytestmark = pytest.mark.anyio
T = TypeVar("T")


class SlowFirstReader:
    """A database of which the first answer comes late."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.read_it, self.go_on = asyncio.Event(), asyncio.Event()

    def subscribe(self, *kinds: str) -> Subscription:
        """As the database does."""
        return self._db.subscribe(*kinds)

    async def read(self, fn: Callable[[Transaction], T]) -> T:
        """The first one waits, with what it has read, to be told to go on."""
        found = await self._db.read(fn)
        if not self.read_it.is_set():
            self.read_it.set()
            await self.go_on.wait()
        return found


async def test_a_late_reader_does_not_bring_back_a_binding(tmp_path):
    """It read the bindings, one was taken away, another reader saw that, and then it remembers: nothing."""
    async with served(tmp_path) as hub:
        wanted = WantedBinding("ana", "viewer", users=["ana"])
        await hub.db.write(lambda tx: bindings.bind(tx, wanted, "test"))
        late = SlowFirstReader(hub.db)
        roles = Roles(cast(Database, late))
        asked = asyncio.create_task(roles.bindings())
        await late.read_it.wait()
        await hub.db.write(lambda tx: bindings.unbind(tx, "ana", "test"))
        assert await roles.bindings() == ()
        late.go_on.set()
        await asked
        assert await roles.bindings() == ()


async def test_a_late_reader_does_not_bring_back_a_credential(tmp_path):
    """It read a token, that was taken back, another reader saw it, and then it remembers: nothing."""
    async with served(tmp_path) as hub:
        made = await hub.db.write(lambda tx: people.issue(tx, "viewer", "ana", "test"))
        late = SlowFirstReader(hub.db)
        known = Authenticator(cast(Database, late), hub.clock, cache_s=60)
        asked = asyncio.create_task(known.authenticate(made["token"]))
        await late.read_it.wait()
        await hub.db.write(lambda tx: people.revoke(tx, "viewer", "ana", "test"))
        assert await known.authenticate(made["token"]) is None
        late.go_on.set()
        await asked
        assert await known.authenticate(made["token"]) is None

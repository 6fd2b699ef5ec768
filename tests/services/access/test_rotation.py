"""Credentials of agents replace each other: nobody honest is locked out, and a copy is found out."""

import asyncio
import contextlib
import datetime as dt
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hub.services.access import credentials
from hub.services.access.credentials import AGENT, VIEWER, Authenticator, Principal
from hub.services.access.rotation import CREDENTIAL_REUSED, Rotation
from hub.store import audit, clusters, events, tokens
from hub.store.engine import Database
from shared.clock import ManualClock
from tests import databases
from tests.store.build import START, a_member, call, opened

pytestmark = pytest.mark.anyio
DAY, OVERLAP = dt.timedelta(hours=24), dt.timedelta(minutes=10)
DUE_S = 16 * 3600.0
CACHE_S = 5.0


@pytest.fixture(autouse=True, params=[databases.SQLITE, databases.POSTGRES])
def store(request: pytest.FixtureRequest) -> str:
    """Both databases: what two hubs agree on is the store's to keep."""
    kind: str = request.param
    if kind == databases.POSTGRES and (reason := databases.postgres_is_missing()):
        pytest.skip(reason)
    databases.choose(kind)
    return kind


@dataclass
class Replica:
    """One hub process: what it remembers of credentials is its own; the clock is everybody's."""

    db: Database
    known: Authenticator
    rotation: Rotation
    clock: ManualClock

    async def answers(self, text: str) -> str:
        """`""` where the credential is good, else the code it is refused with."""
        if await self.known.authenticate(text) is not None:
            return ""
        refused, _ = await self.rotation.refusal(text)
        return str(refused.code.name)

    async def gives(self, text: str) -> str | None:
        """What this hub gives whoever syncs with this credential: a successor, or nothing."""
        who = await self.known.authenticate(text)
        assert isinstance(who, Principal)
        return await self.rotation.successor(who)

    async def cordoned(self) -> bool:
        return (await self.db.read(call(clusters.get, "c1"))).cordoned

    async def told(self) -> tuple[int, int]:
        """How often it was told: as an event, and in the audit."""
        said = await self.db.read(events.list_events)
        noted = await self.db.read(audit.list_entries)
        return (
            sum(each.reason == CREDENTIAL_REUSED for each in said),
            sum(each.outcome == CREDENTIAL_REUSED for each in noted),
        )


@contextlib.asynccontextmanager
async def replicas(folder: Path, count: int = 1) -> AsyncIterator[list[Replica]]:
    """Hubs on one database, each with what it remembers; those after the first hear no news of it.

    On PostgreSQL each has connections of its own; SQLite has one writer, which they share.
    """
    clock = ManualClock(START)
    async with contextlib.AsyncExitStack() as stack:
        own = count if databases.chosen() == databases.POSTGRES else 1
        dbs = [await stack.enter_async_context(opened(folder, clock)) for _ in range(own)]
        await dbs[0].write(call(clusters.add, a_member("c1")))
        hubs = [
            Replica(
                db, Authenticator(db, clock, CACHE_S), Rotation(db, clock, DAY, OVERLAP), clock
            )
            for db, _ in zip(itertools.cycle(dbs), range(count))
        ]
        for deaf in hubs[1:]:
            deaf.known._news.close()
        yield hubs


async def joined(hub: Replica, secret: str = "first") -> str:
    """The credential of an agent that has just joined with a secret of its own."""
    until = hub.clock.now() + DAY
    made = await hub.db.write(
        call(credentials.admit_agent, "c1", credentials.hashed(secret), until)
    )
    return f"{made}.{secret}"


async def test_a_credential_is_replaced_at_two_thirds_of_its_life(tmp_path):
    """Not before; both are good until the new one is used, and then the new one alone."""
    async with replicas(tmp_path) as (hub,):
        old = await joined(hub)
        hub.clock.advance(DUE_S - 1)
        assert await hub.gives(old) is None
        hub.clock.advance(1)
        new = await hub.gives(old)
        assert new is not None
        assert await hub.answers(old) == ""
        assert await hub.answers(new) == ""
        assert await hub.answers(old) == "CREDENTIAL_SUPERSEDED"
        hub.clock.advance(DUE_S - 1)
        assert await hub.gives(new) is None
        hub.clock.advance(1)
        assert await hub.gives(new) is not None
        assert not await hub.cordoned()


async def test_an_answer_that_is_lost_is_given_again(tmp_path):
    """Each time another, and none of them ends the one that is in use; the first to be used wins."""
    async with replicas(tmp_path) as (hub,):
        old = await joined(hub)
        hub.clock.advance(DUE_S)
        given = []
        for _ in range(3):
            given.append(await hub.gives(old))
            assert await hub.gives(old) is None, "one answer may be lost, not ten a second"
            hub.clock.advance(20)
        assert None not in given
        assert await hub.answers(given[1]) == ""
        for other in (old, given[0], given[2]):
            assert await hub.answers(other) == "CREDENTIAL_SUPERSEDED"
        assert await hub.told() == (0, 0)


async def test_successors_that_are_never_used_do_not_pile_up(tmp_path):
    """An agent that can not save keeps its old one to its end; few others are good meanwhile."""
    async with replicas(tmp_path) as (hub,):
        old = await joined(hub)
        hub.clock.advance(DUE_S)
        given = []
        while await hub.answers(old) == "":
            given.append(await hub.gives(old))
            hub.clock.advance(100)
        assert len(given) > 200
        rows = [await hub.db.read(call(tokens.get, text.partition(".")[0])) for text in given]
        live = [row for row in rows if row.superseded_at is None]
        assert len(live) <= OVERLAP.total_seconds() / 100 + 1
        assert await hub.answers(old) == "TOKEN_EXPIRED"
        assert await hub.answers(given[-1]) == "", "it was saved after all"


async def test_what_was_superseded_and_comes_late_ends_nothing(tmp_path):
    """Within the overlap it may have been under way: refused, and no more."""
    async with replicas(tmp_path) as (hub,):
        old = await joined(hub)
        hub.clock.advance(DUE_S)
        new = await hub.gives(old)
        assert await hub.answers(new) == ""
        hub.clock.advance(OVERLAP.total_seconds())
        assert await hub.answers(old) == "CREDENTIAL_SUPERSEDED"
        assert await hub.answers(new) == ""
        assert not await hub.cordoned()


@pytest.mark.parametrize("which", ["the old one", "another successor"])
async def test_what_was_superseded_and_is_used_again_is_a_copy(tmp_path, which):
    """Every credential of the agent ends, its cluster is cordoned, and it is told once, with the way back."""
    async with replicas(tmp_path) as (hub,):
        old = await joined(hub)
        hub.clock.advance(DUE_S)
        other = await hub.gives(old)
        hub.clock.advance(20)
        new = await hub.gives(old)
        assert await hub.answers(new) == ""
        hub.clock.advance(OVERLAP.total_seconds() + 1)
        stolen = old if which == "the old one" else other
        assert await hub.answers(stolen) == "REVOKED"
        assert await hub.answers(new) == "REVOKED"
        assert await hub.cordoned()
        for text in (stolen, old, other, new):
            assert await hub.answers(text) == "REVOKED"
        assert await hub.told() == (1, 1)
        (event,) = [
            each
            for each in await hub.db.read(events.list_events)
            if each.reason == CREDENTIAL_REUSED
        ]
        assert "roadstead clusters token c1" in event.message
        assert "roadstead clusters uncordon c1" in event.message


async def test_a_thief_who_is_first_is_found_out_by_the_agent(tmp_path):
    """He takes a successor and uses it: the agent's own comes to nothing, and ends his too."""
    async with replicas(tmp_path) as (hub,):
        old = await joined(hub)
        hub.clock.advance(DUE_S)
        his = await hub.gives(old)
        assert await hub.answers(his) == ""
        assert await hub.answers(old) == "CREDENTIAL_SUPERSEDED", "the agent asks again and again"
        hub.clock.advance(OVERLAP.total_seconds() + 1)
        assert await hub.answers(old) == "REVOKED"
        assert await hub.answers(his) == "REVOKED"


async def test_a_copy_that_is_asked_by_nobody_else_keeps_its_agent(tmp_path):
    """A secret that is not the credential's, or of somebody else's, ends nothing."""
    async with replicas(tmp_path) as (hub,):
        old = await joined(hub)
        hub.clock.advance(DUE_S)
        new = await hub.gives(old)
        assert await hub.answers(new) == ""
        hub.clock.advance(OVERLAP.total_seconds() + 1)
        assert await hub.answers(f"{old}x") == "UNAUTHENTICATED"
        assert await hub.answers(f"{old.partition('.')[0]}.guess") == "UNAUTHENTICATED"
        assert await hub.answers(new) == ""


async def test_an_expired_credential_says_what_to_do(tmp_path):
    """At the instant itself; nothing is given for it any more."""
    async with replicas(tmp_path) as (hub,):
        held = await joined(hub)
        hub.clock.advance(DAY.total_seconds() - 1)
        who = await hub.known.authenticate(held)
        hub.clock.advance(1)
        assert await hub.answers(held) == "TOKEN_EXPIRED"
        refused, _ = await hub.rotation.refusal(held)
        assert "roadstead clusters token c1" in refused.detail
        assert await hub.rotation.successor(who) is None


async def test_a_credential_without_end_is_replaced_at_once(tmp_path):
    """As agents of an earlier release have it: the first that can is given one that ends."""
    async with replicas(tmp_path) as (hub,):
        old = await hub.db.write(call(credentials.replace_bearer, AGENT, "c1", "c1"))
        new = await hub.gives(old)
        assert await hub.answers(new) == ""
        row = await hub.db.read(call(tokens.get, new.partition(".")[0]))
        assert row.expires_at == hub.clock.now() + DAY


async def test_peoples_tokens_are_left_alone(tmp_path):
    """They are not replaced, and nothing is written when they are used."""
    async with replicas(tmp_path) as (hub,):
        text = await hub.db.write(call(credentials.issue_bearer, VIEWER, "ana"))
        assert await hub.gives(text) is None
        row = await hub.db.read(call(tokens.get, text.partition(".")[0]))
        assert row.used_at is None


async def test_two_hubs_on_one_database_agree(tmp_path):
    """The state is in the store: what one has in memory may let the old one in for a moment, no more."""
    async with replicas(tmp_path, 2) as (one, two):
        old = await joined(one)
        one.clock.advance(DUE_S)
        assert await two.answers(old) == ""  # … which it remembers from here on
        new = await one.gives(old)
        assert await one.answers(new) == ""
        assert await two.answers(old) == "", "late by what it remembers"
        assert await two.gives(old) is None, "and it gives nothing for it"
        assert await two.answers(new) == ""
        one.clock.advance(CACHE_S + 0.1)
        assert await two.answers(old) == "CREDENTIAL_SUPERSEDED"
        for hub in (one, two):
            assert await hub.answers(new) == ""
            assert await hub.told() == (0, 0)


async def test_successors_of_two_hubs_are_of_one_family(tmp_path):
    """Each hub gave one; the first that is used, wherever, ends the other everywhere."""
    async with replicas(tmp_path, 2) as (one, two):
        old = await joined(one)
        one.clock.advance(DUE_S)
        first, second = await one.gives(old), await two.gives(old)
        assert await two.answers(first) == ""
        assert await one.answers(second) == "CREDENTIAL_SUPERSEDED"
        assert await one.answers(first) == ""
        one.clock.advance(OVERLAP.total_seconds() + 1)
        assert await one.answers(second) == "REVOKED"
        assert await two.cordoned()
        one.clock.advance(CACHE_S + 0.1)
        assert await two.answers(first) == "REVOKED"


@pytest.mark.parametrize("pause_s", [601.0, 60.0])
async def test_a_hub_that_stood_still_concludes_nothing_from_what_it_reads_then(tmp_path, pause_s):
    """The request may have been sent before the pause: it is refused, and nobody is a thief for it."""
    async with replicas(tmp_path) as (hub,):
        old = await joined(hub)
        hub.clock.advance(DUE_S)
        new = await hub.gives(old)
        assert await hub.answers(new) == ""
        hub.clock.advance(OVERLAP.total_seconds() + 1 - pause_s)
        hub.rotation.pauses.look()
        hub.clock.advance(pause_s)
        assert await hub.answers(old) == "CREDENTIAL_SUPERSEDED"
        for _ in range(61):
            hub.clock.advance(1)
            hub.rotation.pauses.look()
        assert await hub.told() == (0, 0)
        assert await hub.answers(old) == "REVOKED", "by now nothing lies there any more"
        assert await hub.told() == (1, 1)


async def test_a_hub_that_looks_at_its_clock_all_the_time_has_not_stood_still(tmp_path):
    """Nor by a clock of the database's that is set right by a second."""
    async with replicas(tmp_path) as (hub,):
        for _ in range(100):
            hub.rotation.pauses.look()
            hub.clock.advance(5)
        assert not hub.rotation.pauses.lately()


async def test_two_hubs_that_see_a_first_use_at_once_agree(tmp_path):
    """Successors of both, used at both at the same moment, again and again: exactly one is good."""
    async with replicas(tmp_path, 2) as (one, two):
        held = await joined(one)
        for _ in range(5):
            one.clock.advance(DUE_S)
            first, second = await one.gives(held), await two.gives(held)
            answers = await asyncio.gather(one.answers(first), two.answers(second))
            assert sorted(answers) == ["", "CREDENTIAL_SUPERSEDED"]
            held = first if answers[0] == "" else second
        assert await one.told() == (0, 0)

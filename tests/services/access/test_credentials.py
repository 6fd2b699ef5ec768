"""Credentials: until when one is good, and what ends with it."""

import datetime as dt
from typing import Any

import pytest

from hub.services.access import credentials, people
from hub.services.access.credentials import (
    ADMINISTRATOR,
    AGENT,
    BEARER,
    SESSION,
    VIEWER,
    Authenticator,
)
from hub.services.access.enrol import enrol
from hub.store import clusters, tokens
from shared.clock import ManualClock
from shared.errors import Rejected
from tests.store.build import START, a_member, call, opened

pytestmark = pytest.mark.anyio
MINUTE = dt.timedelta(minutes=1)


async def _ana(db) -> str:
    return await db.write(lambda tx: credentials.issue_bearer(tx, VIEWER, "ana"))


async def _session(db, bearer: str, kept: dt.timedelta) -> str:
    return await db.write(lambda tx: credentials.issue_session(tx, bearer, kept))


@pytest.mark.parametrize(
    ("after", "code"), [(59.9, None), (60, "TokenExpired"), (61, "TokenExpired")]
)
async def test_a_join_token_is_good_until_it_expires(tmp_path, after, code):
    """At the instant itself it is over."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        text, until = await db.write(lambda tx: credentials.issue_join(tx, "c1", MINUTE))
        assert until == START + MINUTE
        clock.advance(after)
        if code is None:
            assert (await db.read(lambda tx: credentials.check_join(tx, text))).cluster == "c1"
        else:
            with pytest.raises(Rejected) as refused:
                await db.read(lambda tx: credentials.check_join(tx, text))
            assert refused.value.code == code


async def test_a_session_is_good_until_it_expires(tmp_path):
    """At the instant itself it is over, though it was looked up a moment ago."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        known = Authenticator(db, clock, cache_s=900)
        text = await _session(db, await _ana(db), MINUTE)
        good = []
        for after in (0, 59.9, 0.1):
            clock.advance(after)
            good.append(await known.authenticate(text, SESSION) is not None)
        assert good == [True, True, False]


@pytest.mark.parametrize(("bearer_s", "ends_s"), [(30, 30), (60, 60), (90, 60), (None, 60)])
async def test_a_session_ends_no_later_than_its_token(tmp_path, bearer_s, ends_s):
    """And no later than a session lasts, however long the token is good."""
    async with opened(tmp_path) as db:

        def issue(tx: Any) -> str:
            text = credentials.issue_bearer(tx, VIEWER, "ana")
            if bearer_s is not None:
                until = tx.now + dt.timedelta(seconds=bearer_s)
                row = tokens.get(tx, text.split(".")[0])
                again = {"id": "t", "principal": row.principal, "purpose": BEARER}
                tokens.add(tx, **again, secret_hash=row.secret_hash, expires_at=until)
                return "t." + text.split(".")[1]
            return text

        text = await _session(db, await db.write(issue), MINUTE)
        row = await db.read(lambda tx: tokens.get(tx, text.split(".")[0]))
        assert row.expires_at == START + dt.timedelta(seconds=ends_s)


async def test_a_new_token_ends_the_sessions_of_the_old(tmp_path):
    """Of that person; those of another go on."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        known = Authenticator(db, clock, cache_s=0)
        bob = await db.write(lambda tx: credentials.issue_bearer(tx, ADMINISTRATOR, "bob"))
        sessions = [await _session(db, bearer, MINUTE) for bearer in (await _ana(db), bob)]
        await db.write(lambda tx: credentials.replace_bearer(tx, VIEWER, "ana"))
        found = [await known.authenticate(text, SESSION) for text in sessions]
        assert [who and who.name for who in found] == [None, "bob"]


async def test_signing_out_ends_one_session(tmp_path):
    """Another browser of the same person stays signed in, and so does the token."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        known = Authenticator(db, clock, cache_s=0)
        bearer = await _ana(db)
        one, other = [await _session(db, bearer, MINUTE) for _ in range(2)]
        await db.write(lambda tx: credentials.end_session(tx, one))
        assert await known.authenticate(one, SESSION) is None
        assert await known.authenticate(other, SESSION) is not None
        assert await known.authenticate(bearer) is not None


async def test_an_agent_that_registers_anew_has_joined_once(tmp_path):
    """Since when its member is joined stays; that it was heard is news."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.write(lambda tx: clusters.add(tx, a_member("c1")))
        for _ in range(2):
            text, _ = await db.write(lambda tx: credentials.issue_join(tx, "c1", MINUTE))
            await db.write(call(enrol, text, "uid-c1"))
            clock.advance(3600)
        member = await db.read(lambda tx: clusters.get(tx, "c1"))
        assert (member.joined_at, member.heartbeat_at) == (START, START + 60 * MINUTE)


async def test_agents_are_no_people(tmp_path):
    """Whoever is listed is an administrator or a viewer."""
    async with opened(tmp_path) as db:
        for role in (AGENT, VIEWER, ADMINISTRATOR):
            await db.write(call(credentials.issue_bearer, role, "n", "c1"))
        found = (await db.read(people.list_people))["items"]
        assert [row["role"] for row in found] == [ADMINISTRATOR, VIEWER]

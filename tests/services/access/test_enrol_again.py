"""A lost answer to a registration is asked for again: whoever brings the same secret gets the same."""

import datetime as dt

import pytest

from hub.services.access import credentials, rotation
from hub.services.access.credentials import Authenticator, hashed
from hub.services.access.enrol import enrol
from hub.store import clusters
from shared.clock import ManualClock
from shared.errors import Rejected
from tests.store.build import START, a_member, call, opened

pytestmark = pytest.mark.anyio
MINUTE, DAY = dt.timedelta(minutes=1), dt.timedelta(days=1)
MINE, ANOTHER = hashed("mine"), hashed("another")


async def refused(db, *args) -> str:
    with pytest.raises(Rejected) as no:
        await db.write(call(enrol, *args))
    return str(no.value.code.name)


async def joining(db) -> str:
    return (await db.write(call(credentials.issue_join, "c1", MINUTE)))[0]


async def test_the_same_secret_is_answered_the_same(tmp_path):
    """However often, until the token ends; the credential is the agent's own secret, for a day."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.write(call(clusters.add, a_member("c1")))
        known, token = Authenticator(db, clock, 5), await joining(db)
        answers = [await db.write(call(enrol, token, "uid", MINE, DAY)) for _ in range(3)]
        assert len(set(answers)) == 1
        assert answers[0].credential == ""
        text = f"{answers[0].credential_id}.mine"
        assert (await known.authenticate(text)).cluster == "c1"
        clock.advance(60)
        assert await refused(db, token, "uid", MINE, DAY) == "TOKEN_USED"
        assert await known.authenticate(text) is not None
        clock.advance(DAY.total_seconds())
        assert await known.authenticate(text) is None


@pytest.mark.parametrize(("uid", "secret"), [("uid", ANOTHER), ("uid", ""), ("other-uid", MINE)])
async def test_anybody_else_is_refused(tmp_path, uid, secret):
    """With another secret, with none, or from another cluster: the token is used."""
    async with opened(tmp_path) as db:
        await db.write(call(clusters.add, a_member("c1")))
        token = await joining(db)
        await db.write(call(enrol, token, "uid", MINE, DAY))
        assert await refused(db, token, uid, secret, DAY) == "TOKEN_USED"


async def test_what_ended_meanwhile_is_not_answered_again(tmp_path):
    """The agent has joined anew, or its credential was replaced: the earlier answer is of the past."""
    async with opened(tmp_path) as db:
        await db.write(call(clusters.add, a_member("c1")))
        token = await joining(db)
        await db.write(call(enrol, token, "uid", MINE, DAY))
        await db.write(call(enrol, await joining(db), "uid", ANOTHER, DAY))
        assert await refused(db, token, "uid", MINE, DAY) == "UNAUTHENTICATED"


async def test_a_credential_that_was_replaced_is_not_answered_again(tmp_path):
    """Its successor is in use: whoever went back to it would be taken for a copy."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.write(call(clusters.add, a_member("c1")))
        token, known = await joining(db), Authenticator(db, clock, 5)
        first = await db.write(call(enrol, token, "uid", MINE, MINUTE / 2))
        clock.advance(20)
        given = call(rotation.give_successor, first.credential_id, DAY, MINUTE)
        assert await known.authenticate(await db.write(given)) is not None
        assert await refused(db, token, "uid", MINE, DAY) == "TOKEN_USED"

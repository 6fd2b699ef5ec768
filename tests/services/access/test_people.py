"""People, agents and their credentials: who is who, what is written down, and what ends with what."""

import datetime as dt
from typing import Any

import pytest

from hub.services.access import credentials, people, sessions
from hub.services.access.credentials import (
    ADMINISTRATOR,
    AGENT,
    BEARER,
    JOIN,
    SESSION,
    USER,
    VIEWER,
    Authenticator,
    Principal,
)
from hub.services.access.enrol import enrol
from hub.services.access.rotation import Rotation
from hub.services.context import identity
from hub.store import audit, clusters, events
from hub.store.engine import Database
from shared.clock import ManualClock
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from tests.store.build import START, a_member, call, opened

pytestmark = pytest.mark.anyio
MINUTE = dt.timedelta(minutes=1)


async def refused(db: Database, fn: Any, *args: Any) -> tuple[str, str]:
    """Code and field of a refusal."""
    with pytest.raises(Rejected) as found:
        await db.write(call(fn, *args))
    return str(found.value.code), found.value.field


async def audited(db: Database) -> list[tuple[str, str, str, str]]:
    """Oldest first."""
    rows = await db.read(audit.list_entries)
    return [(r.principal, r.verb, r.object, r.outcome) for r in reversed(rows)]


async def test_a_person_is_a_role_and_a_name(tmp_path):
    """Of one name in two roles each has a token of their own; whoever asks is written down."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        known = Authenticator(db, clock, cache_s=0)
        made = await db.write(call(people.issue, VIEWER, "ana", "root"))
        viewer = made.pop("token")
        shown = {"role": VIEWER, "name": "ana", "createdAt": "2026-03-01T12:00:00Z"}
        assert made == shown
        clock.advance(60)
        other = await db.write(call(people.issue, ADMINISTRATOR, "ana", "root"))
        again = await db.write(call(people.issue, VIEWER, "ana", "eve"))
        assert again.pop("token") != viewer
        assert again == shown, "made once"
        who = [await known.authenticate(text) for text in (viewer, other["token"])]
        assert who[0] is None
        assert who[1] is not None
        assert (who[1].role, who[1].name, who[1].cluster) == (ADMINISTRATOR, "ana", "")
        assert await db.write(call(people.revoke, VIEWER, "ana", "root")) == shown
        assert await known.authenticate(other["token"]) is not None
        items = (await db.read(people.list_people))["items"]
        assert items == [
            {"role": ADMINISTRATOR, "name": "ana", "createdAt": "2026-03-01T12:01:00Z"}
        ]
        assert await audited(db) == [
            ("root", "issue-token", "viewer ana", "ok"),
            ("root", "issue-token", "administrator ana", "ok"),
            ("eve", "issue-token", "viewer ana", "ok"),
            ("root", "revoke-token", "viewer ana", "ok"),
        ]


@pytest.mark.parametrize(
    ("fn", "role", "name", "code"),
    [
        (people.issue, AGENT, "c1", ("InvalidRole", "role")),
        (people.issue, VIEWER, "A_b", ("InvalidName", "name")),
        (people.issue, ADMINISTRATOR, "admin", ("Forbidden", "name")),
        (people.revoke, ADMINISTRATOR, "admin", ("Forbidden", "name")),
        (people.revoke, AGENT, "c1", ("NotFound", "")),
        (people.revoke, VIEWER, "nobody", ("NotFound", "")),
    ],
)
async def test_what_is_refused_leaves_no_trace(tmp_path, fn, role, name, code):
    """Nobody is made, ended or audited; a viewer may be called admin."""
    async with opened(tmp_path) as db:
        await db.write(call(credentials.issue_bearer, AGENT, "c1", "c1"))
        assert await refused(db, fn, role, name, "root") == code
        assert await audited(db) == []
        assert (await db.write(call(people.issue, VIEWER, "admin", "root")))["name"] == "admin"


async def test_the_first_administrator_has_one_token(tmp_path):
    """A new one ends the one before it; the hub stays who it is."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        known = Authenticator(db, clock, cache_s=0)
        first, second = [await db.write(identity.issue_admin_token) for _ in range(2)]
        assert await known.authenticate(first) is None
        who = await known.authenticate(second)
        assert who is not None
        assert (who.role, who.name) == (ADMINISTRATOR, "admin")
        one = await db.write(identity.load)
        clock.advance(60)
        assert await db.write(identity.load) == one
        assert (len(one.hub_id), len(one.page_key)) == (16, 32)


GIVEN, OTHER = (f"{letter * 32}.{letter * 43}" for letter in "ab")


async def test_a_deployment_may_give_the_administrators_token(tmp_path):
    """It ends the one before it, and is taken again by every hub that starts with it."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        known = Authenticator(db, clock, cache_s=0)
        before = await db.write(identity.issue_admin_token)
        assert [await db.write(call(identity.take_admin_token, GIVEN)) for _ in range(2)] == [
            True
        ] * 2
        assert await known.authenticate(before) is None
        who = await known.authenticate(GIVEN)
        assert who is not None
        assert (who.role, who.name) == (ADMINISTRATOR, "admin")
        assert await db.write(call(identity.take_admin_token, OTHER)) is True
        assert await known.authenticate(GIVEN) is None
        assert await db.write(call(identity.take_admin_token, GIVEN)) is False, "it was taken back"
        assert await known.authenticate(OTHER) == who


async def test_sessions_end_with_the_token_that_a_deployment_replaces(tmp_path):
    """Who signed in with the one before looks no longer; taken again, it ends nobody's."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        known = Authenticator(db, clock, cache_s=0)
        await db.write(call(identity.take_admin_token, GIVEN))
        session = await db.write(call(credentials.issue_session, GIVEN, MINUTE))
        await db.write(call(identity.take_admin_token, GIVEN))
        assert await known.authenticate(session, SESSION) is not None
        await db.write(call(identity.take_admin_token, OTHER))
        assert await known.authenticate(session, SESSION) is None


@pytest.mark.parametrize(
    "text",
    ["", "short.secret", f"{'a' * 32}.{'a' * 20}", "a" * 80, f"{'a' * 32}.{'ä' * 43}",
     f"{'a' * 37}.{'a' * 43}", f"{'a' * 32}.{'a' * 400}", f"{'a' * 32}.{'a' * 43}\n"],
    ids=lambda text: text[:8],
)  # fmt: skip
async def test_a_token_that_is_given_is_as_long_as_ours(tmp_path, text):
    """What could be guessed, or is no ID.SECRET, is not taken; the token before it goes on."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        before = await db.write(identity.issue_admin_token)
        assert await db.write(call(identity.take_admin_token, text)) is False
        assert await Authenticator(db, clock, cache_s=0).authenticate(before) is not None


async def test_another_holders_token_is_not_taken(tmp_path):
    """An agent's or a viewer's credential never becomes the administrator's."""
    async with opened(tmp_path) as db:
        viewer = await db.write(call(credentials.issue_bearer, VIEWER, "ben"))
        assert await db.write(call(identity.take_admin_token, viewer)) is False
        await db.write(identity.issue_admin_token)
        assert await db.write(call(identity.take_admin_token, viewer)) is False, (
            "there is an admin"
        )
        swapped = f"{viewer.partition('.')[0]}.{'b' * 43}"
        assert await db.write(call(identity.take_admin_token, swapped)) is False


async def joining(db: Database, cluster: str) -> str:
    return (await db.write(call(credentials.issue_join, cluster, MINUTE)))[0]


async def test_an_agent_speaks_for_the_cluster_of_its_token(tmp_path):
    """Joining makes it so, is told as an Event, and ends the credential that it had before."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.write(call(clusters.add, a_member("c1")))
        known = Authenticator(db, clock, cache_s=900)
        first = await db.write(call(enrol, await joining(db, "c1"), "uid-1"))
        who = await known.authenticate(first.credential)
        assert who == Principal(who.id if who else "", AGENT, "c1", "c1")
        second = await db.write(call(enrol, await joining(db, "c1"), "uid-1"))
        assert (first.cluster, second.cluster) == ("c1", "c1")
        assert await known.authenticate(first.credential) is None
        rotation = Rotation(db, clock, MINUTE, MINUTE)
        gone, _ = await rotation.refusal(first.credential)
        other, _ = await rotation.refusal(first.credential + "x")
        assert (gone.code, other.code) == (RejectCode.REVOKED, RejectCode.UNAUTHENTICATED)
        member = await db.read(call(clusters.get, "c1"))
        assert (member.cluster_uid, member.joined_at, member.heartbeat_at) == (
            "uid-1",
            START,
            START,
        )
        told = [event[2:9] for event in await db.read(events.list_events)]
        said = "the agent has registered"
        assert (
            told
            == [("object-c1", "MemberCluster", "", "c1", "Normal", "MemberClusterJoined", said)]
            * 2
        )


async def test_a_name_and_a_cluster_belong_together(tmp_path):
    """Neither another cluster under the name nor the cluster under another; the token is not used up."""
    async with opened(tmp_path) as db:
        for name in ("c1", "c2"):
            await db.write(call(clusters.add, a_member(name)))
        await db.write(call(enrol, await joining(db, "c1"), "uid-1"))
        text = await joining(db, "c1")
        assert await refused(db, enrol, text, "uid-2") == ("ClusterIdentityChanged", "cluster_uid")
        other = await joining(db, "c2")
        assert await refused(db, enrol, other, "uid-1") == ("ClusterAlreadyJoined", "cluster_uid")
        assert await refused(db, enrol, await joining(db, "c9"), "uid-9") == ("NotFound", "")
        assert (await db.write(call(enrol, text, "uid-1"))).cluster == "c1"
        assert (await db.write(call(enrol, other, "uid-2"))).cluster == "c2"


async def test_a_join_token_is_for_joining_once(tmp_path):
    """Used it is used, a newer one ends it, and it is no credential; nor is a credential one."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.write(call(clusters.add, a_member("c1")))
        known = Authenticator(db, clock, cache_s=0)
        old, text = await joining(db, "c1"), await joining(db, "c1")
        other = await joining(db, "c2")
        assert await refused(db, credentials.redeem_join, old) == ("Unauthenticated", "")
        for purpose in (BEARER, SESSION, JOIN):
            assert await known.authenticate(text, purpose) is None
        bearer = (await db.write(call(enrol, text, "uid-1"))).credential
        assert await refused(db, enrol, text, "uid-1") == ("TokenUsed", "")
        assert await refused(db, enrol, bearer, "uid-1") == ("Unauthenticated", "")
        assert await refused(db, enrol, text + "x", "uid-1") == ("Unauthenticated", "")
        clock.advance(60)
        assert await refused(db, enrol, other, "uid-2") == ("TokenExpired", "")
        assert await refused(db, enrol, text, "uid-1") == ("TokenUsed", "")


async def test_a_forgotten_agent_ends_with_all_it_had(tmp_path):
    """Its credential and its unused join token; agents of other clusters go on."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        known = Authenticator(db, clock, cache_s=900)
        texts = [await db.write(call(credentials.issue_bearer, AGENT, n, n)) for n in ("c1", "c2")]
        assert [await known.authenticate(text) is not None for text in texts] == [True, True]
        token = await joining(db, "c1")
        await db.write(call(credentials.forget_agent, "c1"))
        await db.write(call(credentials.forget_agent, "c9"))
        assert [await known.authenticate(text) is not None for text in texts] == [False, True]
        assert await refused(db, credentials.redeem_join, token) == ("Unauthenticated", "")


async def test_a_session_is_its_own_kind_and_its_persons(tmp_path):
    """It answers as the person, is no bearer token, and none is had for one that was taken back."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        known = Authenticator(db, clock, cache_s=900)
        bearer = await db.write(call(credentials.issue_bearer, VIEWER, "ana"))
        session = await db.write(call(credentials.issue_session, bearer, MINUTE))
        assert await known.authenticate(session, SESSION) == await known.authenticate(bearer)
        assert await known.authenticate(session) is None
        assert await known.authenticate(bearer, SESSION) is None
        assert await db.write(call(credentials.issue_session, session, MINUTE)) is None
        await db.write(call(credentials.end_session, bearer))
        assert await known.authenticate(bearer) is not None, "signing out ends sessions alone"
        new = await db.write(call(credentials.replace_bearer, VIEWER, "ana"))
        assert await known.authenticate(session, SESSION) is None
        assert await db.write(call(credentials.issue_session, bearer, MINUTE)) is None
        assert await db.write(call(credentials.issue_session, new, MINUTE)) is not None


@pytest.mark.parametrize("spoil", [lambda t: t + "x", lambda t: t.split(".")[0], lambda t: f".{t}",
                                   lambda t: t.split(".")[0] + ".", lambda t: t + "x" * 300])  # fmt: skip
async def test_a_text_that_is_not_it_is_nobodys(tmp_path, spoil):
    """Also where the right one was looked up a moment ago."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        known = Authenticator(db, clock, cache_s=900)
        bearer = await db.write(call(credentials.issue_bearer, VIEWER, "ana"))
        assert await known.authenticate(bearer) is not None
        assert await known.authenticate(spoil(bearer)) is None


async def test_a_users_name_is_nobody_elses(tmp_path):
    """Jobs are owned by names: a user has none of an administrator, viewer or agent, and the reverse."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        for role in (ADMINISTRATOR, VIEWER):
            await db.write(call(people.issue, role, f"a-{role}", "root"))
        await db.write(call(credentials.issue_bearer, AGENT, "c1", "c1"))
        await db.write(call(people.issue, USER, "iris", "root"))
        refusal = ("AlreadyExists", "name")
        for name in ("a-administrator", "a-viewer", "c1"):
            assert await refused(db, people.issue, USER, name, "root") == refusal
        for role in (ADMINISTRATOR, VIEWER):
            assert await refused(db, people.issue, role, "iris", "root") == refusal
        await db.write(call(people.issue, USER, "iris", "root"))
        await db.write(call(people.issue, ADMINISTRATOR, "a-viewer", "root"))
        await db.write(call(people.revoke, VIEWER, "a-viewer", "root"))
        assert await refused(db, people.issue, USER, "a-viewer", "root") == refusal
        await db.write(call(people.revoke, ADMINISTRATOR, "a-viewer", "root"))
        await db.write(call(people.issue, USER, "a-viewer", "root"))
        await db.write(call(credentials.issue_bearer, VIEWER, "kept", ""))
        await db.write(call(credentials.issue_bearer, USER, "kept", ""))
        await db.write(
            call(people.issue, USER, "kept", "root")
        )  # of before: it is rotated as it is


@pytest.mark.parametrize("groups", [("b",), ()], ids=["others", "none"])
async def test_the_groups_of_a_person_are_those_of_the_last_sign_in(tmp_path, groups):
    """A sign-in without groups removes the bindings of all former groups, in every open session."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        known = Authenticator(db, clock, cache_s=0)
        first = await db.write(call(sessions.begin_session, "oidc:ana", ("a", "b"), MINUTE, "id"))
        await db.write(call(sessions.begin_session, "oidc:ana", groups, MINUTE, "id"))
        who = await known.authenticate(first, SESSION)
        assert who is not None
        assert who.groups == frozenset(groups)

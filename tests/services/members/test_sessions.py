"""Which of several sessions speaks for a cluster, and from when on."""

import asyncio
import contextlib
import datetime as dt
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.services.members.observe import ObservedReport, take_reports
from hub.services.members.sessions import ObservedDigest, Session
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.session_ids import mark_of, new_session
from shared.wire import versions
from shared.wire.agent_v1 import Observed, ObservedSet, SyncRequest
from shared.wire.set_digest import SetDigest
from tests import waiting
from tests.services.members.hubs import Agent, Running, ran, running_hub, seen

pytestmark = pytest.mark.anyio


@contextlib.asynccontextmanager
async def commits_wait(hub: Running) -> AsyncIterator[None]:
    """Nothing is committed meanwhile."""
    begun, go_on = threading.Event(), threading.Event()

    def hold(_tx: Transaction) -> None:
        begun.set()
        go_on.wait()

    held = asyncio.create_task(hub.write(hold))
    await asyncio.to_thread(begun.wait)
    try:
        yield
    finally:
        go_on.set()
        await held


async def idle() -> None:
    """Let everything go on that can."""
    await waiting.turns(200)


def a_report(
    *uids: str, of: tuple[str, ...] = (), full: bool = False, more: bool = False
) -> ObservedSet:
    """A page with these uids; its digest is of all those it is `of`."""
    digest = SetDigest()
    for uid in of or uids:
        digest.add(_seen(uid).digest_line())
    return ObservedSet(
        full=full, more=more, digest=digest.hex(), entries=[_seen(uid) for uid in uids]
    )


def _seen(uid: str) -> Observed:
    return Observed(uid=uid, epoch=1, generation=1, seq=1, phase="Applied")


def test_pages_are_judged_together():
    """The digest is of everything: it can not match before the last page, and has to match with it."""
    every = ("a", "b", "c")
    for last, adds_up in (("c", True), ("d", False)):
        digest = ObservedDigest()
        assert digest.take(a_report("a", of=every, full=True, more=True))
        assert digest.take(a_report("b", of=every, more=True))
        assert digest.take(a_report(last, of=every)) is adds_up


def test_what_is_remembered_of_a_cluster_is_bounded():
    """Whoever tells of more objects than any cluster holds is heard, and costs no more memory."""
    digest = ObservedDigest(most=3)
    told = tuple(f"u-{number}" for number in range(10))
    assert digest.take(a_report(*told, full=True))
    assert len(digest) == 3
    assert digest.take(a_report("u-1", of=("never",)))
    assert not digest.take(a_report("u-1", of=("never",), full=True)), "a new set is judged anew"


def test_a_report_of_a_session_that_is_over_counts_not():
    """Stored after another has taken over, it is none of that one's: its first request is no replay."""
    session = Session("uid-north", id="session-1")
    late = SyncRequest(
        session="session-1",
        seq=1,
        cluster_uid="uid-north",
        observed=ObservedSet(full=True, entries=[]),
    )
    session.admit(late)
    session.supersede("session-2", dt.datetime(2026, 5, 1, tzinfo=dt.UTC))
    session.stored_up_to(late)
    first = late.model_copy(update={"session": "session-2"})
    assert session.admit(first) is False


async def test_nothing_is_answered_in_a_session_that_is_not_stored_yet(tmp_path: Path):
    """Its second request waits like its first: else a hub that dies now takes the earlier agent back."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        agent.restart("session-2")
        async with commits_wait(hub):
            first, second = (asyncio.create_task(agent.post(agent.request())) for _ in range(2))
            await idle()
            assert not first.done()
            assert not second.done()
        assert (await second).status_code == 200
        earlier = await first  # it may have been overtaken on its way
        assert earlier.status_code == 200 or earlier.json()["code"] == "StaleSequence"


async def test_the_earlier_session_is_answered_until_the_next_one_is_stored(tmp_path: Path):
    """A session that can not be written down supersedes nobody."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        other = another(agent, "session-2")
        async with commits_wait(hub):
            begun = asyncio.create_task(other.post(other.request()))
            await idle()
            assert (await agent.post(agent.request())).status_code == 200
        assert (await begun).status_code == 200
        assert (await agent.post(agent.request())).status_code == 409


async def test_a_session_that_began_before_the_live_one_does_not_supersede_it(tmp_path: Path):
    """Its first request comes late, after its agent was started anew."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        late, now = began(hub, -2), began(hub, -1)
        agent.restart(now)
        await agent.sync()
        old = another(agent, late)
        refused = await old.post(old.request())
        assert (refused.status_code, refused.json()["code"]) == (409, "SessionSuperseded")
        await agent.sync()


async def test_the_hub_orders_sessions_and_no_clock_counts(tmp_path: Path):
    """An agent whose clock goes back an hour begins the next session at once; the earlier one is over."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        agent.restart(began(hub, 0), versions.CONFIRMS)
        await agent.sync()
        earlier = another(agent, agent.session)
        agent.restart(began(hub, -3600), versions.CONFIRMS)
        asked = await agent.post(agent.request())
        assert asked.json()["confirm"] == mark_of(earlier.session)
        await agent.sync()
        refused = await earlier.post(earlier.request())
        assert (refused.status_code, refused.json()["code"]) == (409, "SessionSuperseded")


async def test_a_late_first_request_begins_no_session(tmp_path: Path):
    """Of an agent that has ended: it does not name the session that is live now."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        agent.restart("session-1", versions.CONFIRMS)
        await agent.sync()
        ended = another(agent, "session-2")
        late = ended.request(follows=mark_of("session-1"))
        agent.restart("session-3", versions.CONFIRMS)
        await agent.sync()
        for _ in range(2):
            answer = (await ended.post(late)).json()
            assert (answer["confirm"], answer["desired"]["works"]) == (mark_of("session-3"), [])
        await agent.sync()


async def test_a_store_that_knows_no_session_begins_the_one_that_speaks(tmp_path: Path):
    """Though it names a session of the time that a restore lost: none is live. The next names this one."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        agent.restart("session-2", versions.CONFIRMS)
        other = another(agent, "session-3")
        lost = mark_of("session-1")
        assert "confirm" not in (await agent.post(agent.request(follows=lost))).json()
        asked = (await other.post(other.request(follows=lost))).json()
        assert asked["confirm"] == mark_of("session-2")
        await agent.sync()  # it is live still


async def test_a_question_takes_nothing_of_the_request(tmp_path: Path):
    """The report of a session that is not live yet is not stored, and it is given no works."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        other = another(agent, "session-2")
        other.protocol = versions.CONFIRMS
        asked = (await other.post(other.request(ran(uid, result="Succeeded")))).json()
        assert (asked["need_full"], asked["desired"]["works"]) == (True, [])
        assert (await hub.job(uid)).state == "Offered"
        await agent.sync()  # it is live still


async def test_the_order_of_sessions_outlives_the_hub(tmp_path: Path):
    """It stands in the store."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        late, now = began(hub, -2), began(hub, -1)
        agent.restart(now)
        await agent.sync()
    async with running_hub(tmp_path) as hub:
        agent.running = hub
        old = another(agent, late)
        assert (await old.post(old.request())).status_code == 409


async def test_a_clock_that_was_ahead_does_not_lock_its_cluster_out(tmp_path: Path):
    """A session began no later than the hub heard it: whatever is started afterwards supersedes it."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        agent.restart(began(hub, 10**6))
        await agent.sync()
        hub.clock.advance(5)
        agent.restart(began(hub, -1))
        await agent.sync()


@pytest.mark.parametrize("session", ["an-older-agents", "t" + "9" * 15 + "-" + "0" * 32])
async def test_an_id_that_says_nothing_supersedes_as_ever(tmp_path: Path, session: str):
    """Older agents do not say when they began."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        agent.restart(began(hub, 0))
        await agent.sync()
        agent.restart(session)
        await agent.sync()
        agent.restart(began(hub, 1))
        await agent.sync()


def another(agent: Agent, session: str) -> Agent:
    """A second agent with the same credential."""
    other = Agent(agent.running, agent.name, agent.uid, agent.credential)
    other.session, other.protocol = session, agent.protocol
    return other


def began(hub: Running, seconds: float) -> str:
    """The id of a session that began so long after now."""
    return new_session(hub.clock.now() + dt.timedelta(seconds=seconds))


async def test_an_agent_whose_cluster_has_just_left_is_told_so(tmp_path: Path):
    """Its request was let in before: nobody has taken its place, and it is not to stand by for anybody."""
    async with running_hub(tmp_path) as hub:
        report = ObservedReport("gone", [seen("u", "Gone")], session="session-gone-1", seq=7)
        (told,) = await hub.write(take_reports, [report])
        assert isinstance(told, Rejected)
        assert (told.code, told.code.status) == (RejectCode.REVOKED, 401)

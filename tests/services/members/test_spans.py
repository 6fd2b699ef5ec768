"""Spans and bounds of what members say, at their edges: the last moment, the limit itself, one beyond."""

import datetime as dt
from typing import Any

import pytest

from hub.domain.workloads.states import WithdrawTo
from hub.services.context import awaited
from hub.services.context.settings import Queueing
from hub.services.members import deadlines, faults, forgotten
from hub.services.members.roll_call import FRESH, RollCall, is_fresh
from hub.services.members.sessions import (
    BURST,
    MAX_RETIRED,
    SYNCS_PER_S,
    ObservedDigest,
    Session,
    Slow,
)
from hub.services.members.verdicts.api_server import down_view
from hub.services.members.verdicts.plain_text import plain
from hub.services.members.verdicts.retrying import RETRY_SET_ASIDE
from hub.services.works.avoiding import set_aside
from hub.services.works.retries import max_attempts
from hub.store import clusters, events, leases, workloads
from shared.clock import ManualClock
from shared.errors import Rejected
from shared.session_ids import new_session
from shared.wire.agent_v1 import FULL_EVERY_S, ApiServerDown, ObservedSet
from shared.wire.set_digest import SetDigest
from tests.services.members.hubs import seen
from tests.store.build import START, a_member, a_workload, call, opened

pytestmark = pytest.mark.anyio
TICK = dt.timedelta(microseconds=1)
SECOND = dt.timedelta(seconds=1)


@pytest.mark.parametrize(
    ("limit", "exceeded"),
    [(-1, (False, False)), (0, (True, True)), (1, (False, True)), (2, (False, False))],
)
def test_a_limit_of_evictions_is_how_many_there_may_be(limit, exceeded):
    """0: the first is one too many; negative: any number may be."""
    given = deadlines.back_off_of(Queueing(requeuing_backoff_limit=limit))
    assert tuple(given.exceeded(count) for count in (1, 2)) == exceeded


@pytest.mark.parametrize(("own", "span"), [(-1.0, 300.0), (-0.5, 300.0), (0.0, 0.0), (5.0, 5.0)])
def test_a_recovery_timeout_of_nothing_is_never(own, span):
    """Negative is as the timeout; 0 is a word of its own, pods may be lost for ever."""
    given = Queueing(pods_ready_timeout_s=300, pods_ready_recovery_timeout_s=own)
    assert deadlines.recovery_timeout_s(given) == span


async def test_a_run_is_over_when_its_time_is_up(tmp_path):
    """At the very second; of those that go on, the one with the least left says when to look again."""
    rows = [
        a_workload(uid, state="Running", placed_at=START, max_runtime_s=most, ran_s=ran)
        for uid, most, ran in (
            ("a", 90, 0),
            ("over", 60, 0),
            ("b", 75, 0),
            ("c", 100, 20),
            ("again", 100, 40),
        )
    ]
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.write(lambda tx: workloads.add(tx, rows))
        clock.advance(59)
        assert await db.read(deadlines.overrun) == ([], 1.0)
        clock.advance(1)
        ended, soonest = await db.read(deadlines.overrun)
        assert (sorted(ended), soonest) == (["again", "over"], 15.0)


async def test_a_fault_is_told_again_after_ten_minutes(tmp_path):
    """Once within them; at their end anew, another code at once, and of another member at once."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        for name in ("c1", "c2"):
            await db.write(call(clusters.add, a_member(name)))
        told = []
        for after, cluster, code in (
            (0, "c1", "A"), (0, "c1", "A"), (0, "c1", "B"), (0, "c2", "A"),
            (599.9, "c1", "A"), (0.1, "c1", "A"), (0, "c1", "A"),
        ):  # fmt: skip
            clock.advance(after)
            before = len(await db.read(events.list_events))
            await db.write(call(faults.note_fault, cluster, code, "x"))
            told.append(len(await db.read(events.list_events)) > before)
        assert told == [True, False, True, True, False, True, False]


def _forgotten(number: int, **more: Any) -> Any:
    return seen(f"u{number}", "Applied", object_uid=f"o{number}", job={}, **more)


@pytest.mark.parametrize(("count", "kept"), [(499, 499), (500, 500), (501, 500)])
async def test_just_so_many_forgotten_jobs_are_kept(tmp_path, count, kept):
    """Those beyond are not; of those that are, what is new is still taken."""
    async with opened(tmp_path) as db:
        entries = [_forgotten(number) for number in range(count)]
        await db.write(lambda tx: forgotten.note(tx, "c1", entries))
        assert await db.read(forgotten.counts) == {"c1": kept}
        await db.write(lambda tx: forgotten.note(tx, "c1", [_forgotten(0, message="new")]))
        rows = await db.read(forgotten.list_forgotten)
        assert [r["message"] for r in rows if r["uid"] == "u0"] == ["new"]


async def test_a_forgotten_job_is_shown_until_it_was_not_said_twice(tmp_path):
    """Two and a half times as long as a member takes to say everything; then no more."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.write(lambda tx: forgotten.note(tx, "c1", [_forgotten(1)]))
        clock.advance(2.5 * FULL_EVERY_S)
        assert await db.read(forgotten.counts) == {"c1": 1}
        clock.advance(1)
        assert await db.read(forgotten.counts) == {}


async def test_a_forgotten_job_said_again_is_written_after_half_a_round(tmp_path):
    """The same word makes no commit sooner; at half of the time its instant is brought up to date."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        written = []
        for after in (0, FULL_EVERY_S / 2 - 1, 1):
            clock.advance(after)
            before = db.revision
            await db.write(lambda tx: forgotten.note(tx, "c1", [_forgotten(1)]))
            written.append(db.revision > before)
        assert written == [True, False, True]


def test_a_cluster_is_set_aside_until_an_instant():
    """At that instant it is avoided no more; one that is set aside again is so from now on."""
    present = {
        "past": START.isoformat(),
        "later": (START + TICK).isoformat(),
        "c1": "9999-01-01T00:00:00+00:00",
    }
    kept = set_aside(present, "c1", START, RETRY_SET_ASIDE)
    assert kept == {"later": present["later"], "c1": (START + RETRY_SET_ASIDE).isoformat()}
    assert set_aside(None, "c1", START, SECOND) == {"c1": (START + SECOND).isoformat()}


@pytest.mark.parametrize(
    ("text", "kept"),
    [("", ""), ("abcd", "abcd"), ("abcde", "abcde"), ("abcdef", "abcd…"), ("a\nb\x00", "a b ")],
)
def test_words_of_a_member_are_cut_beyond_their_limit(text, kept):
    """What is just as long as it may be is left whole; control characters become blanks."""
    assert plain(text, 5) == kept


@pytest.mark.parametrize(
    ("said", "epochs"),
    [
        (None, 1),
        ("", 1),
        ("0", 0),
        ("1", 1),
        ("3", 3),
        ("99999", 99999),
        ("100000", 1),
        ("-2", 1),
        ("x", 1),
        ("²", 1),
    ],
)
def test_retries_are_a_number_of_at_most_five_digits(said, epochs):
    """Anything else counts as not given: one epoch."""
    annotations = None if said is None else {"roadstead.dev/retry": said}
    assert max_attempts(annotations) == epochs


@pytest.mark.parametrize(
    ("heard", "awaits"),
    [
        ({}, False),
        ({"a": None}, False),
        ({"a": START - FRESH}, False),
        ({"a": START - FRESH - TICK}, True),
        ({"a": START - FRESH - TICK, "b": START}, False),
        ({"a": START - FRESH - TICK, "b": None}, True),
    ],
)
def test_a_store_is_fresh_if_anybody_was_heard_lately(heard, awaits):
    """The latest of all heartbeats decides, and thirty seconds are lately."""
    assert is_fresh(heard, START) is not awaits


async def test_who_is_awaited_stands_in_the_store(tmp_path):
    """Until it has spoken, or long enough was waited; a start meanwhile awaits who is left of them."""
    async with opened(tmp_path) as db:
        first = await db.write(call(awaited.call, {"a", "b", "gone"}, fresh=False))
        assert first == {"a", "b", "gone"}
        assert await db.write(call(awaited.spoken, "a")) == {"b", "gone"}
        assert await db.write(call(awaited.call, {"a", "b", "new"}, fresh=True)) == {"b"}
        await db.write(awaited.end)
        assert await db.write(call(awaited.call, {"a", "b", "new"}, fresh=True)) == set()


def test_a_roll_call_ends_with_the_last_answer_or_its_time():
    """The last of those awaited ends it, once; so does the time at which the others are suspect."""
    roll = RollCall(45.0)
    roll.begin({"a", "b"}, 100.0)
    assert [roll.awaits(name) for name in ("x", "a", "b")] == [False, True, True]
    assert [roll.left(names) for names in (("a", "b"), ("b",), ("a",), ())] == [
        False,
        False,
        True,
        False,
    ]
    assert roll.is_over(100.0)
    assert not roll.has_waited(200.0)
    roll.begin({"a"}, 100.0)
    assert [roll.is_over(at) for at in (144.9, 145.0)] == [False, True]
    assert [roll.has_waited(at) for at in (144.9, 145.0)] == [False, True]


def test_an_agent_may_spend_its_whole_burst():
    """Twenty at once, and then one more as soon as a whole one is saved up; no more than twenty ever."""
    session = Session("uid", refilled_at=1000.0)
    for _ in range(int(BURST)):
        session.spend(1000.0)
    with pytest.raises(Slow) as slow:
        session.spend(1000.0)
    assert slow.value.retry_after_s == 1 / SYNCS_PER_S
    session.spend(1000.0 + 1 / SYNCS_PER_S)
    for _ in range(int(BURST)):
        session.spend(5000.0)
    with pytest.raises(Slow):
        session.spend(5000.0)


@pytest.mark.parametrize(("began", "refused"), [(-1, True), (0, False), (1, False)])
def test_a_session_of_the_same_instant_supersedes(began, refused):
    """Only one that began before the live one has come too late."""
    live = Session("uid")
    live.supersede(new_session(START), START + SECOND)
    given = new_session(START + began * SECOND)
    if refused:
        with pytest.raises(Rejected):
            live.retired_by(given)
    else:
        assert live.retired_by(given) == [live.id]


def test_a_session_began_no_later_than_it_was_heard():
    """An agent whose clock is ahead does not shut out the next one."""
    live = Session("uid")
    live.supersede(new_session(START + dt.timedelta(days=1)), START)
    live.supersede(new_session(START + SECOND), START + SECOND)
    assert live.began == START + SECOND


def test_the_latest_retired_sessions_are_remembered():
    """Of more than are kept the oldest is forgotten, never the one that just ended."""
    live = Session("uid", id="live", retired=[f"s{n}" for n in range(MAX_RETIRED)])
    over = live.retired_by("next")
    assert (len(over), over[0], over[-1]) == (MAX_RETIRED, "s1", "live")


@pytest.mark.parametrize(("most", "remembered", "judged"), [(3, 3, True), (2, 2, False)])
def test_a_digest_is_judged_while_everything_is_remembered(most, remembered, judged):
    """Exactly as many as may be remembered are; with one more a wrong digest passes unjudged."""
    entries = [seen(f"u{n}", "Applied") for n in range(3)]
    digest = ObservedDigest(most)
    wrong = ObservedSet(full=True, entries=entries, digest="0" * 32)
    assert digest.take(wrong) is not judged
    assert len(digest) == remembered
    right = SetDigest()
    for entry in entries:
        right.add(entry.digest_line())
    assert digest.take(wrong.model_copy(update={"digest": right.hex()}))


@pytest.mark.parametrize(("down_s", "since_s"), [(0.0, 0.0), (90.0, 90.0), (1e9, 30 * 86_400.0)])
def test_a_server_is_down_since_a_month_at_most(down_s, since_s):
    """What an agent says beyond that would be no instant that anybody can show."""
    view = down_view(ApiServerDown(reason="refused", down_s=down_s), START)
    assert view is not None
    assert dt.datetime.fromisoformat(view["since"]) == START - since_s * SECOND
    assert down_view(None, START) is None


async def test_each_limit_of_run_time_says_its_own_number(tmp_path):
    """Two that ran too long under different limits end in one turn, each with its seconds."""
    rows = [
        a_workload(
            uid, state="Running", epoch=1, cluster="c1", placed_at=START, max_runtime_s=most
        )
        for uid, most in (("a", 30), ("b", 60), ("c", 90))
    ]
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.write(lambda tx: workloads.add(tx, rows))
        clock.advance(60)
        term = await db.write(lambda tx: leases.seize(tx, "test", SECOND))
        assert await db.write(lambda tx: deadlines.end_overrun(tx, ["a", "b", "c"], term)) == 2
        found = await db.read(lambda tx: workloads.get_many(tx, ["a", "b", "c"]))
        assert {uid: row.withdraw_to for uid, row in found.items()} == {
            "a": WithdrawTo.DEACTIVATED, "b": WithdrawTo.DEACTIVATED, "c": WithdrawTo.NOTHING,
        }  # fmt: skip
        assert ["30 s" in found["a"].message, "60 s" in found["b"].message] == [True, True]

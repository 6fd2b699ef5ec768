"""The scheduler's index at its edges: when a time has come, how many are told, who goes first."""

import datetime as dt
from collections.abc import Iterable
from typing import Any

import orjson
import pytest

from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.quota.usage_history import UsageHistory
from hub.services.context.settings import Queueing
from hub.services.index.catalog import Routes, drained
from hub.services.index.charged import Charges
from hub.services.index.check_catalog import CheckRules
from hub.services.index.fair_usage import Consumption, history_of
from hub.services.index.fleet import state_of
from hub.services.index.held_back import Aside, BackingOff, HeldBack
from hub.services.index.nominations import KEPT_AFTER, Claims
from hub.services.index.pool_keys import MOST_KEYS, PoolKeys, require
from hub.services.index.reader import PART, News
from hub.store.records.objects import RuleObject
from hub.store.schedule import ProgressRow, SchedulingRow
from hub.store.usage import Consumed
from tests.services.index.rows import a_row
from tests.store.build import START, a_member, opened

pytestmark = pytest.mark.anyio
SECOND = dt.timedelta(seconds=1)
TICK = dt.timedelta(microseconds=1)
KUEUE = "kueue.x-k8s.io"


def an_object(kind: str, name: str, **spec: Any) -> RuleObject:
    """An object that sets rules, by its own name."""
    given: dict[str, Any] = {
        "uid": f"{kind}/{name}", "api_group": KUEUE, "kind": kind, "namespace": "", "name": name,
        "labels": {}, "spec": spec, "deleted_at": None, "status": None,
    }  # fmt: skip
    return RuleObject(**given)


def test_a_back_off_is_over_at_its_instant():
    """A moment before it holds; at the instant itself it does not, whichever way it is asked."""
    aside = BackingOff()
    row = a_row(requeue_at=START)
    aside.due(START - TICK)
    assert aside.route(row) is not None
    assert aside.due(START - TICK) == []
    assert aside.due(START) == [row]
    assert aside.route(row) is None


def test_a_back_off_that_was_pushed_later_waits_for_the_later_time():
    """The earlier instant passes without it; it is due once."""
    aside = BackingOff()
    aside.now = START - SECOND
    for at in (START, START + 2 * SECOND):
        assert aside.route(a_row(requeue_at=at)) is not None
    assert aside.due(START + SECOND) == []
    assert [row.uid for row in aside.due(START + 2 * SECOND)] == ["u"]
    assert aside.due(START + 9 * SECOND) == []


def test_who_is_held_back_counts_once_in_its_local_queue():
    """Told anew it is not counted again; when the last one leaves, nothing is left of the queue."""
    aside = Aside()
    for uid, queue in (("a", "q"), ("b", ""), ("a", "q"), ("b", "q")):
        aside.put(uid, HeldBack("team-a", queue, "r", "m"))
    assert aside.by_local_queue() == {("team-a", "q"): 2}
    aside.drop("a")
    aside.drop("a")
    assert aside.by_local_queue() == {("team-a", "q"): 1}
    aside.drop("b")
    assert (dict(aside.by_local_queue()), len(aside)) == ({}, 0)


def test_room_is_kept_for_five_minutes_after_the_last_victim():
    """To the last moment, and counted from the moment that is stored."""
    claims = Claims(Charges(Routes(), {}, lambda _: None))
    told = {"cluster": "c1", "gone_at": START.isoformat(), "admission": {}, "victims": []}
    claims.read(a_row(nomination=orjson.dumps(told)))
    assert list(claims.standing(START + KEPT_AFTER)) == ["u"]
    assert list(claims.standing(START + KEPT_AFTER + TICK)) == []
    assert len(claims) == 0


@pytest.mark.parametrize(("known", "kept"), [(MOST_KEYS - 2, True), (MOST_KEYS - 1, False)])
async def test_old_label_keys_are_kept_while_there_is_room(tmp_path, known, kept):
    """Together with two new ones just as many as may be: all stay; one more, and only those in use."""
    present = PoolKeys(3, {f"k{n}": 3 for n in range(known)})
    async with opened(tmp_path) as db:
        now = await db.write(lambda tx: require(tx, present, {"new", "k0"}))
    assert (now.revision, now.since["new"], now.since["k0"]) == (4, 4, 3)
    assert ("k1" in now.since) is kept


@pytest.mark.parametrize(
    ("member", "down", "state"),
    [
        ({}, "", "Declared"),
        ({"joined_at": START}, "", "Declared"),
        ({"joined_at": START, "heartbeat_at": START - 30 * SECOND}, "", "Ready"),
        ({"joined_at": START, "heartbeat_at": START - 30 * SECOND - TICK}, "", "Suspect"),
        ({"joined_at": START, "heartbeat_at": START - 31 * SECOND}, "refused", "Suspect"),
        ({"joined_at": START, "heartbeat_at": START}, "refused", "Unhealthy"),
        ({"joined_at": START, "heartbeat_at": START, "cordoned": True}, "refused", "Unhealthy"),
        ({"joined_at": START, "heartbeat_at": START, "cordoned": True}, "", "Cordoned"),
        ({"session_at": START, "heartbeat_at": START, "cordoned": True}, "", "Fenced"),
    ],
)
def test_a_member_is_in_the_gravest_of_its_states(member, down, state):
    """Written off before silent, silent before unhealthy, unhealthy before cordoned."""
    assert state_of(a_member("c1", **member), START, 30.0, down) == state


@pytest.mark.parametrize(
    ("sampling", "half_life", "refused"),
    [(0, 60, True), (-1, 60, True), (0.5, 0, False), (300, -1, True), (300, 60, False)],
)
def test_samples_take_time_and_a_half_life_may_be_none(sampling, half_life, refused):
    """No time between two samples makes no sense; to remember nothing does."""
    given = Queueing(usage_sampling_s=sampling, usage_half_life_s=half_life)
    if refused:
        with pytest.raises(ValueError, match="usage_sampling_s"):
            history_of(given)
    else:
        assert history_of(given) is None  # it is off


def _consumption(*samples: tuple[str, dt.datetime]) -> Consumption:
    routes = Routes()
    routes.put(
        an_object(
            "ClusterQueue", "q", admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"}
        )
    )
    for name, _ in samples:
        row = an_object("LocalQueue", name, clusterQueue="q")
        routes.put(row._replace(namespace="team-a"))
    found = Consumption(UsageHistory(sampling=300.0), routes)
    found.follow_rules()
    found.read([Consumed("team-a", name, {}, at) for name, at in samples])
    return found


@pytest.mark.parametrize(("after", "due"), [(299.9, False), (300, True)])
def test_a_sample_is_due_when_its_time_has_passed(after, due):
    """Since the newest of all samples, not the oldest."""
    found = _consumption(("a", START), ("b", START - 60 * SECOND))
    assert found.due(START + after * SECOND) is due


def _holder(uid: str = "u", **given: Any) -> AdmittedWorkload:
    return AdmittedWorkload(
        uid,
        "team-a",
        "",
        "q",
        {FlavorResource("f", "cpu"): 1000},
        local_queue="a",
        **given,
    )


def test_rules_that_drain_concern_who_has_not_been_told_yet():
    """A queue on HoldAndDrain: who is on its way already is not told again."""
    routes = Routes()
    routes.put(an_object("ClusterQueue", "q", stopPolicy="HoldAndDrain"))
    holders = {
        "q": {"u": _holder(), "v": _holder("v", evicted=True)},
        "other": {"w": _holder("w")},
    }
    assert list(drained(routes, holders).values()) == [["u"]]


def test_a_multikueue_check_means_the_workers_that_are_there():
    """In the order of its config; a name without MultiKueueCluster is no worker."""
    rules = CheckRules()
    rules.read(
        an_object(
            "AdmissionCheck", "mk", controllerName="kueue.x-k8s.io/multikueue",
            parameters={"kind": "MultiKueueConfig", "name": "cfg"},
        )
    )  # fmt: skip
    rules.read(an_object("MultiKueueConfig", "cfg", clusters=["c2", "gone", "c1"]))
    for name in ("c1", "c2", "c3"):
        rules.read(an_object("MultiKueueCluster", name))
    policy = QueuePolicy(checks=(("other", frozenset()), ("mk", frozenset())))
    assert rules.members(policy) == ("c2", "c1")
    assert rules.members(QueuePolicy(checks=(("other", frozenset()),))) is None


@pytest.mark.parametrize(
    ("rows", "gone"),
    [
        (0, 0),
        (PART, 0),
        (PART + 1, 0),
        (PART - 1, 1),
        (PART, 1),
        (0, PART),
        (0, PART + 1),
        (2 * PART, 2 * PART + 1),
    ],
)
def test_news_in_parts_are_the_whole(rows, gone):
    """Every row and every uid once, in parts of at most so many; just one part is not cut."""
    news = News(
        workloads=[a_row(f"w{n}", shape=f"s{n % 3}") for n in range(rows)],
        gone=frozenset(f"g{n}" for n in range(gone)),
        shapes={"s0": 0, "s1": 1, "s2": 2},
        read_at=START,
    )
    parts = [(list(p.workloads), set(p.gone), dict(p.shapes), p.read_at) for p in news.parts()]
    assert [row.uid for part in parts for row in part[0]] == [f"w{n}" for n in range(rows)]
    assert sorted(uid for part in parts for uid in part[1]) == sorted(f"g{n}" for n in range(gone))
    assert all(len(part[0]) + len(part[1]) <= PART and part[3] == START for part in parts)
    assert (len(parts) == 1) is (rows + gone <= PART)
    met: set[str] = set()
    for workloads, _, shapes, _ in parts:
        met |= shapes.keys()
        assert {row.shape for row in workloads} <= met


def _charged(rows: Iterable[SchedulingRow]) -> Charges:
    charges = Charges(Routes(), {}, lambda _: None)
    for row in rows:
        charges.charge(row)
    return charges


def test_who_holds_quota_was_reserved_when_it_first_was():
    """Reserved, then placed after its checks: since the reservation; without one, since placed."""
    row = a_row(state="Placed", cluster_queue="q", cluster="c1")
    later = START + 60 * SECOND
    charges = _charged(
        [
            row._replace(uid="checked", reserved_at=START + SECOND, placed_at=later),
            row._replace(uid="plain", placed_at=later),
            row._replace(uid="neither"),
        ]
    )
    holders = [charges.holder(uid) for uid in ("checked", "plain", "neither")]
    since = [(h.reserved_at - h.queued_at) / 1e6 for h in holders if h is not None]
    assert since == [1.0, 60.0, 0.0]
    assert [h.started_at is None for h in holders if h is not None] == [False, False, True]


def test_what_was_lent_does_not_change():
    """A picture taken for a cycle keeps who was in it, and the next one shows who came and went."""
    row = a_row(state="Running", cluster_queue="q", cluster="c1", placed_at=START)
    charges = _charged([row, row._replace(uid="v")])
    picture = charges.lend_holders()
    charges.discharge("u")
    charges.follow(ProgressRow("v", "Withdrawing", 0, "c1", 0))
    charges.charge(row._replace(uid="w"))
    assert sorted(picture["q"]) == ["u", "v"]
    assert not picture["q"]["v"].evicted
    now = charges.lend_holders()["q"]
    assert {uid: holder.evicted for uid, holder in now.items()} == {"v": True, "w": False}


def test_the_five_minutes_begin_when_the_last_victim_has_gone():
    """However long it took: room is kept while somebody who was told to go is still charged."""
    victim = a_row("v", state="Running", cluster_queue="q", cluster="c1", placed_at=START)
    charges = _charged([victim])
    charges.follow(ProgressRow("v", "Withdrawing", 0, "c1", 0))
    claims = Claims(charges)
    told = {"cluster": "c1", "at": START.isoformat(), "admission": {}, "victims": ["v"]}
    claims.read(a_row(nomination=orjson.dumps(told)))
    late = START + 3 * KEPT_AFTER
    assert [v.uid for v in claims.standing(late)["u"].leaving] == ["v"]
    charges.discharge("v")
    gone_at = late + TICK
    assert list(claims.standing(gone_at)) == ["u"]
    assert claims.untold() == {"u": gone_at}
    assert list(claims.standing(gone_at + KEPT_AFTER)) == ["u"]
    assert list(claims.standing(gone_at + KEPT_AFTER + TICK)) == []


def test_an_ended_claim_does_not_come_back_with_its_row():
    """The row still has it until the leader has written the end; a claim that is decided later counts."""
    claims = Claims(_charged([]))
    moments = {"at": START.isoformat(), "gone_at": START.isoformat()}
    told = {"cluster": "c1", **moments, "admission": {}, "victims": ["v"]}
    row = a_row(nomination=orjson.dumps(told))
    claims.read(row)
    assert list(claims.standing(START + KEPT_AFTER + TICK)) == []
    assert claims.ended() == {"u": START.isoformat()}
    claims.read(row)
    assert list(claims.present()) == []
    assert claims.preempted() == {"u": frozenset({"v"})}
    claims.read(a_row(nomination=orjson.dumps({"preempted": ["v"]})))
    assert (list(claims.present()), claims.ended()) == ([], {})
    assert claims.preempted() == {"u": frozenset({"v"})}
    later = {**told, "at": (START + KEPT_AFTER).isoformat()}
    claims.read(a_row(nomination=orjson.dumps(later)))
    assert list(claims.present()) == ["u"]

"""What waits at the start is taken in by class: the same index, and the same decisions, as row by row."""

import asyncio
import dataclasses
import datetime as dt
import functools
import tempfile
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from hub.domain.cycle.cycle import schedule as decide
from hub.domain.cycle.profile import Profile
from hub.domain.instants import to_micros
from hub.domain.plan import CYCLES, Plan, Reason, Refusal
from hub.domain.queueing.lanes import Entry
from hub.services.index.index import ScheduleIndex
from hub.services.index.pending_reasons import FIRST_OF_CLASS
from hub.services.index.reader import News, read_all
from hub.services.index.waiting.at_start import AtStart, gather, in_order, read_at_start
from hub.store import schedule
from hub.store.schedule import Alike, SchedulingRow
from tests.services.build import in_cohort
from tests.services.hubs import a_job, a_pool, a_queue, running
from tests.services.index.rows import a_row
from tests.store.build import START

pytestmark = pytest.mark.anyio
SECOND = dt.timedelta(seconds=1)
NOMINATION = orjson.dumps(
    {"cluster": "north", "at": START.isoformat(), "victims": ["x"], "admission": {}}
)
BY_USAGE = {"admissionMode": "UsageBasedAdmissionFairSharing"}
QUEUES = ("line", "strict", "used", "stopped", "absent", "")


async def _read(folder: Path) -> News:
    async with running(folder) as hub:
        await hub.cluster("north", a_pool(nodes=2, cpu="3"))
        await hub.apply(*in_cohort("line", "2"), *in_cohort("strict", "2", strict=True))
        await hub.apply(*a_queue("used", spec={"admissionScope": BY_USAGE}))
        await hub.apply(*a_queue("stopped", spec={"stopPolicy": "Hold"}))
        await hub.apply(*a_queue("default", quota={"cpu": "1"}))
        for cpu in "12":
            await hub.apply(a_job(f"asks-{cpu}", queue="absent", requests={"cpu": cpu}))
        return await hub.hub.read(read_all)


@functools.cache
def rules() -> News:
    """Queues of every kind, a member, and two shapes, without anybody who waits."""
    with tempfile.TemporaryDirectory() as folder:
        news = asyncio.run(_read(Path(folder)))
    return dataclasses.replace(news, backlog=None)


def as_read(row: SchedulingRow) -> tuple[Any, ...]:
    """A row as `schedule.waiting` gives it at START."""
    backs_off = row.requeue_at is not None and row.requeue_at > START
    more = row.nomination is not None or row.admission is not None or backs_off
    own = (row.uid, row.epoch, row.parallelism, row.completions, row.generation, row.queued_at)
    message = "" if row.reason in CYCLES else row.message
    shared = Alike(*(getattr(row, name) for name in Alike._fields))._replace(message=message)
    return (*own, int(more), *shared)


@st.composite
def waiting_rows(draw: st.DrawFn) -> list[SchedulingRow]:
    """Rows that wait, however they came to."""
    shapes = sorted(rules().shapes)
    reasons = ["", "ExceedsMaxQuota", "BehindHead", "QueueStopped", "RefusedByMember"]
    one = st.fixed_dictionaries(
        {
            "queue": st.sampled_from(QUEUES),
            "priority": st.integers(0, 1),
            "shape": st.sampled_from([*shapes, "unknown"]),
            "annotations": st.sampled_from([None, b'{"roadstead.dev/clusters":"north"}', b"["]),
            "reason": st.sampled_from(reasons),
            "message": st.sampled_from(["", "ClusterQueue stopped is stopped"]),
            "queued_at": st.integers(0, 5).map(lambda s: START + s * SECOND),
            "requeue_at": st.sampled_from([None, None, None, START - SECOND, START + SECOND]),
            "nomination": st.sampled_from([None, None, None, NOMINATION]),
            "parallelism": st.integers(1, 2),
            "generation": st.integers(1, 2),
            "kind": st.sampled_from(["Job", "Job", "Workload"]),
        }
    )
    drawn = draw(st.lists(one, max_size=25))
    order = draw(st.permutations(range(len(drawn))))
    return [a_row(f"w{n:02}", **columns) for n, columns in zip(order, drawn, strict=True)]


def by_row(rows: list[SchedulingRow]) -> ScheduleIndex:
    index = ScheduleIndex(None, 30)
    index.apply(dataclasses.replace(rules(), workloads=rows, read_at=START))
    return index


def by_class(rows: list[SchedulingRow]) -> ScheduleIndex:
    backlog = gather([[as_read(row) for row in rows]])
    apart = [row for row in rows if row.uid in set(backlog.apart)]
    index = ScheduleIndex(None, 30)
    news = dataclasses.replace(rules(), backlog=backlog, workloads=apart, read_at=START)
    for part in news.parts():
        index.apply(part)
    return index


def held(index: ScheduleIndex) -> dict[str, Any]:
    """All that waiting rows make of an index."""
    waiting, pending = index.waiting, index.pending_reasons
    lanes = {lane.demand.key: list(lane) for lane in waiting.every_lane()}
    return {
        "lanes": lanes,
        "places": {e.uid: waiting.position(e.uid) for lane in lanes.values() for e in lane},
        "in line": waiting.in_line(),
        "held back": index.held_back.copy(),
        "by local queue": dict(index.held_back.by_local_queue()),
        "claims": index.claims.present(),
        "to be said": dict(pending._rows),
        "refused": set(pending._refused),
        "keys": set(index.seen_keys),
    }


def decided(index: ScheduleIndex) -> Plan | None:
    """The first cycle's plan."""
    snapshot = index.snapshot(START, 100)
    return None if snapshot is None else decide(snapshot, START, Profile())


def told(plan: Plan | None) -> Any:
    if plan is None:
        return None
    placed = [(p.uid, p.cluster, p.queue, p.assignment.charge) for p in plan.placements]
    return placed, sorted(map(repr, plan.refusals)), plan.evictions, plan.unfinished


@given(waiting_rows())
def test_by_class_is_by_row(rows: list[SchedulingRow]) -> None:
    """Lanes in order, places, who is held back and why, claims, and what rows are to say: all alike."""
    assert held(by_class(rows)) == held(by_row(rows))


@given(waiting_rows())
def test_what_is_decided_first_is_the_same(rows: list[SchedulingRow]) -> None:
    """The first cycle after a start places and refuses whom it would with each row taken in by itself."""
    assert told(decided(by_class(rows))) == told(decided(by_row(rows)))


async def test_the_store_gives_what_rows_say(tmp_path: Path) -> None:
    """Whatever waits is read by class as its whole rows are; what says more than that is named."""
    async with running(tmp_path) as hub:
        uids = await hub.apply(*(a_job(f"job-{n}", queue="line") for n in range(9)))
        now = hub.clock.now()
        late, early = now + SECOND, now - SECOND
        columns: list[dict[str, Any]] = [
            {"queued_at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)},
            {"queued_at": dt.datetime(2026, 1, 1, 0, 0, 0, 999_999, tzinfo=dt.UTC)},
            {"queued_at": dt.datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=dt.UTC)},
            {"requeue_at": late},
            {"requeue_at": early, "reason": "BehindHead", "message": "of w1"},
            {"requeue_at": now, "reason": "QueueStopped", "message": "it is stopped"},
            {"nomination": {"cluster": "north"}},
            {"admission": {"podSets": []}},
            {"set_aside": {"north": "2026-01-01T00:00:00Z"}, "priority": 7, "placement": "p"},
        ]
        for uid, changed in zip(uids, columns, strict=True):
            await hub.change(uid, **changed)
        found: AtStart = await hub.hub.read(read_at_start)
        rows = await hub.hub.read(schedule.standing, uids)
        expected = gather([[as_read(_seen_at(row, now)) for row in rows]])
        assert sorted(found.apart) == sorted(expected.apart) == sorted([uids[3], *uids[6:8]])
        assert {a: sorted(e) for a, e in found.classes.items()} == {
            a: sorted(e) for a, e in expected.classes.items()
        }
        assert {e.uid: e.queued_at for es in found.classes.values() for e in es} == {
            row.uid: to_micros(row.queued_at) for row in rows if row.uid not in found.apart
        }


def _seen_at(row: SchedulingRow, now: dt.datetime) -> SchedulingRow:
    """As if `now` were START."""
    at = row.requeue_at
    return row if at is None else row._replace(requeue_at=START + (at - now))


@given(st.lists(st.lists(st.integers(0, 50_000), max_size=40), max_size=5), st.integers(1, 9))
def test_entries_are_put_in_order_by_runs(classes: list[list[int]], run: int) -> None:
    """Those of all classes together, sorted, however long a run is."""
    entries = [[Entry(at, f"{n}-{i}", 0) for i, at in enumerate(c)] for n, c in enumerate(classes)]
    assert in_order(entries, run) == sorted(e for each in entries for e in each)


def saying(*reasons: str) -> list[SchedulingRow]:
    """Rows of one class in this order, which say this of why they wait."""
    (shape, *_) = sorted(rules().shapes)
    return [
        a_row(
            f"w{n:04}",
            queue="line",
            shape=shape,
            queued_at=START + n * SECOND,
            reason=reason,
            message=reason and "of an earlier time",
        )
        for n, reason in enumerate(reasons)
    ]


def written(index: ScheduleIndex, reason: Reason) -> set[str]:
    """Uids of rows that are written when a cycle first says this of their class."""
    (lane,) = index.waiting.every_lane()
    refusal = Refusal(lane.demand.key, "line", reason, "numbers")
    stored = index.settle(Plan((), (refusal,)), START)
    assert stored.keys() == {lane.demand.key}
    return {each["uid"] for each in index.tell(10_000, START)}


QUOTA = "WaitingForQuota"
MANY = FIRST_OF_CLASS + 50


def test_who_says_it_already_is_not_written_again() -> None:
    """After a start the first of a class are told its new numbers; those behind them said why before."""
    rows = saying(*[QUOTA] * MANY)
    first = {row.uid for row in rows[:FIRST_OF_CLASS]}
    assert written(by_class(rows), Reason.WAITING_FOR_QUOTA) == first


@pytest.mark.parametrize("said", ["", "BehindHead", "AwaitingPlacement"])
def test_who_says_something_else_is_told(said: str) -> None:
    """Wherever in its class a row stands that says nothing, or another reason, it is written."""
    rows = saying(*[QUOTA] * MANY, said)
    assert rows[-1].uid in written(by_class(rows), Reason.WAITING_FOR_QUOTA)


def test_another_reason_is_told_to_all() -> None:
    """Who waits for another reason than before the start is told so, every one of a class."""
    rows = saying(*[QUOTA] * MANY)
    assert len(written(by_class(rows), Reason.NO_CLUSTER_FITS)) == MANY


def test_a_class_that_mostly_says_nothing_is_told_as_a_whole() -> None:
    """Where fewer than half say why they wait, all are told."""
    rows = saying(*[QUOTA] * FIRST_OF_CLASS, *[""] * (FIRST_OF_CLASS + 1))
    index = by_class(rows)
    assert not any(lane.untold for lane in index.waiting.every_lane())
    assert len(written(index, Reason.WAITING_FOR_QUOTA)) == len(rows)


def test_who_joins_before_the_first_cycle_is_told() -> None:
    """A row read after the start and before a cycle says anything is written with the first of its class."""
    *rows, late = saying(*[QUOTA] * MANY, "")
    index = by_class(rows)
    index.apply(News(workloads=[late]))
    assert late.uid in written(index, Reason.WAITING_FOR_QUOTA)


def test_who_leaves_is_owed_nothing() -> None:
    """What was to be told to a row is forgotten with it."""
    rows = saying(*[QUOTA] * MANY, "")
    index = by_class(rows)
    (lane,) = index.waiting.every_lane()
    assert set(lane.untold) == {rows[-1].uid}
    index.apply(News(gone=frozenset({rows[-1].uid})))
    assert not lane.untold

"""Retention at its edge: what is exactly as old as is kept stays, a moment more and it goes."""

import datetime as dt
from typing import Any

import pytest
from sqlalchemy import func, select

from hub.store import (
    audit,
    changes,
    events,
    idempotency,
    leases,
    lifetimes,
    manifests,
    on_members,
    retention,
    schedule,
    tables,
    tokens,
    workloads,
    works,
)
from shared.clock import ManualClock
from tests.store.build import START, a_wanted_work, a_workload, opened

pytestmark = pytest.mark.anyio
TICK = dt.timedelta(microseconds=1)


def _event(tx: Any, name: str) -> None:
    tx.event(uid=name, kind="Job", namespace="n", name=name, reason="r", message="m")


def _token(tx: Any, name: str, expires_at: dt.datetime | None) -> None:
    if tokens.find_principal(tx, "agent", "c1") is None:
        tokens.add_principal(tx, id="p", role="agent", name="c1")
    tokens.add(tx, id=name, principal="p", purpose="join", secret_hash="h", expires_at=expires_at)


def _revoked(tx: Any) -> None:
    _token(tx, "t", None)
    tokens.revoke_one(tx, "t")


TRIMMED = {
    "audit": (
        lambda tx: audit.add(tx, "admin", "hold", "Job n/j"),
        lambda tx, before: audit.trim(tx, before, 10),
    ),
    "idempotency": (
        lambda tx: idempotency.add(tx, {("p", "k"): ("h", 200, b"{}")}),
        lambda tx, before: idempotency.trim(tx, before, 10),
    ),
    "explanations": (
        lambda tx: schedule.put_explanations(tx, {"k": {}}),
        retention.trim_explanations,
    ),
    "shapes": (
        lambda tx: manifests.add_shapes(tx, {"s": []}),
        manifests.trim_shapes,
    ),
    "tokens": (lambda tx: _token(tx, "t", tx.now), tokens.trim),
    "tokens, revoked": (_revoked, tokens.trim),
    "events": (
        lambda tx: _event(tx, "old"),
        lambda tx, before: events.trim(tx, before, 10),
    ),
    "changes": (
        lambda tx: tx.touch("objects", "old"),
        lambda tx, before: changes.trim(tx, before, 10),
    ),
}


@pytest.mark.parametrize("name", sorted(TRIMMED))
async def test_what_is_as_old_as_is_kept_stays(tmp_path, name):
    """A row of the very instant is not older than it; one moment later it is, and goes."""
    table = tables.metadata.tables[name.split(",")[0]]
    add, trim = TRIMMED[name]
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.write(add)
        clock.advance(1)
        await db.write(lambda tx: _event(tx, "newest"))  # of events and changes the newest stays
        count = select(func.count()).select_from(table)
        before = await db.read(lambda tx: tx.conn.execute(count).scalar())
        assert await db.write(lambda tx: trim(tx, START)) == 0
        assert await db.write(lambda tx: trim(tx, START + TICK)) == 1
        left = await db.read(
            lambda tx: tx.conn.execute(
                count.where(table.c.at <= START) if "at" in table.c else count
            ).scalar()
        )
        assert left == (0 if "at" in table.c else before - 1)


@pytest.mark.parametrize("name", ["events", "changes"])
async def test_the_newest_row_is_never_trimmed(tmp_path, name):
    """However old it is: numbers go on from it after a restart."""
    clock = ManualClock(START)
    numbered = {"events": tables.events.c.id, "changes": tables.changes.c.revision}[name]
    async with opened(tmp_path, clock) as db:
        for each in ("one", "two", "three"):
            await db.write(lambda tx, each=each: _event(tx, each))
        _, trim = TRIMMED[name]
        late = START + dt.timedelta(days=900)
        last = await db.read(lambda tx: tx.conn.execute(select(func.max(numbered))).scalar())
        assert await db.write(lambda tx: trim(tx, late)) >= 2
        left = await db.read(lambda tx: list(tx.conn.execute(select(numbered)).scalars()))
        assert left == [last]


async def test_a_finished_job_is_kept_for_its_whole_time(tmp_path):
    """Its record, and its copy in a member, go when it ended longer ago than is kept, not before."""
    ended = {"state": "Succeeded", "finished_at": START}
    async with opened(tmp_path) as db:
        rows = [a_workload("held", **ended), a_workload("free", **ended)]
        await db.write(lambda tx: workloads.add(tx, rows))
        await db.write(lambda tx: works.upsert(tx, [a_wanted_work("c1", "held")]))
        await db.write(lambda tx: works.act(tx, "Keep", [("c1", "held")]))
        for before, due in ((START, []), (START + TICK, [1])):
            found = await db.read(lambda tx, at=before: retention.jobs_ended_before(tx, at, 10))
            assert found == ["free"] * len(due)
            found = await db.read(lambda tx, at=before: retention.jobs_held_too_long(tx, at, 10))
            assert found == ["held"] * len(due)


@pytest.mark.parametrize(
    ("ttl_s", "after_s", "outlived"), [(0, 0, True), (60, 59, False), (60, 60, True)]
)
async def test_a_name_is_given_back_at_the_end_of_its_ttl(tmp_path, ttl_s, after_s, outlived):
    """With ttlSecondsAfterFinished 0 at once; else when exactly so many seconds have passed."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        row = a_workload("j", state="Failed", finished_at=START, ttl_s=ttl_s)
        await db.write(lambda tx: workloads.add(tx, [row]))
        clock.advance(after_s)
        found = await db.read(lambda tx: retention.names_outlived(tx, 10))
        assert found == (["j"] if outlived else [])


async def test_a_span_of_readiness_is_over_at_its_end(tmp_path):
    """Pods late by exactly the time they have are late; a moment before they are not."""
    rows = [
        a_workload("never", state="Applied", placed_at=START),
        a_workload(
            "lost", state="Running", placed_at=START, pods_ready_at=START, pods_lost_at=START
        ),
    ]
    async with opened(tmp_path) as db:
        await db.write(lambda tx: workloads.add(tx, rows))
        for asked, uid in ((lifetimes.never_ready, "never"), (lifetimes.no_longer_ready, "lost")):
            assert list(await db.read(lambda tx, a=asked: a(tx, START))) == [uid]
            assert not await db.read(lambda tx, a=asked: a(tx, START - TICK))


async def test_a_job_lingers_only_after_its_time(tmp_path):
    """One placed at the instant asked about was not placed before it."""
    async with opened(tmp_path) as db:
        row = a_workload("j", state="Offered", placed_at=START, cluster="c1")
        await db.write(lambda tx: workloads.add(tx, [row]))
        for instant, found in ((START, 0), (START + TICK, 1)):
            got = await db.read(
                lambda tx, at=instant: on_members.jobs_placed_before(tx, at, ["Offered"])
            )
            assert len(got) == found


async def test_a_lease_is_over_at_its_very_end(tmp_path):
    """Another may take it at the instant it runs out to, not a moment before."""
    clock = ManualClock(START)
    ttl = dt.timedelta(seconds=30)
    async with opened(tmp_path, clock) as db:
        await db.write(lambda tx: leases.take(tx, "a", ttl))
        clock.advance(29.999)
        assert await db.write(lambda tx: leases.take(tx, "b", ttl)) is None
        clock.advance(0.001)
        assert await db.write(lambda tx: leases.take(tx, "b", ttl)) == 2

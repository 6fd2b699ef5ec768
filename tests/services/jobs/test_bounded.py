"""A year on one store: no table grows with time, only with what there is at one time."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from hub.domain.workloads.states import Transition
from hub.services.access import people
from hub.services.context.settings import Settings
from hub.services.jobs import retention
from hub.services.jobs.accept import submit_jobs
from hub.services.reading.draft import draft
from hub.store import audit, idempotency, placements, schedule, workloads, works
from hub.store.records.workloads import WorkloadMove
from hub.store.tables import metadata
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.kinds.registry import parse
from tests.services.hubs import a_job, running
from tests.store.build import a_wanted_work

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
DAYS, HALF, LAST = 365, 180, 330
JOBS_A_DAY = 2


def a_day(tx: Transaction, day: int, settings: Settings) -> None:
    """What one day leaves behind: jobs of new shapes, what is said of them, replies, people's tokens."""
    for number in range(JOBS_A_DAY):
        uid = f"{day}-{number}"
        manifest = a_job(f"job-{uid}", f"team-{day % 9}", requests={"cpu": f"{100 + day}m"})
        _submit(tx, uid, manifest, settings)
        rows = [WorkloadMove(uid=uid, epoch=0, cluster="north", cluster_queue="q")]
        workloads.transition(tx, Transition.PLACE, rows)
        works.upsert(tx, [a_wanted_work("north", uid, name=f"job-{uid}")])
        for name in (Transition.OFFER, Transition.START, Transition.SUCCEED):
            workloads.transition(tx, name, [{"uid": uid, "epoch": 1}])
        works.remove(tx, [("north", uid)])
        idempotency.add(tx, {(uid, "key"): ("hash", 201, b"{}")})
    schedule.put_explanations(tx, {f"q/{day}/x": {"day": day}})
    audit.add(tx, "ann", "create", f"Job {day}")
    people.issue(tx, "viewer", "ann", "admin")
    placements.add_snapshot(tx, "placement", "policy", day, f"{day}", {"day": day}, 10)


def a_turn(tx: Transaction, settings: Settings) -> None:
    """All that a hub removes in one turn; it takes a transaction for each step, of which there are many."""
    for step in retention.STEPS:
        step(tx, settings)


def _submit(tx: Transaction, uid: str, manifest: dict[str, Any], settings: Settings) -> None:
    (answer,) = submit_jobs(
        tx, [draft(parse(manifest), tx.now, uid=uid)], settings.intake, strict=False
    )
    assert not isinstance(answer, Exception), answer


def sizes(tx: Transaction) -> dict[str, int]:
    return {
        table.name: tx.conn.execute(select(func.count()).select_from(table)).scalar()
        for table in metadata.sorted_tables
    }


async def test_no_table_grows_with_time(tmp_path: Path):
    """The most that each table holds in the last days of a year is no more than in days before."""
    clock = ManualClock(dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    most: dict[bool, dict[str, int]] = {False: {}, True: {}}
    async with running(tmp_path, clock=clock) as hub:
        settings = hub.hub.settings
        for day in range(DAYS):
            await hub.hub.write(a_day, day, settings)
            clock.advance(86400)
            await hub.hub.write(a_turn, settings)
            if HALF <= day < LAST - 30 or day >= LAST:
                seen = most[day >= LAST]
                for name, rows in (await hub.hub.read(sizes)).items():
                    seen[name] = max(rows, seen.get(name, 0))
    growing = {
        name: (most[False][name], rows)
        for name, rows in most[True].items()
        if rows > most[False][name]
    }
    assert growing == {}
    assert most[True].keys() == retention.BOUNDS.keys()
    held = {"workloads", "events", "audit", "tokens", "shapes", "manifests", "idempotency"}
    assert all(most[True][name] > 0 for name in held), most[True]

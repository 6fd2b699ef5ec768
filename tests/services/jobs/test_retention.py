"""What is kept, and for how long: each table goes by its own span, a bounded number of rows at a time."""

import datetime as dt
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import State
from hub.services.context.settings import Retention, Settings
from hub.services.jobs import retention
from hub.store import audit, events, leases, tables, workloads
from hub.store.errors import StaleTerm
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from tests.store.build import START, a_work, a_workload, call, opened

pytestmark = pytest.mark.anyio
MINUTE = dt.timedelta(minutes=1)
AGES = {"events": 1, "changes": 2, "finished_jobs": 3, "audit": 4, "explanations": 5, "tokens": 6}


async def test_each_step_of_retention_goes_by_its_own_span(tmp_path):
    """What is a minute older than that goes, and nothing of another table."""
    clock = ManualClock(START)
    spans: dict[str, Any] = {name: n * MINUTE for name, n in AGES.items()}
    limits = Settings(retention=Retention(rows_per_turn=3, **spans))
    async with opened(tmp_path, clock) as db:
        term = await db.write(lambda tx: leases.seize(tx, "test", dt.timedelta(days=9)))

        def fill(tx: Transaction) -> None:
            tx.event(uid="u", kind="Job", namespace="n", name="u", reason="R", message="m")
            audit.add(tx, "ann", "verb", "of")
            done = {"state": State.SUCCEEDED, "finished_at": tx.now}
            workloads.add(tx, [a_workload("left", **done), a_workload("held", **done)])
            tx.conn.execute(tables.works.insert(), a_work("c1", "held", action="Keep")._asdict())

        await db.write(fill)
        await db.write(lambda tx: tx.event(
            uid="v", kind="Job", namespace="n", name="v", reason="R", message="m"))  # fmt: skip

        def counts(tx: Transaction) -> tuple[int, int, list[str], str]:
            uids = tx.conn.execute(tables.workloads.select()).scalars()
            (work,) = tx.conn.execute(tables.works.select())
            return (
                len(events.list_events(tx)),
                len(audit.list_entries(tx)),
                sorted(str(uid) for uid in uids),
                work.action,
            )

        with pytest.raises(StaleTerm):
            await db.write(call(retention.take_steps, [retention.trim_events], limits, term + 1))
        seen = []
        for _ in range(6):
            clock.advance(60.5)
            for step in (retention.trim_events, retention.remove_jobs, retention.clear_members,
                         retention.trim_audit):  # fmt: skip
                taken = await db.write(call(retention.take_steps, [step], limits, term))
                assert not taken.more
            seen.append(await db.read(counts))
        both, one = (["held", "left"], "Keep"), (["held"], "Withdraw")
        assert [told[1:] for told in seen] == [
            (1, *both), (1, *both), (1, *one), (0, *one), (0, *one), (0, *one),
        ]  # fmt: skip
        assert seen[0][0] == 1


@pytest.mark.parametrize(
    ("origin", "live", "kept"),
    [("hub-cluster", True, True), ("hub-cluster", None, False), ("rest", True, False)],
)
async def test_a_deactivated_job_is_kept_while_the_hub_cluster_has_it(
    tmp_path, origin, live, kept
):
    """It is suspended there: a hub that forgot it would take it for a new Job, and run it."""
    clock = ManualClock(START)
    limits = Settings(retention=Retention(finished_jobs=MINUTE))
    async with opened(tmp_path, clock) as db:
        over = {"state": State.DEACTIVATED, "finished_at": START, "ttl_s": 25}
        row = a_workload("u", origin=Origin(origin), live=live, **over)
        await db.write(call(workloads.add, [row]))
        clock.advance(90)
        for step in (retention.give_names_back, retention.remove_jobs):
            await db.write(call(step, limits))
        found = await db.read(call(workloads.get, "u"))
        assert (found is not None and bool(found.live)) is kept
        assert (found is not None) is kept


@pytest.mark.parametrize(("rows", "more"), [(2, False), (3, True), (4, True)])
async def test_a_step_that_did_all_it_may_is_taken_again(tmp_path, rows, more):
    """As many as one turn may remove: there may be others."""
    limits = Settings(retention=Retention(rows_per_turn=3))
    async with opened(tmp_path) as db:
        term = await db.write(lambda tx: leases.seize(tx, "test", dt.timedelta(days=9)))
        done = {"state": State.SUCCEEDED, "finished_at": START, "ttl_s": 0}
        given = [a_workload(f"u{n}", **done) for n in range(rows)]
        await db.write(call(workloads.add, given))
        step = call(retention.take_steps, [retention.give_names_back], limits, term)
        assert (await db.write(step)).more is more
        found = await db.read(call(workloads.get_many, [row.uid for row in given]))
        assert sum(row.live is None for row in found.values()) == min(rows, 3)


async def test_steps_share_a_transaction_up_to_the_first_that_removes_rows(tmp_path):
    """Steps that find nothing share a transaction; a step that removes rows ends it."""
    steps = [retention.trim_events, retention.give_names_back, retention.trim_audit]
    async with opened(tmp_path) as db:
        term = await db.write(lambda tx: leases.seize(tx, "test", dt.timedelta(days=9)))
        assert await db.write(call(retention.take_steps, steps, Settings(), term)) == (3, False)
        done = a_workload("u", state=State.SUCCEEDED, finished_at=START, ttl_s=0)
        await db.write(call(workloads.add, [done]))
        assert await db.write(call(retention.take_steps, steps, Settings(), term)) == (2, False)

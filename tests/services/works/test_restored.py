"""A store that went back is accepted: what becomes of a job by the state that it is found in."""

import datetime as dt
from pathlib import Path

import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State
from hub.services.context import leadership, timeline
from hub.services.jobs.hold import hold_job, release_job
from hub.services.works import cluster_loss
from hub.services.works.restored import (
    MESSAGE,
    REASON,
    accept,
    begin_recovery,
    doubtful,
    hold_everything,
    hold_late,
)
from hub.store import audit, events, leftovers, settings, workloads, works
from hub.store.engine import Database
from hub.store.leftovers import Leftover
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.errors import Rejected
from tests.store.build import START, a_wanted_work, a_workload, call, opened

pytestmark = pytest.mark.anyio
NOW = START + dt.timedelta(hours=1)
MAY_START = [State.PENDING, State.RESERVED, State.PLACED, State.HELD, State.DEACTIVATED]
GIVEN = [State.OFFERED, State.APPLIED, State.RUNNING, State.UNKNOWN, State.WITHDRAWING]
ENDED = [State.SUCCEEDED, State.FAILED, State.CANCELLED]


async def held(db: Database, *rows: Workload) -> int:
    """Accept a store that has these jobs, each with the work of its present epoch on `north`."""

    def fill(tx: Transaction) -> int:
        workloads.add(tx, rows)
        on_member = [r for r in rows if r.cluster]
        works.upsert(
            tx,
            [
                a_wanted_work(r.cluster, r.uid, epoch=r.epoch, options=ApplyOptions(ttl_s=5))
                for r in on_member
            ],
        )
        works.offer(
            tx,
            [
                {"cluster": r.cluster, "uid": r.uid, "options": ApplyOptions(ttl_s=5), "hash": "h"}
                for r in on_member
            ],
        )
        return hold_everything(tx)

    return await db.write(fill)


@pytest.mark.parametrize("state", MAY_START)
async def test_what_might_start_again_is_held_beyond_every_epoch(tmp_path: Path, state: State):
    """Only a deactivated one stays what it is, for nothing but a person's word starts it either."""
    async with opened(tmp_path, ManualClock(NOW)) as db:
        row = a_workload("one", state=state, reason="Old", message="old", epoch=2)
        number = await held(db, row)
        after = await db.read(call(workloads.get, "one"))
        assert after is not None
        assert after.epoch > 100_000
        if state is State.DEACTIVATED:
            assert (number, after) == (0, row._replace(epoch=after.epoch))
        else:
            expected = row._replace(
                state=State.HELD,
                reason=REASON,
                message=MESSAGE,
                epoch=after.epoch,
                held_for="Restore",
            )
            assert (number, after) == (1, expected)


@pytest.mark.parametrize("state", GIVEN)
async def test_what_a_member_was_given_goes_on_and_is_in_doubt(tmp_path: Path, state: State):
    """The job stays as it is; its agent is told anew, never to make it, with what stood in its options."""
    async with opened(tmp_path, ManualClock(NOW)) as db:
        row = a_workload("one", state=state, cluster="north", epoch=2)
        assert await held(db, row) == 0
        assert await db.read(call(workloads.get, "one")) == row
        (work,) = await db.read(call(works.of_uids, ["one"]))
        assert work.options == ApplyOptions(ttl_s=5, doubtful=True)
        assert (work.hash, work.seen, work.offered) == ("", True, True)
        assert await db.read(call(doubtful, "north", ["one", "two"])) == {"one"}
        assert await db.read(call(doubtful, "south", ["one"])) == set()


@pytest.mark.parametrize("state", ENDED)
async def test_what_has_ended_stays_ended(tmp_path: Path, state: State):
    """Its copy in a member is no running job, and in no doubt."""
    async with opened(tmp_path, ManualClock(NOW)) as db:
        row = a_workload("one", state=state, cluster="north", epoch=2)
        assert await held(db, row) == 0
        assert await db.read(call(workloads.get, "one")) == row
        assert await db.read(call(doubtful, "north", ["one"])) == set()


async def test_a_bare_workload_is_left_alone(tmp_path: Path):
    """Whoever runs it knows whether it runs: the hub starts nothing of it."""
    async with opened(tmp_path, ManualClock(NOW)) as db:
        row = a_workload("one", kind="Workload")
        assert await held(db, row) == 0
        assert await db.read(call(workloads.get, "one")) == row


async def test_jobs_of_the_hub_cluster_from_before_are_held_when_they_are_taken(tmp_path: Path):
    """One made since, one by REST and a bare one wait as ever; without a restored store all do."""
    async with opened(tmp_path, ManualClock(NOW)) as db:
        mirrored = {"origin": "hub-cluster", "created_at": NOW}
        rows = [
            a_workload("early", **mirrored),
            a_workload("late", **{**mirrored, "created_at": NOW + dt.timedelta(seconds=1)}),
            a_workload("rest", created_at=NOW),
            a_workload("bare", **mirrored, kind="Workload"),
        ]
        await db.write(call(workloads.add, rows))
        await db.write(call(hold_late, rows))
        assert await db.read(call(workloads.get, "early")) == rows[0]
        async with opened(tmp_path / "other", ManualClock(NOW)) as other:
            await other.write(hold_everything)
            await other.write(call(workloads.add, rows))
            await other.write(call(hold_late, rows))
            found = await other.read(call(workloads.get_many, [row.uid for row in rows]))
            early = found.pop("early")
            assert early == rows[0]._replace(
                state=State.HELD,
                reason=REASON,
                message=MESSAGE,
                epoch=early.epoch,
                held_for="Restore",
            )
            assert early.epoch > 100_000
            assert found == {row.uid: row for row in rows[1:]}


async def test_who_accepted_and_how_many_jobs_that_holds_is_said(tmp_path: Path):
    """An event of the hub bears both, and the audit the incarnation that goes on from here."""
    async with opened(tmp_path, ManualClock(NOW)) as db:

        def fill(tx: Transaction) -> None:
            workloads.add(tx, [a_workload("one"), a_workload("two", state=State.DEACTIVATED)])
            settings.put(tx, "incarnation", "inc")
            settings.put(tx, "rolled_back", {"message": "it went back", "incarnation": "inc"})

        await db.write(fill)
        incarnation = await db.write(call(accept, "ada"))
        assert await db.read(call(settings.get, "incarnation")) == incarnation != "inc"
        assert await db.read(timeline.stopped) == ""
        said = await db.read(call(events.list_events, newest_first=True))
        told = [(each.reason, each.message) for each in said if each.reason == "HubRestored"]
        assert told == [("HubRestored", "ada accepted the restored state: 1 jobs are held")]
        (entry,) = await db.read(call(audit.list_entries))
        assert (entry.principal, entry.verb) == ("ada", "accept-restored")
        assert entry.object == f"Hub incarnation {incarnation}"


async def test_what_was_released_before_the_acceptance_stays_so(tmp_path: Path):
    """Everything was held when the backup was restored: who accepts it holds nothing a second time."""
    clock = ManualClock(NOW)
    async with opened(tmp_path, clock) as db:
        await db.write(call(workloads.add, [a_workload("one"), a_workload("two")]))
        number, _ = await db.write(call(begin_recovery, "yesterday", "ada", ()))
        assert number == 2
        await db.write(call(release_job, "one", "ann"))
        before = await db.read(call(workloads.get, "one"))
        clock.advance(60)
        await db.write(call(accept, "ada"))
        assert await db.read(call(workloads.get, "one")) == before
        said = {event.message for event in await db.read(events.list_events)}
        assert "ada accepted the restored state" in said


@pytest.mark.parametrize("state", [State.PENDING, State.HELD])
async def test_a_job_that_its_user_holds_again_is_guarded_like_any_other(
    tmp_path: Path, state: State
):
    """Its release names the member that reports an earlier Job; once that Job is gone, it is allowed."""
    async with opened(tmp_path, ManualClock(NOW)) as db:
        await held(db, a_workload("one", state=state))
        earlier = [Leftover("one", "north", 1)]
        await db.write(call(leftovers.note, "north", earlier))
        await db.write(call(hold_job, "one", "ann"))
        with pytest.raises(Rejected, match="north"):
            await db.write(call(release_job, "one", "ann"))
        await db.write(call(leftovers.drop, earlier))
        await db.write(call(release_job, "one", "ann"))
        after = await db.read(call(workloads.get, "one"))
        assert after is not None
        assert after.state is State.PENDING


async def test_a_job_that_is_in_doubt_does_not_leave_its_lost_cluster_by_itself(tmp_path: Path):
    """A restored store may not know the newest epoch: only a person releases such a job."""
    asks = {"annotations": {"roadstead.dev/on-cluster-loss": "RescheduleAfter(5m)"}}
    silent = {"north": NOW - dt.timedelta(hours=1)}
    async with opened(tmp_path, ManualClock(NOW)) as db:
        term = await db.write(call(leadership.seize, "one"))
        lost = {"state": State.UNKNOWN, "cluster": "north", "epoch": 2, **asks}
        await held(db, a_workload("one", **lost))
        assert await db.write(call(cluster_loss.move_lost, silent, term)) == 0
        await db.write(call(workloads.add, [a_workload("two", **lost)]))
        assert await db.write(call(cluster_loss.move_lost, silent, term)) == 1
        rows = await db.read(call(workloads.get_many, ["one", "two"]))
        assert (rows["one"].state, rows["two"].cluster) == (State.UNKNOWN, "")

"""What becomes of jobs when an administrator accepts that the hub's store went back to an older copy."""

import contextlib
import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import attempt, beyond
from hub.services.context import timeline
from hub.services.context.settings import Intake
from hub.services.jobs import hold
from hub.services.jobs.accept import submit_jobs
from hub.services.objects import fence
from hub.services.reading.draft import draft
from hub.services.works import restored
from hub.services.works.withdraw import withdraw_jobs
from hub.store import events
from shared.kinds import parse_job
from shared.wire.agent_v1 import Mark, Observed
from tests import databases
from tests.services.members.hubs import JOB, Agent, Running, a_stray, ran, running_hub, seen

pytestmark = pytest.mark.anyio

GOES_ON: dict[str, Any] = {"running_since": "2026-05-01T00:00:00Z", "active": 1}


class Restored:
    """A hub whose store went back to before `then`, and was accepted; both agents are started anew."""

    def __init__(self, hub: Running, north: Agent, south: Agent, uid: str) -> None:
        self.hub, self.north, self.south, self.uid = hub, north, south, uid

    async def stands(self) -> tuple[str, str, int]:
        row = await self.hub.job(self.uid)
        return row.state, row.reason, row.epoch

    def beyond(self, epoch: int) -> int:
        return beyond(attempt(epoch), self.hub.clock.now())

    async def wishes(self, to: str) -> None:
        await self.hub.write(withdraw_jobs, [self.uid], to, "Wished", "")
        await self.hub.settled()
        await self.north.sync()


@contextlib.asynccontextmanager
async def accepted(tmp_path: Path, *before: str, **job: Any) -> AsyncIterator[Restored]:
    """`before`: how far job `one` had come in north at the backup: placed, offered, running, wished."""
    folder = tmp_path / "hub"
    folder.mkdir()
    async with running_hub(folder) as hub:
        north, south = await hub.join("north"), await hub.join("south")
        await north.sync()
        await south.sync()
        uid = await hub.submit(**job)
        if "placed" in before:
            await hub.place(uid, "north")
            await hub.settled()
        if "offered" in before:
            await north.sync()
        if "running" in before:
            await north.sync(ran(uid, **GOES_ON))
        if "held" in before:
            await hub.write(hold.hold_job, uid, "ada")
        if "wished" in before:
            await hub.write(withdraw_jobs, [uid], "Pending", "Preempted", "")
    backup = databases.copied(folder, tmp_path / "backup")
    async with running_hub(folder) as hub:
        south.running = hub
        await hub.submit("later")
        await south.sync()
    async with running_hub(backup) as hub:
        marks = south.marks
        for agent in (north, south):
            agent.running = hub
            agent.restart(f"session-{agent.name}-9")
        south.marks = marks
        earlier = hub.sync.incarnation
        assert (await south.post(south.request())).status_code == 409
        await hub.write(restored.accept, "ada")
        while hub.sync.incarnation == earlier:
            await hub.settled()
        await north.sync()
        await south.sync()
        yield Restored(hub, north, south, uid)


@pytest.mark.parametrize("before", [(), ("held",), ("placed",)], ids=["waits", "held", "placed"])
async def test_what_may_have_been_started_since_is_held(tmp_path: Path, before: tuple[str, ...]):
    """Whatever members say: it may run in one that the store has never heard of, or have ended."""
    async with accepted(tmp_path, *before) as it:
        state, reason, epoch = await it.stands()
        assert (state, reason) == ("Held", "Restored")
        assert (epoch, attempt(epoch)) == (it.beyond(epoch), 1 if "placed" in before else 0)
        assert await it.hub.work(it.uid) is None
        stray = a_stray(it.hub, it.uid, "inc-0")
        reply = await it.south.sync(stray)
        assert [each["action"] for each in reply["orders"]] == ["Quarantine"]


async def test_who_accepts_is_told_how_many_jobs_are_held(tmp_path: Path):
    """As an event of the hub."""
    async with accepted(tmp_path) as it:
        rows = await it.hub.hub.read(
            lambda tx: tx.conn.exec_driver_sql(
                "SELECT message FROM events WHERE reason = 'HubRestored'"
            ).all()
        )
        assert [row[0] for row in rows] == ["ada accepted the restored state: 1 jobs are held"]


async def test_a_person_who_has_looked_releases_it(tmp_path: Path):
    """It starts in an epoch that was never given, in the lost time neither."""
    async with accepted(tmp_path) as it:
        await it.hub.write(hold.release_job, it.uid, "ada")
        await it.hub.place(it.uid, "south")
        await it.hub.settled()
        await it.south.sync()
        assert it.south.works[it.uid]["epoch"] == it.beyond(0) + 1
        assert it.south.works[it.uid]["fresh"]


async def test_what_is_submitted_afterwards_starts_as_ever(tmp_path: Path):
    """Nothing of it can have been lost."""
    async with accepted(tmp_path) as it:
        uid = await it.hub.placed("south", "new")
        await it.south.sync()
        assert it.south.works[uid]["epoch"] == 1


@pytest.mark.parametrize("before", [("placed", "offered"), ("placed", "offered", "running")])
async def test_what_runs_where_it_was_given_goes_on(tmp_path: Path, before: tuple[str, ...]):
    """It is never made again, and its result is taken."""
    async with accepted(tmp_path, *before) as it:
        work = it.north.works[it.uid]
        assert (work["action"], work["epoch"], work["seen"]) == ("Apply", 1, True)
        assert not work["fresh"]
        await it.north.sync(ran(it.uid, **GOES_ON))
        assert (await it.stands())[0] == "Running"
        await it.north.sync(ran(it.uid, result="Succeeded"))
        assert (await it.stands())[0] == "Succeeded"


def newer(uid: str, **job: Any) -> Observed:
    """What the agent says of a later epoch than it was told of: released in the lost time, and run again."""
    told: dict[str, Any] = {
        "reason": "NewerEpoch",
        "found_epoch": 2,
        "object_uid": "m-2",
        "incarnation": "inc-0",
    }
    return seen(uid, "Applied", **told, job=job)


RUNS_AT_BACKUP = ("placed", "offered", "running")


async def test_a_later_epoch_of_the_lost_time_goes_on_and_its_result_is_taken(tmp_path: Path):
    """The job goes on in that epoch, says so, and is shown as NewerEpoch."""
    async with accepted(tmp_path, *RUNS_AT_BACKUP) as it:
        await it.north.sync(newer(it.uid, **GOES_ON))
        assert await it.stands() == ("Running", "NewerEpoch", 2)
        assert len(await it.hub.hub.read(events.about, it.uid, "NewerEpoch", 9)) == 1
        await it.hub.settled()
        await it.north.sync()
        work = it.north.works[it.uid]
        assert (work["action"], work["epoch"], work["seen"], work["fresh"]) == (
            "Apply", 2, True, False,
        )  # fmt: skip
        await it.north.sync(ran(it.uid, 2, result="Succeeded"))
        assert (await it.stands())[0] == "Succeeded"


@pytest.mark.parametrize("result", ["Succeeded", "Failed"])
async def test_a_later_epoch_that_ended_in_the_lost_time_is_the_result(
    tmp_path: Path, result: str
):
    """Its report is enough: the agent is asked for nothing more."""
    async with accepted(tmp_path, *RUNS_AT_BACKUP) as it:
        await it.north.sync(newer(it.uid, result=result))
        state, _, epoch = await it.stands()
        assert (state, epoch) == (result, 2)


async def test_a_job_with_a_later_epoch_is_cancelled(tmp_path: Path):
    """The agent is told to withdraw the epoch that it has, before or after it reports it."""
    async with accepted(tmp_path, *RUNS_AT_BACKUP) as it:
        await it.wishes("Cancelled")
        await it.north.sync(newer(it.uid, **GOES_ON))
        await it.hub.settled()
        await it.north.sync()
        work = it.north.works[it.uid]
        assert (work["action"], work["epoch"]) == ("Withdraw", 2)
        await it.north.sync(seen(it.uid, "Gone", 2))
        assert (await it.stands())[0] == "Cancelled"


async def test_a_later_epoch_that_is_taken_back_waits_for_a_person(tmp_path: Path):
    """It starts again as every doubtful job does: held, in an epoch beyond all that were given."""
    async with accepted(tmp_path, *RUNS_AT_BACKUP) as it:
        await it.north.sync(newer(it.uid, **GOES_ON))
        await it.wishes("Pending")
        await it.north.sync(seen(it.uid, "Gone", 2))
        assert await it.stands() == ("Held", "Restored", it.beyond(2))


@pytest.mark.parametrize("before", [("placed", "offered"), ("placed", "offered", "running")])
async def test_what_is_not_there_any_more_is_held(tmp_path: Path, before: tuple[str, ...]):
    """It may have been taken back and run elsewhere, or have ended."""
    async with accepted(tmp_path, *before) as it:
        await it.north.sync(seen(it.uid, "Missing"))
        await it.hub.settled()
        await it.north.sync()
        assert it.north.works[it.uid]["action"] == "Withdraw"
        await it.north.sync(seen(it.uid, "Gone"))
        assert await it.stands() == ("Held", "Restored", it.beyond(1))


async def test_what_was_being_taken_back_is_held(tmp_path: Path):
    """Its member may have said so before, and the next epoch may run elsewhere."""
    async with accepted(tmp_path, "placed", "offered", "running", "wished") as it:
        assert not it.north.works[it.uid]["fresh"]
        await it.north.sync(seen(it.uid, "Gone"))
        assert await it.stands() == ("Held", "Restored", it.beyond(1))


@pytest.mark.parametrize(
    ("wish", "state"), [("Pending", "Held"), ("Held", "Held"), ("Cancelled", "Cancelled")]
)
async def test_what_is_taken_back_afterwards_waits_for_a_person(
    tmp_path: Path, wish: str, state: str
):
    """Unless it is to end: that starts nothing."""
    async with accepted(tmp_path, "placed", "offered", "running") as it:
        await it.wishes(wish)
        await it.north.sync(seen(it.uid, "Gone"))
        assert (await it.stands())[0] == state


async def test_a_failure_that_may_be_retried_waits_for_a_person(tmp_path: Path):
    """It may have been retried in the lost time."""
    again = {"annotations": {"roadstead.dev/retry": "3"}}
    async with accepted(tmp_path, "placed", "offered", "running", metadata=again) as it:
        await it.north.sync(ran(it.uid, result="Failed"))
        await it.north.sync(seen(it.uid, "Gone", job={"result": "Failed"}))
        assert (await it.stands())[:2] == ("Held", "Restored")
        await it.hub.write(hold.release_job, it.uid, "ada")
        await it.hub.place(it.uid, "south")
        await it.hub.settled()
        await it.south.sync()
        epoch = it.beyond(1) + 1  # still the second attempt of three
        await it.south.sync(ran(it.uid, epoch, result="Failed"))
        await it.south.sync(seen(it.uid, "Gone", epoch, job={"result": "Failed"}))
        assert (await it.stands())[0] == "Pending"


async def test_a_cluster_that_is_written_off_gives_its_jobs_to_a_person(tmp_path: Path):
    """That it is destroyed does not tell where they were."""
    async with accepted(tmp_path, "placed", "offered", "running") as it:
        await it.hub.write(
            fence.fence_cluster, "north", "north", "ada", 45.0, though_it_answers=True
        )
        assert await it.stands() == ("Held", "Restored", it.beyond(1))


async def test_a_mark_that_comes_as_it_is_accepted_does_not_stop_it_again(tmp_path: Path):
    """It contradicts the incarnation before."""
    async with accepted(tmp_path) as it:
        mark = Mark(run="lost", revision=9, proof="")
        assert await it.hub.write(timeline.stop, "south", mark, "the one before", b"") == ""


@pytest.mark.parametrize(("made", "state"), [(-60, "Held"), (0, "Held"), (60, "Pending")])
async def test_a_job_of_the_hub_cluster_that_is_found_late_is_held(
    tmp_path: Path, made: float, state: str
):
    """Its uid is its own: taken and run in the lost time, it is the same job when it is taken anew."""
    async with accepted(tmp_path) as it:
        now = it.hub.clock.now()
        manifest = JOB | {"metadata": {"name": "kubectl", "namespace": "team-a"}}
        given = draft(
            parse_job(manifest),
            now,
            origin=Origin.HUB_CLUSTER,
            uid="u-kubectl",
            created_at=now + dt.timedelta(seconds=made),
        )
        it.hub.clock.advance(120)
        await it.hub.write(submit_jobs, [given], Intake(), strict=False)
        row = await it.hub.job("u-kubectl")
        held = state == "Held"
        assert (row.state, row.reason == "Restored") == (state, held)
        assert row.epoch == (it.beyond(0) if held else 0)

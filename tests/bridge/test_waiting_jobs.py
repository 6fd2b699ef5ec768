"""What a Job on the hub cluster says of itself: refused, waiting, running with an edit that was refused."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.bridge.refusals import MirrorRefusal
from hub.bridge.writeback import WAITS
from shared.clock import ManualClock
from shared.conditions import find
from tests.bridge.parts import Parts, a_job, on_simulated

pytestmark = pytest.mark.anyio
NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)


async def suspension(it: Parts, job: dict[str, Any]) -> tuple[str, str]:
    await it.writeback.turn()
    await it.level(job)
    said = find((await it.live(job))["status"]["conditions"], "Suspended")
    assert said is not None
    return said["status"], said["reason"]


async def events(it: Parts) -> list[tuple[str, str, str]]:
    await it.events.turn()
    listing = await it.kube.list("v1", "Event")
    return [(each["type"], each["reason"], each["message"]) for each in listing.items]


async def test_a_running_job_whose_edit_is_refused_goes_on_and_says_so(tmp_path: Path):
    """The hub has it as it was: its status is that of what runs, and a Warning names what was refused."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        uid = job["metadata"]["uid"]
        await it.hub.join("north")
        await it.hub.place(uid, "north")
        await it.events.turn()
        it.mirror.refusals[uid] = MirrorRefusal("Immutable", "spec.template: can not change")
        it.writeback.note(uid)
        assert await suspension(it, job) == ("False", "JobResumed")
        assert ("Warning", "Immutable", "spec.template: can not change") in await events(it)


async def test_a_refused_job_that_is_taken_later_says_why_it_waits_instead(tmp_path: Path):
    """What stood against it is no longer what its condition says."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        uid = job["metadata"]["uid"]
        it.mirror.refusals[uid] = MirrorRefusal("PolicyViolation", "not here")
        it.writeback.note(uid)
        assert await suspension(it, job) == ("True", "PolicyViolation")
        assert await events(it) == [("Warning", "PolicyViolation", "not here")]
        await it.take()
        assert uid not in it.mirror.refusals
        await it.level(job)
        it.writeback.note(uid)
        row = await it.job(job)
        assert row is not None
        assert await suspension(it, job) == ("True", row.reason or "Queued")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"state": "Pending", "reason": "R", "message": "m"}, True),
        ({"state": "Held", "reason": "R", "message": "m"}, True),
        ({"state": "Reserved", "reason": "R", "message": "m"}, True),
        ({"state": "Running", "reason": "R", "message": "m"}, False),
        ({"state": "Pending", "reason": "", "message": "m"}, False),
    ],
    ids=str,
)
async def test_which_jobs_say_why_they_wait(tmp_path: Path, change: dict[str, Any], told: bool):
    """Those that hold no pods yet, with the reason and words of the row; in its own time."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, clock=clock) as (it, _):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        await it.events.turn()
        uid = job["metadata"]["uid"]
        await it.hub.write(as_it_is, uid, change)
        row = await it.job(job)
        assert row is not None
        clock.advance((row.created_at + WAITS - clock.now()).total_seconds())
        it.writeback.note(uid)
        await it.writeback.turn()
        assert (("Normal", "R", "m") in await events(it)) is told


def as_it_is(tx: Any, uid: str, columns: dict[str, Any]) -> None:
    """The row in this state, whatever led to it."""
    state = columns["state"]
    tx.conn.exec_driver_sql(
        "UPDATE workloads SET state = ?, reason = ?, message = ? WHERE uid = ?",
        (state, columns["reason"], columns["message"], uid),
    )

"""What follows for reservations and for stopped queues, as it stands on the rows afterwards."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State
from hub.services.index.reservations import Settlement
from hub.services.scheduling.preempt import drain
from hub.store import schedule, workloads, works
from shared.clock import ManualClock
from tests.services.scheduling.reservations import (
    RETRIED,
    as_decided,
    fill,
    reserved,
    row,
    settled,
)
from tests.store.build import START, a_work, a_workload, call, opened

pytestmark = pytest.mark.anyio


async def test_what_is_ready_is_placed_with_everything_that_was_decided(tmp_path: Path):
    """Its work bears the next epoch, its generation, the options of its flavors and its placement."""
    async with opened(tmp_path) as db:
        before = reserved(placement="p", generation=3, queue="lq")
        await fill(db, before)
        (ready,) = await db.read(call(schedule.standing, ["one"]))
        options = ApplyOptions(parallelism=2, node_selector={"pool": "gold"})
        assert await settled(db, Settlement(ready=[(ready, options)])) == ["one"]
        assert await row(db) == before._replace(state=State.PLACED, epoch=3, placed_at=START)
        (work,) = await db.read(call(works.of_uids, ["one"]))
        assert work == a_work(
            "north", "one", epoch=3, generation=3, options=options, placed_by="p"
        )


@pytest.mark.parametrize(
    "changed",
    [{"generation": 2}, {"checks": RETRIED}, {"epoch": 3}],
    ids=["another generation", "another answer", "another epoch"],
)
async def test_what_has_changed_since_is_decided_anew(tmp_path: Path, changed: Any):
    """It stays reserved, and no cluster gets anything of it."""
    async with opened(tmp_path) as db:
        await fill(db, reserved())
        (ready,) = await db.read(call(schedule.standing, ["one"]))
        await db.write(call(workloads.change, [{"uid": "one", **changed}]))
        assert await settled(db, Settlement(ready=[(ready, ApplyOptions())])) == []
        assert await row(db) == reserved(**changed)
        assert await db.read(works.all_desired) == []


async def test_what_waits_again_is_not_placed(tmp_path: Path):
    """Whoever has no quota charged any more gets no cluster."""
    async with opened(tmp_path) as db:
        await fill(db, reserved())
        (ready,) = await db.read(call(schedule.standing, ["one"]))
        back = Settlement(back=[("one", 2, "Why", "words")])
        assert await settled(db, back) == []
        kept = await row(db)
        still = ready._replace(checks=None)
        await db.write(call(workloads.change, [{"uid": "one", "checks": None}]))
        assert await settled(db, Settlement(ready=[(still, ApplyOptions())])) == []
        assert await row(db) == kept._replace(checks=None)


async def test_what_is_given_back_asks_its_checks_again(tmp_path: Path):
    """Quota and cluster are free; it says why, and how often a check has said Retry is not lost."""
    async with opened(tmp_path) as db:
        await fill(db, reserved(checks=RETRIED), reserved("two", checks=None))
        back = [("one", 2, "Why", "words"), ("two", 2, "Other", "more")]
        await settled(db, Settlement(back=back))
        freed: Any = {
            "state": State.PENDING,
            "cluster": "",
            "cluster_queue": "",
            "admission": None,
            "reserved_at": None,
        }
        after = await row(db)
        assert after == reserved(**freed, reason="Why", message="words", checks=after.checks)
        assert after.checks is not None
        assert after.checks["budget"]["state"] == "Pending"
        assert after.checks["budget"]["retryCount"] == 2
        assert await row(db, "two") == reserved(
            "two", **freed, reason="Other", message="more", checks=None
        )


async def test_why_it_still_waits_is_said_of_what_is_reserved_alone(tmp_path: Path):
    """Whatever else has become of a job speaks for itself."""
    async with opened(tmp_path) as db:
        held = a_workload("two", state=State.HELD, message="held")
        await fill(db, reserved(), held)
        await settled(db, Settlement(told={"one": "waits for room", "two": "waits for room"}))
        assert (await row(db)) == reserved(message="waits for room")
        assert (await row(db, "two")) == held


@pytest.mark.parametrize("stop", ["settled", "drained"])
async def test_a_stopped_queue_gives_back_all_that_it_has(tmp_path: Path, stop: str):
    """Every job of it is evicted with the same reason and words, and queues as before."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await fill(db, reserved(), reserved("two"), reserved("three"))
        clock.advance(60)
        why = {("ClusterQueueStopped", "it was stopped"): ["one", "two"]}
        if stop == "settled":
            await settled(db, Settlement(stopped=why))
        else:
            await db.write(call(drain, why, 1, as_decided(db)))
        for uid in ("one", "two"):
            after = await row(db, uid)
            assert (after.state, after.reason, after.message) == (
                State.PENDING,
                "ClusterQueueStopped",
                "it was stopped",
            )
            assert after.evicted == {
                "reason": "ClusterQueueStopped",
                "message": "it was stopped",
                "at": clock.now().isoformat(),
            }
            assert after.evictions == {"ClusterQueueStopped": 1}
            assert (after.queued_at, after.requeues, after.requeue_at) == (START, 0, None)
        assert await row(db, "three") == reserved("three")

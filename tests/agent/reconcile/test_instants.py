"""What rings when: timers, releases that give way, and the slow second look, at their edges."""

import asyncio
from typing import Any

import pytest

from agent.decide.decision import Decision
from agent.metrics import Meters
from agent.reconcile.finalizers import QUIET_S, FinalizerRemoval
from agent.reconcile.reconciler import Reconciler
from agent.reconcile.resync import PERIOD_S, STRANDED_S, Resync
from agent.reconcile.timers import Timers
from agent.works.lease import Lease
from agent.works.tracked import TrackedWork
from shared import labels
from shared.clock import ManualClock
from shared.wire.agent_v1 import Order
from tests import waiting
from tests.agent.moments import a_live_job, tracking
from tests.agent.scripted_hub import HUB_ID, a_job
from tests.shared.clocks import InstantClock

pytestmark = pytest.mark.anyio
UNSEEN_S = 30.0


async def test_each_rings_at_its_instant_in_order():
    """An earlier one that comes later is not waited past; the same one set twice rings once."""
    clock, rung = ManualClock(), []
    began = clock.monotonic()
    timers = Timers(clock, lambda uid: rung.append((uid, clock.monotonic() - began)))
    running = asyncio.create_task(timers.run())
    try:
        for uid, after in (("late", 20), ("late", 20), ("early", 10), ("past", -1)):
            timers.set(began + after, uid)
        for _ in range(4):
            await waiting.turns(10)
            clock.advance(5)
        await waiting.turns(10)
        assert rung == [("past", 0), ("early", 10), ("late", 20)]
        timers.set(began + 20, "late")
        await waiting.turns(10)
        assert rung[-1] == ("late", 20)
        assert len(rung) == 4
    finally:
        running.cancel()


async def test_releases_begin_after_ten_quiet_seconds():
    """Counted from the last other step."""
    released: list[float] = []

    class Quiet(InstantClock):
        async def sleep(self, seconds: float) -> None:
            if released:
                raise asyncio.CancelledError
            await super().sleep(seconds)

    async def release(_uid: str) -> None:
        released.append(clock.monotonic() - began)

    clock = Quiet()
    removal = FinalizerRemoval(clock, release)
    removal.give_way()
    began = clock.monotonic()
    removal.put("u-1")
    with pytest.raises(asyncio.CancelledError):
        await removal.run()
    assert released == [QUIET_S]


class Seen:
    """A member whose cache shows what it is given, and whose namespace goes."""

    def __init__(self, live: Any = None) -> None:
        self._live = live
        self.marked: list[str] = []
        self.read: list[str] = []

    def live(self, *_address: str) -> Any:
        return self._live

    async def is_namespace_going(self, _name: str) -> bool:
        return True

    async def explain(self, _live: Any) -> tuple[str, str]:
        return "FailedCreate", "quota"

    def mark(self, uid: str) -> None:
        self.marked.append(uid)

    def look_again(self, tracked: TrackedWork) -> None:
        self.read.append(tracked.uid)


async def looked_at(tracked: TrackedWork, after_s: float, cached: Any = None) -> Seen:
    """Look once, this long after the object was seen last (at instant 10)."""
    clock = ManualClock()
    clock.advance(10.0 + after_s - clock.monotonic())
    member: Any = Seen(cached)
    await Resync({tracked.uid: tracked}, member, member, clock, member).look()
    return member


@pytest.mark.parametrize(
    ("after_s", "cached", "busy", "read"),
    [
        (UNSEEN_S - 0.5, None, False, []),
        (UNSEEN_S, None, False, ["u-1"]),
        (UNSEEN_S, {"there": True}, False, []),
        (UNSEEN_S, None, True, []),
    ],
)
async def test_what_no_watch_has_shown_for_half_a_minute_is_read_back(after_s, cached, busy, read):
    """Not what the cache has, nor what a step is about to tell of."""
    tracked = tracking(a_live_job(ended_ago=1), busy=busy)
    assert (await looked_at(tracked, after_s, cached)).read == read


@pytest.mark.parametrize(
    ("after_s", "status", "fields", "explained"),
    [
        (PERIOD_S - 0.5, {}, {}, False),
        (PERIOD_S, {}, {}, True),
        (PERIOD_S, {"active": 0}, {}, True),
        (PERIOD_S, {"active": 1}, {}, False),
        (PERIOD_S, {}, {"pods": 1}, False),
        (PERIOD_S, {}, {"suspend": True}, False),
        (PERIOD_S, {"conditions": [{"type": "Failed", "status": "True"}]}, {}, False),
    ],
)
async def test_why_a_job_gets_no_pods_is_asked_after_a_round(after_s, status, fields, explained):
    """Of one that runs, has none, and has been so for ten seconds."""
    live = a_live_job(suspend=fields.get("suspend", False))
    live["status"] = status
    tracked = tracking(live)
    tracked.seen.pods = fields.get("pods", 0)
    member = await looked_at(tracked, after_s, cached=live)
    assert bool(tracked.hint[0]) is explained
    assert member.marked == (["u-1"] if explained else [])


@pytest.mark.parametrize(
    ("after_s", "closed", "deleting", "held", "goes"),
    [
        (STRANDED_S, "Missing", True, True, True),
        (STRANDED_S - 0.5, "Missing", True, True, False),
        (STRANDED_S, "", True, True, False),
        (STRANDED_S, "Gone", False, True, False),
        (STRANDED_S, "Gone", True, False, False),
    ],
)
async def test_a_namespace_waits_a_minute_for_the_end_of_its_job(
    after_s, closed, deleting, held, goes
):
    """Of one that is being deleted, that we hold, and whose end was concluded."""
    kept_by = [labels.MEMBER_FINALIZER] if held else ["example.com/theirs"]
    live = a_live_job(deleting=deleting, finalizers=kept_by)
    tracked = tracking(live)
    tracked.seen.closed = closed
    await looked_at(tracked, after_s, cached=live)
    assert tracked.seen.acknowledged == ("m-1" if goes else "")


@pytest.mark.parametrize("work", [a_job(epoch=1), None], ids=["behind", "not desired"])
async def test_a_namespace_waits_for_the_end_of_what_another_agent_was_told_of(work):
    """What was concluded of an earlier epoch says nothing of how this Job ended."""
    tracked = tracking(a_live_job(epoch=2, deleting=True))
    tracked.work, tracked.seen.closed = work, "Gone"
    await looked_at(tracked, STRANDED_S, cached=tracked.seen.live)
    assert tracked.seen.acknowledged == ""


def a_reconciler():
    nothing: Any = None
    clock = ManualClock()
    return Reconciler(nothing, HUB_ID, Lease(30.0), lambda: None, clock, Meters())


@pytest.mark.parametrize(("ended_ago", "makes_room"), [(1, True), (None, False)])
async def test_only_an_ended_job_goes_where_its_name_is_needed(ended_ago, makes_room):
    """One that runs stays, however long another waits for its name."""
    agent = a_reconciler()
    agent.tracked_works["u-1"] = tracked = tracking(a_live_job(ended_ago=ended_ago))
    agent._make_room("u-1")
    agent._make_room("nobody")
    assert tracked.seen.make_room is makes_room


@pytest.mark.parametrize(
    ("live", "unfinished"), [(a_live_job(ended_ago=1), False), (a_live_job(), True), (None, True)]
)
async def test_a_job_reserves_room_until_its_end_is_seen(live, unfinished):
    """What is not known to have ended has not."""
    agent = a_reconciler()
    assert agent.unfinished("u-1")
    tracked = tracking(live)
    agent.observed.put(tracked.observed(Decision("Applied"), None))
    assert agent.unfinished("u-1") is unfinished


async def test_an_order_is_for_what_nothing_desires():
    """One that was given before the work came says nothing of the work."""
    agent = a_reconciler()
    agent.tracked_works["u-1"] = desired = tracking(a_live_job())
    agent.tracked_works["u-2"] = orphan = TrackedWork("u-2")
    agent.order(
        [Order(uid=uid, object_uid="m-1", action="Remove") for uid in ("u-1", "u-2", "u-3")]
    )
    assert (desired.seen.ordered, orphan.seen.ordered) == ("", "m-1")
    assert desired.work == a_job()

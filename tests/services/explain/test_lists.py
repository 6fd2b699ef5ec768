"""What explain lists and counts: whom it names, whose words it tells, and how far a forecast looks."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.demand import FOR_GOOD
from hub.services.context.settings import Queueing, Settings
from hub.services.explain import avoided, case, job
from hub.services.explain.as_it_is_now import WaitingView
from hub.services.index.held_back import HeldBack
from hub.services.jobs import cancel
from hub.services.kueue_view import open_checks
from hub.store.records.history import StoredEvent
from shared.errors import Rejected
from tests.services.build import RECLAIM, WITHIN, in_cohort, start, submit, urgent
from tests.services.hubs import Running, a_job, a_pool, running
from tests.services.kueue_view.rows import NOW, a_row, minutes

pytestmark = pytest.mark.anyio


async def full(hub: Running, holders: int, **given: Any) -> None:
    """Queue `a` with a cpu for each of so many holders, all taken."""
    await hub.cluster("c", a_pool(nodes=1, cpu="64"))
    await hub.apply(*in_cohort("a", str(holders), cohort="", **given))
    await submit(hub, "a", "1", *(f"holder-{number}" for number in range(holders)))
    await hub.settle()


async def test_a_position_is_told_within_its_queue_and_among_all(tmp_path: Path) -> None:
    """Each with how many there are: two wait in its queue, five in both."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="1"))
        await hub.apply(*in_cohort("a", "9", cohort=""), *in_cohort("b", "9", cohort=""))
        await submit(hub, "b", "1", "runs")
        await hub.settle()
        await submit(hub, "b", "1", "b-0", "b-1", "b-2")
        _, second = await submit(hub, "a", "1", "a-0", "a-1")
        await hub.settle()
        position = (await hub.explain(second))["position"]
        assert (position["inQueue"], position["ofQueue"]) == (2, 2)
        assert position["ofOverall"] == 5


@pytest.mark.parametrize("holders", [10, 11])
async def test_ten_candidates_are_named_and_all_are_counted(tmp_path: Path, holders: int) -> None:
    """The list is cut, the number is not; more of them would have to go than may at once."""
    few = Settings(queueing=Queueing(max_preempted_workloads=holders - 1))
    async with running(tmp_path, few) as hub:
        await full(hub, holders, preemption=RECLAIM)
        waits = await urgent(hub, "high", "a", str(holders))
        await hub.settle()
        outlook = (await hub.explain(waits))["preemption"]
        assert (outlook["candidatesTotal"], len(outlook["candidates"])) == (holders, 10)


@pytest.mark.parametrize("holders", [3, 4])
async def test_three_that_are_spared_are_named_and_all_are_counted(
    tmp_path: Path, holders: int
) -> None:
    """Of those that one rule spares."""
    async with running(tmp_path) as hub:
        await full(hub, holders, preemption=WITHIN)
        (waits,) = await submit(hub, "a", "1", "waits")
        await hub.settle()
        (spared,) = (await hub.explain(waits))["preemption"]["spared"]
        assert (spared["count"], len(spared["examples"])) == (holders, 3)


async def test_the_minimum_runtime_is_told_in_seconds(tmp_path: Path) -> None:
    """The rule by which a holder that has just begun is spared, with its number."""
    async with running(tmp_path, Settings(queueing=Queueing(minimum_runtime_s=90.0))) as hub:
        await full(hub, 1, preemption=WITHIN)
        waits = await urgent(hub, "high", "a", "1")
        await hub.settle()
        (spared,) = (await hub.explain(waits))["preemption"]["spared"]
        assert spared["reason"] == "it has not run for the minimum time of 90 s"


def an_event(
    number: int, reason: str, message: str, cluster: str, cause: str | None = None
) -> StoredEvent:
    """`cause`: None where the event is called by it."""
    told = (reason, message, cluster, 1, reason if cause is None else cause)
    return StoredEvent(number, minutes(number), "u-1", "Job", "ns", "train", "Warning", *told)


def test_a_member_is_avoided_for_what_was_said_last() -> None:
    """Of events about one member the newest that says its own cause; the words of a message count nothing."""
    row = a_row(set_aside={"north": minutes(30).isoformat(), "south": FOR_GOOD.isoformat()})
    newest_first = [
        an_event(6, "Other", "north: of north-east", "north-east"),
        an_event(5, "Requeued", "waits again (NameConflict)", "north", "NameConflict"),
        an_event(4, "Placed", "placed on north, epoch 2", "north", ""),
        an_event(3, "NameConflict", "north: the name is taken", "north"),
        an_event(2, "Forbidden", "no rights there", "south"),
        an_event(1, "Forbidden", "north: no rights", "north"),
    ]
    assert avoided.because(row, newest_first) == {
        "north": {"reason": "NameConflict", "message": "north: the name is taken"},
        "south": {"reason": "Forbidden", "message": "no rights there"},
    }


def test_a_member_is_avoided_until_an_instant_or_for_good() -> None:
    """To the second; null where only a person ends it."""
    at = NOW + dt.timedelta(minutes=30, microseconds=999_999)
    row = a_row(set_aside={"north": at.isoformat(), "south": FOR_GOOD.isoformat()})
    assert avoided.until(row) == {"north": "2026-05-01T12:30:00Z", "south": None}
    assert avoided.until(a_row()) == {}


def test_time_is_no_remedy_where_a_name_is_taken_and_stays_one_elsewhere() -> None:
    """Only the end of the avoidance of that very member is left out."""
    told: dict[str, Any] = {
        "namespace": "ns", "name": "train",
        "setAside": {"north": "2026-05-01T12:30:00Z", "south": "2026-05-01T12:40:00Z"},
        "setAsideBecause": {
            "north": {"reason": "NameConflict", "message": ""},
            "south": {"reason": "Forbidden", "message": ""},
        },
    }  # fmt: skip
    found = [
        {"kind": "SetAside", "cluster": "north"},
        {"kind": "SetAside", "cluster": "south"},
        {"kind": "Uncordon", "cluster": "north"},
    ]
    rule, *left = avoided.remedies(told, found)
    assert rule["message"].startswith("its name is taken in north: delete the Job ns/train there")
    assert left == found[1:]
    told["setAsideBecause"].pop("north")
    assert avoided.remedies(told, found) == found


@pytest.mark.parametrize(("before", "too_far"), [(-1, False), (0, False), (1, True)])
async def test_a_forecast_plays_with_a_thousand_before_it(
    tmp_path: Path, before: int, too_far: bool
) -> None:
    """The job in that very place still has one; whoever stands behind it is told that it is too far."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "1", cohort=""))
        place = case.BEFORE_IT + before
        uids = await hub.apply(*(a_job(f"j{number}", queue="a") for number in range(place)))
        await hub.follow()
        index = hub.scheduler.index
        assert index is not None
        last = max(uids, key=lambda uid: index.waiting.position(uid) or (0, 0))
        found = case.case_of(index, last, Settings(), hub.clock.now())
        assert found is not None
        assert found.too_far is too_far
        assert found.short == frozenset()


async def test_a_deleted_job_is_explained_until_nothing_of_it_is_left(tmp_path: Path) -> None:
    """While its cluster has it, it is there to be asked about, checks included; then it is deleted."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        (uid,) = await submit(hub, "a", "1", "train")
        await hub.settle()
        await start(hub, uid)
        await hub.hub.write(cancel.delete_job, uid, "ana", "")
        told = await hub.explain(uid)
        assert (told["state"], told["cluster"]) == ("Withdrawing", "c")
        assert (await hub.hub.read(open_checks.checks_of, uid))["state"] == "Withdrawing"
        await hub.transition("cancel", uid)
        for read in (job.explain_job, open_checks.checks_of):
            with pytest.raises(Rejected) as refused:
                await hub.hub.read(read, uid)
            assert refused.value.code == "NotFound"


@pytest.mark.parametrize(
    ("own", "held", "expected"),
    [
        ("", "AwaitingPlacement", "AwaitingPlacement"),
        ("JobNeedsOneCluster", "AwaitingPlacement", None),  # its placement has said why
        ("JobNeedsOneCluster", "QueueStopped", "QueueStopped"),
        ("", "QueueStopped", "QueueStopped"),
    ],
)
async def test_one_that_is_held_back_says_why_unless_its_placement_has(
    tmp_path: Path, own: str, held: str, expected: str | None
) -> None:
    """Only what a placement has said of it stands before what holds it back."""
    async with running(tmp_path) as hub:
        view = WaitingView(HeldBack("ns", "gpu", held, "so it is"))
        told = await hub.hub.read(job.explain_waiting, a_row(reason=own), view)
        assert told.get("reason") == expected

"""Kept room where victims take long and others take room: rule 26 of docs/explain/exactly-once.md."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hub.services.scheduling.turn import Scheduler
from hub.store import clusters, workloads
from tests.services.build import WITHIN, a_class, heard, in_cohort, start, states, submit, urgent
from tests.services.hubs import Running, a_job, running
from tests.services.scheduling.crowded import KEPT_S, Member, going, led_anew, with_budget

pytestmark = pytest.mark.anyio

Happening = Callable[[Running, str], Awaitable[None]]


async def slowly_gone(hub: Running) -> tuple[Member, str, list[str], str]:
    """Its quota asks for one victim, which takes six minutes to end; the room is not reported yet."""
    member = Member(hub, "c", 24, 24)
    await member.report()
    await hub.apply(*in_cohort("a", "40", cohort="", preemption=WITHIN))
    low = await submit(hub, "a", "12", *(f"low{n}" for n in range(3)))
    await hub.settle()
    await start(hub, *low)
    for uid, node in zip(low, (0, 1, 0), strict=True):
        member.on[uid] = (node, 12)
    await member.report()
    high = await urgent(hub, "high", "a", "16")
    await hub.settle()
    (gone,) = await going(hub, low)
    for _ in range(12):
        hub.clock.advance(30)
        await hub.hub.write(heard)
        await member.report()
        await hub.settle()
    await hub.transition("requeue", gone, reason="Preempted")
    return member, high, low, gone


async def nothing(_: Running, __: str) -> None:
    """The same leader decides."""


async def another_leads(hub: Running, _: str) -> None:
    await led_anew(hub)


async def a_write(hub: Running, uid: str) -> None:
    await hub.hub.write(lambda tx: workloads.change(tx, [{"uid": uid, "message": "x"}]))


async def applied_again(hub: Running, _: str) -> None:
    """Its owner adds a label."""
    labels = {"kueue.x-k8s.io/priority-class": "high", "team": "x"}
    await hub.apply(a_job("high", queue="a", requests={"cpu": "16"}, labels=labels))


@pytest.mark.parametrize("happens", [nothing, another_leads, a_write, applied_again])
@pytest.mark.parametrize("noticed", [True, False])
async def test_room_is_kept_from_the_end_of_the_last_victim(
    tmp_path: Path, happens: Happening, noticed: bool
) -> None:
    """Not from the decision: after a change of leader or of the row, no other job is evicted."""
    async with running(tmp_path) as hub:
        member, high, low, gone = await slowly_gone(hub)
        if noticed:
            await hub.settle()
        await happens(hub, high)
        await hub.settle()
        assert await going(hub, low) == []
        assert await states(hub, [high, gone]) == ["Pending", "Pending"]
        del member.on[gone]
        await member.report()
        await hub.settle()
        assert await states(hub, [high, gone]) == ["Placed", "Pending"]


async def test_the_next_leader_counts_on_from_the_stored_moment(tmp_path: Path) -> None:
    """The claim ends five minutes after the victim is gone, not five minutes after each change of leader."""
    async with running(tmp_path) as hub:
        _, high, _, _ = await slowly_gone(hub)
        await hub.settle()
        since = (await hub.job(high)).nomination["gone_at"]
        assert since == hub.clock.now().isoformat()
        hub.clock.advance(KEPT_S - 1)
        await hub.hub.write(heard)
        await led_anew(hub)
        assert claimed(hub.scheduler) == [high]
        hub.clock.advance(2)
        await led_anew(hub)
        assert claimed(hub.scheduler) == []


async def test_an_ended_claim_comes_back_with_no_leader(tmp_path: Path) -> None:
    """Its end stands in the row, with whom it preempted: a cluster that is uncordoned again keeps no room."""
    async with running(tmp_path) as hub:
        _, high, _, gone = await slowly_gone(hub)
        await hub.settle()
        await hub.hub.write(lambda tx: clusters.change(tx, "c", cordoned=True))
        await hub.settle()
        assert (await hub.job(high)).nomination == {"preempted": [gone]}
        await hub.hub.write(lambda tx: clusters.change(tx, "c", cordoned=False))
        await led_anew(hub)
        assert claimed(hub.scheduler) == []


def claimed(scheduler: Scheduler) -> list[str]:
    """Uids of jobs with a claim that stands now."""
    return list(scheduler.index.claims.standing(scheduler._hub.clock.now()))


async def independent(hub: Running, *cpu: int) -> Member:
    """Queue `a` preempts within itself; nothing that `b` does depends on other queues."""
    member = Member(hub, "c", *cpu)
    await member.report()
    await hub.apply(*in_cohort("a", "100", cohort="", preemption=WITHIN))
    await hub.apply(*in_cohort("b", "100", cohort=""))
    return member


async def test_nobody_goes_for_room_that_a_plain_queue_took_in_the_same_cycle(
    tmp_path: Path,
) -> None:
    """Of 8 cpu `low` has 4, and `x` takes the others first: without `low` there is no room for 8."""
    async with running(tmp_path, with_budget()) as hub:
        member = await independent(hub, 8)
        (low,) = await submit(hub, "a", "4", "low")
        await hub.settle()
        await start(hub, low)
        await member.bind(4, n0=low)
        x = await urgent(hub, "x", "b", "4")
        high = await urgent(hub, "high", "a", "8")
        await hub.settle()
        assert await states(hub, [x, high, low]) == ["Placed", "Pending", "Running"]


async def test_a_claim_outlasts_room_that_a_plain_queue_took_in_the_same_cycle(
    tmp_path: Path,
) -> None:
    """`x` takes the node that another job left: the preemptor is not placed there too, but on its own."""
    async with running(tmp_path, with_budget()) as hub:
        member = await independent(hub, 8, 8)
        (low,) = await submit(hub, "a", "8", "low")
        (other,) = await submit(hub, "b", "8", "other")
        await hub.settle()
        await start(hub, low, other)
        await member.bind(8, n0=low, n1=other)
        high = await urgent(hub, "high", "a", "8")
        await hub.settle()
        await hub.apply(a_class("higher", 200))
        labels = {"kueue.x-k8s.io/priority-class": "higher"}
        (x,) = await hub.apply(a_job("x", queue="b", requests={"cpu": "8"}, labels=labels))
        await hub.transition("succeed", other)
        del member.on[other]
        await member.report()
        await hub.settle()
        assert await states(hub, [x, high, low]) == ["Placed", "Pending", "Withdrawing"]
        await member.end(low)
        await hub.settle()
        assert await states(hub, [x, high, low]) == ["Placed", "Placed", "Pending"]


async def test_a_stored_report_with_pods_on_no_node_stops_nobody(tmp_path: Path) -> None:
    """An older hub took it: such pods free nothing, and others are placed."""
    async with running(tmp_path, with_budget()) as hub:
        bad, good = Member(hub, "a", 8), Member(hub, "m", 8)
        await bad.report()
        await good.report()
        await hub.apply(*in_cohort("a", "100", cohort="", preemption=WITHIN))
        await hub.apply(*in_cohort("b", "100", cohort=""))
        low = await submit(hub, "a", "8", "low0", "low1")
        await hub.settle()
        await start(hub, *low)
        for uid in low:
            (bad if (await hub.job(uid)).cluster == "a" else good).on[uid] = (0, 8)
        await bad.report()
        await good.report()
        high = await urgent(hub, "high", "a", "8")
        await hub.settle()
        (gone,) = await going(hub, low)
        cluster = (await hub.job(gone)).cluster
        there = bad if cluster == "a" else good
        there.on[gone] = (1, 8)
        await there.report()
        (other,) = await submit(hub, "b", "1", "other")
        await Member(hub, "k", 64).report()
        await hub.settle()
        assert (await hub.job(other)).state == "Placed"
        assert (await hub.job(high)).state in {"Pending", "Placed"}

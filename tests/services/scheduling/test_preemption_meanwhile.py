"""Workloads that change between a preemption and its commit: no victim is evicted without need."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hub.domain.plan import LeftOut
from hub.services.context.settings import Queueing, Settings
from hub.services.jobs import cancel, hold, revise
from hub.store import workloads
from hub.store.records.workloads import WorkloadChange
from shared.kinds.kueue_v1beta2 import GROUP
from tests.services.hubs import Running, a_job, a_pool, a_queue, running
from tests.services.scheduling.plans import Decided, decided, written

pytestmark = pytest.mark.anyio

PREEMPTS = {"preemption": {"withinClusterQueue": "LowerPriority"}}
URGENT = {"kueue.x-k8s.io/priority-class": "urgent"}


def classes() -> list[dict[str, Any]]:
    kind = {"apiVersion": f"{GROUP}/v1beta2", "kind": "WorkloadPriorityClass"}
    return [
        {**kind, "metadata": {"name": name}, "value": value}
        for name, value in (("urgent", 1000), ("top", 5000))
    ]


async def preempting(hub: Running, quota: int = 1) -> tuple[list[str], str, Decided]:
    """Running jobs that hold all of a quota, an urgent one that is to preempt, and the plan for it."""
    await hub.cluster("a", a_pool(cpu="64"))
    await hub.apply(*a_queue("q", quota={"cpu": str(quota)}, spec=PREEMPTS), *classes())
    lows = await hub.apply(*(a_job(f"low{n}", queue="q") for n in range(quota)))
    await hub.settle()
    for uid in lows:
        for event in ("offer", "start"):
            await hub.transition(event, uid)
    (high,) = await hub.apply(a_job("high", queue="q", labels=URGENT))
    plan = await decided(hub)
    assert len(victims(plan)) == 1
    return lows, high, plan


def victims(plan: Decided) -> set[str]:
    return {each.uid for those in plan[0].evictions.values() for each in those}


async def set_class(hub: Running, uid: str, named: str) -> None:
    await hub.hub.write(revise.set_priority, uid, named, hub.hub.settings.intake, "ann")


async def name_another_cluster(hub: Running, _uid: str) -> None:
    elsewhere = {"roadstead.dev/clusters": "b"}
    await hub.apply(a_job("high", queue="q", labels=URGENT, annotations=elsewhere))


# what becomes of the preemptor
CHANGES: dict[str, Callable[[Running, str], Awaitable[Any]]] = {
    "its priority is lowered": lambda hub, uid: set_class(hub, uid, ""),
    "it names another cluster": name_another_cluster,
    "it is held": lambda hub, uid: hub.hub.write(hold.hold_job, uid, "ann"),
    "it is cancelled": lambda hub, uid: hub.hub.write(cancel.cancel_job, uid, "ann"),
}


@pytest.mark.parametrize("what", CHANGES)
async def test_nobody_goes_for_a_preemptor_that_changed(tmp_path: Path, what: str) -> None:
    """Its victim runs on, then and after the turns that follow."""
    async with running(tmp_path) as hub:
        (low,), high, plan = await preempting(hub)
        await CHANGES[what](hub, high)
        assert (await written(hub, plan)).left_out == {high: LeftOut.LAPSED}
        await hub.settle()
        assert (await hub.job(low)).state == "Running"
        assert not (await hub.job(high)).nomination


async def test_a_victim_that_was_raised_above_its_preemptor_stays(tmp_path: Path) -> None:
    """The preemptor waits for quota instead."""
    async with running(tmp_path) as hub:
        (low,), high, plan = await preempting(hub)
        await set_class(hub, low, "top")
        assert (await written(hub, plan)).left_out == {high: LeftOut.LAPSED}
        await hub.settle()
        assert (await hub.job(low)).state == "Running"
        assert (await hub.job(high)).reason == "WaitingForQuota"


async def test_another_victim_is_found_for_one_that_was_raised(tmp_path: Path) -> None:
    """Of two the one that was to go was raised: the next turn preempts the other."""
    async with running(tmp_path) as hub:
        lows, _, plan = await preempting(hub, quota=2)
        (raised,) = victims(plan)
        (other,) = set(lows) - {raised}
        await set_class(hub, raised, "top")
        await written(hub, plan)
        await hub.settle()
        assert (await hub.job(raised)).state == "Running"
        assert (await hub.job(other)).state == "Withdrawing"


async def test_nobody_goes_where_another_ended(tmp_path: Path) -> None:
    """Its quota serves the preemptor: the next turn places it, and the victim runs on."""
    async with running(tmp_path) as hub:
        lows, high, plan = await preempting(hub, quota=2)
        (low,) = victims(plan)
        (other,) = set(lows) - {low}
        await hub.transition("succeed", other)
        assert (await written(hub, plan)).left_out == {high: LeftOut.LAPSED}
        await hub.settle()
        assert (await hub.job(low)).state == "Running"
        assert (await hub.job(high)).state == "Placed"


async def test_the_end_of_a_job_that_does_not_serve_the_preemptor_changes_nothing(
    tmp_path: Path,
) -> None:
    """A job of another queue ended, and the row of the victim says something else: the victim is evicted."""
    async with running(tmp_path) as hub:
        await hub.cluster("b", a_pool(cpu="64"))
        await hub.apply(*a_queue("r"))
        there = {"roadstead.dev/clusters": "b"}
        (apart,) = await hub.apply(a_job("apart", queue="r", annotations=there))
        (low,), _, plan = await preempting(hub)
        for event in ("offer", "start", "succeed"):
            await hub.transition(event, apart)
        said: WorkloadChange = {"uid": low, "message": "1 pod runs"}
        await hub.hub.write(lambda tx: workloads.change(tx, [said]))
        assert (await written(hub, plan)).left_out == {}
        assert (await hub.job(low)).state == "Withdrawing"


@pytest.mark.parametrize("what", ["ended", "raised"])
async def test_room_that_may_be_free_by_now_is_looked_at_by_the_next_turn(
    tmp_path: Path, what: str
) -> None:
    """One is to go for room in a full cluster, and another there ends or the victim is raised."""
    for_room = Settings(queueing=Queueing(preempt_for_capacity="On"))
    async with running(tmp_path, for_room) as hub:
        await hub.cluster("a", a_pool(nodes=1, cpu="2"))
        await hub.apply(*a_queue("q", quota={"cpu": "8"}, spec=PREEMPTS), *classes())
        lows = await hub.apply(*(a_job(f"low{n}", queue="q") for n in range(2)))
        await hub.settle()
        for uid in lows:
            for event in ("offer", "start"):
                await hub.transition(event, uid)
        (high,) = await hub.apply(a_job("high", queue="q", labels=URGENT))
        plan = await decided(hub, hub.scheduler._profile())
        (low,) = victims(plan)
        (other,) = set(lows) - {low}
        if what == "ended":
            await hub.transition("succeed", other)
        else:
            await set_class(hub, low, "top")
        assert (await written(hub, plan)).left_out == {high: LeftOut.LAPSED}
        assert (await hub.job(low)).state == "Running"

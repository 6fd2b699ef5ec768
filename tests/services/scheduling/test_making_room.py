"""Preemption for room on a live hub: quota fits, the clusters are full of lower priorities."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.context.settings import Queueing, Settings
from tests.services.build import WITHIN, in_cohort, start, states, submit, urgent
from tests.services.hubs import Running, a_pool, running

pytestmark = pytest.mark.anyio

ON = Settings(queueing=Queueing(preempt_for_capacity="On"))


async def full(hub: Running, **given: Any) -> list[str]:
    """Two clusters of one 4-cpu node each, full of jobs of priority 0, and quota for far more."""
    for name in ("c1", "c2"):
        await hub.cluster(name, a_pool(nodes=1, cpu="4"))
    await hub.apply(*in_cohort("a", "100", cohort="", preemption=WITHIN, **given))
    low = await submit(hub, "a", "2", *(f"low{n}" for n in range(4)))
    await hub.settle()
    await start(hub, *low)
    return low


async def test_off_it_waits_for_room(tmp_path: Path) -> None:
    """By default only quota is a reason to preempt."""
    async with running(tmp_path) as hub:
        low = await full(hub)
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        assert (await hub.job(high)).reason == "NoClusterFits"
        assert await states(hub, low) == ["Running"] * 4


async def test_lower_priorities_go_on_one_cluster_and_the_job_is_placed_there(
    tmp_path: Path,
) -> None:
    """The nomination names the cluster and keeps its room until the victims are gone."""
    async with running(tmp_path, ON) as hub:
        low = await full(hub)
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        waits = await hub.job(high)
        nominated = waits.nomination["cluster"]
        going = [r for r in await hub.jobs(low) if r.state == "Withdrawing"]
        assert [r.cluster for r in going] == [nominated] * 2
        assert all("due to a lack of room on its cluster" in r.message for r in going)
        assert waits.reason == "WaitingForPreemptedWorkloads"
        assert "quota fits and no cluster has the room" in waits.message
        for row in going:
            await hub.transition("requeue", row.uid, reason="Preempted")
        await hub.settle()
        placed = await hub.job(high)
        assert (placed.state, placed.cluster) == ("Placed", nominated)
        again = {r.state for r in await hub.jobs([r.uid for r in going])}
        assert again == {"Pending"}


async def test_nobody_more_goes_while_what_was_freed_is_on_its_way(tmp_path: Path) -> None:
    """Victims are gone, the report still shows their pods: the claim waits for the next report."""
    async with running(tmp_path, ON) as hub:
        await hub.cluster("c", a_pool(nodes=2, cpu="4"))
        await hub.apply(*in_cohort("a", "100", cohort="", preemption=WITHIN))
        low = await submit(hub, "a", "4", "one", "two")
        await hub.settle()
        await start(hub, *low)
        bound = [{"uid": uid, "epoch": 1, "bound": 1, "succeeded": 0} for uid in low]
        taken = a_pool(nodes=2, cpu="4")
        for node in taken["nodes"]:
            node["free"] = [0, 109]  # of cpu and pods
        await hub.cluster("c", taken, bound=bound)
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        (gone,) = [r.uid for r in await hub.jobs(low) if r.state == "Withdrawing"]
        await hub.transition("requeue", gone, reason="Preempted")
        await hub.settle()
        assert sorted(await states(hub, low)) == ["Pending", "Running"]
        assert (await hub.job(high)).state == "Pending"
        taken["nodes"][0]["free"] = taken["nodes"][0]["allocatable"]
        await hub.cluster("c", taken, bound=[b for b in bound if b["uid"] != gone])
        await hub.settle()
        assert (await hub.job(high)).state == "Placed"

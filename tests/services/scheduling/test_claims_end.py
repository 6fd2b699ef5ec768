"""A claim keeps the pods of its decision, and ends with its cluster and its queue: rule 26."""

from pathlib import Path
from typing import Any

import pytest

from hub.store import clusters
from tests.services.build import WITHIN, a_class, in_cohort, start, states, submit, urgent
from tests.services.hubs import Running, a_job, a_pool, running
from tests.services.outside.controller import a_checked_queue, answer
from tests.services.scheduling.crowded import Member, affinity, crowded, going, with_budget

pytestmark = pytest.mark.anyio


def of_pods(count: int) -> dict[str, Any]:
    """A Job of priority class `high` with so many pods of 4 cpu at a time."""
    label = {"kueue.x-k8s.io/priority-class": "high"}
    job = a_job("wide", queue="a", requests={"cpu": "4"}, labels=label, count=count)
    job["spec"]["completions"] = 5000
    return job


async def a_preemptor_for_quota(hub: Running, quota: str) -> tuple[str, Member]:
    """It waits for one of four jobs on two of six nodes; its own node is free."""
    member = Member(hub, "c", 8, 8, 8, 8, 8, 8)
    await member.report()
    await hub.apply(*in_cohort("a", quota, cohort="", preemption=WITHIN))
    await hub.apply(*in_cohort("b", "100", cohort=""))
    low = await submit(hub, "a", "4", *(f"low{n}" for n in range(4)))
    await hub.settle()
    await start(hub, *low)
    for number, uid in enumerate(low):
        member.on[uid] = (number % 2, 4)
    await member.report()
    await hub.apply(a_class("high", 100))
    (wide,) = await hub.apply(of_pods(1))
    hub.clock.advance(1)
    await hub.settle()
    assert len(await going(hub, low)) == 1
    return wide, member


async def test_a_preemptor_that_asks_for_more_keeps_what_was_decided(tmp_path: Path) -> None:
    """Its owner raises its parallelism from 1 to 1000, which no queue admits: others have all other nodes."""
    async with running(tmp_path, with_budget()) as hub:
        wide, _ = await a_preemptor_for_quota(hub, "16")
        await hub.apply(of_pods(1000))
        await hub.settle()
        ((_, _, kept),) = hub.scheduler.index.claims.present()[wide].pods
        assert kept == 1
        others = await submit(hub, "b", "8", "o0", "o1", "o2")
        await hub.settle()
        assert await states(hub, others) == ["Placed"] * 3


async def seen(hub: Running, *names: str) -> None:
    """Twenty seconds pass, in which only these clusters send a heartbeat."""
    hub.clock.advance(20)
    heard = dict.fromkeys(names, hub.clock.now())
    await hub.hub.db.write(lambda unit: clusters.beat(unit, heard))
    await hub.settle()


async def test_a_preemptor_waits_for_no_silent_cluster(tmp_path: Path) -> None:
    """Another has room: the preemptor starts there, whatever becomes of its victims."""
    async with running(tmp_path, with_budget()) as hub:
        _, low = await crowded(hub)
        high = await urgent(hub, "high", "a", "8")
        await hub.settle()
        assert len(gone := await going(hub, low)) == 2
        await hub.cluster("d", a_pool(nodes=1, cpu="8"))
        for _ in range(4):
            await seen(hub, "d")
        job = await hub.job(high)
        assert (job.state, job.cluster) == ("Placed", "d")
        assert await states(hub, gone) == ["Withdrawing", "Withdrawing"]


async def test_a_preemptor_leaves_a_cluster_that_is_cordoned(tmp_path: Path) -> None:
    """At once: the cluster takes nothing new."""
    async with running(tmp_path, with_budget()) as hub:
        await crowded(hub)
        high = await urgent(hub, "high", "a", "8")
        await hub.settle()
        await hub.cluster("d", a_pool(nodes=1, cpu="8"))
        await hub.settle()
        assert (await hub.job(high)).state == "Pending"
        await hub.hub.db.write(lambda unit: clusters.change(unit, "c", cordoned=True))
        await hub.settle()
        assert (await hub.job(high)).cluster == "d"


async def test_a_preemptor_that_goes_elsewhere_waits_for_none_of_before(tmp_path: Path) -> None:
    """Its new claim counts on those alone who leave the other cluster."""
    async with running(tmp_path, with_budget()) as hub:
        _, low = await crowded(hub)
        other = Member(hub, "d", 8)
        await other.report()
        (small,) = await submit(hub, "a", "8", "small")
        await hub.settle()
        await start(hub, small)
        await other.bind(8, n0=small)
        high = await urgent(hub, "high", "a", "8")
        await hub.settle()
        first = (await hub.job(high)).nomination
        left = "d" if first["cluster"] == "c" else "c"
        for _ in range(4):
            await seen(hub, left)
        second = (await hub.job(high)).nomination
        assert second["cluster"] == left
        assert not set(second["victims"]) & set(first["victims"])
        assert set(second["preempted"]) == {*first["victims"], *second["victims"]}
        assert set(await going(hub, [*low, small])) == set(second["preempted"])


async def test_a_stopped_queue_keeps_nothing(tmp_path: Path) -> None:
    """Its preemptor can not be admitted: a job of another queue has the room that victims left."""
    async with running(tmp_path, with_budget()) as hub:
        member, low = await crowded(hub)
        await hub.apply(*in_cohort("b", "100", cohort="", preemption=WITHIN))
        high = await urgent(hub, "high", "a", "8")
        await hub.settle()
        gone = await going(hub, low)
        flavor, queue, door = in_cohort("a", "100", cohort="", preemption=WITHIN)
        await hub.apply(flavor, queue | {"spec": queue["spec"] | {"stopPolicy": "Hold"}}, door)
        await hub.settle()
        await member.end(*gone)
        await hub.settle()
        (other,) = await submit(hub, "b", "8", "other")
        await hub.settle()
        assert await states(hub, [high, other]) == ["Pending", "Placed"]


async def test_a_job_that_passed_its_checks_leaves_kept_nodes_to_others(tmp_path: Path) -> None:
    """Like any job that is placed in that cluster while room is kept there."""
    async with running(tmp_path, with_budget()) as hub:
        member, _ = await crowded(hub)
        member.cpu = (8, 8, 4)
        await member.report()
        await a_checked_queue(hub, "budget", quota={"cpu": "50"})
        high = await urgent(hub, "high", "a", "8")
        (checked,) = await hub.apply(a_job("checked", queue="gold", requests={"cpu": "1"}))
        await hub.settle()
        kept = (await hub.job(high)).nomination["nodes"]
        await answer(hub, checked, "budget", "Ready")
        await hub.settle()
        assert (await hub.job(checked)).state == "Placed"
        assert len(kept) == 1
        assert await affinity(hub, checked) == ((), tuple(kept))

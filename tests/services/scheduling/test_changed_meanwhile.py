"""Rules that change between a plan and its commit: what they forbid by then waits, and says why."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hub.domain.plan import LeftOut
from hub.domain.quota.declared import FlavorResource
from hub.services.objects.delete import delete_object
from hub.services.scheduling.commit import commit_plan
from hub.store import clusters
from hub.store.transaction import Transaction
from shared.kinds.kueue_v1beta2 import GROUP
from tests.services.hubs import Running, a_job, a_pool, a_queue, running
from tests.services.scheduling.plans import decided, written
from tests.waiting import turns

pytestmark = pytest.mark.anyio

Change = Callable[[Running], Awaitable[Any]]
TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def queue_with(**spec: Any) -> Change:
    return lambda hub: hub.apply(a_queue("q", quota={"cpu": "8"}, spec=spec)[1])


def flavor_with(**spec: Any) -> Change:
    return lambda hub: hub.apply(a_queue("q", flavor=spec)[0])


def local_queue_with(**spec: Any) -> Change:
    manifest = a_queue("q")[2]
    manifest["spec"] |= spec
    return lambda hub: hub.apply(manifest)


def member_with(**columns: Any) -> Change:
    return lambda hub: hub.hub.write(lambda tx: clusters.change(tx, "a", **columns))


async def delete_queue(hub: Running) -> None:
    await hub.hub.write(
        delete_object, GROUP, "ClusterQueue", "", "q", origin="rest", principal="a"
    )


async def move_to_a_full_cohort(hub: Running) -> None:
    """Its quota is in another flavor: of the job's own none is left."""
    manifest = a_queue("q", quota={"cpu": "8"})[1]
    manifest["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "r-flavor"
    await hub.apply(manifest)


# what changes, and the reason for which the jobs wait then
FORBIDS: dict[str, tuple[Change, str]] = {
    "the ClusterQueue is stopped": (queue_with(stopPolicy="Hold"), "QueueStopped"),
    "the LocalQueue is stopped": (local_queue_with(stopPolicy="Hold"), "QueueStopped"),
    "the ClusterQueue is deleted": (delete_queue, "QueueNotFound"),
    "the LocalQueue leads elsewhere": (local_queue_with(clusterQueue="r"), "PendingEvaluation"),
    "it admits other namespaces": (
        queue_with(namespaceSelector={"matchLabels": {"team": "x"}}), "NamespaceMismatch",
    ),
    "its quota is taken away": (lambda hub: hub.apply(a_queue("q", quota={"cpu": "0"})[1]),
                                "ExceedsMaxQuota"),
    "it has another flavor": (move_to_a_full_cohort, "NoMatchingFlavor"),
    "its flavor has a taint": (flavor_with(nodeTaints=[TAINT]), "NoMatchingFlavor"),
    "its flavor has a label": (flavor_with(nodeLabels={"pool": "x"}), "PendingEvaluation"),
    "it asks for a check": (
        queue_with(admissionChecksStrategy={"admissionChecks": [{"name": "budget"}]}), "Misconfigured",
    ),
    "the member is cordoned": (member_with(cordoned=True), "NoClusterMatches"),
    "the member has a taint": (member_with(taints=[TAINT]), "NoClusterMatches"),
    "the member has less room": (lambda hub: hub.cluster("a", a_pool(cpu="0")), "NoClusterFits"),
}  # fmt: skip


@pytest.mark.parametrize("what", FORBIDS)
async def test_what_a_change_forbids_is_not_placed(tmp_path: Path, what: str) -> None:
    """The jobs wait on, each with the reason, and nothing is charged; those of other queues are placed."""
    change, reason = FORBIDS[what]
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64"))
        await hub.cluster("b", a_pool(cpu="64"))
        await hub.apply(*a_queue("q", quota={"cpu": "8"}), *a_queue("r"))
        there: dict[str, Any] = {"annotations": {"roadstead.dev/clusters": "a"}}
        mine = await hub.apply(a_job("one", queue="q", **there), a_job("two", queue="q", **there))
        (other,) = await hub.apply(
            a_job("other", queue="r", annotations={"roadstead.dev/clusters": "b"})
        )
        plan = await decided(hub)
        await change(hub)
        committed = await written(hub, plan)
        assert committed.placed == [other]
        assert committed.left_out == dict.fromkeys(mine, LeftOut.LAPSED)
        for job in await hub.jobs(mine):
            assert (job.state, job.reason, job.cluster_queue) == ("Pending", reason, "")
            assert job.message


async def test_a_smaller_quota_takes_of_a_plan_what_fits_into_it(tmp_path: Path) -> None:
    """The first of the plan is placed, the others wait for quota."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64"))
        await hub.apply(*a_queue("q", quota={"cpu": "8"}))
        uids = await hub.apply(*(a_job(f"j{n}", queue="q") for n in range(4)))
        plan = await decided(hub)
        await hub.apply(a_queue("q", quota={"cpu": "1"})[1])
        (placed,) = (await written(hub, plan)).placed
        await hub.settle()
        assert hub.scheduler.index.ledger.used("q", FlavorResource("q-flavor", "cpu")) == 1000
        waiting = [uid for uid in uids if uid != placed]
        assert {job.reason for job in await hub.jobs(waiting)} == {"WaitingForQuota"}


async def test_a_stop_in_the_same_group_commit_is_seen(tmp_path: Path) -> None:
    """The stop is in no feed yet: whoever shares the commit tells of it."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64"))
        await hub.apply(*a_queue("q"))
        (uid,) = await hub.apply(a_job("j", queue="q"))
        prepared, grounds = await decided(hub)
        term = hub.scheduler._term()
        held = threading.Event()

        def hold_the_writer(_tx: Transaction) -> None:
            assert held.wait(30)

        first = asyncio.ensure_future(hub.hub.write(hold_the_writer))
        await turns(1)
        stop = asyncio.ensure_future(queue_with(stopPolicy="Hold")(hub))
        await turns(1)
        commit = asyncio.ensure_future(hub.hub.write(commit_plan, prepared, term, grounds))
        await turns(1)
        held.set()
        await asyncio.gather(first, stop)
        assert (await commit).left_out == {uid: LeftOut.LAPSED}


async def test_labels_and_unrelated_quota_leave_a_plan_as_it_is(tmp_path: Path) -> None:
    """A queue with other labels, another queue with other quota: everything is placed as decided."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64"))
        await hub.apply(*a_queue("q"), *a_queue("r"))
        uids = await hub.apply(*(a_job(f"j{n}", queue="q") for n in range(3)))
        plan = await decided(hub)
        labelled = a_queue("q")[1]
        labelled["metadata"]["labels"] = {"cost": "7"}
        await hub.apply(labelled, a_queue("r", quota={"cpu": "3"})[1])
        committed = await written(hub, plan)
        assert (sorted(committed.placed), committed.left_out) == (sorted(uids), {})


async def test_nobody_goes_for_a_preemptor_whose_queue_was_stopped(tmp_path: Path) -> None:
    """Its victims stay, and it waits for its queue."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64"))
        preempts = {"preemption": {"withinClusterQueue": "LowerPriority"}}
        await hub.apply(*a_queue("q", quota={"cpu": "1"}, spec=preempts), *classes())
        (low,) = await hub.apply(a_job("low", queue="q"))
        await hub.settle()
        (high,) = await hub.apply(a_job("high", queue="q", labels=URGENT))
        plan = await decided(hub)
        assert plan[0].evictions
        stopped = {**preempts, "stopPolicy": "Hold"}
        await hub.apply(a_queue("q", quota={"cpu": "1"}, spec=stopped)[1])
        assert (await written(hub, plan)).left_out == {high: LeftOut.LAPSED}
        assert (await hub.job(low)).state == "Placed"
        assert (await hub.job(high)).reason == "QueueStopped"


async def test_nobody_goes_where_a_larger_quota_serves_the_preemptor(tmp_path: Path) -> None:
    """The quota grew before anybody was told to go: it is placed by the next turn, beside the other."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64"))
        preempts = {"preemption": {"withinClusterQueue": "LowerPriority"}}
        await hub.apply(*a_queue("q", quota={"cpu": "1"}, spec=preempts), *classes())
        (low,) = await hub.apply(a_job("low", queue="q"))
        await hub.settle()
        (high,) = await hub.apply(a_job("high", queue="q", labels=URGENT))
        plan = await decided(hub)
        await hub.apply(a_queue("q", quota={"cpu": "2"}, spec=preempts)[1])
        await written(hub, plan)
        await hub.settle()
        assert {job.state for job in await hub.jobs([low, high])} == {"Placed"}


async def test_a_preemptor_that_would_preempt_the_same_preempts(tmp_path: Path) -> None:
    """Another change of its queue leaves the decision as it is."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64"))
        preempts = {"preemption": {"withinClusterQueue": "LowerPriority"}}
        await hub.apply(*a_queue("q", quota={"cpu": "1"}, spec=preempts), *classes())
        (low,) = await hub.apply(a_job("low", queue="q"))
        await hub.settle()
        await hub.apply(a_job("high", queue="q", labels=URGENT))
        plan = await decided(hub)
        strict = {**preempts, "queueingStrategy": "StrictFIFO"}
        await hub.apply(a_queue("q", quota={"cpu": "1"}, spec=strict)[1])
        assert (await written(hub, plan)).left_out == {}
        assert (await hub.job(low)).state == "Pending"  # never offered: it is back at once


URGENT = {"kueue.x-k8s.io/priority-class": "urgent"}


def classes() -> list[dict[str, Any]]:
    kind = {"apiVersion": f"{GROUP}/v1beta2", "kind": "WorkloadPriorityClass"}
    return [{**kind, "metadata": {"name": "urgent"}, "value": 1000}]


async def test_a_queue_that_people_stopped_in_a_member_gets_no_job(tmp_path: Path) -> None:
    """The member reports it after the decision: the next turn places the job in another."""
    async with running(tmp_path) as hub:
        managed = {"queue_managers": ["team-a/q"]}
        for name in ("a", "b"):
            await hub.cluster(name, a_pool(cpu="64"), **managed)
        await hub.apply(*a_queue("q"))
        (uid,) = await hub.apply(a_job("j", queue="q"))
        plan = await decided(hub)
        (chosen,) = (row["cluster"] for row in plan[0].moves)
        stopped = {**managed, "stopped_queues": ["team-a/q"]}
        await hub.cluster(chosen, a_pool(cpu="64"), **stopped)
        assert (await written(hub, plan)).left_out == {uid: LeftOut.LAPSED}
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.cluster) == ("Placed", "b" if chosen == "a" else "a")

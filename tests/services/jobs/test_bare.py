"""Bare Workloads: units of admission without a Job, run by executors outside."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.context import leadership
from hub.services.context.settings import Queueing, Settings
from hub.services.jobs.hold import hold_job
from hub.services.members import deadlines
from hub.services.objects.apply import apply_documents
from hub.services.outside import executors
from hub.services.reading.draft import draft
from hub.store import objects, workloads, works
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.kinds.registry import parse
from tests.services.build import a_workload, in_cohort
from tests.services.hubs import Running, a_job, a_pool, running

pytestmark = pytest.mark.anyio
PREEMPTS = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}


async def states(hub: Running, uids: list[str]) -> list[str]:
    return [(await hub.job(uid)).state for uid in uids]


async def apply_in_turn(hub: Running, *manifests: dict[str, Any]) -> list[str]:
    """One after the other, a moment apart."""
    uids = []
    for manifest in manifests:
        uids += await hub.apply(manifest)
        hub.clock.advance(1)
    return uids


async def test_it_asks_for_quota_only(tmp_path: Path) -> None:
    """Admitted without any cluster in the fleet: Placed, reason Admitted, no cluster and no work."""
    async with running(tmp_path) as hub:
        (uid,) = (await hub.apply(*in_cohort("a", "4"), a_workload("w", cpu=3)))[-1:]
        await hub.settle()
        row = await hub.job(uid)
        assert (row.kind, row.state, row.reason) == ("Workload", "Placed", "Admitted")
        assert (row.cluster, row.cluster_queue, row.epoch) == ("", "a", 1)
        assert row.started_at == row.placed_at
        assert row.admission["podSets"][0]["usage"] == {"cpu": 3000}
        assert not await hub.hub.read(lambda tx: works.of_uids(tx, [uid]))


@pytest.mark.parametrize("cohort", ["", "all"])
async def test_quota_holds_it_back_and_lets_it_go(tmp_path: Path, cohort: str) -> None:
    """It waits for quota like a Job, alone in its tree or in a cohort; an end frees it at once."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "2", cohort))
        uids = await apply_in_turn(hub, *(a_workload(f"w{n}") for n in range(3)))
        await hub.settle()
        assert await states(hub, uids) == ["Placed", "Placed", "Pending"]
        assert (await hub.job(uids[2])).reason == "WaitingForQuota"
        await hub.transition("conclude", uids[0])
        await hub.settle()
        assert await states(hub, uids) == ["Succeeded", "Placed", "Placed"]


async def test_jobs_and_workloads_share_one_line(tmp_path: Path) -> None:
    """They stand in one queue in the order of priority and age, and are charged to the same quota."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(cpu="8"))
        await hub.apply(*in_cohort("a", "2"))
        (job,) = await hub.apply(a_job("same-name", queue="a"))
        hub.clock.advance(1)
        (first,) = await hub.apply(a_workload("same-name"))
        hub.clock.advance(1)
        (urgent,) = await hub.apply(a_workload("urgent", priority=10))
        await hub.settle()
        assert await states(hub, [job, first, urgent]) == ["Placed", "Pending", "Placed"]


async def test_a_preempted_one_is_gone_at_once(tmp_path: Path) -> None:
    """Nobody has to confirm: it is evicted, waits again, and its preemptor takes its quota."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "2", preemption=PREEMPTS))
        (victim,) = await hub.apply(a_workload("low", cpu=2))
        await hub.settle()
        hub.clock.advance(1)
        (urgent,) = await hub.apply(a_workload("high", cpu=2, priority=100))
        await hub.settle()
        assert await states(hub, [victim, urgent]) == ["Pending", "Placed"]
        row = await hub.job(victim)
        assert row.evicted["reason"] == "Preempted"
        assert row.evictions == {"Preempted": 1}
        await hub.transition("conclude", urgent)
        await hub.settle()
        row = await hub.job(victim)
        assert (row.state, row.epoch) == ("Placed", 2)


async def test_a_job_may_displace_it_and_the_reverse(tmp_path: Path) -> None:
    """A Job that preempts a Workload is placed on a cluster; a Workload's victim Job goes gracefully."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(cpu="8"))
        await hub.apply(*in_cohort("a", "2", "all", preemption=PREEMPTS), *in_cohort("b", "2"))
        low, borrower = await hub.apply(
            a_workload("low", "b", cpu=2), a_workload("more", "b", cpu=2)
        )
        await hub.settle()
        assert await states(hub, [low, borrower]) == ["Placed", "Placed"]
        (job,) = await hub.apply(a_job("job", queue="a", requests={"cpu": "2"}))
        await hub.settle()
        assert sorted(await states(hub, [low, borrower])) == ["Pending", "Placed"]
        assert (await hub.job(job)).cluster == "c"
        for move in ("offer", "apply", "start"):
            await hub.transition(move, job)
        (urgent,) = await hub.apply(a_workload("urgent", "a", cpu=2, priority=9))
        await hub.settle()
        assert await states(hub, [job, urgent]) == ["Withdrawing", "Pending"]
        await hub.transition("requeue", job)
        await hub.settle()
        assert await states(hub, [urgent]) == ["Placed"]


async def test_pod_sets_go_together(tmp_path: Path) -> None:
    """Up to 18 pod sets are admitted all at once or not at all."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "18"))
        large = a_workload("large")
        (one,) = large["spec"]["podSets"]
        large["spec"]["podSets"] = [one | {"name": f"p{n}"} for n in range(18)]
        first, second = await apply_in_turn(hub, large, a_workload("small"))
        await hub.settle()
        assert await states(hub, [first, second]) == ["Placed", "Pending"]
        assert len((await hub.job(first)).admission["podSets"]) == 18


async def test_it_may_be_admitted_with_fewer_pods(tmp_path: Path) -> None:
    """minCount: where all pods do not fit, the most that do."""
    limits = Settings(queueing=Queueing(partial_admission="On"))
    async with running(tmp_path, limits) as hub:
        await hub.apply(*in_cohort("a", "4"))
        (uid,) = await hub.apply(a_workload("w", count=6, min_count=2))
        await hub.settle()
        row = await hub.job(uid)
        assert row.admission["podSets"][0]["count"] == 4
        assert row.admission["podSets"][0]["usage"] == {"cpu": 4000}


async def test_an_inactive_one_is_held(tmp_path: Path) -> None:
    """spec.active false: never admitted; set on an admitted one, its quota is taken back at once."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "1"))
        held, uid = await hub.apply(a_workload("held", active=False), a_workload("w"))
        await hub.settle()
        assert await states(hub, [held, uid]) == ["Held", "Placed"]
        await hub.apply(a_workload("w", active=False), a_workload("held"))
        await hub.settle()
        assert await states(hub, [held, uid]) == ["Placed", "Held"]
        row = await hub.job(uid)
        assert (row.reason, row.evicted["reason"]) == ("Deactivated", "Deactivated")


async def test_an_edit_that_says_nothing_of_it_releases_nothing(tmp_path: Path) -> None:
    """What a person holds stays held through a change of priority, until its spec says that it is active."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "1"))
        (uid,) = await hub.apply(a_workload("w"))
        await hub.hub.write(hold_job, uid, "ada")
        await hub.apply(a_workload("w", priority=5))
        row = await hub.job(uid)
        assert (row.state, row.priority) == ("Held", 5)
        await hub.apply(a_workload("w", priority=5, active=True))
        assert (await hub.job(uid)).state == "Pending"


async def test_what_may_change_while_it_holds_quota(tmp_path: Path) -> None:
    """Priority may; pod sets and queue may not, as in Kueue; while it waits, all may."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "1", ""), *in_cohort("b", "1", ""))
        admitted, waiting = await apply_in_turn(hub, a_workload("w"), a_workload("x"))
        await hub.settle()
        await hub.apply(a_workload("w", priority=5), a_workload("x", "b", cpu=2))
        assert (await hub.job(admitted)).priority == 5
        assert (await hub.job(waiting)).queue == "b"
        with pytest.raises(AssertionError, match="podSets"):
            await hub.apply(a_workload("w", priority=5, cpu=2))


async def test_its_queue_may_come_later(tmp_path: Path) -> None:
    """Without its LocalQueue it is an object that holds nothing; it waits once the queue is there."""
    async with running(tmp_path) as hub:
        (uid,) = await hub.apply(a_workload("w"))
        await hub.settle()
        assert await hub.hub.read(lambda tx: workloads.get(tx, uid)) is None
        await hub.apply(*in_cohort("a", "1"))
        await hub.settle()
        assert await states(hub, [uid]) == ["Placed"]


async def test_the_owner_of_a_workload_is_what_is_admitted(tmp_path: Path) -> None:
    """A Workload with owner holds nothing, although its queue is there."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "1"))
        owned = a_workload("w")
        owned["metadata"]["ownerReferences"] = [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": True}
        ]

        def run(tx: Transaction) -> Any:
            given = draft(parse(owned, origin="hub-cluster"), tx.now, origin="hub-cluster")
            (applied,) = apply_documents(tx, [given], hub.hub.settings.intake)
            return objects.get(tx, applied.uid)

        row = await hub.hub.db.write(run)
        assert row.status["conditions"][0]["reason"] == "HasOwner"
        await hub.settle()
        assert not hub.scheduler.index.holders.get("a")


async def test_who_came_second_to_a_preemptor_tries_again(tmp_path: Path) -> None:
    """It fitted, but a preemptor took the quota first in that round: it is not forgotten."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "3", preemption=PREEMPTS), *in_cohort("b", "1"))
        await hub.apply(a_workload("low", cpu=2))
        await hub.settle()
        high, second = await hub.apply(
            a_workload("high", cpu=3, priority=10), a_workload("second", "b", cpu=2)
        )
        await hub.settle()
        assert await states(hub, [high, second]) == ["Placed", "Pending"]
        await hub.transition("conclude", high)
        await hub.settle()
        assert await states(hub, [second]) == ["Placed"]


async def test_pods_that_are_done_give_their_quota_back(tmp_path: Path) -> None:
    """reclaimablePods: less is charged at once, never more again; what waits for it is admitted."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "3", ""))
        first, second = await apply_in_turn(
            hub, a_workload("first", count=3), a_workload("second", cpu=2)
        )
        await hub.settle()
        assert await states(hub, [first, second]) == ["Placed", "Pending"]

        async def report(count: int, name: str = "main") -> None:
            status = {"reclaimablePods": [{"name": name, "count": count}]}
            await hub.hub.write(executors.report_status, first, status, "test")

        await report(1)  # two of three are left, then one of three, not of two
        await hub.settle()
        assert await states(hub, [first, second]) == ["Placed", "Pending"]
        await report(2)
        await hub.settle()
        assert await states(hub, [first, second]) == ["Placed", "Placed"]
        for count, name, code in [
            (1, "main", "Immutable"),
            (4, "main", "OutOfRange"),
            (1, "x", ""),
        ]:
            with pytest.raises(Rejected) as refusal:
                await report(count, name)
            assert refusal.value.code == (code or "UnknownPodSet")
        assert (await hub.job(first)).admission["podSets"][0]["usage"] == {"cpu": 1000}


async def test_its_run_time_is_limited_over_all_runs(tmp_path: Path) -> None:
    """maximumExecutionTimeSeconds counts from admission and over evictions; then it is deactivated."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "1", preemption=PREEMPTS))
        (uid,) = await hub.apply(a_workload("w", maximumExecutionTimeSeconds=60))
        await hub.settle()
        hub.clock.advance(40)
        (urgent,) = await hub.apply(a_workload("urgent", priority=9))
        await hub.settle()
        assert (await hub.job(uid)).ran_s == 40
        await hub.transition("conclude", urgent)
        await hub.settle()
        hub.clock.advance(19)
        assert not (await hub.hub.read(deadlines.overrun))[0]
        hub.clock.advance(1)
        over, _ = await hub.hub.read(deadlines.overrun)
        assert over == [uid]
        term = await hub.hub.write(leadership.seize, "again")
        await hub.hub.write(deadlines.end_overrun, over, term)
        row = await hub.job(uid)
        assert (row.state, row.evicted["cause"]) == (
            "Deactivated",
            "MaximumExecutionTimeExceeded",
        )


async def test_it_is_explained(tmp_path: Path) -> None:
    """In numbers of quota, without a word about clusters; admitted, it says who runs it."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "1", ""))
        admitted, waiting = await apply_in_turn(hub, a_workload("w"), a_workload("x"))
        await hub.settle()
        assert (await hub.explain(admitted))["message"] == "admitted; its executor runs it"
        told = await hub.explain(waiting)
        assert (told["reason"], told["waiting"]["clusters"]) == ("WaitingForQuota", [])
        assert told["waiting"]["quota"][0]["missing"] == "1"


async def test_a_new_leader_finds_what_it_holds(tmp_path: Path) -> None:
    """Read anew from the rows, an admitted one is charged as before."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "2", ""))
        await hub.apply(a_workload("w", cpu=2))
        await hub.settle()
        hub.scheduler.loaded = False
        (waiting,) = await hub.apply(a_workload("x"))
        await hub.settle()
        assert await states(hub, [waiting]) == ["Pending"]
        assert hub.scheduler.index.waiting.position(waiting) == (1, 1)

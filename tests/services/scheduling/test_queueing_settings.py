"""Settings of queueing and stopped queues on a live hub."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.context.settings import Queueing, Settings
from hub.services.scheduling.turn import Scheduler
from tests.services.build import RECLAIM, WITHIN, in_cohort, start, states, submit, urgent
from tests.services.hubs import Running, a_job, a_pool, running

pytestmark = pytest.mark.anyio


def queueing(**given: Any) -> Settings:
    return Settings(queueing=Queueing(**given))


def stopped(queue: list[dict[str, Any]], kind: str, policy: str) -> list[dict[str, Any]]:
    """The same manifests, one of them stopped."""
    for manifest in queue:
        if manifest["kind"] == kind:
            manifest["spec"]["stopPolicy"] = policy
    return queue


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
async def test_hold_lets_run_and_drain_takes_back(tmp_path: Path, kind: str) -> None:
    """Hold admits nothing more; HoldAndDrain also withdraws what runs; both end with the policy."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="8"))
        await hub.apply(*in_cohort("a", "8", cohort=""))
        uids = await submit(hub, "a", "1", "one")
        await hub.settle()
        await start(hub, *uids)
        await hub.apply(*stopped(in_cohort("a", "8", cohort=""), kind, "Hold"))
        uids += await submit(hub, "a", "1", "two")
        await hub.settle()
        assert await states(hub, uids) == ["Running", "Pending"]
        await hub.apply(*stopped(in_cohort("a", "8", cohort=""), kind, "HoldAndDrain"))
        await hub.settle()
        assert await states(hub, uids) == ["Withdrawing", "Pending"]
        assert (await hub.job(uids[0])).reason == f"{kind}Stopped"
        await hub.transition("requeue", uids[0])
        await hub.settle()
        assert await states(hub, uids) == ["Pending", "Pending"]
        await hub.apply(*stopped(in_cohort("a", "8", cohort=""), kind, "None"))
        await hub.settle()
        assert await states(hub, uids) == ["Placed", "Placed"]


async def test_with_fair_sharing_borrowers_take_turns_by_share(tmp_path: Path) -> None:
    """What nobody owns goes in equal parts to queues that borrow, whoever came first (2.3)."""
    for fair, expected in (("Off", [6, 0]), ("On", [3, 3])):
        folder = tmp_path / fair
        folder.mkdir()
        async with running(folder, queueing(fair_sharing=fair)) as hub:
            await hub.cluster("c", a_pool(nodes=1, cpu="16"))
            await hub.apply(*in_cohort("lender", "6"), *in_cohort("a", "0"), *in_cohort("b", "0"))
            first = await submit(hub, "a", "1", *(f"a{n}" for n in range(6)))
            second = await submit(hub, "b", "1", *(f"b{n}" for n in range(6)))
            await hub.settle()
            placed = [(await states(hub, those)).count("Placed") for those in (first, second)]
            assert sum(placed) == 6
            if fair == "On":
                assert placed == expected


async def test_with_fair_sharing_the_larger_share_gives_way(tmp_path: Path) -> None:
    """A queue below its share preempts from one above it, up to balance and no further."""
    async with running(tmp_path, queueing(fair_sharing="On")) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(
            *in_cohort("lender", "6"),
            *in_cohort("a", "0", preemption=RECLAIM),
            *in_cohort("b", "0", preemption=RECLAIM),
        )
        first = await submit(hub, "a", "1", *(f"a{n}" for n in range(6)))
        await hub.settle()
        second = await submit(hub, "b", "1", *(f"b{n}" for n in range(6)))
        await hub.settle()
        placed = [(await states(hub, those)).count("Placed") for those in (first, second)]
        assert placed == [3, 3]


async def test_a_minimum_runtime_and_protected_queues_spare_workloads(tmp_path: Path) -> None:
    """Preemption waits until a victim has run long enough, and never touches protected queues."""
    async with running(tmp_path, queueing(minimum_runtime_s=20.0)) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort="", preemption=WITHIN))
        (low,) = await submit(hub, "a", "4", "low")
        await hub.settle()
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        assert await states(hub, [low, high]) == ["Placed", "Pending"]
        hub.clock.advance(21)
        await hub.settle()
        assert await states(hub, [low, high]) == ["Pending", "Placed"]


async def test_a_job_may_start_with_fewer_pods(tmp_path: Path) -> None:
    """Partial admission: the largest parallelism down to job-min-parallelism that fits."""
    for setting, count in (("Off", 0), ("On", 5)):
        folder = tmp_path / setting
        folder.mkdir()
        async with running(folder, queueing(partial_admission=setting)) as hub:
            await hub.cluster("c", a_pool(nodes=1, cpu="16"))
            await hub.apply(*in_cohort("a", "5", cohort=""))
            note = {"kueue.x-k8s.io/job-min-parallelism": "2"}
            (uid,) = await hub.apply(a_job("wide", queue="a", count=8, annotations=note))
            await hub.settle()
            row = await hub.job(uid)
            assert (row.state == "Placed") is bool(count)
            if count:
                assert row.admission["podSets"][0]["count"] == count
                assert await _free_cpu(hub) == 16 - count


async def _free_cpu(hub: Running) -> int:
    index = hub.scheduler.index
    index.members.refresh(lambda best, left: None)
    room = index.members.room
    return int(room.left[room.layout.row["cpu"], 0]) // 1000


async def test_a_budget_of_victims_holds_until_the_preemptor_is_placed(tmp_path: Path) -> None:
    """With fewer pods allowed each cycle could ask for one victim more: two in all, and it starts."""
    settings = queueing(partial_admission="On", max_preempted_workloads=2)
    async with running(tmp_path, settings) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="6"))
        await hub.apply(*in_cohort("a", "6", cohort="", preemption=WITHIN))
        low = await submit(hub, "a", "1", *(f"low{n}" for n in range(6)))
        await hub.settle()
        await start(hub, *low)
        fewest = {"kueue.x-k8s.io/job-min-parallelism": "1"}
        high = await urgent(hub, "high", "a", "1", count=10, annotations=fewest)
        await hub.settle()
        victims = [uid for uid in low if (await hub.job(uid)).state == "Withdrawing"]
        assert len(victims) == 2
        anew = Scheduler(hub.hub, lambda: 1)
        await anew.load()
        assert anew.index.claims.preempted() == {high: frozenset(victims)}
        for uid in victims:
            await hub.transition("requeue", uid, reason="Preempted")
            await hub.settle()
        assert (await hub.job(high)).state == "Placed"
        assert (await hub.job(high)).admission["podSets"][0]["count"] == 2
        assert (await states(hub, low)).count("Running") == 4

"""Admission checks on a hub with a real store: reserved until all are Ready, and what else may follow."""

from collections import Counter
from pathlib import Path

import pytest

from hub.domain.quota.declared import FlavorResource
from hub.store import works
from shared.errors import Rejected
from tests.services.hubs import a_job, a_pool, running
from tests.services.outside.controller import a_checked_queue, answer, answer_all

pytestmark = pytest.mark.anyio
CPU = FlavorResource("gold-flavor", "cpu")


async def test_a_job_with_open_checks_is_reserved(tmp_path: Path) -> None:
    """Its quota is charged and its cluster tentative; no cluster is told of it."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="8", memory="8Gi"))
        await a_checked_queue(hub, "budget")
        (uid,) = await hub.apply(a_job("one", queue="gold", requests={"cpu": "2"}))
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.cluster, job.epoch) == ("Reserved", "a", 0)
        assert job.message == (
            "cluster a tentative; waits for admission checks: budget (example.com/budget)"
        )
        assert job.reserved_at == hub.clock.now()
        assert {n: c["state"] for n, c in job.checks.items()} == {"budget": "Pending"}
        assert hub.scheduler.index.ledger.used("gold", CPU) == 2000
        assert await hub.hub.read(works.of_uids, [uid]) == []


async def test_a_job_is_placed_once_all_checks_are_ready(tmp_path: Path) -> None:
    """One answer of two changes nothing; with the second the tentative cluster is fixed."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="8", memory="8Gi"))
        await a_checked_queue(hub, "budget", "approval")
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        await hub.settle()
        await answer(hub, uid, "budget", "Ready")
        await hub.settle()
        assert (await hub.job(uid)).state == "Reserved"
        await answer(hub, uid, "approval", "Ready")
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.cluster, job.epoch) == ("Placed", "a", 1)
        (work,) = await hub.hub.read(works.of_uids, [uid])
        assert (work.cluster, work.epoch, work.action) == ("a", 1, "Apply")


async def test_pods_change_no_more_once_the_job_is_placed(tmp_path: Path) -> None:
    """An answer that comes late with other updates of the pods is refused, and changes nothing."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="8", memory="8Gi"))
        await a_checked_queue(hub, "budget")
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        await hub.settle()
        updates = [{"name": "main", "labels": {"cost-centre": "7"}}]
        await answer(hub, uid, "budget", "Ready", podSetUpdates=updates)
        await hub.settle()
        before = await hub.job(uid)
        assert before.state == "Placed"
        others = [{"name": "main", "labels": {"cost-centre": "8"}}]
        with pytest.raises(Rejected) as refused:
            await answer(hub, uid, "budget", "Ready", podSetUpdates=others)
        assert refused.value.code == "Immutable"
        assert (await hub.job(uid)).checks == before.checks


async def test_reserved_room_is_nobody_elses(tmp_path: Path) -> None:
    """Quota and room of a reservation are taken: the next job waits though nothing runs."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="2", memory="8Gi"))
        await a_checked_queue(hub, "budget")
        uids = await hub.apply(
            *(a_job(f"job-{n}", queue="gold", requests={"cpu": "2"}) for n in range(2))
        )
        await hub.settle()
        states = Counter(job.state for job in await hub.jobs(uids))
        assert states == {"Reserved": 1, "Pending": 1}
        (waiting,) = [j for j in await hub.jobs(uids) if j.state == "Pending"]
        assert waiting.reason == "NoClusterFits"


async def test_many_are_placed_together(tmp_path: Path) -> None:
    """Three hundred answers lead to three hundred placements in one transaction of one turn."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(nodes=40, cpu="64", memory="64Gi"))
        await a_checked_queue(hub, "budget", quota={"cpu": "10000"})
        uids = await hub.apply(*(a_job(f"job-{n}", queue="gold") for n in range(300)))
        await hub.settle()
        assert {job.state for job in await hub.jobs(uids)} == {"Reserved"}
        await answer_all(hub, uids, "budget", "Ready")
        before = hub.hub.db.revision
        await hub.follow()
        await hub.scheduler.turn()
        assert {job.state for job in await hub.jobs(uids)} == {"Placed"}
        assert hub.hub.db.revision == before + 1


async def test_reservations_survive_a_restart(tmp_path: Path) -> None:
    """A hub that starts anew knows what is reserved, and places what became Ready meanwhile."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="2", memory="8Gi"))
        await a_checked_queue(hub, "budget")
        (uid,) = await hub.apply(a_job("one", queue="gold", requests={"cpu": "2"}))
        await hub.settle()
        await answer(hub, uid, "budget", "Ready")
    async with running(tmp_path) as hub:
        (other,) = await hub.apply(a_job("two", queue="gold", requests={"cpu": "1"}))
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"
        assert (await hub.job(other)).reason == "NoClusterFits"

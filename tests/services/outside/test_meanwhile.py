"""What changes between a decision about reserved workloads and its being carried out."""

from pathlib import Path

import pytest

from hub.domain.cycle.profile import Profile
from hub.services.index.reservations import Settlement
from hub.services.jobs import cancel
from hub.services.scheduling import settle
from hub.services.scheduling.grounds import Grounds
from hub.store import works
from tests.services.hubs import Running, a_job, a_pool, running
from tests.services.outside.controller import a_checked_queue, answer

pytestmark = pytest.mark.anyio


async def reserved(hub: Running) -> str:
    """A job in state Reserved on cluster `a`; queue `gold` asks for check `budget`."""
    await hub.cluster("a", a_pool(cpu="8", memory="8Gi"))
    await a_checked_queue(hub, "budget")
    (uid,) = await hub.apply(a_job("one", queue="gold"))
    await hub.settle()
    assert (await hub.job(uid)).state == "Reserved"
    return uid


async def test_a_check_that_is_no_longer_ready_when_it_is_placed_keeps_it(tmp_path: Path) -> None:
    """What checks say is read where it is carried out: a Ready that was taken back places nothing."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        await answer(hub, uid, "budget", "Ready")
        await hub.follow()
        await answer(hub, uid, "budget", "Pending", message="once more")
        await hub.scheduler.turn()
        job = await hub.job(uid)
        assert (job.state, job.checks["budget"]["state"]) == ("Reserved", "Pending")


async def test_the_last_updates_of_a_check_reach_the_pods(tmp_path: Path) -> None:
    """Updates that were taken while the job is still reserved are those that it gets."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        for value in ("7", "8"):
            updates = [{"name": "main", "labels": {"cost-centre": value}}]
            await answer(hub, uid, "budget", "Ready", podSetUpdates=updates)
            if value == "7":
                await hub.follow()
        await hub.scheduler.turn()
        await hub.settle()
        (work,) = await hub.hub.read(works.of_uids, [uid])
        assert work.options.pod_labels == {"cost-centre": "8"}


async def test_what_a_reserved_job_has_become_meanwhile_is_not_talked_over(tmp_path: Path) -> None:
    """A job that was cancelled while its wait was put into words keeps the words of its end."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        await hub.hub.write(cancel.cancel_job, uid, "ada")
        before = await hub.job(uid)
        gate, term = hub.scheduler.index.routes.gate(), hub.scheduler._term()
        late = Settlement(told={uid: "waits"}, asked={uid: ("zone",)})
        grounds = Grounds.of(hub.scheduler.index, Profile())
        await hub.hub.write(settle.carry_out, late, gate, term, grounds)
        assert await hub.job(uid) == before

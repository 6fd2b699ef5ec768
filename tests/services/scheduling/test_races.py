"""What changes between a decision and its commit: nothing that was decided of something else is written."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.plan import LeftOut
from hub.domain.quota.declared import FlavorResource
from hub.services.jobs import cancel, hold
from hub.services.objects.fence import fence_cluster
from hub.services.scheduling.commit import Committed
from hub.store import clusters
from tests.services.hubs import a_job, a_pool, a_queue, running
from tests.services.outside.controller import a_checked_queue, answer
from tests.services.scheduling.plans import decided, written

pytestmark = pytest.mark.anyio


def of_forty(pods: int) -> dict[str, Any]:
    """A Job of forty pods, so many at a time."""
    job = a_job("j", queue="q", count=pods)
    job["spec"]["completions"] = 40
    return job


async def test_a_job_that_grew_meanwhile_is_not_placed_by_the_old_plan(tmp_path: Path) -> None:
    """A plan for one pod does not place forty: the job is decided upon anew, as it is now."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64"))
        await hub.apply(*a_queue("q", quota={"cpu": "1"}))
        (uid,) = await hub.apply(of_forty(1))
        plan = await decided(hub)
        await hub.apply(of_forty(40))
        assert await written(hub, plan) == Committed([], {uid: LeftOut.CHANGED})
        await hub.settle()
        job = await hub.job(uid)
        assert job.state == "Pending"
        assert hub.scheduler.index.ledger.used("q", FlavorResource("any", "cpu")) == 0


async def test_a_job_that_stayed_as_it_was_is_placed(tmp_path: Path) -> None:
    """Applying an equal manifest makes no other generation: the plan stands."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64"))
        (uid,) = await hub.apply(a_job("j"))
        plan = await decided(hub)
        await hub.apply(a_job("j"))
        assert await written(hub, plan) == Committed([uid], {})


async def test_a_check_that_takes_its_word_back_leaves_nothing_placed(tmp_path: Path) -> None:
    """Ready, then Retry before the placing is written: the job waits, and nothing is charged."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="8", memory="8Gi"))
        await a_checked_queue(hub, "budget")
        (uid,) = await hub.apply(a_job("one", queue="gold", requests={"cpu": "2"}))
        await hub.settle()
        await answer(hub, uid, "budget", "Ready")
        await hub.follow()  # the index knows of Ready only
        await answer(hub, uid, "budget", "Retry")
        await hub.scheduler._settle_reservations()
        job = await hub.job(uid)
        assert job.state == "Pending"
        assert job.admission is None


@pytest.mark.parametrize("how", ["forgotten", "written off", "cordoned"])
async def test_a_member_that_left_meanwhile_gets_nothing(tmp_path: Path, how: str) -> None:
    """A plan for a member that is not open to work any more is not written: the job goes elsewhere."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64"))
        (uid,) = await hub.apply(a_job("j"))
        plan = await decided(hub)
        if how == "forgotten":
            await hub.hub.write(clusters.remove, "a")
        elif how == "written off":
            await hub.hub.write(fence_cluster, "a", "a", "ada", 45.0, though_it_answers=True)
        else:
            await hub.hub.write(lambda unit: clusters.change(unit, "a", cordoned=True))
        assert await written(hub, plan) == Committed([], {uid: LeftOut.LAPSED})
        assert (await hub.job(uid)).state == "Pending"


async def test_it_is_said_why_a_placement_was_left_out(tmp_path: Path) -> None:
    """One that was held meanwhile has moved on; one that was deleted is gone."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64"))
        held, deleted = await hub.apply(a_job("held"), a_job("deleted"))
        plan = await decided(hub)
        await hub.hub.write(hold.hold_job, held, "ada")
        await hub.hub.write(cancel.delete_job, deleted, "ada")
        committed = await written(hub, plan)
        assert committed.left_out[held] is LeftOut.MOVED
        assert deleted in committed.left_out

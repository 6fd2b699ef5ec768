"""An overloaded member gets less work in the live cycle: no more than its create window."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.services.hubs import Running, a_job, a_pool, running
from tests.services.outside.controller import a_checked_queue, answer_all

pytestmark = pytest.mark.anyio

ROOM: dict[str, Any] = {"cpu": "400", "memory": "400Gi"}


def answers(period: int, answered: int = 0, overloaded: int = 0) -> dict[str, Any]:
    """What the agent reports of one period."""
    return {"period": period, "answered": answered, "overloaded": overloaded}


async def offered(hub: Running, count: int, first: int = 0) -> list[str]:
    """Jobs that the fleet was given; those that were placed are offered."""
    uids = await hub.apply(*(a_job(f"job-{n}") for n in range(first, first + count)))
    await hub.settle()
    for uid in uids:
        if (await hub.job(uid)).state == "Placed":
            await hub.transition("offer", uid)
    await hub.follow()
    return uids


async def spread(hub: Running, uids: list[str]) -> Counter[str]:
    return Counter(job.cluster for job in await hub.jobs(uids))


async def test_an_overloaded_member_gets_no_more_than_its_window(tmp_path: Path) -> None:
    """16 jobs are on their way: the window is 8, so new jobs go to the other member until it shows them."""
    async with running(tmp_path) as hub:
        await hub.cluster("slow", a_pool(**ROOM))
        first = await offered(hub, 16)
        assert await spread(hub, first) == {"slow": 16}
        await hub.cluster("slow", a_pool(**ROOM), creates=answers(1, overloaded=3))
        await hub.cluster("quick", a_pool(**ROOM))
        more = await offered(hub, 12, first=16)
        assert await spread(hub, more) == {"quick": 12}


async def test_with_no_other_member_jobs_wait_and_say_why(tmp_path: Path) -> None:
    """They keep their place in the line, and go there as the member creates what it has."""
    async with running(tmp_path) as hub:
        await hub.cluster("slow", a_pool(**ROOM))
        first = await offered(hub, 16)
        await hub.cluster("slow", a_pool(**ROOM), creates=answers(1, overloaded=3))
        (late,) = await offered(hub, 1, first=16)
        job = await hub.job(late)
        assert (job.state, job.reason) == ("Pending", "NoClusterMatches")
        assert "overloaded: 16 jobs sent to it are not created there yet" in job.message
        for uid in first[:9]:
            await hub.transition("apply", uid)
        await hub.settle()
        assert (await hub.job(late)).state == "Placed"


async def test_one_cycle_stops_at_the_window(tmp_path: Path) -> None:
    """Of 50 jobs at once those within the window are placed, and no more."""
    async with running(tmp_path) as hub:
        await hub.cluster("slow", a_pool(**ROOM))
        first = await offered(hub, 40)
        await hub.cluster("slow", a_pool(**ROOM), creates=answers(1, overloaded=3))
        for uid in first:
            await hub.transition("apply", uid)
        more = await offered(hub, 50, first=40)
        assert (await spread(hub, more))["slow"] == 20


async def test_reservations_keep_to_the_window(tmp_path: Path) -> None:
    """Their checks become Ready at once: they stay reserved and are placed as the member creates jobs."""
    async with running(tmp_path) as hub:
        await hub.cluster("slow", a_pool(**ROOM))
        first = await offered(hub, 16)
        await a_checked_queue(hub, "budget", quota={"cpu": "100"})
        uids = await hub.apply(*(a_job(f"checked-{n}", queue="gold") for n in range(20)))
        await hub.settle()
        await hub.cluster("slow", a_pool(**ROOM), creates=answers(1, overloaded=3))
        await answer_all(hub, uids, "budget", "Ready")
        await hub.settle()
        said = "waits until cluster slow, which is overloaded, creates what it was given"
        told = {(job.state, job.message) for job in await hub.jobs(uids)}
        assert told == {("Reserved", f"all checks are Ready; {said}")}
        for uid in first[:12]:
            await hub.transition("apply", uid)
        await hub.settle()
        states = Counter(job.state for job in await hub.jobs(uids))
        assert states == {"Placed": 4, "Reserved": 16}
        await hub.cluster("slow", a_pool(**ROOM))
        await hub.settle()
        assert {job.state for job in await hub.jobs(uids)} == {"Placed"}


async def test_the_limit_ends_with_the_overload(tmp_path: Path) -> None:
    """A report without creates: the agent has seen none for a minute, and all may go there."""
    async with running(tmp_path) as hub:
        await hub.cluster("slow", a_pool(**ROOM))
        await offered(hub, 16)
        await hub.cluster("slow", a_pool(**ROOM), creates=answers(1, overloaded=3))
        more = await offered(hub, 30, first=16)
        assert (await spread(hub, more))["slow"] == 0
        await hub.cluster("slow", a_pool(**ROOM))
        await hub.settle()
        assert (await spread(hub, more))["slow"] == 30


async def test_a_new_leader_gives_a_member_that_recovers_no_more_than_it_answers(
    tmp_path: Path,
) -> None:
    """It has followed none of the overloaded periods, and the member's last one was not overloaded."""
    async with running(tmp_path) as hub:
        await hub.cluster("slow", a_pool(**ROOM), creates=answers(9, answered=6))
        more = await offered(hub, 30)
        assert (await spread(hub, more))["slow"] == 6

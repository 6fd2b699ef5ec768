"""What a job that waits for room is told is of the room that there is, and of what it lacks now."""

from pathlib import Path

import pytest

from tests.services.build import in_cohort, start, submit
from tests.services.hubs import Running, a_job, a_pool, running

pytestmark = pytest.mark.anyio


async def nine_pods(hub: Running) -> str:
    """A job of nine pods of one cpu each, in a queue of its own."""
    requests = {"cpu": "1"}
    (uid,) = await hub.apply(a_job("wide", queue="a", requests=requests, count=9))
    await hub.settle()
    return uid


async def test_room_that_grew_and_does_not_suffice_is_told(tmp_path: Path) -> None:
    """Four of nine pods fitted when it was looked at; others ended, now eight do, and its row says eight."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "20", cohort=""))
        await hub.cluster("c", a_pool(nodes=8, cpu="1"))
        others = await submit(hub, "a", "1", *(f"o{n}" for n in range(4)))
        await hub.settle()
        await start(hub, *others)
        uid = await nine_pods(hub)
        assert "room for 4 of 9 pods" in (await hub.job(uid)).message
        for other in others:
            await hub.transition("succeed", other)
        await hub.settle()
        hub.clock.advance(11)
        await hub.settle()
        assert "room for 8 of 9 pods" in (await hub.job(uid)).message


async def test_one_that_lacks_quota_by_now_says_so(tmp_path: Path) -> None:
    """It waited for a cluster; meanwhile others took the quota of its queue."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "9", cohort=""), *in_cohort("b", "1", cohort=""))
        await hub.cluster("c", a_pool(nodes=9, cpu="1"))
        await submit(hub, "b", "1", "other")
        await hub.settle()
        uid = await nine_pods(hub)
        assert (await hub.job(uid)).reason == "NoClusterFits"
        await submit(hub, "a", "1", "one")
        await hub.settle()
        hub.clock.advance(11)
        await hub.settle()
        row = await hub.job(uid)
        assert (row.reason, "1 of 9 used, 1 more needed" in row.message) == (
            "WaitingForQuota",
            True,
        )

"""A fleet in balance, on a hub with a real store: what members report, owe and start decides."""

from collections import Counter
from pathlib import Path

import pytest

from hub.services.context.settings import Scheduling, Settings
from tests.services.hubs import Running, a_job, a_pool, running
from tests.services.steps import lively

pytestmark = pytest.mark.anyio

NODES = {"large": 100, "almost": 95, "half": 50}


async def a_fleet(hub: Running) -> None:
    for name, nodes in NODES.items():
        await hub.cluster(name, a_pool(nodes=nodes, cpu="32", memory="128Gi"))


async def split_of(hub: Running, count: int, prefix: str = "job") -> Counter[str]:
    uids = await hub.apply(*(a_job(f"{prefix}-{n}") for n in range(count)))
    await hub.settle()
    return Counter(job.cluster for job in await hub.jobs(uids))


async def test_a_thousand_equal_jobs_split_as_the_members_room(tmp_path: Path) -> None:
    """Members of 100, 95 and 50 nodes: each gets its part, within five points."""
    async with running(tmp_path) as hub:
        await a_fleet(hub)
        split = await split_of(hub, 1000)
        for name, nodes in NODES.items():
            assert abs(split[name] / 1000 - nodes / 245) < 0.05, split


async def test_a_member_that_starts_nothing_gets_less(tmp_path: Path) -> None:
    """Two members start what they are given and one does not: the next burst goes past it."""
    async with running(tmp_path) as hub:
        await a_fleet(hub)
        uids = await hub.apply(*(a_job(f"first-{n}") for n in range(90)))
        await hub.settle()
        for _ in range(2):  # twenty seconds in which `large` starts nothing
            hub.clock.advance(10)
            await hub.settle()
        for job in await hub.jobs(uids):
            if job.cluster != "large":
                await lively(hub, job.uid)
        await hub.settle()
        split = await split_of(hub, 300, "second")
        assert split["large"] < 30, split


async def test_a_decision_shows_its_numbers_and_its_ties(tmp_path: Path) -> None:
    """Equal members: the one that was not chosen says that it was a tie, and what broke it."""
    async with running(tmp_path) as hub:
        for name in ("a", "b"):
            await hub.cluster(name, a_pool(cpu="4", memory="8Gi"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        chosen, other = (await hub.explain(uid))["decision"]["clusters"]
        assert chosen["score"] == other["score"] == 7500
        assert other["message"] == (
            f"tied at 7500 with {chosen['cluster']}; the tie is broken by a stable hash of job and "
            "cluster: 25.00% in use once it is placed (7500), 0 running"
        )


async def test_kubefleets_arithmetic_is_a_setting(tmp_path: Path) -> None:
    """With profile KubeFleet the member that has a hair more takes it all, as KubeFleet has it."""
    limits = Settings(scheduling=Scheduling(profile="KubeFleet"))
    async with running(tmp_path, limits) as hub:
        await a_fleet(hub)
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        job = await hub.job(uid)
        assert job.cluster == "large"
        assert job.scores["clusters"][0]["score"] == 100

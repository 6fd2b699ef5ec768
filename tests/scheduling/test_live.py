"""The live scheduler on a real store: from a submitted Job to a placement, and why others wait."""

from collections import Counter
from pathlib import Path

import pytest

from hub.store import works
from tests.scheduling.hubs import a_job, a_pool, a_queue, running

pytestmark = pytest.mark.anyio


async def test_a_job_is_placed_with_scores_and_a_work_for_its_cluster(tmp_path: Path) -> None:
    """A Job without queue goes through the default queue to the cluster with more room."""
    async with running(tmp_path) as hub:
        await hub.cluster("small", a_pool(cpu="4", memory="8Gi"))
        await hub.cluster("large", a_pool(cpu="16", memory="64Gi"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        job = await hub.job(uid)
        assert (job["state"], job["cluster"], job["epoch"]) == ("Placed", "large", 1)
        assert job["cluster_queue"] == "default"
        chosen, other = job["scores"]["clusters"]
        assert (chosen["cluster"], chosen["selected"], chosen["score"]) == ("large", True, 100)
        assert (other["cluster"], other["selected"], other["score"]) == ("small", False, 0)
        (work,) = await hub.hub.read(works.of_uids, [uid])
        assert (work["cluster"], work["epoch"], work["action"]) == ("large", 1, "Apply")


async def test_a_burst_does_not_herd(tmp_path: Path) -> None:
    """100 equal jobs at once to three equal clusters: at most 35 each, with frozen reports."""
    async with running(tmp_path) as hub:
        for name in ("a", "b", "c"):
            await hub.cluster(name, a_pool(nodes=4, cpu="16", memory="64Gi"))
        uids = await hub.apply(*(a_job(f"job-{n}") for n in range(100)))
        await hub.settle()
        spread = Counter(job["cluster"] for job in await hub.jobs(uids))
        assert sum(spread.values()) == 100
        assert max(spread.values()) <= 35, spread


async def test_quota_is_enforced_and_explained(tmp_path: Path) -> None:
    """Two of three jobs fit the quota; the third waits with the numbers, and runs when one finishes."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64", memory="64Gi"))
        await hub.apply(*a_queue("gold", quota={"cpu": "2"}))
        uids = await hub.apply(*(a_job(f"job-{n}", queue="gold") for n in range(3)))
        await hub.settle()
        states = [job["state"] for job in await hub.jobs(uids)]
        assert Counter(states) == {"Placed": 2, "Pending": 1}
        last = await hub.job(uids[2])
        assert last["reason"] == "WaitingForQuota"
        told = await hub.explain(uids[2])
        assert told["waiting"]["quota"] == [
            {
                "flavor": "gold-flavor",
                "resource": "cpu",
                "asked": "1",
                "used": "2",
                "limit": "2",
                "missing": "1",
            }
        ]
        assert told["position"] == {"inQueue": 1, "ofQueue": 1, "overall": 1, "ofOverall": 1}
        await hub.transition("offer", uids[0])
        await hub.transition("succeed", uids[0])
        await hub.settle()
        assert (await hub.job(uids[2]))["state"] == "Placed"


async def test_a_job_too_large_for_every_cluster_names_the_nearest_miss(tmp_path: Path) -> None:
    """It waits with NoClusterFits and the cluster that came nearest, and runs when a node fits it."""
    async with running(tmp_path) as hub:
        await hub.cluster("cpu-1", a_pool(cpu="64"))
        await hub.cluster("gpu-1", a_pool(cpu="64", gpu=4))
        (uid,) = await hub.apply(a_job("big", requests={"cpu": "1", "nvidia.com/gpu": "8"}))
        await hub.settle()
        job = await hub.job(uid)
        assert job["reason"] == "NoClusterFits"
        assert "cluster gpu-1 misses 4 nvidia.com/gpu on one node" in job["message"]
        told = await hub.explain(uid)
        verdicts = {c["cluster"]: c["message"] for c in told["waiting"]["clusters"]}
        assert verdicts["gpu-1"] == "misses 4 nvidia.com/gpu on one node"
        await hub.cluster("gpu-1", a_pool(cpu="64", gpu=8))
        await hub.settle()
        assert (await hub.job(uid))["state"] == "Placed"

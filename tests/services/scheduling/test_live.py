"""The live scheduler on a real store: from a submitted Job to a placement, and why others wait."""

from collections import Counter
from pathlib import Path

import pytest

from hub.domain.quota.declared import FlavorResource
from hub.services.context import leadership
from hub.store import settings, works
from hub.store.errors import StaleTerm
from tests.services.build import in_cohort, start, states, submit
from tests.services.hubs import KUEUE, a_job, a_placement, a_pool, a_queue, running

pytestmark = pytest.mark.anyio


async def test_a_job_is_placed_with_scores_and_a_work_for_its_cluster(tmp_path: Path) -> None:
    """A Job without queue goes through the default queue to the cluster with more room."""
    async with running(tmp_path) as hub:
        await hub.cluster("small", a_pool(cpu="4", memory="8Gi"))
        await hub.cluster("large", a_pool(cpu="16", memory="64Gi"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.cluster, job.epoch) == ("Placed", "large", 1)
        assert job.cluster_queue == "default"
        chosen, other = job.scores["clusters"]
        assert (chosen["cluster"], chosen["selected"], chosen["score"]) == ("large", True, 9375)
        assert (other["cluster"], other["selected"], other["score"]) == ("small", False, 7500)
        (work,) = await hub.hub.read(works.of_uids, [uid])
        assert (work.cluster, work.epoch, work.action) == ("large", 1, "Apply")


async def test_a_burst_does_not_herd(tmp_path: Path) -> None:
    """100 equal jobs at once to three equal clusters: at most 35 each, with frozen reports."""
    async with running(tmp_path) as hub:
        for name in ("a", "b", "c"):
            await hub.cluster(name, a_pool(nodes=4, cpu="16", memory="64Gi"))
        uids = await hub.apply(*(a_job(f"job-{n}") for n in range(100)))
        await hub.settle()
        spread = Counter(job.cluster for job in await hub.jobs(uids))
        assert sum(spread.values()) == 100
        assert max(spread.values()) <= 35, spread


async def test_quota_is_enforced_and_explained(tmp_path: Path) -> None:
    """Two of three jobs fit the quota; the third waits with the numbers, and runs when one finishes."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="64", memory="64Gi"))
        await hub.apply(*a_queue("gold", quota={"cpu": "2"}))
        uids = await hub.apply(*(a_job(f"job-{n}", queue="gold") for n in range(3)))
        await hub.settle()
        jobs = await hub.jobs(uids)
        assert Counter(job.state for job in jobs) == {"Placed": 2, "Pending": 1}
        (last,) = [job for job in jobs if job.state == "Pending"]
        assert last.reason == "WaitingForQuota"
        told = await hub.explain(last.uid)
        assert told["waiting"]["quota"] == [
            {
                "flavor": "gold-flavor",
                "resource": "cpu",
                "asked": "1",
                "used": "2",
                "limit": "2",
                "missing": "1",
                "cohort": "",
                "message": "cpu of flavor gold-flavor: 1 asked, 2 of 2 used, 1 more needed",
            }
        ]
        assert told["position"] == {"inQueue": 1, "ofQueue": 1, "overall": 1, "ofOverall": 1}
        first = next(job.uid for job in jobs if job.state == "Placed")
        await hub.transition("offer", first)
        await hub.transition("succeed", first)
        await hub.settle()
        assert (await hub.job(last.uid)).state == "Placed"


async def test_a_job_too_large_for_every_cluster_names_the_nearest_miss(tmp_path: Path) -> None:
    """It waits with NoClusterFits and the cluster that came nearest, and runs when a node fits it."""
    async with running(tmp_path) as hub:
        await hub.cluster("cpu-1", a_pool(cpu="64"))
        await hub.cluster("gpu-1", a_pool(cpu="64", gpu=4))
        (uid,) = await hub.apply(a_job("big", requests={"cpu": "1", "nvidia.com/gpu": "8"}))
        await hub.settle()
        job = await hub.job(uid)
        assert job.reason == "NoClusterFits"
        assert "cluster gpu-1 misses 4 nvidia.com/gpu on one node" in job.message
        told = await hub.explain(uid)
        verdicts = {c["cluster"]: c["message"] for c in told["waiting"]["clusters"]}
        assert verdicts["gpu-1"] == "misses 4 nvidia.com/gpu on one node"
        await hub.cluster("gpu-1", a_pool(cpu="64", gpu=8))
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


async def test_a_job_whose_queue_is_placed_waits_for_a_placement(tmp_path: Path) -> None:
    """AwaitingPlacement until a placement selects the Job; then its policy decides."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="4"))
        await hub.cluster("b", a_pool(cpu="64"))
        await hub.apply(*a_queue("gold"))
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        placed_queue = a_placement("queues", "kueue.x-k8s.io", "ClusterQueue", "gold")
        await hub.apply(placed_queue)
        await hub.settle()
        assert (await hub.job(uid)).reason == "AwaitingPlacement"
        policy = {
            "placementType": "PickN",
            "numberOfClusters": 1,
            "affinity": {
                "clusterAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 40,
                            "preference": {
                                "propertySorter": {
                                    "name": "resources.kubernetes-fleet.io/available-cpu",
                                    "sortOrder": "Ascending",
                                }
                            },
                        }
                    ]
                }
            },
        }
        (placement,) = await hub.apply(
            a_placement("job", "batch", "Job", "one", namespace="team-a", policy=policy)
        )
        await hub.change(uid, placement=placement)
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.cluster) == ("Placed", "a")
        assert job.scores["profile"] == "placement"
        assert job.scores["clusters"][0]["score"] == 40


async def test_a_missing_queue_is_named_and_found_when_it_comes(tmp_path: Path) -> None:
    """QueueNotFound waits; creating the LocalQueue lets the job through."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="4"))
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        await hub.settle()
        assert (await hub.job(uid)).reason == "QueueNotFound"
        await hub.apply(*a_queue("gold"))
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


async def test_a_stopped_queue_holds_its_jobs(tmp_path: Path) -> None:
    """stopPolicy Hold: QueueStopped, until it is lifted."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="4"))
        await hub.apply(*a_queue("gold", spec={"stopPolicy": "Hold"}))
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        await hub.settle()
        assert (await hub.job(uid)).reason == "QueueStopped"
        await hub.apply(*a_queue("gold"))
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


async def test_flavor_labels_are_asked_of_agents_and_injected(tmp_path: Path) -> None:
    """The hub tells agents to group nodes by a flavor's keys; reports before that do not count."""
    async with running(tmp_path) as hub:
        labels = {"gpu-type": "a100"}
        await hub.cluster("a", a_pool(cpu="4", labels=labels))
        await hub.apply(*a_queue("gold", flavor={"nodeLabels": labels}))
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        await hub.settle()
        keys = await hub.hub.read(settings.get, "pool_keys")
        assert (keys["revision"], keys["keys"]) == (1, ["gpu-type"])
        assert (await hub.job(uid)).reason == "NoClusterFits"
        await hub.cluster("a", a_pool(cpu="4", labels=labels), pools_revision=1)
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"
        (work,) = await hub.hub.read(works.of_uids, [uid])
        assert work.options.as_json() == {"node_selector": labels}


async def test_a_poison_job_is_set_aside_and_the_others_go_on(tmp_path: Path) -> None:
    """A shape that can not be read and a selector that can not be parsed stop nobody else."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="4"))
        bad, good = await hub.apply(a_job("bad"), a_job("good"))
        await hub.change(bad, shape="no-such-shape")
        await hub.settle()
        assert (await hub.job(bad)).reason == "Unreadable"
        assert (await hub.job(good)).state == "Placed"


async def test_a_poison_report_stops_no_other_cluster(tmp_path: Path) -> None:
    """A capacity that can not be read counts as none."""
    async with running(tmp_path) as hub:
        await hub.cluster("bad", {"labels": {}, "resources": ["cpu"], "nodes": [{"name": "n"}]})
        await hub.cluster("good", a_pool(cpu="4"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        assert (await hub.job(uid)).cluster == "good"


async def test_a_restart_finds_everything_as_it_was(tmp_path: Path) -> None:
    """The index of a new process holds the same charges, promises and lines as the old one's."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="4"))
        await hub.apply(*a_queue("gold", quota={"cpu": "3"}))
        await hub.apply(*(a_job(f"job-{n}", queue="gold") for n in range(5)))
        await hub.settle()
        index = hub.scheduler.index
        await hub.scheduler.load()
        fresh = hub.scheduler.index
        fresh.members.refresh(lambda best, left: None)
        assert fresh.ledger.usage("gold") == index.ledger.usage("gold")
        assert fresh.members.room.left.tolist() == index.members.room.left.tolist()
        assert len(fresh.waiting) == len(index.waiting) == 2


async def test_a_plan_of_a_former_leader_is_not_written(tmp_path: Path) -> None:
    """Once another leads, the transaction fails and nothing is placed."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="4"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.hub.write(leadership.seize, "another")
        with pytest.raises(StaleTerm):
            await hub.settle()
        assert (await hub.job(uid)).state == "Pending"


async def test_what_changed_meanwhile_is_left_out_of_a_plan(tmp_path: Path) -> None:
    """A job cancelled between decision and commit stays cancelled; the others are placed."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="4"))
        one, two = await hub.apply(a_job("one"), a_job("two"))
        await hub.scheduler.load()
        await hub.transition("cancel", one)
        await hub.scheduler.turn()
        assert (await hub.job(one)).state == "Cancelled"
        assert (await hub.job(two)).state == "Placed"
        await hub.settle()
        used = hub.scheduler.index.ledger.usage("default")
        assert used[FlavorResource("default", "cpu")] == 1000


async def test_explain_tells_the_whole_story(tmp_path: Path) -> None:
    """State, decision with scores, and a timeline from the events."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="4"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        told = await hub.explain(uid)
        assert (told["state"], told["cluster"], told["position"]) == ("Placed", "a", None)
        assert told["decision"]["clusters"][0]["message"] == (
            "score 7500: 25.00% in use once it is placed (7500), 0 running"
        )
        assert [each["reason"] for each in told["timeline"]] == ["Submitted", "Placed"]


async def test_strict_fifo_names_the_head(tmp_path: Path) -> None:
    """Who waits behind a head is told its name and why it waits."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="4"))
        await hub.apply(*a_queue("gold", spec={"queueingStrategy": "StrictFIFO"}))
        await hub.apply(a_job("big", queue="gold", requests={"cpu": "8"}))
        hub.clock.advance(1)
        (uid,) = await hub.apply(a_job("small", queue="gold"))
        await hub.settle()
        told = await hub.explain(uid)
        assert told["reason"] == "BehindHead"
        assert "team-a/big (NoClusterFits)" in told["message"]
        assert told["position"]["inQueue"] == 2


async def test_who_comes_later_waits_behind_a_parked_head(tmp_path: Path) -> None:
    """StrictFIFO: a job of another kind that comes when the head is parked is told so, and stays told."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="4"))
        strict = {"queueingStrategy": "StrictFIFO"}
        await hub.apply(*a_queue("gold", spec=strict))
        (head,) = await hub.apply(a_job("head", queue="gold", requests={"cpu": "64"}))
        await hub.settle()
        hub.clock.advance(1)
        (later,) = await hub.apply(a_job("later", queue="gold", requests={"cpu": "1"}))
        await hub.settle()
        for _ in range(2):
            job = await hub.job(later)
            assert job.reason == "BehindHead"
            assert job.message == "StrictFIFO: waits behind the head of gold"
            assert (await hub.explain(later))["reason"] == "BehindHead"
            await hub.change(later, annotations={"note": "looked at again"})
            await hub.settle()
        await hub.transition("cancel", head)
        await hub.settle()
        assert (await hub.job(later)).state == "Placed"


async def test_nothing_is_said_of_nodes_before_members_have_told_them(tmp_path: Path) -> None:
    """A selector by a label that agents do not group nodes by yet: their reports are waited for."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="4", labels={"zone": "x"}))
        (uid,) = await hub.apply(a_job("one", pod={"nodeSelector": {"disk": "ssd"}}))
        await hub.settle()
        job = await hub.job(uid)
        assert job.reason == "NoClusterFits"
        assert "no member has nodes" not in job.message
        assert "not all members have reported" in job.message
        hub.clock.advance(10)
        told = a_pool(cpu="4", labels={"zone": "x"})
        await hub.cluster("a", told, pools_revision=hub.scheduler.index.keys.revision)
        await hub.settle()
        assert "no member has nodes with disk=ssd" in (await hub.job(uid)).message


async def test_of_several_flavors_the_first_that_frees_lets_the_next_in(tmp_path: Path) -> None:
    """Who waits is short of each flavor; quota that is given back in one of them is enough."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(cpu="16"))
        queue, line = in_cohort("gold", "1", cohort="")[1:]
        cpu = {"name": "cpu", "nominalQuota": "1"}
        queue["spec"]["resourceGroups"][0]["flavors"] = [
            {"name": name, "resources": [cpu]} for name in ("a", "b")
        ]
        flavors = [
            {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}}
            for name in ("a", "b")
        ]
        await hub.apply(*flavors, queue, line)
        first, second, third = await submit(hub, "gold", "1", "one", "two", "three")
        await hub.settle()
        assert await states(hub, [first, second, third]) == ["Placed", "Placed", "Pending"]
        await start(hub, second)
        await hub.transition("succeed", second)
        await hub.settle()
        assert await states(hub, [first, third]) == ["Placed", "Placed"]

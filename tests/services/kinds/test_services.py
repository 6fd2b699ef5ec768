"""LeaderWorkerSets and other services on a hub: they never end, and change their size as Jobs do."""

from typing import Any

import pytest

from hub.services.explain import study
from hub.services.jobs.cancel import cancel_job
from tests.services.build import a_class
from tests.services.hubs import a_queue
from tests.services.kinds.fleet import (
    Fleet,
    a_fleet,
    a_pytorchjob,
    a_raycluster,
    a_rayservice,
    an_lws,
)
from tests.services.members.hubs import Agent, ran, seen

pytestmark = pytest.mark.anyio
SINCE = "2026-05-01T00:00:00Z"
SERVICES = pytest.mark.parametrize(
    ("manifest", "pods"),
    [(an_lws(), 6), (a_raycluster(), 3), (a_rayservice(), 3)],
    ids=["lws", "raycluster", "rayservice"],
)


async def _serving(fleet: Fleet, agent: Agent, manifest: dict[str, Any], pods: int) -> str:
    """It was placed on the agent's member, and all its pods are ready there."""
    (uid,) = await fleet.apply(manifest)
    work = await fleet.told(agent, uid)
    await agent.sync(ran(uid, work["epoch"], active=pods, ready=pods, running_since=SINCE))
    await fleet.settle()
    assert (await fleet.job(uid)).state == "Running"
    return uid


async def _charged(fleet: Fleet, uid: str) -> dict[str, tuple[int, int]]:
    """Pods and milli-cpu that each pod set is charged for."""
    admission = (await fleet.job(uid)).admission or {}
    return {p["name"]: (p["count"], p["usage"]["cpu"]) for p in admission["podSets"]}


def _size(work: dict[str, Any]) -> tuple[int, Any, int]:
    """Replicas of the manifest, the value that starts it, and the pods that make it ready."""
    rule = work["kind_rule"]
    return work["manifest"]["spec"]["replicas"], rule["run"][0]["value"], rule["pods"]


def _shrunk(uid: str, **job: Any) -> Any:
    """The second generation was written into the member, where these pods are left."""
    return seen(uid, "Applied", generation=2, job={**job, "running_since": SINCE})


async def test_a_whole_leaderworkerset_is_one_job_held_at_no_replicas(tmp_path):
    """Its quota is that of all groups; the member's agent creates it with none, and starts it with all."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        await fleet.apply(*a_queue("q", quota={"cpu": "100"}))
        (uid,) = await fleet.apply(an_lws())
        work = await fleet.told(agent, uid)
        assert await _charged(fleet, uid) == {"leader": (2, 2000), "worker": (4, 8000)}
        rule = work["kind_rule"]
        assert rule["held"] == [{"path": "/spec/replicas", "value": 0}]
        assert rule["scale"] == "/spec/replicas"
        assert _size(work) == (2, 2, 6)


@SERVICES
async def test_it_keeps_its_quota_until_it_is_cancelled(tmp_path, manifest, pods):
    """Nothing that its member reports of pods ends it; Gone after the cancellation does."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        await fleet.apply(*a_queue("q", quota={"cpu": "10"}))
        uid = await _serving(fleet, agent, manifest, pods)
        (behind,) = await fleet.apply(an_lws("behind"))
        await agent.sync(ran(uid, active=0, ready=0, succeeded=pods, running_since=SINCE))
        await fleet.settle()
        assert ((await fleet.job(uid)).state, (await fleet.job(behind)).state) == (
            "Running",
            "Pending",
        )
        await fleet.hub.write(cancel_job, uid, "ann")
        assert (await fleet.told(agent, uid))["action"] == "Withdraw"
        await agent.sync(seen(uid, "Gone"))
        await fleet.settle()
        assert ((await fleet.job(uid)).state, (await fleet.job(behind)).state) == (
            "Cancelled",
            "Placed",
        )


@SERVICES
async def test_a_higher_priority_evicts_it_and_it_starts_again(tmp_path, manifest, pods):
    """In its next epoch, once the agent has said Gone of the one before."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        within = {"preemption": {"withinClusterQueue": "LowerPriority"}}
        await fleet.apply(*a_queue("q", quota={"cpu": "10"}, spec=within), a_class("high", 100))
        uid = await _serving(fleet, agent, manifest, pods)
        urgent = a_pytorchjob("urgent", workers=9)
        urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
        (above,) = await fleet.apply(urgent)
        assert (await fleet.told(agent, uid))["action"] == "Withdraw"
        await agent.sync(seen(uid, "Gone"))
        await fleet.told(agent, above)
        assert (await fleet.job(above)).state == "Offered"
        await agent.sync(ran(above, result="Succeeded"))
        again = await fleet.told(agent, uid)
        assert (again["action"], again["epoch"]) == ("Apply", 2)


async def test_more_replicas_wait_for_quota_and_the_service_runs_on(tmp_path):
    """The member is told the new size once the whole difference is charged."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1", cpu="32")
        await fleet.apply(*a_queue("q", quota={"cpu": "15"}))
        uid = await _serving(fleet, agent, an_lws(), 6)
        (other,) = await fleet.apply(a_pytorchjob("other", workers=4))
        await fleet.told(agent, other)
        assert (await fleet.try_apply(an_lws(replicas=3))).result == "configured"
        work = await fleet.told(agent, uid)
        row = await fleet.job(uid)
        assert (row.state, row.reason, row.epoch) == ("Running", "WaitingToGrow", 1)
        assert row.message == "runs with 6 of 9 pods until there is quota and room for the others"
        assert _size(work) == (2, 2, 6)
        told = await study.explain(fleet.hub, uid, lambda: fleet.scheduler.index)
        (short,) = told["waiting"]["quota"]
        assert (short["resource"], short["asked"], short["missing"]) == ("cpu", "5", "5")
        assert told["message"] == f"{row.message}: {short['message']}"
        assert [each["resource"] for each in told["quota"]] == ["cpu"]
        (remedy,) = told["remedies"]
        assert "jobs that use it end, or more quota of cpu" in remedy["message"]
        assert await _charged(fleet, uid) == {"leader": (2, 2000), "worker": (4, 8000)}
        await agent.sync(ran(other, result="Succeeded"))
        work = await fleet.told(agent, uid)
        assert _size(work) == (3, 3, 9)
        assert await _charged(fleet, uid) == {"leader": (3, 3000), "worker": (6, 12000)}
        assert (await fleet.job(uid)).reason == ""


async def test_a_size_that_its_cluster_could_never_hold_is_told_so(tmp_path):
    """However empty: it grows where it runs."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1", cpu="14")
        await fleet.member("m2", cpu="64")
        await fleet.apply(*a_queue("q", quota={"cpu": "100"}))
        lws = an_lws()
        lws["metadata"]["annotations"] = {"roadstead.dev/clusters": "m1"}
        uid = await _serving(fleet, agent, lws, 6)
        more = an_lws(replicas=4)
        more["metadata"]["annotations"] = {"roadstead.dev/clusters": "m1"}
        assert (await fleet.try_apply(more)).result == "configured"
        await fleet.told(agent, uid)
        told = await study.explain(fleet.hub, uid, lambda: fleet.scheduler.index)
        assert "m1 could never hold all of it: " in told["message"]
        assert [each["message"].split(":")[0] for each in told["remedies"]] == [
            "more nodes in m1",
            "fewer pods",
        ]


async def test_more_replicas_wait_for_room_in_their_cluster(tmp_path):
    """Quota alone is not enough: leaders and workers must all fit."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1", cpu="14")
        await fleet.apply(*a_queue("q", quota={"cpu": "100"}))
        uid = await _serving(fleet, agent, an_lws(), 6)
        await fleet.try_apply(an_lws(replicas=3))
        assert _size(await fleet.told(agent, uid)) == (2, 2, 6)
        await fleet.reports(agent, "32")
        assert _size(await fleet.told(agent, uid)) == (3, 3, 9)


async def test_fewer_replicas_free_quota_once_the_member_runs_no_more(tmp_path):
    """Until its agent has reported the new generation with no more pods, all of it stays charged."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        await fleet.apply(*a_queue("q", quota={"cpu": "10"}))
        uid = await _serving(fleet, agent, an_lws(), 6)
        await fleet.try_apply(an_lws(replicas=1))
        work = await fleet.told(agent, uid)
        assert _size(work) == (1, 1, 3)
        await agent.sync(_shrunk(uid, active=3, ready=3, terminating=1))
        await fleet.settle()
        assert await _charged(fleet, uid) == {"leader": (2, 2000), "worker": (4, 8000)}
        await agent.sync(_shrunk(uid, active=3, ready=3))
        await fleet.settle()
        assert await _charged(fleet, uid) == {"leader": (1, 1000), "worker": (2, 4000)}


async def test_one_that_waits_is_admitted_in_its_newest_size(tmp_path):
    """Whether it grows or shrinks before it is placed."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.apply(*a_queue("q"))
        (uid,) = await fleet.apply(an_lws())
        await fleet.try_apply(an_lws(replicas=3))
        agent = await fleet.member("m1", cpu="32")
        assert _size(await fleet.told(agent, uid)) == (3, 3, 9)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        (an_lws(rolloutStrategy={"type": "RollingUpdate"}), "spec.rolloutStrategy"),
        (a_raycluster(workers=3), "spec.workerGroupSpecs"),
    ],
    ids=["lws", "raycluster"],
)
async def test_nothing_but_replicas_changes(tmp_path, changed, field):
    """A LeaderWorkerSet keeps its size and its templates; a RayCluster keeps its groups."""
    before = an_lws() if changed["kind"] == "LeaderWorkerSet" else a_raycluster()
    async with a_fleet(tmp_path) as fleet:
        await fleet.apply(*a_queue("q"))
        await fleet.apply(before)
        changed["metadata"]["name"] = before["metadata"]["name"]
        refused = await fleet.try_apply(changed)
        assert refused.error is not None
        assert (refused.error.code, refused.error.field) == ("Immutable", field)


async def test_no_replicas_are_refused_with_what_to_do_instead(tmp_path):
    """A job of no pods would hold its place in a member for nothing."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.apply(*a_queue("q"))
        error = (await fleet.try_apply(an_lws(replicas=0))).error
        assert error is not None
        assert error.code == "InvalidValue"
        assert "roadstead jobs hold" in error.detail

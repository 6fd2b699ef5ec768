"""How deletions on the hub cluster are carried out when something stands against them. Invariant R-16."""

from pathlib import Path

import pytest

from hub.services.context import hub_cluster
from hub.store import workloads
from shared import labels
from tests.bridge.hub_cluster import until
from tests.bridge.parts import CONFIG_MAP, KINDS, QUEUE, Parts, a_job, a_queue, on_simulated, parts
from tests.kube.stub import Stub, running
from tests.services.members.hubs import ran

pytestmark = pytest.mark.anyio


async def test_a_finalizer_that_could_not_be_taken_off_is_taken_off_later(tmp_path: Path):
    """A conflict delays the end of a deletion; it is not the last word."""
    async with on_simulated(tmp_path) as (it, cluster):
        job = await it.create(a_job(finalizers=["example.com/keep"]))
        await it.take()
        await it.level(job)
        await it.kube.delete("batch/v1", "Job", "lab", "one")
        await it.level(job)
        cluster.faults.add("409", verb="patch", resource="jobs")
        await it.take()
        assert labels.FINALIZER in (await it.live(job))["metadata"]["finalizers"]
        await it.take()
        assert (await it.live(job))["metadata"]["finalizers"] == ["example.com/keep"]


async def test_a_finished_job_that_is_deleted_keeps_its_record(tmp_path: Path):
    """It has not been undone: only its name is free."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        agent = await it.hub.join("north")
        uid = job["metadata"]["uid"]
        await it.hub.place(uid, "north")
        await it.hub.settled()
        await agent.sync()
        await agent.sync(ran(uid, succeeded=1, result="Succeeded"))
        await it.kube.delete("batch/v1", "Job", "lab", "one")
        await it.level(job)
        await it.take()
        row = await it.job(job)
        assert row is not None
        assert (row.state, row.live, row.deleted_at) == ("Succeeded", None, None)


async def test_a_deletion_that_is_refused_says_why(tmp_path: Path):
    """A queue in which something runs stays, and its refusal is there to be told."""
    async with on_simulated(tmp_path, [*KINDS, QUEUE]) as (it, _):
        made = await it.create(a_queue("busy"))
        await it.take()
        await it.level(made)
        await charge(it, "busy")
        await it.kube.delete(made["apiVersion"], "ClusterQueue", "", "busy")
        await it.level(made)
        await it.take()
        await it.take()  # the first marks it: from then on it admits nothing
        assert it.mirror.refusals[made["metadata"]["uid"]].code == "QueueNotEmpty"
        assert labels.FINALIZER in (await it.live(made))["metadata"]["finalizers"]


async def test_a_deleted_queue_is_drained_by_its_stop_policy(tmp_path: Path):
    """`kubectl edit clusterqueue` after `kubectl delete`: its jobs are taken back, as in Kueue."""
    async with on_simulated(tmp_path, [*KINDS, QUEUE]) as (it, _):
        made = await it.create(a_queue("busy"))
        await it.take()
        await it.level(made)
        uid = await charge(it, "busy")
        await it.kube.delete(made["apiVersion"], "ClusterQueue", "", "busy")
        await it.level(made)
        await it.take()
        assert (await it.hub.job(uid)).state != "Pending"
        await it.patch(made, {"spec": {"stopPolicy": "HoldAndDrain"}})
        await it.level(made)
        await it.take()
        row = await it.hub.job(uid)
        assert (row.state, (row.evicted or {})["reason"]) == ("Pending", "ClusterQueueStopped")


@pytest.mark.parametrize(
    ("of", "missing", "stops"), [(20, 4, False), (20, 5, True), (4, 3, False), (4, 4, True)]
)
async def test_a_fifth_may_vanish_at_once_and_no_more(
    tmp_path: Path, of: int, missing: int, stops: bool
):
    """Of twenty that only a complete list lacks, four are deleted; for five the bridge asks. Three of a
    handful may always go.
    """
    names = [f"c{number:02}" for number in range(of)]
    async with (
        running(tmp_path) as (stub, kubeconfig),
        parts(tmp_path, kubeconfig, [CONFIG_MAP]) as it,
    ):
        it.select("ConfigMap", "team", *names)
        made = [stub.put(name) for name in names]
        for each in made:
            each["metadata"]["creationTimestamp"] = "2026-05-01T00:00:00Z"
        for each in made:
            await it.shows(each)
        await it.take()
        await vanish(it, stub, names[:missing])
        await it.take()
        assert bool(await it.object(made[0])) is stops
        assert it.condition.reason == ("TooManyDeletions" if stops else "")


async def test_a_stop_that_was_lifted_does_not_come_back_for_the_same_reason(tmp_path: Path):
    """After a restore was accepted the versions count from where they are."""
    async with on_simulated(tmp_path) as (it, _):
        await it.condition.note_version("v1/ConfigMap", "500")
        await it.condition.note_version("v1/ConfigMap", "20")
        assert it.condition.reason == "ResourceVersionWentBack"
        await it.hub.write(hub_cluster.resume, "ResourceVersionWentBack", "somebody")
        assert await it.condition.obey()
        await it.condition.note_version("v1/ConfigMap", "21")
        assert not it.condition.stopped


async def charge(it: Parts, queue: str) -> str:
    """A job holds quota of the queue; its uid."""
    uid = await it.hub.submit("holder")
    await it.hub.add_cluster("north")
    await it.hub.place(uid, "north")
    await it.hub.write(lambda tx: workloads.change(tx, [{"uid": uid, "cluster_queue": queue}]))
    return uid


async def vanish(it: Parts, stub: Stub, names: list[str]) -> None:
    """The objects are gone, and no watch has told of it."""
    for name in names:
        del stub.objects[name]
    stub.version += 1
    stub.compact()
    stub.cut()

    async def noticed() -> bool:
        return len(it.sources.absent) == len(names)

    await until(noticed)

"""What is concluded of objects that are not there (any more): by kind, by who told, after which word."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.bridge.kinds import JOB, NAMESPACE, Mirrored
from hub.bridge.sources import Absence
from hub.domain.workloads.origin import Origin
from hub.services.mirror import objects as mirrored
from hub.store import objects, workloads
from shared import labels
from tests.bridge.hub_cluster import until
from tests.bridge.parts import (
    CONFIG_MAP,
    KINDS,
    QUEUE,
    Parts,
    a_config_map,
    a_job,
    a_queue,
    on_simulated,
    parts,
)
from tests.kube.stub import Stub, running

pytestmark = pytest.mark.anyio
NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
MANY = 10
HELD = Mirrored("", "ConfigMap", ("v1",), finalized=True)


def a_namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


@pytest.mark.parametrize(
    ("kind", "make", "count", "lifted", "reason", "left"),
    [
        (NAMESPACE, a_namespace, MANY, "", "", 0),
        (CONFIG_MAP, a_config_map, 3, "", "", 0),
        (CONFIG_MAP, a_config_map, MANY, "", "TooManyDeletions", MANY),
        (CONFIG_MAP, a_config_map, MANY, "TooManyDeletions", "", 0),
        (CONFIG_MAP, a_config_map, MANY, "AbsentWithoutDeletion", "TooManyDeletions", MANY),
        (QUEUE, a_queue, 1, "", "AbsentWithoutDeletion", 1),
        (QUEUE, a_queue, 2, "AbsentWithoutDeletion", "", 0),
        (QUEUE, a_queue, 1, "TooManyDeletions", "AbsentWithoutDeletion", 1),
    ],
)
async def test_what_the_first_list_of_a_kind_lacks(
    tmp_path: Path, kind: Mirrored, make: Any, count: int, lifted: str, reason: str, left: int
):
    """Plain objects are deleted if they are few; what carries our finalizer is asked about; Namespaces
    go if nothing is in them. An administrator's word is for what was asked, and for nothing else.
    """
    async with on_simulated(tmp_path, [*KINDS, QUEUE]) as (it, _):
        uids = [await it.lost(make(f"gone-{number}")) for number in range(count)]
        it.condition.lifted = lifted
        await it.deletions.compare(it.sources.source(kind.group, kind.kind), it.term)
        assert it.condition.reason == reason
        assert len(await it.hub.hub.read(objects.get_many, uids)) == left


async def test_what_came_by_rest_is_not_missed_on_the_hub_cluster(tmp_path: Path):
    """It never was there."""
    async with on_simulated(tmp_path, [*KINDS, QUEUE]) as (it, _):
        uids = [
            await it.lost(make("theirs"), Origin.REST) for make in (a_job, a_config_map, a_queue)
        ]
        for source in it.sources:
            await it.deletions.compare(source, it.term)
        assert not it.condition.stopped
        assert len(await it.hub.hub.read(objects.get_many, uids[1:])) == 2
        assert (await it.hub.job(uids[0])).live


async def test_of_absent_jobs_those_are_asked_about_whose_deletion_nobody_knew(tmp_path: Path):
    """The question names how many, and the first; one whose deletion had begun is taken back."""
    async with on_simulated(tmp_path) as (it, _):
        agent = await it.hub.join("north")
        known = await it.lost(a_job("known"))
        await it.hub.place(known, "north")
        await it.hub.settled()
        await agent.sync()
        await it.hub.write(mirrored.delete_jobs, [known])
        there = await it.create(a_job("there"))
        await it.take()
        assert await it.job(there)
        unknown = await it.lost(a_job("unknown"))
        await it.deletions.compare(it.sources.source("batch", "Job"), it.term)
        assert it.condition.reason == "AbsentWithoutDeletion"
        assert it.condition.message.startswith("1 Job (first lab/unknown) are absent")
        states = [(await it.hub.job(uid)).state for uid in (known, unknown)]
        assert states == ["Withdrawing", "Pending"]


async def test_a_fifth_of_what_the_hub_has_may_be_missing_from_the_first_list(tmp_path: Path):
    """Ten of fifty, of which forty are there."""
    async with on_simulated(tmp_path) as (it, _):
        names = [f"there-{number}" for number in range(40)]
        it.select("ConfigMap", "lab", *names)
        for name in names:
            await it.create(a_config_map(name))
        await it.take()
        uids = [await it.lost(a_config_map(f"gone-{number}")) for number in range(10)]
        await it.deletions.compare(it.sources.source("", "ConfigMap"), it.term)
        assert not it.condition.stopped
        assert not await it.hub.hub.read(objects.get_many, uids)


@pytest.mark.parametrize(
    ("metadata", "stops"),
    [
        ({}, False),
        ({"finalizers": ["example.com/keep"]}, False),
        ({"finalizers": [labels.FINALIZER]}, True),
        (
            {"finalizers": [labels.FINALIZER], "deletionTimestamp": "2026-05-01T00:00:00Z"},
            False,
        ),
    ],
    ids=str,
)
async def test_what_a_later_list_lacks_of_a_kind_that_carries_our_finalizer(
    tmp_path: Path, metadata: dict[str, Any], stops: bool
):
    """It can not have gone while our finalizer was on it and nobody deleted it; else it is deleted."""
    async with (
        running(tmp_path) as (stub, kubeconfig),
        parts(tmp_path, kubeconfig, [HELD]) as it,
    ):
        uid = await seen_there(it, stub, "a", metadata)
        del stub.objects["a"]
        await listed_again(it, stub)
        await it.deletions.turn(it.term)
        assert it.condition.reason == ("AbsentWithoutDeletion" if stops else "")
        assert bool(await it.hub.hub.read(objects.get, uid)) is stops


@pytest.mark.parametrize("kind", [CONFIG_MAP, HELD], ids=["plain", "with our finalizer"])
async def test_an_api_that_is_away_stops_nothing_and_deletes_nothing(
    tmp_path: Path, kind: Mirrored
):
    """A definition may be installed anew: what the hub has of the kind stays, and nobody is asked."""
    async with (
        running(tmp_path) as (stub, kubeconfig),
        parts(tmp_path, kubeconfig, [kind]) as it,
    ):
        uid = await seen_there(it, stub, "a", {"finalizers": [labels.FINALIZER]})
        (source,) = it.sources
        it.sources.absent.append(Absence(kind, stub.objects["a"], certain=False))
        source.informer.served = False
        await it.deletions.turn(it.term)
        assert not it.condition.stopped
        assert await it.hub.hub.read(objects.get, uid)


async def seen_there(it: Parts, stub: Stub, name: str, metadata: dict[str, Any]) -> str:
    """An object that the cache shows and the hub has; its uid."""
    made = stub.put(name)
    made["metadata"] |= {"creationTimestamp": "2026-05-01T00:00:00Z", **metadata}
    await it.shows(made)
    document = a_config_map(name)
    document["metadata"]["namespace"] = "team"
    uid = await it.lost(document)
    made["metadata"]["uid"] = uid
    (source,) = it.sources
    (cached,) = source.informer.cache.values()
    cached["metadata"]["uid"] = uid
    return uid


async def listed_again(it: Parts, stub: Stub) -> None:
    """The next list has come, and shows an absence."""
    stub.version += 1
    stub.compact()
    stub.cut()

    async def noticed() -> bool:
        return bool(it.sources.absent)

    await until(noticed)


async def test_what_is_gone_and_comes_back_is_taken_again(tmp_path: Path):
    """As it was, to the version: a list that lacked it was wrong, or somebody restored it."""
    async with (
        running(tmp_path) as (stub, kubeconfig),
        parts(tmp_path, kubeconfig, [CONFIG_MAP]) as it,
    ):
        it.select("ConfigMap", "team", "a")
        made = stub.put("a")
        made["metadata"]["creationTimestamp"] = "2026-05-01T00:00:00Z"
        await it.shows(made)
        await it.take()
        del stub.objects["a"]
        await listed_again(it, stub)
        await it.take()
        assert await it.object(made) is None
        stub.objects["a"] = made
        stub.version += 1
        stub.compact()
        stub.cut()
        await it.shows(made)
        await it.take()
        assert await it.object(made)


async def test_a_deletion_that_the_hub_refuses_stops_no_other(tmp_path: Path):
    """Of two queues that are gone the busy one stays in the hub."""
    async with on_simulated(tmp_path, [*KINDS, QUEUE]) as (it, _):
        uids = [await it.lost(a_queue(name)) for name in ("busy", "idle")]
        await busy(it, "busy")
        for uid, name in zip(uids, ("busy", "idle"), strict=True):
            gone = a_queue(name)
            gone["metadata"]["uid"] = uid
            it.sources.absent.append(Absence(QUEUE, gone, certain=True))
        await it.deletions.turn(it.term)
        left = await it.hub.hub.read(objects.get_many, uids)
        assert set(left) == {uids[0]}


async def test_a_queue_that_is_deleted_in_use_goes_when_its_last_job_has_ended(tmp_path: Path):
    """Its finalizer stays until then; nobody has to delete it again."""
    async with on_simulated(tmp_path, [*KINDS, QUEUE]) as (it, _):
        made = await it.create(a_queue("busy"))
        await it.take()
        await it.level(made)
        holder = await busy(it, "busy")
        await it.kube.delete(made["apiVersion"], "ClusterQueue", "", "busy")
        await it.level(made)
        await it.take()
        row = await it.object(made)
        assert row is not None
        assert row.deleted_at is not None
        await it.hub.write(lambda tx: workloads.change(tx, [{"uid": holder, "cluster_queue": ""}]))
        await it.take()
        assert await it.object(made) is None
        assert it.mirror.leaving == set()


async def busy(it: Parts, queue: str) -> str:
    """A job holds quota of the queue; its uid."""
    uid = await it.hub.submit("holder")
    await it.hub.add_cluster("north")
    await it.hub.place(uid, "north")
    await it.hub.write(lambda tx: workloads.change(tx, [{"uid": uid, "cluster_queue": queue}]))
    return uid


async def test_a_job_whose_deletion_the_watch_tells_of_is_taken_back(tmp_path: Path):
    """Somebody took our finalizer off: that it is gone is certain all the same."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        await it.patch(job, {"metadata": {"finalizers": []}})
        await it.kube.delete("batch/v1", "Job", "lab", "one")
        await until(lambda: absent(it))
        await it.deletions.turn(it.term)
        row = await it.job(job)
        assert row is not None
        assert (row.state, row.live) == ("Cancelled", None)
        assert not it.condition.stopped


async def absent(it: Parts) -> bool:
    return bool(it.sources.absent)


async def test_a_stopped_bridge_takes_nothing_back(tmp_path: Path):
    """A Job that is being deleted keeps our finalizer until an administrator has decided."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        await it.kube.delete("batch/v1", "Job", "lab", "one")
        await it.level(job)
        await it.condition.stop("TooManyDeletions", "9 of 10")
        await it.take()
        assert (await it.job(job)).state == "Pending"
        assert labels.FINALIZER in (await it.live(job))["metadata"]["finalizers"]


async def test_a_namesake_of_what_was_deleted_is_not_taken_back(tmp_path: Path):
    """Another Job has the name by the time the deletion is looked at: it stays as it is."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        it.mirror.leaving |= {(JOB.group, JOB.kind, "lab", name) for name in ("one", "never")}
        await it.deletions.turn(it.term)
        assert (await it.job(job)).live
        assert labels.FINALIZER in (await it.live(job))["metadata"]["finalizers"]
        assert it.mirror.leaving == set()

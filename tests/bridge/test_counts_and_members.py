"""Statuses of queues and members: when they are due, what of them is written, what failed is tried again."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.bridge.kinds import WORKLOAD, Mirrored
from hub.bridge.refusals import MirrorRefusal
from hub.bridge.workload_objects import WorkloadObjects
from hub.bridge.writeback import _TOGETHER as QUESTION, QUEUES_S
from hub.domain.workloads.origin import Origin
from hub.store import objects
from hub.store.errors import StoreUnavailable
from shared.clock import ManualClock
from shared.conditions import find
from shared.groups import CLUSTER, KUEUE, PLACEMENT
from tests.bridge.parts import (
    CHECK,
    CONFIG_MAP,
    KINDS,
    QUEUE,
    Parts,
    a_check,
    a_config_map,
    a_job,
    a_queue,
    on_simulated,
)
from tests.services.members.hubs import away, back

pytestmark = pytest.mark.anyio
NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
COHORT = Mirrored(KUEUE, "Cohort", ("v1beta2",), finalized=True, order=1)
LOCAL = Mirrored(KUEUE, "LocalQueue", ("v1beta2",), finalized=True, order=3)
MEMBER = Mirrored(CLUSTER, "MemberCluster", ("v1beta1",), finalized=True, order=1)
PLACED = Mirrored(PLACEMENT, "ResourcePlacement", ("v1beta1",), finalized=True, order=9)
NORTH: dict[str, Any] = {
    "apiVersion": f"{CLUSTER}/v1beta1",
    "kind": "MemberCluster",
    "metadata": {"name": "north"},
    "spec": {"identity": {"kind": "ServiceAccount", "name": "agent"}},
}
ENTRANCE: dict[str, Any] = {
    "apiVersion": f"{KUEUE}/v1beta2",
    "kind": "LocalQueue",
    "metadata": {"name": "default", "namespace": "team-a"},
    "spec": {"clusterQueue": "main"},
}
ALL: dict[str, Any] = {
    "apiVersion": f"{KUEUE}/v1beta2",
    "kind": "Cohort",
    "metadata": {"name": "all"},
    "spec": {},
}
TEAM: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}


async def pending(it: Parts, queue: dict[str, Any]) -> int | None:
    """How many wait, as the queue on the hub cluster says."""
    return (await it.live(queue)).get("status", {}).get("pendingWorkloads")


async def test_the_counts_of_a_queue_follow_jobs_that_the_hub_cluster_does_not_have(
    tmp_path: Path,
):
    """Jobs come and go by REST too: any change of workloads is one of queues."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, [*KINDS, QUEUE, LOCAL], clock) as (it, _):
        await it.create(TEAM)
        queue = await it.create(a_queue())
        entrance = await it.create(ENTRANCE)
        await it.take()
        await it.writeback.turn()
        await it.level(queue)
        await it.level(entrance)
        assert await pending(it, queue) == 0
        uid = await it.hub.submit("by-rest")
        clock.advance(QUEUES_S)
        it.writeback.follow("workloads", [uid])
        await it.writeback.turn()
        assert (await pending(it, queue), await pending(it, entrance)) == (1, 1)


@pytest.mark.parametrize(
    ("kind", "failure"), [("ClusterQueue", "409"), ("LocalQueue", "503"), ("Cohort", "409")]
)
async def test_a_count_that_could_not_be_written_is_written_later(
    tmp_path: Path, kind: str, failure: str
):
    """Nothing else has to change for it."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, [*KINDS, COHORT, QUEUE, LOCAL], clock) as (it, cluster):
        await it.create(TEAM)
        documents = (ALL, a_queue(cohortName="all"), ENTRANCE)
        made = {each["kind"]: await it.create(each) for each in documents}[kind]
        await it.take()
        await it.level(made)
        await it.hub.submit("by-rest")
        cluster.faults.add(failure, verb="patch", resource=f"{kind.lower()}s")
        await it.writeback.turn()
        assert not await figures(it, made)
        clock.advance(QUEUES_S)
        await it.writeback.turn()
        assert await figures(it, made)


async def figures(it: Parts, queue: dict[str, Any]) -> set[str]:
    """Names of what the status of a queue or cohort counts."""
    return (await it.live(queue)).get("status", {}).keys() & {"pendingWorkloads", "fairSharing"}


async def test_what_could_not_be_read_of_queues_and_members_is_due_in_the_next_turn(
    tmp_path: Path,
):
    """A store that is away for a moment loses no count and no member's condition."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, [*KINDS, QUEUE, LOCAL, MEMBER], clock) as (it, _):
        await it.create(TEAM)
        queue = await it.create(a_queue())
        await it.create(ENTRANCE)
        await it.take()
        await it.level(queue)
        await it.writeback.turn()
        await it.level(queue)
        await it.hub.join("north")
        member = await it.create(NORTH)
        uid = await it.hub.submit("by-rest")
        it.writeback.follow("workloads", [uid])
        it.writeback.follow("clusters", ["north"])
        clock.advance(QUEUES_S)
        await it.hub.write(away("clusters"))
        with pytest.raises(StoreUnavailable):
            await it.writeback.turn()
        await it.hub.write(back("clusters"))
        clock.advance(QUEUES_S)
        await it.writeback.turn()
        assert await pending(it, queue) == 1
        assert find((await it.live(member))["status"]["conditions"], "Joined")["status"] == "True"


async def test_a_members_status_that_could_not_be_written_is_written_in_the_next_turn(
    tmp_path: Path,
):
    """Not with the next renewal."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, [*KINDS, MEMBER], clock) as (it, cluster):
        member = await it.create(NORTH)
        token = await it.hub.add_cluster("north")
        await it.writeback.turn()
        await it.level(member)
        await it.hub.register(token, "uid-north")
        it.writeback.follow("clusters", ["north"])
        cluster.faults.add("409", verb="patch", resource="memberclusters")
        for _ in range(2):
            await it.writeback.turn()
        assert find((await it.live(member))["status"]["conditions"], "Joined")["status"] == "True"


async def test_generations_in_statuses_are_the_hub_clusters(tmp_path: Path):
    """An object edited before the hub took it: who waits for its generation there sees it."""
    clock = ManualClock(NOW)
    kinds = [*KINDS, QUEUE, MEMBER, PLACED, WORKLOAD]
    async with on_simulated(tmp_path, kinds, clock) as (it, _):
        queue = await it.create(a_queue())
        member = await it.create(NORTH)
        placement = await it.create(a_placement("one"))
        job = await it.create(a_job())
        await it.patch(queue, {"spec": {"queueingStrategy": "StrictFIFO"}})
        await it.patch(member, {"spec": {"heartbeatPeriodSeconds": 30}})
        await it.patch(placement, {"spec": {"revisionHistoryLimit": 3}})
        await it.hub.join("north")
        await it.take()
        made = [queue, member, placement]
        for each in made:
            await it.level(each)
            assert (await it.live(each))["metadata"]["generation"] == 2
        row = await it.object(placement)
        judged = {"type": "ResourcePlacementScheduled", "status": "True", "reason": "R"}
        judged |= {"message": "", "lastTransitionTime": "2026-05-01T00:00:00Z"}
        status = {"conditions": [{**judged, "observedGeneration": row.generation}]}
        await it.hub.write(objects.set_statuses, {row.uid: status})
        for each in made:
            it.writeback.note(each["metadata"]["uid"])
        await it.writeback.turn()
        for each in made:
            conditions = (await it.live(each))["status"]["conditions"]
            assert conditions
            assert {c["observedGeneration"] for c in conditions} == {2}, each["kind"]
        agent = (await it.live(member))["status"]["agentStatus"][0]
        assert {c["observedGeneration"] for c in agent["conditions"]} == {2}
        await it.level(job)
        shown = WorkloadObjects(it.hub.hub, it.kube, it.sources, lambda: it.term)
        uid = job["metadata"]["uid"]
        shown.note([uid])
        await shown.turn()


def a_placement(name: str, **spec: Any) -> dict[str, Any]:
    selector = {"group": "", "version": "v1", "kind": "ConfigMap", "name": name}
    return {
        "apiVersion": f"{PLACEMENT}/v1beta1",
        "kind": "ResourcePlacement",
        "metadata": {"name": name, "namespace": "lab"},
        "spec": {"resourceSelectors": [selector], **spec},
    }


async def test_the_conditions_of_a_check_are_its_controllers(tmp_path: Path):
    """What the hub had heard is not written over what the controller says by now."""
    async with on_simulated(tmp_path, [*KINDS, CHECK]) as (it, _):
        made = await it.create(a_check())
        await it.take()
        heard = {"conditions": [active("False", "Gone")]}
        await it.hub.write(objects.set_statuses, {made["metadata"]["uid"]: heard})
        await it.patch(made, {"status": {"conditions": [active("True", "Here")]}}, "status")
        it.writeback.note(made["metadata"]["uid"])
        await it.writeback.turn()
        assert (await it.live(made))["status"]["conditions"] == [active("True", "Here")]


async def test_the_conditions_of_the_hubs_own_check_are_the_hubs(tmp_path: Path):
    """Nobody else answers it."""
    async with on_simulated(tmp_path, [*KINDS, CHECK]) as (it, _):
        made = await it.create(a_check(controller="kueue.x-k8s.io/multikueue"))
        await it.take()
        own = {"conditions": [active("True", "Active")]}
        await it.hub.write(objects.set_statuses, {made["metadata"]["uid"]: own})
        await it.patch(made, {"status": {"conditions": [active("False", "Forged")]}}, "status")
        it.writeback.note(made["metadata"]["uid"])
        await it.writeback.turn()
        (said,) = (await it.live(made))["status"]["conditions"]
        assert (said["status"], said["reason"]) == ("True", "Active")


def active(status: str, reason: str) -> dict[str, Any]:
    at = "2026-05-01T00:00:00Z"
    said = {"type": "Active", "status": status, "reason": reason, "message": "m"}
    return {**said, "lastTransitionTime": at, "observedGeneration": 1}


async def test_a_refused_queue_says_so_beside_what_it_said(tmp_path: Path):
    """Its counts and other conditions stay; mended, it says for which generation it was taken."""
    async with on_simulated(tmp_path, [*KINDS, QUEUE]) as (it, _):
        made = await it.create(a_queue())
        await it.take()
        await it.level(made)
        await it.writeback.turn()
        await it.level(made)
        before = (await it.live(made))["status"]
        rule = {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}
        await it.patch(made, {"spec": {"namespaceSelector": rule}})
        await it.take()
        it.writeback.note(made["metadata"]["uid"])
        await it.writeback.turn()
        await it.level(made)
        refused = (await it.live(made))["status"]
        said = find(refused["conditions"], "Accepted")
        refusal = it.mirror.refusals[made["metadata"]["uid"]]
        assert (said["status"], said["reason"], said["message"], said["observedGeneration"]) == (
            "False", refusal.code, refusal.detail, 2
        )  # fmt: skip
        others = [each for each in refused["conditions"] if each["type"] != "Accepted"]
        assert {**refused, "conditions": others} == before
        await it.patch(made, {"spec": {"namespaceSelector": {"matchExpressions": None}}})
        await it.take()
        it.writeback.note(made["metadata"]["uid"])
        await it.writeback.turn()
        said = find((await it.live(made))["status"]["conditions"], "Accepted")
        assert (said["status"], said["observedGeneration"]) == ("True", 3)


async def test_a_refused_object_without_conditions_is_told_of_by_an_event(tmp_path: Path):
    """A ConfigMap whose name the hub has from elsewhere: `kubectl describe` shows why."""
    async with on_simulated(tmp_path) as (it, _):
        it.select("ConfigMap", "lab", "one")
        await it.lost(a_config_map(), Origin.REST)
        made = await it.create(a_config_map())
        await it.take()
        it.writeback.note(made["metadata"]["uid"])
        await it.writeback.turn()
        await it.events.turn()
        (event,) = (await it.kube.list("v1", "Event")).items
        refusal = it.mirror.refusals[made["metadata"]["uid"]]
        assert (event["type"], event["reason"], event["message"]) == (
            "Warning", refusal.code, refusal.detail
        )  # fmt: skip
        assert event["involvedObject"]["kind"] == CONFIG_MAP.kind
        assert "status" not in await it.live(made)


async def test_jobs_beyond_those_of_one_question_are_told_of_too(tmp_path: Path):
    """The store is asked of a thousand at a time; each of those refused has its status written."""
    async with on_simulated(tmp_path) as (it, cluster):
        source = it.sources.source("batch", "Job")
        assert source is not None
        uids = [f"u-{number}" for number in range(QUESTION + 3)]
        for uid in uids:
            metadata = {"name": uid, "namespace": "lab", "uid": uid, "resourceVersion": "1"}
            source.informer.cache["lab", uid] = {**a_job(uid), "metadata": metadata}
            it.sources._by_uid[uid] = ("batch", "Job", "lab", uid)
            it.mirror.refusals[uid] = MirrorRefusal("Code", "why")
            it.writeback.note(uid)
        patches = cluster.faults.add("delay", verb="patch", resource="jobs", seconds=0, count=0)
        await it.writeback.turn()
        assert patches.hits == len(uids)

"""Placements end: Jobs that a queue placed keep their place; an event names a namespace that stays."""

from pathlib import Path

import pytest

from hub.domain.workloads.states import QUEUED, State
from hub.services.objects.delete import delete_object
from hub.store import events, workloads
from hub.store.records.workloads import Workload
from tests.services.members.hubs import running_hub, seen
from tests.services.placements.fleet import FLEET, PLACED_QUEUE, Fleet, conditions
from tests.services.placements.shop import JOB, NAMESPACE, placement_of_the_namespace

pytestmark = pytest.mark.anyio

BY_LABEL = PLACED_QUEUE.replace("name: default", "labelSelector: {matchLabels: {placed: here}}")
LABELLED = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: default, labels: {placed: here}}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 100}]}]
"""


async def queue_job_in_m1(fleet: Fleet) -> str:
    """A Job that its queue placed in m1, told to the agent; its uid."""
    await fleet.apply(NAMESPACE)
    await fleet.apply(JOB)
    found = await fleet.hub.hub.read(workloads.live_by_name, [("shop", "one")])
    uid = found["shop", "one"].uid
    await fleet.hub.place(uid, "m1", scores={"profile": "queue", "clusters": []})
    await fleet.sync()
    return uid


async def delete_the_placement(fleet: Fleet) -> None:
    """Delete it as an administrator does by REST."""

    def delete(tx):
        return delete_object(
            tx, FLEET, "ClusterResourcePlacement", "", "shop", origin="rest", principal="admin"
        )

    await fleet.hub.write(delete)
    await fleet.turn()


async def assert_it_keeps_its_place(fleet: Fleet, uid: str) -> None:
    """The Job is in m1, in the epoch in which its queue placed it, and is not withdrawn."""
    await fleet.sync()
    job, work = await fleet.hub.job(uid), await fleet.hub.work(uid)
    assert (job.cluster, job.epoch) == ("m1", 1)
    assert job.state not in {*QUEUED, State.WITHDRAWING}
    assert work is not None
    assert (work.action, work.placed_by) == ("Apply", "")


async def test_a_placement_that_selects_the_job_does_not_take_it(tmp_path: Path):
    """A placement reports a Job that a queue placed; the Job does not become one of its Jobs."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        uid = await queue_job_in_m1(fleet)
        await fleet.apply(placement_of_the_namespace())
        await assert_it_keeps_its_place(fleet, uid)
        assert (await hub.job(uid)).placement == ""
        status = await fleet.status("ClusterResourcePlacement", "shop")
        assert status["conditions"][0]["reason"] == "PlacedByQueue"


async def test_the_cluster_of_a_queue_job_is_listed_once(tmp_path: Path):
    """Also where the policy names another cluster, which is missing."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await queue_job_in_m1(fleet)
        text = placement_of_the_namespace().replace("[m2]", "[m9]")
        await fleet.apply(text)
        status = await fleet.status("ClusterResourcePlacement", "shop")
        listed = {}
        for each in status["placementStatuses"]:
            assert each["clusterName"] not in listed
            listed[each["clusterName"]] = conditions(each)["Scheduled"][0]
        assert listed == {"m1": "True", "m2": "False", "m9": "False"}


async def test_deleting_the_placement_withdraws_no_job_of_a_queue(tmp_path: Path):
    """The Job runs on in the same epoch while the placement of its namespace comes and goes."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        uid = await queue_job_in_m1(fleet)
        await fleet.apply(placement_of_the_namespace())
        await fleet.sync()
        await delete_the_placement(fleet)
        await assert_it_keeps_its_place(fleet, uid)


async def test_narrowing_the_selection_withdraws_no_job_of_a_queue(tmp_path: Path):
    """The Job runs on when selectionScope: NamespaceOnly takes it out of the selection."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        uid = await queue_job_in_m1(fleet)
        await fleet.apply(placement_of_the_namespace())
        await fleet.apply(placement_of_the_namespace("NamespaceOnly"))
        await assert_it_keeps_its_place(fleet, uid)


async def test_a_job_that_an_earlier_release_assigned_keeps_its_place(tmp_path: Path):
    """Earlier releases wrote the placement on Jobs of queues; the work's `placed_by` decides."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        uid = await queue_job_in_m1(fleet)
        await fleet.apply(placement_of_the_namespace())
        row = await fleet.object("ClusterResourcePlacement", "shop")
        assert row is not None
        await hub.write(workloads.change, [{"uid": uid, "placement": row.uid}])
        await delete_the_placement(fleet)
        await assert_it_keeps_its_place(fleet, uid)
        assert (await hub.job(uid)).placement == ""


async def waiting_job(fleet: Fleet) -> Workload:
    """The Job of namespace shop, as stored."""
    await fleet.turn()
    found = await fleet.hub.hub.read(workloads.live_by_name, [("shop", "one")])
    return found["shop", "one"]


async def test_a_waiting_job_of_an_ordinary_queue_stays_with_its_queue(tmp_path: Path):
    """A later placement reports PlacedByQueue for a Job whose ClusterQueue no placement selects."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await fleet.apply(NAMESPACE)
        await fleet.apply(JOB)
        await fleet.apply(placement_of_the_namespace())
        assert (await waiting_job(fleet)).placement == ""
        scheduled = (await fleet.status("ClusterResourcePlacement", "shop"))["conditions"][0]
        assert scheduled["reason"] == "PlacedByQueue"
        assert "Job(s) one wait for their queue" in scheduled["message"]


async def test_a_job_whose_queue_is_missing_is_not_steered(tmp_path: Path):
    """A placement may choose only once the LocalQueue exists and its ClusterQueue is selected."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await fleet.apply(NAMESPACE)
        named = "labels: {kueue.x-k8s.io/queue-name: later}"
        await fleet.apply(JOB.replace("namespace: shop}", f"namespace: shop, {named}}}"))
        await fleet.apply(placement_of_the_namespace())
        assert (await waiting_job(fleet)).placement == ""


@pytest.mark.parametrize("change", ["placement", "label"])
async def test_a_waiting_job_is_steered_while_a_placement_selects_its_queue(
    tmp_path: Path, change: str
):
    """From the change that selects the ClusterQueue to the one that no longer does."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await fleet.apply(NAMESPACE)
        await fleet.apply(JOB)
        await fleet.apply(placement_of_the_namespace())
        if change == "label":
            await fleet.apply(BY_LABEL)
            await fleet.apply(LABELLED)
        else:
            await fleet.apply(PLACED_QUEUE)
        row = await fleet.object("ClusterResourcePlacement", "shop")
        assert row is not None
        assert (await waiting_job(fleet)).placement == row.uid
        if change == "label":
            await fleet.apply(LABELLED.replace("placed: here", "placed: nowhere"))
        else:
            await fleet.apply(PLACED_QUEUE.replace("name: default", "name: another"))
        assert (await waiting_job(fleet)).placement == ""


async def test_a_job_that_the_placement_placed_is_still_taken_back(tmp_path: Path):
    """The hub withdraws a Job whose work names the placement, and the Job waits again."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await fleet.apply(PLACED_QUEUE)
        await fleet.apply(NAMESPACE)
        await fleet.apply(JOB)
        await fleet.apply(placement_of_the_namespace())
        found = await hub.hub.read(workloads.live_by_name, [("shop", "one")])
        uid = found["shop", "one"].uid
        await hub.place(uid, "m2", scores={"profile": "placement", "clusters": []})
        await fleet.sync()
        await delete_the_placement(fleet)
        assert (await hub.job(uid)).state is State.WITHDRAWING


async def test_a_namespace_that_waits_for_work_inside_is_told_by_an_event(tmp_path: Path):
    """The placement is being deleted meanwhile, and the event names what the namespace holds."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await fleet.apply(NAMESPACE)
        await fleet.apply(placement_of_the_namespace("NamespaceOnly"))
        await fleet.sync()
        await delete_the_placement(fleet)
        agent = fleet.agents["m2"]
        await agent.sync()
        (uid,) = agent.works
        waits = {"reason": "NamespaceNotEmpty", "message": "it holds Job/one"}
        await agent.sync(seen(uid, "Applied", 0, **waits))
        assert await fleet.object("ClusterResourcePlacement", "shop") is not None
        told = await hub.hub.read(events.list_events)
        (said,) = [each for each in told if each.reason == "NamespaceNotEmpty"]
        assert said.message == "in m2: it holds Job/one"


async def test_a_namespace_that_stays_in_a_member_is_told_by_an_event(tmp_path: Path):
    """The agent could not delete the namespace: the placement ends, and an event names what is inside."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await fleet.apply(NAMESPACE)
        await fleet.apply(placement_of_the_namespace("NamespaceOnly"))
        await fleet.sync()
        await delete_the_placement(fleet)
        inside = "namespace shop stays: it holds Secret/theirs"
        await fleet.sync("m2", reason="NamespaceKept", message=inside)
        assert await fleet.object("ClusterResourcePlacement", "shop") is None
        told = await hub.hub.read(events.list_events)
        (said,) = [each for each in told if each.reason == "NamespaceKept"]
        assert (said.kind, said.name, said.type) == ("Namespace", "shop", "Warning")
        assert said.message == f"in m2: {inside}"

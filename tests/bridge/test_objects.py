"""Everything but Jobs through the hub cluster: queues, placements, members, plain objects."""

import datetime as dt
from pathlib import Path

import pytest

from hub.services.access.credentials import issue_join
from hub.store import clusters
from tests.bridge.guide import CRDS, SHOP, absent, apply_guide, mirrored, shop
from tests.bridge.hub_cluster import World, until, world
from tests.services.members.hubs import seen
from tests.services.placements.fleet import conditions

pytestmark = pytest.mark.anyio


async def test_queues_say_on_the_hub_cluster_how_they_stand(tmp_path: Path):
    """Active, and how many wait."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        queue = await until(lambda: waiting(it, 2))
        assert conditions(queue["status"])["Active"] == ("True", "Ready")
        local = await it.get("LocalQueue", "local-queue", "compute-jobs")
        assert conditions(local["status"])["Active"] == ("True", "Ready")


async def test_what_a_placement_selects_is_mirrored_and_placed(tmp_path: Path):
    """The kind is followed because a placement selects it; its status comes back."""
    async with world(tmp_path) as it:
        agent = await it.hub.join("north")
        await shop(it)
        uid = await until(lambda: held(it, agent))
        await agent.sync(seen(uid, "Applied", 0, available=True))
        placement = await until(lambda: available(it))
        assert placement["status"]["placementStatuses"][0]["clusterName"] == "north"
        assert placement["status"]["conditions"][0]["observedGeneration"] == 1


async def test_what_no_placement_selects_stays_where_it_is(tmp_path: Path):
    """Other people's ConfigMaps are none of the hub's business."""
    async with world(tmp_path) as it:
        await shop(it)
        await it.apply(SHOP.split("---")[1].replace("settings", "secret-of-others"))
        await until(lambda: mirrored(it, "ConfigMap", "shop", "settings"))
        assert await mirrored(it, "ConfigMap", "shop", "secret-of-others") is None


async def test_a_deleted_plain_object_is_withdrawn(tmp_path: Path):
    """It carries no finalizer: the watch tells."""
    async with world(tmp_path) as it:
        agent = await it.hub.join("north")
        await shop(it)
        uid = await until(lambda: held(it, agent))
        await agent.sync(seen(uid, "Applied", 0, available=True))
        await it.delete("ConfigMap", "settings", "shop")
        await until(lambda: withdrawn(it, agent, uid))


async def test_a_deleted_placement_goes_when_its_members_confirm(tmp_path: Path):
    """Its finalizer stays until nothing is left of what it placed."""
    async with world(tmp_path) as it:
        agent = await it.hub.join("north")
        await shop(it)
        uid = await until(lambda: held(it, agent))
        await agent.sync(seen(uid, "Applied", 0, available=True))
        await it.delete("ResourcePlacement", "everywhere", "shop")
        await until(lambda: withdrawn(it, agent, uid))
        assert await it.get("ResourcePlacement", "everywhere", "shop") is not None
        await agent.sync(seen(uid, "Gone", 0))
        await until(lambda: absent(it, "ResourcePlacement", "everywhere", "shop"))


async def test_a_refusal_is_a_condition_with_the_code_of_rest(tmp_path: Path):
    """Accepted=False; it turns True when the object is mended."""
    async with world(tmp_path) as it:
        await shop(it)
        fixed = SHOP.split("---")[2].replace("everywhere", "odd")
        policy = "  policy: {placementType: PickAll, numberOfClusters: 2}\n"
        await it.apply(fixed + policy)
        placement = await until(lambda: judged(it, "odd"))
        assert conditions(placement["status"])["Accepted"] == ("False", "InvalidCombination")
        await it.kube.replace(
            {**placement, "spec": {**placement["spec"], "policy": {"placementType": "PickAll"}}},
            field_manager="kubectl",
        )
        await until(lambda: judged(it, "odd", "True"))


async def test_a_member_declared_there_shows_how_it_stands(tmp_path: Path):
    """ReadyToJoin at once, Joined when its agent has registered."""
    async with world(tmp_path) as it:
        await until(lambda: it.get("CustomResourceDefinition", MEMBERS, version=CRDS))
        await it.apply(
            """
apiVersion: cluster.kubernetes-fleet.io/v1beta1
kind: MemberCluster
metadata: {name: south, labels: {region: eu}}
spec: {}
"""
        )
        member = await until(lambda: member_with(it, "ReadyToJoin"))
        assert conditions(member["status"])["Joined"][0] == "Unknown"
        member = await it.hub.hub.read(clusters.get, "south")
        assert member.labels == {"region": "eu"}
        token, *_ = await it.hub.write(issue_join, "south", dt.timedelta(minutes=15))
        await it.hub.register(token, "uid-south")
        await until(lambda: is_joined(it))


MEMBERS = "memberclusters.cluster.kubernetes-fleet.io"


async def is_joined(it: World) -> bool:
    member = await it.get("MemberCluster", "south")
    return conditions(member["status"])["Joined"][0] == "True"


async def waiting(it: World, count: int):
    queue = await it.get("ClusterQueue", "cluster-queue")
    return queue if (queue.get("status") or {}).get("pendingWorkloads") == count else None


async def held(it: World, agent):
    await agent.sync()
    it.hub.sync._sessions.get("north").tokens = 20.0  # polled faster than agents do
    return next((uid for uid, w in agent.works.items() if w["name"] == "settings"), None)


async def withdrawn(it: World, agent, uid):
    await held(it, agent)
    return agent.works.get(uid, {}).get("action") == "Withdraw"


async def available(it: World):
    placement = await it.get("ResourcePlacement", "everywhere", "shop")
    found = conditions(placement.get("status") or {"conditions": []})
    return placement if "ResourcePlacementAvailable" in found else None


async def judged(it: World, name: str, status: str = "False"):
    placement = await it.get("ResourcePlacement", name, "shop")
    found = conditions({"conditions": [], **(placement.get("status") or {})})
    return placement if found.get("Accepted", ("",))[0] == status else None


async def member_with(it: World, kind: str):
    member = await it.get("MemberCluster", "south")
    found = conditions({"conditions": [], **(member.get("status") or {})})
    return member if kind in found else None

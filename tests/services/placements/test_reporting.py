"""Statuses of placed objects, reported back: to the object where one cluster holds it, else per cluster."""

from pathlib import Path

import pytest

from hub.services.placements.reporting import MOST_BYTES
from hub.store import objects
from shared.wire.versions import NEWEST
from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import Fleet

pytestmark = pytest.mark.anyio
THING = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: example.org/v1
kind: Thing
metadata: {name: one, namespace: shop}
spec: {size: 1}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: things, namespace: shop}
spec:
  resourceSelectors: [{group: example.org, version: v1, kind: Thing, name: one}]
  policy: {POLICY}
  strategy: {STRATEGY}
"""
ONE = "placementType: PickN, numberOfClusters: 1"
ORIGINAL = "reportBackStrategy: {type: Mirror, destination: OriginalResource}"
WORK_API = "reportBackStrategy: {type: Mirror, destination: WorkAPI}"
READY = {"phase": "Ready", "conditions": [{"type": "Ready", "status": "True"}]}


def things(policy: str, strategy: str = "") -> str:
    return THING.replace("POLICY", policy).replace("STRATEGY", strategy)


async def thing(fleet: Fleet):
    row = await fleet.hub.hub.read(objects.find, "example.org", "Thing", "shop", "one")
    assert row is not None
    return row


async def where(fleet: Fleet):
    status = await fleet.status("ResourcePlacement", "things", "shop")
    return {
        each["clusterName"]: each.get("reportedStatuses") for each in status["placementStatuses"]
    }


@pytest.mark.parametrize("policy", [ONE, "placementType: PickFixed, clusterNames: [m1]"])
async def test_the_one_cluster_that_holds_an_object_tells_its_status(tmp_path: Path, policy: str):
    """Each later one replaces it; where statuses are reported no longer, it is not known any more."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(things(policy, ORIGINAL))
        await fleet.sync(status=READY)
        assert (await thing(fleet)).status == READY
        assert await where(fleet) == {"m1": None}
        await fleet.sync(status={"phase": "Failed"})
        assert (await thing(fleet)).status == {"phase": "Failed"}
        generation = (await thing(fleet)).generation
        await fleet.apply(things(policy))
        assert not (await thing(fleet)).status
        assert (await thing(fleet)).generation == generation


@pytest.mark.parametrize(
    ("policy", "strategy"), [("placementType: PickAll", ORIGINAL), (ONE, WORK_API)]
)
async def test_in_all_other_cases_statuses_are_told_per_cluster(
    tmp_path: Path, policy: str, strategy: str
):
    """In the placement's own status, each with the object that it is of."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await fleet.apply(things(policy, strategy))
        await fleet.sync(status=READY)
        told = await where(fleet)
        assert len(told) == (2 if "PickAll" in policy else 1)
        for (entry,) in told.values():
            assert (entry["kind"], entry["name"], entry["status"]) == ("Thing", "one", READY)
            assert entry["observationTime"]
        assert not (await thing(fleet)).status


async def test_a_status_is_asked_for_by_mirror_alone(tmp_path: Path):
    """What is told without being asked for is left where it is."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(things(ONE))
        await fleet.sync(status=READY)
        assert not (await thing(fleet)).status
        assert await where(fleet) == {"m1": None}
        works = fleet.agents["m1"].works.values()
        assert not any(work.get("report_status") for work in works)
        fleet.agents["m1"].protocol = NEWEST
        await fleet.apply(things(ONE, ORIGINAL))
        await fleet.sync()
        (work,) = fleet.agents["m1"].works.values()
        assert work["report_status"] is True


async def test_statuses_have_room_in_a_placement_and_no_more(tmp_path: Path):
    """Of one that is too large the object alone is named; one larger than agents tell is not kept."""
    async with running_hub(tmp_path) as hub:
        members = [f"m{each:02}" for each in range(10)]
        fleet = await Fleet.start(hub, *members)
        await fleet.apply(things("placementType: PickAll", ORIGINAL))
        await fleet.sync(status={"text": "x" * (MOST_BYTES // 10)})
        assert all("status" not in entry for (entry,) in (await where(fleet)).values())
        await fleet.sync(status={"text": "x" * 40_000})
        assert set((await where(fleet)).values()) == {None}

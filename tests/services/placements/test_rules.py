"""Rules of placements: who is picked, what is taken back, what is refused, what drift shows."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from hub.services.context.settings import Settings
from hub.services.members.liveness import note_heartbeats
from hub.services.objects.delete import delete_object
from hub.services.objects.fence import fence_cluster
from hub.services.placements.fleet import read_fleet
from hub.services.placements.reconcile import reconcile
from hub.services.questions.clusters import get_cluster
from hub.store import placements, workloads
from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import CONFIG, FLEET, JOBS, Fleet, conditions

pytestmark = pytest.mark.anyio

BEST = """
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: everywhere, namespace: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: settings}]
  policy:
    placementType: PickN
    numberOfClusters: 1
    affinity:
      clusterAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          preference:
            propertySorter: {name: resources.kubernetes-fleet.io/available-cpu, sortOrder: Descending}
"""


async def test_the_best_cluster_is_picked_with_its_score_and_stays(tmp_path: Path):
    """Ranking is frozen at the pick: a better cluster later does not unseat it."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await fleet.apply(CONFIG.rpartition("---")[0])
        await fleet.apply(BEST)
        await fleet.sync()
        assert (fleet.held("m1"), fleet.held("m2")) == ([], ["ConfigMap/settings"])
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        message = status["placementStatuses"][0]["conditions"][0]["message"]
        assert "(affinity score: 100, topology spread score: 0)" in message
        agent = fleet.agents["m3"] = await hub.join("m3")
        await agent.sync(capacity={"pools_revision": 0, "pools": [], "bound": []})
        await fleet.turn()
        await fleet.sync()
        assert (fleet.held("m2"), fleet.held("m3")) == (["ConfigMap/settings"], [])


@pytest.mark.parametrize(("profile", "score"), [("Balance", 0), ("KubeFleet", 50)])
async def test_who_may_not_be_picked_is_measured_in_kubefleets_profile_alone(
    tmp_path: Path, profile: Literal["Balance", "KubeFleet"], score: int
):
    """8 and 16 cores may be picked, 24 may not: by KubeFleet's arithmetic they are a half of the way."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2", "m3")
        scheduling = replace(hub.hub.settings.scheduling, profile=profile)
        hub.hub.settings = replace(hub.hub.settings, scheduling=scheduling)
        await fleet.apply(CONFIG.rpartition("---")[0])
        await fleet.apply(TAINTED.replace("m1", "m3"))
        await fleet.apply(BEST.replace("numberOfClusters: 1", "numberOfClusters: 2"))
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        said = {
            each["clusterName"]: each["conditions"][0]["message"]
            for each in status["placementStatuses"]
            if "clusterName" in each
        }
        assert f"(affinity score: {score or 100}," in said["m2"]
        assert "(affinity score: 0," in said["m1"]


async def test_a_cluster_that_is_given_up_has_no_binding_any_more(tmp_path: Path):
    """Decisions that are written down are those that stand: else it would count as chosen for good."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await fleet.apply(CONFIG.rpartition("---")[0])
        bound = []
        for count in (2, 1):
            await fleet.apply(BEST.replace("numberOfClusters: 1", f"numberOfClusters: {count}"))
            await fleet.sync()
            row = await fleet.object("ResourcePlacement", "everywhere", "shop")
            assert row is not None
            rows = await hub.hub.read(placements.bindings_of, row.uid)
            bound.append([each.cluster for each in rows])
        assert bound == [["m1", "m2"], ["m2"]]


async def test_a_new_member_is_picked_where_all_are(tmp_path: Path):
    """PickAll follows the fleet."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(CONFIG)
        fleet.agents["m2"] = await hub.join("m2")
        await fleet.turn()
        await fleet.sync()
        assert fleet.held("m2") == ["ConfigMap/settings"]


async def test_a_fenced_member_holds_no_placement_up(tmp_path: Path):
    """It is left out as if it were deleted, says that it is fenced, and has nothing any more."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "east", "west")
        await fleet.apply(CONFIG)
        await fleet.sync("west")
        await hub.write(fence_cluster, "east", "east", "admin", 45.0, though_it_answers=True)
        await hub.write(note_heartbeats, {"east": hub.clock.now()})  # heard just before
        await fleet.turn()
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        assert [each["clusterName"] for each in status["placementStatuses"]] == ["west"]
        assert conditions(status)["ResourcePlacementApplied"][0] == "True"
        east = await hub.hub.read(get_cluster, "east", Settings())
        assert (east["state"], east["nodeCount"], east["heartbeatAt"]) == ("Fenced", 0, None)


async def test_a_member_that_goes_while_a_placement_is_decided_is_given_nothing(tmp_path: Path):
    """What was decided of a member that has gone since leaves no work that nobody could take back."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "east", "west")
        await fleet.apply(CONFIG)
        placement = await fleet.object("ResourcePlacement", "everywhere", "shop")
        assert placement is not None
        seen_before = await hub.hub.read(read_fleet)
        await hub.write(fence_cluster, "east", "east", "admin", 45.0, though_it_answers=True)
        term = fleet.controller._term()
        await hub.write(reconcile, placement.uid, seen_before, term)
        await fleet.turn()
        await deleted(fleet, "everywhere")
        await fleet.sync("west")
        assert await fleet.object("ResourcePlacement", "everywhere", "shop") is None


async def test_what_is_no_longer_selected_is_withdrawn(tmp_path: Path):
    """A label that no longer matches takes the object from every member."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(CONFIG)
        await fleet.sync()
        await fleet.apply(CONFIG.split("---")[1].replace("tier: web", "tier: none"))
        await fleet.sync()
        await fleet.sync()
        assert fleet.agents["m1"].works == {}


async def test_a_changed_object_is_sent_anew(tmp_path: Path):
    """Applied is Unknown until the member has the new generation."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(CONFIG)
        await fleet.sync()
        await fleet.apply(CONFIG.split("---")[1].replace("blue", "green"))
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        assert conditions(status)["ResourcePlacementApplied"] == ("Unknown", "ApplyPending")
        assert "ResourcePlacementAvailable" not in conditions(status)
        assert status["observedResourceIndex"] == "1"
        await fleet.sync()
        (work,) = fleet.agents["m1"].works.values()
        assert work["manifest"]["data"] == {"color": "green"}
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        assert conditions(status)["ResourcePlacementAvailable"][0] == "True"


async def test_drift_is_shown_with_path_and_both_values(tmp_path: Path):
    """Under Always it is overwritten; the status says what was seen and since when."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(CONFIG)
        drift = {
            "path": "/data/color",
            "hub": "blue",
            "member": "red",
            "first_seen": "2026-05-01T00:00:00Z",
        }
        await fleet.sync(drift=[drift], member_generation=3)
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        (drifted,) = status["placementStatuses"][0]["driftedPlacements"]
        assert drifted["observedDrifts"] == [
            {"path": "/data/color", "valueInHub": "blue", "valueInMember": "red"}
        ]
        assert drifted["firstDriftedObservedTime"] == "2026-05-01T00:00:00Z"
        assert drifted["targetClusterObservedGeneration"] == 3
        assert (drifted["kind"], drifted["name"]) == ("ConfigMap", "settings")


async def test_drift_that_is_left_alone_is_not_applied(tmp_path: Path):
    """Under IfNotDrifted: Applied=False with a failed placement while it lasts, True when it is mended."""
    careful = "spec:\n  strategy: {applyStrategy: {whenToApply: IfNotDrifted}}"
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(CONFIG.replace("spec:", careful))
        drift = {
            "path": "/data/color",
            "hub": "blue",
            "member": "red",
            "first_seen": "2026-05-01T00:00:00Z",
        }
        await fleet.sync(drift=[drift])
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        assert conditions(status)["ResourcePlacementApplied"] == ("False", "ApplyFailed")
        (target,) = status["placementStatuses"]
        (failed,) = target["failedPlacements"]
        assert failed["condition"]["reason"] == "FoundDrifts"
        assert "/data/color" in failed["condition"]["message"]
        assert target["driftedPlacements"]
        await fleet.sync()
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        assert conditions(status)["ResourcePlacementApplied"][0] == "True"


async def test_what_can_not_be_applied_is_a_failed_placement(tmp_path: Path):
    """With the member's reason and words."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(CONFIG)
        await fleet.sync(phase="Failed", reason="NameConflict", message="owned by helm")
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        assert conditions(status)["ResourcePlacementApplied"] == ("False", "ApplyFailed")
        (failed,) = status["placementStatuses"][0]["failedPlacements"]
        assert failed["condition"]["reason"] == "NameConflict"
        assert failed["condition"]["message"] == "owned by helm"


async def test_a_missing_namespace_is_told_with_what_brings_it(tmp_path: Path):
    """A ResourcePlacement places what is in a namespace, not the namespace itself."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(CONFIG)
        await fleet.sync(phase="Failed", reason="NamespaceMissing", message="no namespace shop")
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        (failed,) = status["placementStatuses"][0]["failedPlacements"]
        assert failed["condition"]["message"] == (
            "no namespace shop; a ClusterResourcePlacement that selects Namespace shop brings it there"
        )


async def test_the_first_of_two_placements_keeps_the_object(tmp_path: Path):
    """The second reports failure, and takes over when the first goes."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(CONFIG)
        await fleet.sync()
        await fleet.apply(CONFIG.rpartition("---")[2].replace("everywhere", "second"))
        status = await fleet.status("ResourcePlacement", "second", "shop")
        (failed,) = status["placementStatuses"][0]["failedPlacements"]
        assert failed["condition"]["reason"] == "PlacedByAnother"
        assert "ResourcePlacement shop/everywhere placed it" in failed["condition"]["message"]
        await deleted(fleet, "everywhere")
        await fleet.sync()
        await fleet.sync()
        status = await fleet.status("ResourcePlacement", "second", "shop")
        assert conditions(status)["ResourcePlacementAvailable"][0] == "True"
        assert await fleet.object("ResourcePlacement", "everywhere", "shop") is None


async def test_a_deleted_placement_goes_when_what_it_placed_is_gone(tmp_path: Path):
    """Until the member confirms, it is being deleted."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(CONFIG)
        await fleet.sync()
        await deleted(fleet, "everywhere")
        assert await fleet.object("ResourcePlacement", "everywhere", "shop") is not None
        await fleet.sync()
        await fleet.sync()
        assert await fleet.object("ResourcePlacement", "everywhere", "shop") is None
        assert fleet.agents["m1"].works == {}


async def test_a_job_by_name_needs_one_cluster(tmp_path: Path):
    """PickAll of a Job is refused, and the Job is left alone."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(JOBS)
        status = await fleet.status("ResourcePlacement", "jobs", "shop")
        assert conditions(status) == {
            "ResourcePlacementScheduled": ("False", "JobNeedsOneCluster")
        }
        found = await hub.hub.read(workloads.live_by_name, [("shop", "one")])
        assert found[("shop", "one")].placement == ""


async def test_a_job_that_its_queue_placed_before_is_not_called_the_policys_choice(tmp_path: Path):
    """Selected after it was dispatched: the conditions say whose choice the cluster was."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        _, job, placement = JOBS.split("---")
        await fleet.apply(job)
        found = await hub.hub.read(workloads.live_by_name, [("shop", "one")])
        scores = {"profile": "queue", "clusters": [{"cluster": "m1", "score": 70}]}
        await hub.place(found[("shop", "one")].uid, "m1", scores=scores)
        await fleet.apply(placement + "  policy: {placementType: PickN, numberOfClusters: 1}\n")
        status = await fleet.status("ResourcePlacement", "jobs", "shop")
        told = status["conditions"][0]
        assert (told["status"], told["reason"]) == ("True", "PlacedByQueue")
        assert "its policy did not choose" in told["message"]
        message = status["placementStatuses"][0]["conditions"][0]["message"]
        assert message.endswith("placed there by its queue before this placement selected it")


def fixed(*names: str) -> str:
    """A policy that names its clusters."""
    return f"  policy: {{placementType: PickFixed, clusterNames: [{', '.join(names)}]}}\n"


async def test_fixed_clusters_are_those_named_and_follow_the_list(tmp_path: Path):
    """Named, taints or not; one that is taken off the list loses what it held, one that joins gets it."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        config, _, placement = CONFIG.rpartition("---")
        await fleet.apply(config)
        await fleet.apply(TAINTED)
        await fleet.apply(placement + fixed("m1", "m3"))
        await fleet.sync()
        assert (fleet.held("m1"), fleet.held("m2")) == (["ConfigMap/settings"], [])
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        scheduled = status["conditions"][0]
        assert (scheduled["status"], scheduled["reason"]) == (
            "False",
            "SchedulingPolicyUnfulfilled",
        )
        said = [each["conditions"][0]["message"] for each in status["placementStatuses"]]
        assert (
            'Cluster "m3" was not picked: it is not in the fleet: add it, or name another' in said
        )
        await fleet.apply(placement + fixed("m2"))
        await fleet.sync()
        assert (fleet.held("m1"), fleet.held("m2")) == ([], ["ConfigMap/settings"])
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        assert status["conditions"][0]["status"] == "True"
        await fleet.apply(placement + fixed())
        await fleet.sync()
        assert (fleet.held("m1"), fleet.held("m2")) == ([], [])
        await fleet.apply(placement + fixed("m1"))
        await fleet.sync()
        assert fleet.held("m1") == ["ConfigMap/settings"]


TAINTED = """
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {name: m1}
spec: {taints: [{key: maintenance, value: soon, effect: NoSchedule}]}
"""


async def test_a_job_may_name_its_one_cluster(tmp_path: Path):
    """PickFixed with one name places a Job; with several it is refused as PickN of several is."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await fleet.apply(JOBS + fixed("m2"))
        assert (await job_row(fleet)).placement
        await fleet.apply(JOBS.rpartition("---")[2] + fixed("m1", "m2"))
        status = await fleet.status("ResourcePlacement", "jobs", "shop")
        assert conditions(status) == {
            "ResourcePlacementScheduled": ("False", "JobNeedsOneCluster")
        }


async def job_row(fleet: Fleet):
    """The only Job."""
    found = await fleet.hub.hub.read(workloads.live_by_name, [("shop", "one")])
    return found[("shop", "one")]


async def deleted(fleet: Fleet, name: str) -> None:
    def delete(unit):
        return delete_object(
            unit, FLEET, "ResourcePlacement", "shop", name, origin="rest", principal="admin"
        )

    await fleet.hub.write(delete)
    await fleet.turn()

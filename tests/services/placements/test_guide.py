"""The guide's placements, and what `kubectl describe` shows of them (all six conditions True)."""

from pathlib import Path

import pytest

from hub.domain.workloads.states import WithdrawTo
from tests.services.members.hubs import ran, running_hub
from tests.services.placements.fleet import GUIDE, Fleet, conditions

pytestmark = pytest.mark.anyio

FOUND_ONE = "found all cluster needed as specified by the scheduling policy, found 1 cluster(s)"
SCORES = {
    "clusters": [
        {"cluster": "m2", "selected": True, "score": 70, "topologyScore": 0},
        {"cluster": "m1", "selected": False, "score": 0, "message": "score is not high enough"},
    ]
}


async def applied_guide(fleet: Fleet) -> None:
    for number in range(1, 8):
        (file,) = GUIDE.glob(f"*{number}-*.yaml")
        await fleet.apply(file.read_text())


async def test_queues_and_the_namespace_reach_every_member(tmp_path: Path):
    """The cluster placement is PickAll; the namespace comes without what is in it."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await applied_guide(fleet)
        await fleet.sync()
        expected = [
            "ClusterQueue/cluster-queue",
            "LocalQueue/local-queue",
            "Namespace/compute-jobs",
            "ResourceFlavor/default-flavor",
        ]
        assert fleet.held("m1") == fleet.held("m2") == expected
        status = await fleet.status("ClusterResourcePlacement", "sample-kueue")
        assert conditions(status) == {
            "ClusterResourcePlacementScheduled": ("True", "SchedulingPolicyFulfilled"),
            "ClusterResourcePlacementRolloutStarted": ("True", "RolloutStarted"),
            "ClusterResourcePlacementOverridden": ("True", "NoOverrideSpecified"),
            "ClusterResourcePlacementWorkSynchronized": ("True", "WorkSynchronized"),
            "ClusterResourcePlacementApplied": ("True", "ApplySucceeded"),
            "ClusterResourcePlacementAvailable": ("True", "ResourceAvailable"),
        }


async def test_a_job_gets_its_placement_and_waits_until_it_is_placed(tmp_path: Path):
    """The scheduler reads the policy by the placement's uid; meanwhile Scheduled is False."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await applied_guide(fleet)
        placement = await fleet.object("ResourcePlacement", "job1-placement", "compute-jobs")
        job = await job_named(hub, "mock-workload")
        assert job.placement == placement.uid
        assert conditions(placement.status) == {
            "ResourcePlacementScheduled": ("False", "SchedulingPolicyUnfulfilled")
        }


async def test_the_status_of_a_placed_job_is_the_guides(tmp_path: Path):
    """Six conditions, the scores of the decision, selected resources; no drift, no failure."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await applied_guide(fleet)
        job = await job_named(hub, "mock-workload")
        await hub.place(job.uid, "m2", scores=SCORES)
        await fleet.sync()
        await fleet.agents["m2"].sync(ran(job.uid, running_since="2026-05-01T00:00:01Z"))
        await fleet.turn()
        status = await fleet.status("ResourcePlacement", "job1-placement", "compute-jobs")
        assert [(c["type"], c["status"], c["message"]) for c in status["conditions"]] == [
            (
                "ResourcePlacementScheduled",
                "True",
                FOUND_ONE,
            ),
            (
                "ResourcePlacementRolloutStarted",
                "True",
                "All 1 cluster(s) start rolling out the latest resource",
            ),
            (
                "ResourcePlacementOverridden",
                "True",
                "No override rules are configured for the selected resources",
            ),
            (
                "ResourcePlacementWorkSynchronized",
                "True",
                "Works(s) are succcesfully created or updated in 1 target cluster(s)' namespaces",
            ),
            (
                "ResourcePlacementApplied",
                "True",
                "The selected resources are successfully applied to 1 cluster(s)",
            ),
            (
                "ResourcePlacementAvailable",
                "True",
                "The selected resources in 1 cluster(s) are available now",
            ),
        ]
        (target,) = status["placementStatuses"]
        assert target["clusterName"] == "m2"
        assert target["conditions"][0]["message"] == (
            'Successfully scheduled resources for placement in "m2" '
            "(affinity score: 70, topology spread score: 0): picked by scheduling policy"
        )
        assert [c["type"] for c in target["conditions"]] == [
            "Scheduled",
            "RolloutStarted",
            "Overridden",
            "WorkSynchronized",
            "Applied",
            "Available",
        ]
        assert "failedPlacements" not in target
        assert "driftedPlacements" not in target
        assert status["observedResourceIndex"] == "0"
        assert status["selectedResources"] == [
            {
                "group": "batch",
                "version": "v1",
                "kind": "Job",
                "namespace": "compute-jobs",
                "name": "mock-workload",
            }
        ]


async def test_the_rungs_are_told_as_events(tmp_path: Path):
    """In the guide's words and order."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await applied_guide(fleet)
        await fleet.sync()
        placement = await fleet.object("ResourcePlacement", "queue-placement", "compute-jobs")
        events = await hub.hub.read(all_events, placement.uid)
        assert [each for each in events if each.startswith("Placement")] == [
            "PlacementRolloutStarted",
            "PlacementOverriddenSucceeded",
            "PlacementWorkSynchronized",
            "PlacementApplied",
            "PlacementAvailable",
            "PlacementRolloutCompleted",
        ]


async def test_the_status_outlives_the_job(tmp_path: Path):
    """A finished Job that was deleted on the hub still stands in its placement's status."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await applied_guide(fleet)
        job = await job_named(hub, "mock-workload")
        await hub.place(job.uid, "m2", scores=SCORES)
        await fleet.sync()
        agent = fleet.agents["m2"]
        await agent.sync(ran(job.uid, succeeded=3, result="Succeeded"))
        await fleet.turn()
        before = await fleet.status("ResourcePlacement", "job1-placement", "compute-jobs")
        await hub.write(delete, job.uid)
        await fleet.turn()
        after = await fleet.status("ResourcePlacement", "job1-placement", "compute-jobs")
        assert conditions(after) == conditions(before)
        assert after["selectedResources"] == before["selectedResources"]


async def job_named(hub, name):
    from hub.store import workloads

    found = await hub.hub.read(workloads.live_by_name, [("compute-jobs", name)])
    return found[("compute-jobs", name)]


def all_events(unit, uid):
    from hub.store import events

    return [each.reason for each in events.list_events(unit, uid=uid)]


def delete(unit, uid):
    from hub.services.works.withdraw import withdraw_jobs

    return withdraw_jobs(unit, [uid], WithdrawTo.DELETED)

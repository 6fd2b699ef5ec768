"""Draining a member: jobs come back, placements leave as their budgets allow, nothing new goes there."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.objects.drain import MOST_SHOWN, drain_cluster
from hub.services.placements.bindings import FOR_A_JOB
from hub.store import clusters, placements, workloads
from hub.store.records.placements import Binding
from shared.errors import Rejected
from tests.services.members.hubs import Running, running_hub
from tests.services.placements.fleet import CONFIG, JOBS, Fleet

pytestmark = pytest.mark.anyio
ONE_OF_TWO = CONFIG + "  policy: {placementType: PickN, numberOfClusters: 1}\n"
BUDGET = """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourcePlacementDisruptionBudget
metadata: {name: everywhere, namespace: shop}
spec: {minAvailable: 1}
"""


async def drained(hub: Running, name: str = "m2", *, carry_out: bool = True) -> Any:
    told = await hub.write(lambda tx: drain_cluster(tx, name, "ann", carry_out=carry_out))
    await hub.settled()
    return told


async def placed(hub: Running, *documents: str) -> Fleet:
    fleet = await Fleet.start(hub, "m1", "m2")
    for each in documents:
        await fleet.apply(each)
    await fleet.sync()
    await fleet.sync()
    return fleet


@pytest.mark.parametrize(
    ("created", "abandon", "fate"),
    [
        (True, False, (1, 0, 0)),
        (False, False, (0, 1, 0)),
        (None, False, (0, 0, 1)),
        (True, True, (0, 1, 0)),
    ],
)
async def test_a_dry_run_says_which_objects_are_deleted_and_which_released(
    tmp_path: Path, created: bool | None, abandon: bool, fate: tuple[int, int, int]
):
    """The member deletes objects that the agent reports as created, unless the placement abandons them."""
    async with running_hub(tmp_path) as hub:
        text = ONE_OF_TWO
        if abandon:
            strategy = "strategy: {deleteStrategy: {propagationPolicy: Abandon}}"
            text = text.replace("  policy:", f"  {strategy}\n  policy:")
        fleet = await placed(hub, text)
        await fleet.sync(created=created)
        (told,) = (await drained(hub, carry_out=False))["placements"]
        counts = told["objectsDeleted"], told["objectsReleased"], told["objectsUnknown"]
        assert counts == fate


async def test_a_dry_run_says_what_would_move_and_moves_nothing(tmp_path: Path):
    """The jobs there and each placement with its verdict; the member goes on getting work."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, ONE_OF_TWO)
        job = await hub.submit("runs")
        await hub.place(job, "m2")
        told = await drained(hub, carry_out=False)
        assert (told["carriedOut"], told["jobCount"], told["blocked"]) == (False, 1, 0)
        assert [each["name"] for each in told["jobs"]] == ["runs"]
        (placement,) = told["placements"]
        assert placement["message"] == (
            "Eviction is allowed, no ResourcePlacementDisruptionBudget specified"
        )
        assert fleet.held("m2") == ["ConfigMap/settings"]
        member = await hub.hub.read(clusters.get, "m2")
        assert member is not None
        assert not member.cordoned


async def test_a_placement_that_has_a_job_there_alone_is_none_that_moves(tmp_path: Path):
    """The drain evicts the job; the placement has no object there."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, CONFIG.partition("---")[0] + "---" + JOBS)
        row = await fleet.object("ResourcePlacement", "jobs", "shop")
        assert row is not None
        bound = Binding(row.uid, "m2", True, 0, 0, "Scheduled", "for a job", FOR_A_JOB, "")
        await hub.write(placements.bind, [bound])
        assert (await drained(hub, carry_out=False))["placements"] == []


async def test_objects_go_elsewhere_and_nothing_comes_back(tmp_path: Path):
    """The member is cordoned, so that nobody picks it again."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, ONE_OF_TWO)
        assert (await drained(hub))["blocked"] == 0
        await fleet.turn()
        await fleet.sync()
        await fleet.sync()
        assert (fleet.held("m1"), fleet.held("m2")) == (["ConfigMap/settings"], [])


async def test_a_budget_keeps_objects_there(tmp_path: Path):
    """Which one and why is told; asked again once it allows it, they go."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, ONE_OF_TWO, BUDGET)
        told = await drained(hub)
        (placement,) = told["placements"]
        assert (told["blocked"], placement["allowed"]) == (1, False)
        numbers = "availablePlacements: 1, totalPlacements: 1; minAvailable is 1"
        assert placement["message"].endswith(numbers)
        await fleet.turn()
        await fleet.sync()
        assert fleet.held("m2") == ["ConfigMap/settings"]
        await fleet.apply(BUDGET.replace("minAvailable: 1", "minAvailable: 0"))
        assert (await drained(hub))["blocked"] == 0
        await fleet.turn()
        await fleet.sync()
        assert fleet.held("m2") == []


async def test_jobs_are_evicted_and_wait_for_the_members_word(tmp_path: Path):
    """One that runs is Withdrawing until Gone; it is not sent to the drained member again."""
    async with running_hub(tmp_path) as hub:
        await placed(hub)
        job = await hub.submit("runs")
        await hub.place(job, "m2")
        told = await drained(hub)
        assert told["jobCount"] == 1
        row = (await hub.hub.read(workloads.get_many, [job]))[job]
        assert row.evicted is not None
        assert row.evicted["reason"] == "ClusterDrained"
        assert (await drained(hub))["jobCount"] == 0


async def test_a_member_that_is_none_is_refused(tmp_path: Path):
    """By name."""
    async with running_hub(tmp_path) as hub:
        with pytest.raises(Rejected, match="nosuch"):
            await drained(hub, "nosuch")


async def test_more_jobs_come_back_than_are_shown(tmp_path: Path):
    """The answer names some; all of them are counted, and all are taken back."""
    async with running_hub(tmp_path) as hub:
        await placed(hub)
        jobs = await hub.place_many("m2", MOST_SHOWN + 1)
        told = await drained(hub)
        assert (told["jobCount"], len(told["jobs"])) == (MOST_SHOWN + 1, MOST_SHOWN)
        rows = await hub.hub.read(workloads.get_many, jobs)
        assert {uid for uid, each in rows.items() if each.evicted is not None} == set(jobs)
        assert (await drained(hub))["jobCount"] == 0

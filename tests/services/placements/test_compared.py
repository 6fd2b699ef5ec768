"""Placements that only compare: what their agents are told, and how it is said how members differ."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.objects.delete import delete_object
from hub.store import work_pages, workloads
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.wire.versions import COMPARES
from tests.services.members.hubs import Running, running_hub, seen
from tests.services.placements.fleet import CONFIG, FLEET, JOBS, Fleet, conditions

pytestmark = pytest.mark.anyio
ONLY = "spec:\n  strategy: {applyStrategy: {type: ReportDiff}}"
DIFF = CONFIG.replace("spec:", ONLY)
KIND, NAME = "ResourcePlacement", "everywhere"
DIFFERS = {
    "path": "/data/color",
    "hub": '"blue"',
    "member": '"red"',
    "first_seen": "2026-05-01T00:00:00Z",
}


async def compared(hub: Running, protocol: int = COMPARES, text: str = DIFF) -> Fleet:
    fleet = await Fleet.start(hub)
    fleet.agents["m1"] = await hub.join("m1")
    fleet.agents["m1"].protocol = protocol
    await fleet.agents["m1"].sync()
    await fleet.apply(text)
    await fleet.agents["m1"].sync()
    return fleet


async def says(fleet: Fleet, phase: str = "Applied", **more: Any) -> None:
    """What the agent says of the ConfigMap."""
    (work,) = fleet.agents["m1"].works.values()
    entry = seen(work["uid"], phase, 0, **{"reason": "DiffReported", **more})
    entry.generation = work["generation"]
    await fleet.agents["m1"].sync(entry)
    await fleet.turn()


async def rung(fleet: Fleet) -> tuple[str, str]:
    told = conditions(await fleet.status(KIND, NAME, "shop"))
    assert "ResourcePlacementApplied" not in told
    return told["ResourcePlacementDiffReported"]


async def test_the_agent_is_told_to_compare_and_what_it_finds_is_told(tmp_path: Path):
    """With the manifest; the status has each field, and nothing of it counts as drift."""
    async with running_hub(tmp_path) as hub:
        fleet = await compared(hub)
        (work,) = fleet.agents["m1"].works.values()
        assert (work["action"], work["manifest"]["data"]) == ("Compare", {"color": "blue"})
        assert await rung(fleet) == ("Unknown", "DiffReportingPending")
        await says(fleet, drift=[DIFFERS], member_generation=4)
        assert await rung(fleet) == ("True", "DiffReportingCompleted")
        (target,) = (await fleet.status(KIND, NAME, "shop"))["placementStatuses"]
        (differs,) = target["diffedPlacements"]
        assert differs["observedDiffs"] == [
            {"path": "/data/color", "valueInHub": "blue", "valueInMember": "red"}
        ]
        assert differs["targetClusterObservedGeneration"] == 4
        assert await hub.hub.read(work_pages.list_drifted, None, 10) == []


async def test_a_comparison_that_failed_is_told_with_its_reason(tmp_path: Path):
    """Among what could not be placed there."""
    async with running_hub(tmp_path) as hub:
        fleet = await compared(hub)
        await says(fleet, "Failed", reason="KindNotServed", message="not served")
        assert await rung(fleet) == ("False", "DiffReportingIncompleteOrFailed")
        (target,) = (await fleet.status(KIND, NAME, "shop"))["placementStatuses"]
        assert target["failedPlacements"][0]["condition"]["reason"] == "KindNotServed"


async def test_an_agent_of_before_writes_nothing_and_is_waited_for(tmp_path: Path):
    """It is told to keep what it has; the status says what it lacks, until it is upgraded."""
    async with running_hub(tmp_path) as hub:
        fleet = await compared(hub, COMPARES - 1)
        (work,) = fleet.agents["m1"].works.values()
        assert (work["action"], work["manifest"]) == ("Keep", None)
        await says(fleet, reason="")
        assert await rung(fleet) == ("Unknown", "DiffReportingPending")
        (target,) = (await fleet.status(KIND, NAME, "shop"))["placementStatuses"]
        assert "the agent of m1 can not" in target["conditions"][-1]["message"]
        fleet.agents["m1"].restart("session-m1-2", COMPARES)
        await fleet.agents["m1"].sync()
        (work,) = fleet.agents["m1"].works.values()
        assert work["action"] == "Compare"
        await says(fleet)
        assert await rung(fleet) == ("True", "DiffReportingCompleted")


async def test_from_applied_to_compared_and_back(tmp_path: Path):
    """Neither counts as the other: each rung is unknown until the agent has done it."""
    async with running_hub(tmp_path) as hub:
        fleet = await compared(hub, text=CONFIG)
        await fleet.sync()
        await fleet.apply(DIFF)
        await fleet.agents["m1"].sync()
        assert await rung(fleet) == ("Unknown", "DiffReportingPending")
        await says(fleet)
        plain = "strategy: {applyStrategy: {type: ServerSideApply}}"
        await fleet.apply(CONFIG.replace("spec:", f"spec:\n  {plain}"))
        told = conditions(await fleet.status(KIND, NAME, "shop"))
        assert told["ResourcePlacementApplied"] == ("Unknown", "ApplyPending")
        await fleet.agents["m1"].sync()
        await says(fleet, reason="")
        told = conditions(await fleet.status(KIND, NAME, "shop"))
        assert told["ResourcePlacementApplied"] == ("True", "ApplySucceeded")


@pytest.mark.parametrize("left", [False, True])
async def test_what_was_compared_is_given_up_as_any_object_is(tmp_path: Path, left: bool):
    """Told anew, though an older agent has the same word for either."""
    async with running_hub(tmp_path) as hub:
        more = "{applyStrategy: {type: ReportDiff}, deleteStrategy: {propagationPolicy: Abandon}}"
        text = DIFF.replace("{applyStrategy: {type: ReportDiff}}", more) if left else DIFF
        fleet = await compared(hub, text=text)
        await says(fleet)
        await fleet.apply(text.rpartition("---")[2].replace("tier: web", "tier: db"))
        await fleet.agents["m1"].sync()
        (work,) = fleet.agents["m1"].works.values()
        assert work["action"] == ("Keep" if left else "Withdraw")


async def test_a_job_is_not_begun_to_be_compared(tmp_path: Path):
    """A placement that names one is refused; it goes where it would without."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        text = JOBS.rpartition("---")
        fixed = "  policy: {placementType: PickN, numberOfClusters: 1}\n"
        await fleet.apply(text[0] + "---" + text[2].replace("spec:", ONLY) + fixed)
        told = conditions(await fleet.status(KIND, "jobs", "shop"))
        assert told == {"ResourcePlacementScheduled": ("False", "JobsNotCompared")}
        found = await hub.hub.read(workloads.live_by_name, [("shop", "one")])
        assert found["shop", "one"].placement == ""


REAL = """
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: real, namespace: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: settings}]
"""
ABSENT = {
    "path": "/",
    "hub": "the object",
    "member": "absent",
    "first_seen": DIFFERS["first_seen"],
}


async def held(fleet: Fleet) -> tuple[str, str]:
    """The action of the ConfigMap's work, and the placement that owns it."""
    work = await of_the_map(fleet)
    await fleet.agents["m1"].sync()
    placed_by = await fleet.object(KIND, "real", "shop")
    whose = "real" if placed_by is not None and work.placed_by == placed_by.uid else NAME
    return work.action, whose


async def of_the_map(fleet: Fleet) -> Work:
    row = await fleet.object("ConfigMap", "settings", "shop")
    assert row is not None
    found = await fleet.hub.work(row.uid)
    assert found is not None
    return found


async def applied(fleet: Fleet) -> tuple[str, str]:
    """The rung of the placement that applies."""
    told = conditions(await fleet.status(KIND, "real", "shop"))
    return told["ResourcePlacementApplied"]


async def test_a_comparison_keeps_no_placement_from_placing(tmp_path: Path):
    """The other placement applies the object, and its agent's report is what is compared."""
    async with running_hub(tmp_path) as hub:
        fleet = await compared(hub)
        await says(fleet, drift=[ABSENT])
        await fleet.apply(REAL)
        assert await held(fleet) == ("Apply", "real")
        await says(fleet, reason="", available=True)
        assert await applied(fleet) == ("True", "ApplySucceeded")
        assert await rung(fleet) == ("True", "DiffReportingCompleted")
        (target,) = (await fleet.status(KIND, NAME, "shop"))["placementStatuses"]
        assert "diffedPlacements" not in target


async def test_what_another_placement_holds_is_compared_by_its_report(tmp_path: Path):
    """The placement that came first keeps the object, and its agent's report is what is compared."""
    async with running_hub(tmp_path) as hub:
        fleet = await compared(hub, text=CONFIG.partition("---")[0])
        await fleet.apply(CONFIG.rpartition("---")[0] + "---" + REAL)
        await fleet.agents["m1"].sync()
        await says(fleet, reason="", available=True)
        await fleet.apply(DIFF)
        assert await held(fleet) == ("Apply", "real")
        assert await rung(fleet) == ("True", "DiffReportingCompleted")
        await says(fleet, reason="", drift=[DIFFERS])
        (target,) = (await fleet.status(KIND, NAME, "shop"))["placementStatuses"]
        (differs,) = target["diffedPlacements"]
        assert differs["observedDiffs"][0]["valueInMember"] == "red"


@pytest.mark.parametrize("first", [DIFF, CONFIG.rpartition("---")[0] + "---" + REAL])
async def test_a_comparison_keeps_nothing_from_being_taken_back(tmp_path: Path, first: str):
    """The agent deletes the object with its placement; then the comparison starts again."""
    async with running_hub(tmp_path) as hub:
        fleet = await compared(hub, text=first)
        await fleet.apply(DIFF)
        await fleet.apply(REAL)
        await fleet.agents["m1"].sync()
        await says(fleet, reason="", available=True)
        await delete(fleet, "real")
        assert await held(fleet) == ("Withdraw", "real")
        await fleet.apply(DIFF.replace("name: everywhere", "name: everywhere, labels: {a: b}"))
        assert await held(fleet) == ("Withdraw", "real")
        assert (await rung(fleet))[0] == "Unknown"
        await says(fleet, "Gone", reason="")
        assert await held(fleet) == ("Compare", NAME)
        assert await fleet.object(KIND, "real", "shop") is None


async def test_deleting_a_comparison_touches_nothing_of_others(tmp_path: Path):
    """The object of another placement stays in the member."""
    async with running_hub(tmp_path) as hub:
        fleet = await compared(hub)
        await fleet.apply(REAL)
        await says(fleet, reason="", available=True)
        await delete(fleet, NAME)
        assert await held(fleet) == ("Apply", "real")
        assert await fleet.object(KIND, NAME, "shop") is None


async def delete(fleet: Fleet, name: str) -> None:
    """Delete a ResourcePlacement as by REST."""

    def by_rest(tx: Transaction) -> None:
        delete_object(tx, FLEET, KIND, "shop", name, origin="rest", principal="admin")

    await fleet.hub.write(by_rest)
    await fleet.turn()

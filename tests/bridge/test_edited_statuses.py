"""What stands in a placement's status is the hub's, whoever writes there (S-18), however late a cache is."""

from pathlib import Path
from typing import Any

import pytest

from hub.bridge.object_status import differs
from hub.store import objects
from tests.bridge.crossings import Turns, crossing
from tests.bridge.hub_cluster import FIELDS, until
from tests.bridge.parts import Parts
from tests.bridge.placing import KINDS, a_placement, taken

pytestmark = pytest.mark.anyio


def says(reason: str) -> dict[str, Any]:
    """A status with one condition."""
    return {
        "conditions": [
            {
                "type": "ResourcePlacementScheduled",
                "status": "True",
                "reason": reason,
                "message": "m",
                "observedGeneration": 1,
                "lastTransitionTime": "2026-05-01T00:00:00Z",
            }
        ]
    }


async def shows(turns: Turns, it: Parts, made: dict[str, Any], reason: str) -> bool:
    """Turns of both sides; does the hub cluster say this?"""
    await turns.take()
    await turns.give()
    said = ((await it.live(made)).get("status") or {}).get("conditions") or [{}]
    return bool(said[0].get("reason") == reason)


async def placed(turns: Turns, it: Parts, reason: str) -> dict[str, Any]:
    """A placement of which the hub says this."""
    made = await it.create(a_placement("ConfigMap"))
    await until(lambda: taken(turns, it, made))
    await say(turns, it, made, reason)
    await until(lambda: shows(turns, it, made, reason))
    await turns.level(made)
    await turns.take()
    return made


async def say(turns: Turns, it: Parts, made: dict[str, Any], reason: str) -> None:
    uid = made["metadata"]["uid"]
    await it.hub.hub.write(objects.set_statuses, {uid: says(reason)})
    turns.crossing._look_at(uid)


async def test_a_forged_status_is_written_over(tmp_path: Path) -> None:
    """Though nothing else of the placement changes."""
    async with crossing(tmp_path, KINDS) as (turns, it, _):
        made = await placed(turns, it, "Honest")
        await it.kube.merge_patch(
            *(made["apiVersion"], made["kind"], "lab", "one", {"status": says("Forged")}),
            field_manager=FIELDS,
            subresource="status",
        )
        await until(lambda: shows(turns, it, made, "Honest"))


async def test_a_status_that_goes_back_while_the_cache_is_late_is_written(tmp_path: Path) -> None:
    """Held against what was written over it would look as if nothing were to be written, for ever."""
    async with crossing(tmp_path, KINDS) as (turns, it, cluster):
        made = await placed(turns, it, "First")
        cluster.faults.add("stall", resource="resourceplacements", seconds=3)
        await say(turns, it, made, "Second")
        await turns.give()
        await say(turns, it, made, "First")
        await turns.give()
        assert not await shows(turns, it, made, "First")
        await until(lambda: shows(turns, it, made, "First"))


def test_what_has_left_an_entry_of_a_list_is_written_away():
    """Lists are written whole: drift that was written over is not shown for ever."""
    entry = {
        "clusterName": "north",
        "conditions": [{"type": "Applied", "lastTransitionTime": "1"}],
    }
    live = {"placementStatuses": [{**entry, "driftedPlacements": [{"name": "one"}]}], "other": 1}
    wanted = {"placementStatuses": [{**entry, "conditions": [{"type": "Applied"}]}]}
    assert differs(wanted, live, whole=True)
    assert not differs(wanted, {"placementStatuses": [entry], "other": 1}, whole=True)
    assert not differs(wanted, live)


async def test_what_the_hub_no_longer_says_leaves_the_status(tmp_path: Path) -> None:
    """A rollback that has ended is not shown on the hub cluster any more."""
    async with crossing(tmp_path, KINDS) as (turns, it, _):
        made = await placed(turns, it, "Rolled")
        pin = {"resourceSnapshotIndex": "1", "newestResourceSnapshotIndex": "2"}
        uid = made["metadata"]["uid"]
        await it.hub.hub.write(objects.set_statuses, {uid: says("Back") | {"rollback": pin}})
        turns.crossing._look_at(uid)
        await until(lambda: shows(turns, it, made, "Back"))
        assert (await it.live(made))["status"]["rollback"] == pin
        await turns.level(made)
        await say(turns, it, made, "Forward")
        await until(lambda: shows(turns, it, made, "Forward"))
        assert "rollback" not in (await it.live(made))["status"]

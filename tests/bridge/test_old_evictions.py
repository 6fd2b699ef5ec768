"""Evictions of the hub cluster: taken in once, as they were made, and removed there once they are old."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.bridge.kinds import ALWAYS
from hub.bridge.old_evictions import EVERY_S, OldEvictions, is_over
from shared import labels
from shared.clock import ManualClock
from shared.conditions import rfc3339
from shared.groups import PLACEMENT
from tests.bridge.hub_cluster import until
from tests.bridge.parts import on_simulated

pytestmark = pytest.mark.anyio
NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
KIND = "ClusterResourcePlacementEviction"
KINDS = [each for each in ALWAYS if each.kind == KIND]


def an_eviction(name: str = "e") -> dict[str, Any]:
    return {
        "apiVersion": f"{PLACEMENT}/v1beta1",
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {"placementName": "web", "clusterName": "east"},
    }


def said(at: dt.datetime, kind: str = "Valid") -> dict[str, Any]:
    return {
        "type": kind, "status": "False", "reason": "R", "message": "",
        "lastTransitionTime": rfc3339(at),
    }  # fmt: skip


async def test_its_verdict_is_written_there_and_it_stays_as_it_was_made(tmp_path: Path):
    """Another cluster in it is refused; the verdict is that of the first."""
    async with on_simulated(tmp_path, KINDS) as (it, _):
        made = await it.create(an_eviction())
        await it.take()
        it.writeback.note(made["metadata"]["uid"])
        await it.writeback.turn()
        await it.level(made)
        (verdict,) = (await it.live(made))["status"]["conditions"]
        assert (verdict["type"], verdict["status"]) == ("Valid", "False")
        assert "Failed to find ClusterResourcePlacement" in verdict["message"]
        await it.patch(made, {"spec": {"clusterName": "west"}})
        await it.take()
        assert it.mirror.refusals[made["metadata"]["uid"]].code == "Immutable"
        row = await it.object(made)
        assert row is not None
        assert row.spec == an_eviction()["spec"]


async def test_old_ones_are_removed_there_and_then_in_the_store(tmp_path: Path):
    """One that was decided lately stays, and so does one without a verdict."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, KINDS, clock) as (it, _):
        made = {name: await it.create(an_eviction(name)) for name in ("old", "new", "open")}
        await it.take()
        for name, days in (("old", 8), ("new", 6)):
            at = NOW - dt.timedelta(days=days)
            await it.patch(made[name], {"status": {"conditions": [said(at)]}}, "status")
        clock.advance(EVERY_S)
        await OldEvictions(it.hub.hub, it.kube, it.sources).turn()
        left = {e["metadata"]["name"] for e in (await it.kube.list(f"{PLACEMENT}/v1", KIND)).items}
        assert left == {"new", "open"}


async def test_those_of_rest_are_not_removed_there(tmp_path: Path):
    """However old: their mirrors go with their rows."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, KINDS, clock) as (it, _):
        mirror = an_eviction()
        mirror["metadata"] |= {
            "labels": {labels.ORIGIN: "rest"},
            "annotations": {labels.MIRROR_OF: "of-rest"},
        }
        made = await it.kube.create(mirror, field_manager=labels.BRIDGE_FIELD_MANAGER)
        decided = {"status": {"conditions": [said(NOW - dt.timedelta(days=80))]}}
        await it.kube.merge_patch(
            made["apiVersion"], KIND, "", "e", decided, field_manager="x", subresource="status"
        )

        async def shown() -> bool:
            found = [
                each[1] for p in it.sources.all_of(PLACEMENT, KIND) if (each := it.sources.get(p))
            ]
            return bool(found and found[0].get("status"))

        await until(shown)
        clock.advance(EVERY_S)
        await OldEvictions(it.hub.hub, it.kube, it.sources).turn()
        assert [
            each["metadata"]["uid"]
            for each in (await it.kube.list(made["apiVersion"], KIND)).items
        ] == [made["metadata"]["uid"]]


@pytest.mark.parametrize(
    ("conditions", "over"),
    [
        ([], False),
        ([said(NOW - dt.timedelta(seconds=1))], True),
        ([said(NOW)], False),
        ([said(NOW - dt.timedelta(days=1)), said(NOW, "Executed")], False),
        ([said(NOW - dt.timedelta(days=1), "Accepted")], False),
        ([{"type": "Valid", "lastTransitionTime": "yesterday"}], False),
        ([{"type": "Valid"}], False),
    ],
)
def test_one_is_over_by_its_own_conditions(conditions: list[dict[str, Any]], over: bool):
    """By both that it may have; what can not be read is kept."""
    assert is_over({"status": {"conditions": conditions}}, NOW) is over

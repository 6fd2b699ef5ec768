"""A placement's status in the namespace that it places, for those who read nothing else."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.objects.delete import delete_object
from hub.store import objects
from shared.errors import Rejected
from tests.services.members.hubs import Running, running_hub
from tests.services.placements.fleet import FLEET, Fleet

pytestmark = pytest.mark.anyio

COPY = "ClusterResourcePlacementStatus"
PLACED = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata: {name: all}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  statusReportingScope: NamespaceAccessible
"""
OTHER = "apiVersion: v1\nkind: Namespace\nmetadata: {name: market}\n"


async def copies(hub: Running) -> dict[str, Any]:
    """By namespace."""
    rows = await hub.hub.read(objects.list_kind, FLEET, COPY)
    return {row.namespace: row.manifest for row in rows}


async def synced(fleet: Fleet) -> tuple[str, str, str]:
    """The condition that says so: status, reason, message; nothing where there is none."""
    for each in (await fleet.status("ClusterResourcePlacement", "all"))["conditions"]:
        if each["type"] == "ClusterResourcePlacementStatusSynced":
            return each["status"], each["reason"], each["message"]
    return "", "", ""


async def remove(hub: Running, group: str, kind: str, name: str, namespace: str = "") -> None:
    await hub.write(
        lambda tx: delete_object(
            tx, group, kind, namespace, name, origin=Origin.REST, principal="p"
        )
    )


async def started(hub: Running, *documents: str) -> Fleet:
    fleet = await Fleet.start(hub, "m1")
    for each in documents:
        await fleet.apply(each)
    await fleet.sync()
    return fleet


async def test_it_is_made_follows_and_goes_with_the_placement(tmp_path: Path):
    """The same status, without the condition that speaks of the copy."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, PLACED)
        whole = await fleet.status("ClusterResourcePlacement", "all")
        copy = (await copies(hub))["shop"]
        told = {each["type"] for each in copy["sourceStatus"]["conditions"]}
        assert told == {c["type"] for c in whole["conditions"]} - {
            "ClusterResourcePlacementStatusSynced"
        }
        assert copy["sourceStatus"]["placementStatuses"] == whole["placementStatuses"]
        assert (await synced(fleet))[:2] == ("True", "StatusSyncSucceeded")
        await fleet.sync(available=False, reason="No", message="not yet")
        whole, copy = (
            await fleet.status("ClusterResourcePlacement", "all"),
            (await copies(hub))["shop"],
        )
        assert copy["sourceStatus"]["placementStatuses"] == whole["placementStatuses"]
        await remove(hub, FLEET, "ClusterResourcePlacement", "all")
        await fleet.turn()
        await fleet.sync()
        assert await copies(hub) == {}


async def test_by_default_there_is_none(tmp_path: Path):
    """And it goes when it is no longer asked for."""
    async with running_hub(tmp_path) as hub:
        own = PLACED.replace("NamespaceAccessible", "ClusterScopeOnly")
        fleet = await started(hub, own)
        assert (await copies(hub), await synced(fleet)) == ({}, ("", "", ""))
        await fleet.apply(PLACED)
        assert list(await copies(hub)) == ["shop"]
        await fleet.apply(own)
        assert (await copies(hub), await synced(fleet)) == ({}, ("", "", ""))


async def test_without_its_namespace_there_is_none(tmp_path: Path):
    """Which is said; with the namespace it is there again."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, PLACED)
        await remove(hub, "", "Namespace", "shop")
        await fleet.turn()
        assert await copies(hub) == {}
        assert (await synced(fleet))[:2] == ("False", "StatusSyncFailed")
        assert "no namespace shop" in (await synced(fleet))[2]
        await fleet.apply(PLACED)
        assert list(await copies(hub)) == ["shop"]


@pytest.mark.parametrize("present", [True, False])
async def test_it_follows_the_selector(tmp_path: Path, present: bool):
    """To another namespace, where that is there; in the first it ends either way."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, PLACED, *([OTHER] if present else []))
        moved = PLACED.partition("---")[2].replace("name: shop", "name: market")
        await fleet.apply(moved)
        assert list(await copies(hub)) == (["market"] if present else [])
        assert (await synced(fleet))[0] == str(present)


async def test_a_selector_by_labels_names_no_namespace(tmp_path: Path):
    """Where the copy would be is not known."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, PLACED.replace("name: shop}]", "labelSelector: {}}]"))
        assert await copies(hub) == {}
        assert "must name it" in (await synced(fleet))[2]


async def test_nobody_else_keeps_it(tmp_path: Path):
    """Deleting it is refused with what to do instead; its namespace may go all the same."""
    async with running_hub(tmp_path) as hub:
        await started(hub, PLACED)
        with pytest.raises(Rejected, match="managed by the hub"):
            await remove(hub, FLEET, COPY, "all", "shop")

"""Selections of any size are one version; an object is one whoever selects it; their order is one."""

from pathlib import Path

import pytest

from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import Fleet, conditions

pytestmark = pytest.mark.anyio

NAMES = ("one", "three", "two")
PLACED = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: all, namespace: shop}
spec:
  resourceSelectors: [SELECTORS]
"""
ALL = '{group: "", version: v1, kind: ConfigMap}'
ONE = '{group: "", version: v1, kind: ConfigMap, name: one}'
LABELLED = '{group: "", version: v1, kind: ConfigMap, labelSelector: {matchLabels: {a: b}}}'


def a_map(name: str, size: int = 1) -> str:
    return f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: shop, labels: {{a: b}}}}
data: {{text: {"x" * size}}}
"""


async def test_more_than_a_mebibyte_is_placed_whole(tmp_path: Path):
    """KubeFleet splits its snapshots there; here every object goes by itself, in one version."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        for name in NAMES:
            await fleet.apply(a_map(name, 500_000))
        await fleet.apply(PLACED.replace("SELECTORS", ALL))
        await fleet.sync()
        assert fleet.held("m1") == [f"ConfigMap/{name}" for name in NAMES]
        status = await fleet.status("ResourcePlacement", "all", "shop")
        assert conditions(status)["ResourcePlacementAvailable"][0] == "True"
        assert status["observedResourceIndex"] == "0"


async def test_an_object_is_one_whoever_selects_it(tmp_path: Path):
    """And its place in the status does not follow the order of selectors or of arrival."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        for name in reversed(NAMES):
            await fleet.apply(a_map(name))
        for selectors in (f"{ONE}, {LABELLED}, {ALL}", f"{ALL}, {ONE}", f"{LABELLED}, {ONE}"):
            await fleet.apply(PLACED.replace("SELECTORS", selectors))
            status = await fleet.status("ResourcePlacement", "all", "shop")
            assert [each["name"] for each in status["selectedResources"]] == list(NAMES)
            assert status["observedResourceIndex"] == "0"

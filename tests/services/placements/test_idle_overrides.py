"""Overrides that change nothing say so; KubeFleet's own labels of members select them."""

from pathlib import Path

import pytest

from hub.domain.fleet.clusters import labels_of
from shared.conditions import find
from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import CONFIG, Fleet

pytestmark = pytest.mark.anyio
OVERRIDE = """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourceOverride
metadata: {name: colors, namespace: shop}
spec:
  placement: {name: everywhere, scope: Namespaced}
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: settings}]
  policy:
    overrideRules:
    - clusterSelector:
        clusterSelectorTerms: [{labelSelector: {matchLabels: {kubernetes-fleet.io/member-name: m1}}}]
      jsonPatchOverrides:
      - {op: replace, path: /data/color, value: green}
"""


async def started(fleet: Fleet, override: str) -> str:
    """What the placement says of overrides that change nothing."""
    await fleet.apply(override + "---" + CONFIG)
    await fleet.turn()
    status = await fleet.status("ResourcePlacement", "everywhere", "shop")
    said = find(status["conditions"], "NotActedOn")
    return "" if said is None else str(said["message"])


@pytest.mark.parametrize("key", ["kubernetes-fleet.io/member-name", "kubefleet.dev/cluster-alias"])
async def test_kubefleets_labels_of_members_select_one_by_its_name(tmp_path: Path, key: str):
    """As its manifests have it: m1 alone gets what the override makes."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        override = OVERRIDE.replace("kubernetes-fleet.io/member-name", key)
        assert await started(fleet, override) == ""
        colors = []
        for agent in fleet.agents.values():
            await agent.sync()
            colors += [
                work["manifest"]["data"]["color"]
                for work in agent.works.values()
                if work["kind"] == "ConfigMap"
            ]
        assert colors == ["green", "blue"]


def test_no_member_takes_anothers_name():
    """The name is the member's; an alias may be its own."""
    given = {"kubernetes-fleet.io/member-name": "other", "kubefleet.dev/cluster-alias": "lion"}
    assert labels_of("m1", given) == {
        "kubernetes-fleet.io/member-name": "m1",
        "kubefleet.dev/cluster-alias": "lion",
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("member-name: m1", "member-name: m9"), "no rule of it selects a cluster of this placement"),
        (("name: settings", "name: other"), "names nothing that this placement selects"),
        ((", scope: Namespaced", ""),
         "placement.scope is Cluster, and this is a ResourcePlacement: write scope: Namespaced"),
    ],
)  # fmt: skip
async def test_an_override_without_effect_is_named_by_its_placement(
    tmp_path: Path, change: tuple[str, str], said: str
):
    """With why: it selects no cluster, names no object, or means the other kind of placement."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        message = await started(fleet, OVERRIDE.replace(*change))
        assert f"ResourceOverride shop/colors: {said}" in message
        assert await started(fleet, OVERRIDE) == ""


async def test_an_override_for_a_placement_that_is_not_there_warns(tmp_path: Path):
    """Not where the placement follows in the same request; the other scope is named."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        (alone,) = await fleet.apply(OVERRIDE)
        assert alone.warnings == (
            "spec.placement: there is no placement everywhere of scope Namespaced",
        )
        both = await fleet.apply(OVERRIDE + "---" + CONFIG)
        assert [each.warnings for each in both] == [()] * len(both)
        (other,) = await fleet.apply(OVERRIDE.replace(", scope: Namespaced", ""))
        (text,) = other.warnings
        assert text.endswith("a ResourcePlacement of that name: write scope: Namespaced")

"""Clusters get what overrides make for them; changes of these roll out too."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.objects.delete import delete_object
from tests.services.members.hubs import Running, running_hub
from tests.services.placements.fleet import CONFIG, FLEET, Fleet, conditions
from tests.services.placements.policies import member

pytestmark = pytest.mark.anyio

PLACEMENT = ("ResourcePlacement", "everywhere", "shop")
OVERRIDE = """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourceOverride
metadata: {name: colors, namespace: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: settings}]
  policy:
    overrideRules:
    - clusterSelector: {clusterSelectorTerms: []}
      jsonPatchOverrides:
      - {op: replace, path: /data/color, value: "shade of ${MEMBER-CLUSTER-NAME}"}
"""
TIED = OVERRIDE.replace("spec:\n", "spec:\n  placement: {name: everywhere, scope: Namespaced}\n")
AT_ONCE = CONFIG + '  strategy: {rollingUpdate: {maxUnavailable: "100%"}}\n'


async def given(fleet: Fleet) -> list[Any]:
    """The color that each member has, None for nothing."""
    found = []
    for agent in fleet.agents.values():
        await agent.sync()
        held = [w for w in agent.works.values() if w["kind"] == "ConfigMap"]
        found.append(
            next((w["manifest"]["data"]["color"] for w in held if w["action"] == "Apply"), None)
        )
    return found


async def started(hub: Running, *documents: str) -> Fleet:
    fleet = await Fleet.start(hub, "m1", "m2")
    for each in documents:
        await fleet.apply(each)
    await fleet.sync()
    return fleet


async def test_every_cluster_gets_what_is_made_for_it(tmp_path: Path):
    """The status names the overrides, in KubeFleet's fields."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, OVERRIDE, CONFIG)
        assert await given(fleet) == ["shade of m1", "shade of m2"]
        status = await fleet.status(*PLACEMENT)
        told = conditions(status)
        assert told["ResourcePlacementOverridden"] == ("True", "OverriddenSucceeded")
        assert told["ResourcePlacementAvailable"][0] == "True"
        first = status["placementStatuses"][0]
        assert first["applicableResourceOverrides"] == [{"name": "colors", "namespace": "shop"}]
        assert conditions(first)["Overridden"] == ("True", "OverriddenSucceeded")


async def test_a_changed_label_of_a_member_is_filled_in(tmp_path: Path):
    """The hub renders the object again; it gives nothing made with the stale label."""
    by_zone = OVERRIDE.replace("MEMBER-CLUSTER-NAME", "MEMBER-CLUSTER-LABEL-KEY-zone")
    async with running_hub(tmp_path) as hub:
        first = [member("m1", zone="a"), member("m2", zone="b")]
        fleet = await started(hub, *first, by_zone, AT_ONCE)
        assert await given(fleet) == ["shade of a", "shade of b"]
        await fleet.apply(member("m1", zone="c"))
        await fleet.sync()
        assert await given(fleet) == ["shade of c", "shade of b"]


async def test_an_override_for_one_placement_rolls_out_at_once(tmp_path: Path):
    """By the strategy: one of two clusters after the other; and back again when it is gone."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, CONFIG)
        await fleet.apply(TIED)
        assert await given(fleet) == ["shade of m1", "blue"]
        await fleet.sync()
        assert await given(fleet) == ["shade of m1", "shade of m2"]
        await fleet.sync()
        await hub.write(
            lambda tx: delete_object(
                tx, FLEET, "ResourceOverride", "shop", "colors", origin=Origin.REST, principal="p"
            )
        )
        await fleet.turn()
        assert await given(fleet) == ["blue", "shade of m2"]


async def test_another_waits_for_the_next_change(tmp_path: Path):
    """KubeFleet's rule: an override that is not for this placement alone counts with its next version."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, AT_ONCE)
        await fleet.apply(OVERRIDE)
        assert await given(fleet) == ["blue", "blue"]
        await fleet.apply(AT_ONCE.replace("blue", "green"))
        assert await given(fleet) == ["shade of m1", "shade of m2"]


async def test_what_can_not_be_made_is_not_given(tmp_path: Path):
    """The cluster keeps what it has, a new one gets nothing; the condition names override and path."""
    async with running_hub(tmp_path) as hub:
        bad = TIED.replace("/data/color", "/data/missing/deeper")
        fleet = await started(hub, CONFIG)
        await fleet.apply(bad)
        assert await given(fleet) == ["blue", "blue"]
        fleet.agents["m3"] = await hub.join("m3")
        await fleet.agents["m3"].sync(capacity={"pools_revision": 0, "pools": [], "bound": []})
        await fleet.turn()
        assert await given(fleet) == ["blue", "blue", None]
        status = await fleet.status(*PLACEMENT)
        assert conditions(status)["ResourcePlacementOverridden"] == ("False", "OverriddenFailed")
        (message,) = [
            c["message"] for c in status["conditions"] if c["type"].endswith("Overridden")
        ]
        assert "in 3 cluster(s), first m1: ResourceOverride shop/colors: replace" in message
        await fleet.apply(TIED)
        await fleet.sync()
        await fleet.sync()
        assert await given(fleet) == ["shade of m1", "shade of m2", "shade of m3"]


async def test_a_delete_rule_leaves_an_object_out(tmp_path: Path):
    """Of one cluster; the others have it."""
    async with running_hub(tmp_path) as hub:
        begin, _, _ = OVERRIDE.partition("      jsonPatchOverrides")
        delete = begin + "      overrideType: Delete\n"
        chosen = delete.replace(
            "clusterSelectorTerms: []",
            "clusterSelectorTerms: [{labelSelector: {matchLabels: {region: east}}}]",
        )
        fleet = await started(hub)
        await fleet.apply(MEMBER)
        await fleet.apply(chosen)
        await fleet.apply(CONFIG)
        assert await given(fleet) == [None, "blue"]


async def test_what_an_object_that_comes_later_is_left_out_by_is_told(tmp_path: Path):
    """The cluster holds what it held: by the rule now, and its status says so."""
    async with running_hub(tmp_path) as hub:
        first = CONFIG.replace("name: settings", "name: other")
        leaves_out = OVERRIDE[: OVERRIDE.index("      jsonPatchOverrides")]
        fleet = await started(hub, leaves_out + "      overrideType: Delete\n", first)
        before = conditions(await fleet.status(*PLACEMENT))
        assert before["ResourcePlacementOverridden"] == ("True", "NoOverrideSpecified")
        await fleet.apply("---".join(CONFIG.split("---")[:2]))
        await fleet.sync()
        after = conditions(await fleet.status(*PLACEMENT))
        assert after["ResourcePlacementOverridden"] == ("True", "OverriddenSucceeded")
        assert fleet.held("m1") == fleet.held("m2") == ["ConfigMap/other"]


async def test_two_of_a_kind_on_one_object_are_refused(tmp_path: Path):
    """Nobody says which comes last."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(
            hub, OVERRIDE, OVERRIDE.replace("name: colors", "name: more"), CONFIG
        )
        assert await given(fleet) == [None, None]
        (message,) = [
            c["message"]
            for c in (await fleet.status(*PLACEMENT))["conditions"]
            if c["type"].endswith("Overridden")
        ]
        assert "colors and ResourceOverride shop/more both name ConfigMap settings" in message


MEMBER = """
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {name: m1, labels: {region: east}}
spec: {}
"""

"""What a placement selects, and what none ever does, whatever its selectors say."""

from pathlib import Path

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.objects.apply import apply_documents
from hub.services.objects.delete import delete_object
from hub.services.reading.draft import draft
from hub.store import events, workloads
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.kinds import parse
from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import FLEET, JOBS, Fleet, conditions

pytestmark = pytest.mark.anyio

SHOP = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
"""


def from_the_hub_cluster(tx: Transaction, controller: bool | None) -> None:
    owner: Json = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u"}
    if controller is not None:
        owner |= {"controller": controller}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web-1", "namespace": "shop", "ownerReferences": [owner]},
    }
    parsed = parse(manifest, strict=False, origin="hub-cluster")
    given = draft(parsed, tx.now, origin=Origin.HUB_CLUSTER, uid="a-replica-set")
    (result,) = apply_documents(tx, [given], Intake())
    assert result.error is None


@pytest.mark.parametrize("controller", [False, None])
async def test_what_has_an_owner_that_is_no_controller_is_placed(tmp_path: Path, controller):
    """Such an owner only decides when it is deleted; nobody makes it on the member. It goes bare."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(SHOP)
        await hub.write(from_the_hub_cluster, controller)
        await fleet.turn()
        await fleet.sync()
        assert fleet.held("m1") == ["Namespace/shop", "ReplicaSet/web-1"]
        sent = [each["manifest"]["metadata"] for each in fleet.agents["m1"].works.values()]
        assert not any("ownerReferences" in metadata for metadata in sent)


async def test_what_a_controller_takes_over_is_withdrawn(tmp_path: Path):
    """From then on its owner makes it, there as here."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(SHOP)
        await hub.write(from_the_hub_cluster, False)
        await fleet.turn()
        await fleet.sync()
        await hub.write(from_the_hub_cluster, True)
        await fleet.turn()
        await fleet.sync()
        assert fleet.held("m1") == ["Namespace/shop"]


HUBS_OWN = """
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourceOverride
metadata: {name: more, namespace: shop}
spec:
  placement: {name: shop}
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: settings}]
  policy: {overrideRules: [{clusterSelector: {}, jsonPatchOverrides: [{op: add, path: /data/a, value: b}]}]}
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: StagedUpdateRun
metadata: {name: run, namespace: shop}
spec: {placementName: shop, stagedRolloutStrategyName: careful}
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: Work
metadata: {name: shop-work, namespace: shop}
spec: {}
---
apiVersion: cluster.kubernetes-fleet.io/v1beta1
kind: InternalMemberCluster
metadata: {name: m1, namespace: shop}
spec: {}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: blue}
"""


async def test_kinds_of_the_hub_are_not_taken_along_with_a_namespace(tmp_path: Path):
    """No member serves them; each would fail there for ever."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(SHOP)
        await fleet.apply(HUBS_OWN)
        await fleet.sync()
        assert fleet.held("m1") == ["ConfigMap/settings", "Namespace/shop"]


async def test_an_override_that_is_left_out_is_told_of(tmp_path: Path):
    """One that names a Job: Overridden is False and named in a Warning; the rest is still told of."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(JOBS + "  policy: {placementType: PickN, numberOfClusters: 1}\n")
        override = HUBS_OWN.partition("---")[0].replace("  placement: {name: shop}\n", "")
        await fleet.apply(
            override.replace('group: "", version: v1, kind: ConfigMap, name: settings', OF_JOB)
        )
        found = await hub.hub.read(workloads.live_by_name, [("shop", "one")])
        await hub.place(found["shop", "one"].uid, "m1")
        await fleet.turn()
        status = await fleet.status("ResourcePlacement", "jobs", "shop")
        told = conditions(status)
        assert told["ResourcePlacementOverridden"] == ("False", "OverridesNotSupported")
        assert told["ResourcePlacementApplied"][0] == "Unknown"
        (target,) = status["placementStatuses"]
        assert conditions(target)["Overridden"] == ("False", "OverridesNotSupported")
        (warned,) = [each for each in await hub.hub.read(of_overrides) if each[0] == "Warning"]
        assert "ResourceOverride shop/more: Jobs are not overridden" in warned[2]


OF_JOB = "group: batch, version: v1, kind: Job, name: one"


async def test_overridden_is_true_again_when_the_override_is_gone(tmp_path: Path):
    """Placements look again when one is deleted, though it was never placed."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(SHOP)
        await fleet.apply(HUBS_OWN)
        await hub.write(
            delete_object,
            FLEET,
            "ResourceOverride",
            "shop",
            "more",
            origin=Origin.REST,
            principal="somebody",
        )
        await fleet.turn()
        told = conditions(await fleet.status("ClusterResourcePlacement", "shop"))
        assert told["ClusterResourcePlacementOverridden"] == ("True", "NoOverrideSpecified")


def of_overrides(tx: Transaction) -> list[tuple[str, str, str]]:
    return [
        (each.type, each.reason, each.message)
        for each in events.list_events(tx)
        if each.kind.endswith("ResourcePlacement") and "Overrid" in each.reason
    ]


async def test_overrides_are_known_after_a_restart(tmp_path: Path):
    """They are read with the placements, not only learnt of when they change."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(HUBS_OWN)
        anew = await Fleet.start(hub)
        await anew.apply(SHOP)
        told = conditions(await anew.status("ClusterResourcePlacement", "shop"))
        assert told["ClusterResourcePlacementOverridden"][1] == "OverriddenSucceeded"


async def test_selectors_that_name_nothing_are_told_of(tmp_path: Path):
    """No cluster is looked for, and the message says what the hub does not have."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(
            SHOP.partition("---")[2].replace("kind: Namespace, name", "kind: Namspace, name")
        )
        status = await fleet.status("ClusterResourcePlacement", "shop")
        (scheduled,) = status["conditions"]
        assert scheduled["status"] == "True"
        assert scheduled["message"].endswith("nothing on the hub is selected yet by Namspace shop")

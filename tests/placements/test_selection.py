"""What a placement selects, and what none ever does, whatever its selectors say."""

from pathlib import Path

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.store.transaction import Transaction
from shared.kinds import parse
from tests.placements.fleet import Fleet
from tests.sync.hubs import running_hub

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
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u"}
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

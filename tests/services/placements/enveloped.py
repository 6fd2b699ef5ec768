"""Envelopes, the placement that selects them, and what members hold of these."""

from typing import Any

import yaml

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.objects.apply import Applied, apply_documents
from hub.services.objects.delete import delete_object
from hub.services.reading.draft import draft
from hub.store.transaction import Transaction
from shared.kinds import parse
from tests.services.members.hubs import Running
from tests.services.placements.fleet import FLEET, Fleet

PLACEMENT = ("ResourcePlacement", "inside", "shop")
ENVELOPE = """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourceEnvelope
metadata: {name: web, namespace: shop, labels: {tier: web}}
data:
  settings.yaml:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: settings, namespace: shop}
    data: {color: blue}
  account.yaml:
    apiVersion: v1
    kind: ServiceAccount
    metadata: {name: web}
"""
MORE = """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourceEnvelope
metadata: {name: again, namespace: shop, labels: {tier: web}}
data:
  other.yaml:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: settings}
    data: {color: green}
"""
PLACED = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: inside, namespace: shop}
spec:
  resourceSelectors:
  - {group: placement.kubernetes-fleet.io, version: v1beta1, kind: ResourceEnvelope,
     labelSelector: {matchLabels: {tier: web}}}
  strategy: {rollingUpdate: {maxUnavailable: "100%"}}
"""
TYPED = {"name": "web", "namespace": "shop", "type": "ResourceEnvelope"}


async def started(hub: Running, *documents: str, members: tuple[str, ...] = ("m1",)) -> Fleet:
    fleet = await Fleet.start(hub, *members)
    for each in documents:
        await fleet.apply(each)
    await fleet.sync()
    return fleet


def held(fleet: Fleet, name: str, member: str = "m1") -> dict[str, Any]:
    """What a member holds under a name: the work; {} for nothing."""
    works = fleet.agents[member].works.values()
    return next((w for w in works if w["name"] == name and w["action"] == "Apply"), {})


async def removed(fleet: Fleet, kind: str, name: str) -> None:
    """An object is deleted by REST."""
    group = FLEET if kind == "ResourceEnvelope" else ""
    await fleet.hub.write(
        lambda tx: delete_object(tx, group, kind, "shop", name, origin=Origin.REST, principal="p")
    )
    await fleet.turn()


async def from_kubectl(fleet: Fleet, text: str) -> None:
    """Applied on the hub cluster, where nothing is refused at the door."""
    document = yaml.safe_load(text)

    def take(tx: Transaction) -> list[Applied]:
        parsed = parse(document, strict=False, origin="hub-cluster")
        made = draft(parsed, tx.now, origin=Origin.HUB_CLUSTER, uid="of-kubectl")
        return apply_documents(tx, [made], Intake())

    (result,) = await fleet.hub.write(take)
    assert result.error is None
    await fleet.turn()

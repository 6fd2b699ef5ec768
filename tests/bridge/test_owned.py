"""What a controller of the hub cluster makes is made by its owner on each member, and not placed."""

from pathlib import Path
from typing import Any

import pytest

from hub.bridge.mirror import Mirror
from hub.services.context.rendering import whole_object
from hub.store import objects
from hub.store.transaction import Transaction
from tests.bridge.hub_cluster import World, until, world
from tests.bridge.parts import Parts, a_config_map, on_simulated
from tests.services.members.hubs import Agent

pytestmark = pytest.mark.anyio

MANY = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx}]}
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata: {name: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
"""


async def test_a_deployment_is_placed_and_its_replica_sets_are_not(tmp_path: Path):
    """They would conflict for ever with those that the member's own Deployment makes."""
    async with world(tmp_path) as it:
        agent = await it.hub.join("north")
        await until(lambda: served(it))
        *_, deployment, _ = await it.apply(MANY)
        await it.kube.create(
            a_replica_set("web-1", deployment, controller=True), field_manager="kcm"
        )
        await it.kube.create(a_replica_set("mine", deployment), field_manager="kubectl")
        await until(lambda: holds(it, agent, "Deployment/web", "ReplicaSet/mine"))
        assert "ReplicaSet/web-1" not in names(agent)
        owned = await it.hub.hub.read(objects.find, "apps", "ReplicaSet", "shop", "web-1")
        assert owned is not None, "it was read before the others were placed"


async def test_what_gets_a_controller_later_is_read_again(tmp_path: Path):
    """An owner counts no generation; what the hub knew without it becomes owned, and free again."""
    async with on_simulated(tmp_path) as (it, _):
        it.select("ConfigMap", "lab", "one")
        made = await it.create(a_config_map())
        await it.take()
        assert await owners(it, made) == []
        for owned in (True, False):
            change = {"ownerReferences": [an_owner(made, controller=True)] if owned else None}
            await it.patch(made, {"metadata": change})
            await it.take()
            assert bool(await owners(it, made)) is owned


async def test_rows_from_before_owners_were_kept_are_read_again(tmp_path: Path):
    """At each start everything is held against what the hub cluster has."""
    async with on_simulated(tmp_path) as (it, _):
        it.select("ConfigMap", "lab", "one")
        space = await it.kube.get("v1", "Namespace", "", "lab")
        owned = a_config_map()
        owned["metadata"]["ownerReferences"] = [an_owner(space, controller=True)]
        made = await it.create(owned)
        await it.take()
        await it.hub.write(as_it_was, made["metadata"]["uid"])
        it.mirror = Mirror(it.hub.hub, it.kube, it.sources, it.index, lambda uid: None)
        it.sources.look_again("", "ConfigMap")
        await it.mirror.turn(it.term, it.hub.hub.settings.intake)
        assert await owners(it, made)


async def test_an_owner_is_not_exported(tmp_path: Path):
    """It names a uid of the hub cluster, and no way in takes it from a client."""
    async with on_simulated(tmp_path) as (it, _):
        it.select("ConfigMap", "lab", "one")
        owned = a_config_map()
        space = await it.kube.get("v1", "Namespace", "", "lab")
        owned["metadata"]["ownerReferences"] = [an_owner(space, controller=True)]
        made = await it.create(owned)
        await it.take()
        row = await it.object(made)
        assert row is not None
        assert "ownerReferences" not in whole_object(row)["metadata"]


def an_owner(of: dict[str, Any], *, controller: bool) -> dict[str, Any]:
    named = {key: of["metadata"][key] for key in ("name", "uid")}
    return {"apiVersion": of["apiVersion"], "kind": of["kind"], **named, "controller": controller}


def a_replica_set(name: str, owner: dict[str, Any], *, controller: bool = False) -> dict[str, Any]:
    spec = owner["spec"]
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "ownerReferences": [an_owner(owner, controller=controller)],
        },
        "spec": {"replicas": 0, "selector": spec["selector"], "template": spec["template"]},
    }


def as_it_was(tx: Transaction, uid: str) -> None:
    row = objects.get(tx, uid)
    assert row is not None
    metadata = {"name": row.name, "namespace": row.namespace}
    objects.change(tx, uid, manifest={**row.manifest, "metadata": metadata}, hash="older")


async def owners(it: Parts, obj: dict[str, Any]) -> list[Any]:
    row = await it.object(obj)
    assert row is not None
    return row.manifest["metadata"].get("ownerReferences") or []


async def served(it: World):
    name = "clusterresourceplacements.placement.kubernetes-fleet.io"
    return await it.get("CustomResourceDefinition", name, version="apiextensions.k8s.io/v1")


def names(agent: Agent) -> set[str]:
    return {f"{each['kind']}/{each['name']}" for each in agent.works.values()}


async def holds(it: World, agent: Agent, *wanted: str):
    await agent.sync()
    it.hub.sync._sessions.get("north").tokens = 20.0  # polled faster than agents do
    return set(wanted) <= names(agent)

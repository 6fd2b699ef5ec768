"""What the hub does not take from the hub cluster, in the placements that select it."""

from pathlib import Path

import pytest

from hub.services.mirror.not_taken import NotTaken
from hub.services.placements.selecting import Selection, read_rules
from hub.store import objects, works
from shared.documents import Json
from tests.bridge.guide import CRDS
from tests.bridge.hub_cluster import World, until, world
from tests.services.placements.fleet import conditions
from tests.services.placements.stored import a_placement
from tests.store.build import an_object

pytestmark = pytest.mark.anyio
PLACEMENTS = "clusterresourceplacements.placement.kubernetes-fleet.io"
WHOLE = """
apiVersion: v1
kind: Namespace
metadata: {name: c21}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: c21}
data: {color: blue}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: whole}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: c21}]
  policy: {placementType: PickFixed, clusterNames: [north]}
"""
REFUSED = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: c21}
spec:
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec: {hostNetwork: true, containers: [{name: m, image: "nginx:1.27"}]}
"""


async def whole(it: World) -> Json:
    found: Json = await it.get("ClusterResourcePlacement", "whole")
    return found.get("status") or {}


async def failed(it: World) -> dict[str, tuple[str, str]]:
    """Kind → reason and message of what failed in north."""
    targets = (await whole(it)).get("placementStatuses") or [{}]
    return {
        each["kind"]: (each["condition"]["reason"], each["condition"]["message"])
        for each in targets[0].get("failedPlacements") or ()
    }


async def given(it: World, kind: str) -> str:
    """What north is to do with the object of this kind; "" of none."""

    group, name = ("apps", "app") if kind == "Deployment" else ("", "settings")
    row = await it.hub.hub.read(objects.find, group, kind, "c21", name)
    held = [] if row is None else await it.hub.hub.read(works.of_uids, [row.uid])
    return held[0].action if held else ""


async def placed(it: World, *documents: str) -> None:
    await until(lambda: it.get("CustomResourceDefinition", PLACEMENTS, version=CRDS))
    await it.hub.join("north")
    await it.apply("---".join((WHOLE, *documents)))
    await until(lambda: given(it, "ConfigMap"))


async def test_what_the_hub_refuses_is_among_the_failed_of_its_placement(tmp_path: Path):
    """With the hub's own words, and the placement is not applied; the rest is."""
    async with world(tmp_path) as it:
        await placed(it, REFUSED)
        reason, message = (await until(lambda: failed(it)))["Deployment"]
        assert reason == "RefusedByHub"
        assert "hostNetwork" in message
        status = await whole(it)
        assert conditions(status)["ClusterResourcePlacementApplied"][0] == "False"
        assert "Deployment" in {each["kind"] for each in status["selectedResources"]}


async def test_it_is_placed_once_it_is_mended(tmp_path: Path):
    """Without a change of the placement."""
    async with world(tmp_path) as it:
        await placed(it, REFUSED)
        await until(lambda: failed(it))
        await it.apply(REFUSED.replace("hostNetwork: true, ", ""))
        await until(lambda: given(it, "Deployment"))

        async def none_failed() -> bool:
            return await failed(it) == {}

        await until(none_failed)


async def test_a_refused_change_is_said_and_the_member_keeps_what_it_has(tmp_path: Path):
    """The object is named once, as failed."""
    async with world(tmp_path) as it:
        await placed(it, REFUSED.replace("hostNetwork: true, ", ""))
        await until(lambda: given(it, "Deployment"))
        await it.apply(REFUSED)
        assert (await until(lambda: failed(it)))["Deployment"][0] == "RefusedByHub"
        (target,) = (await whole(it))["placementStatuses"]
        assert len(target["failedPlacements"]) == 1
        assert await given(it, "Deployment") == "Apply"


async def test_what_is_deleted_is_forgotten(tmp_path: Path):
    """Nothing failed any more."""
    async with world(tmp_path) as it:
        await placed(it, REFUSED)
        await until(lambda: failed(it))
        await it.kube.delete("apps/v1", "Deployment", "c21", "app")

        async def is_whole() -> bool:
            return await failed(it) == {} and len((await whole(it))["selectedResources"]) == 2

        await until(is_whole)


def test_after_a_restart_a_placement_says_what_its_status_said():
    """Until the bridge has looked again; without a hub cluster nothing was refused."""
    condition = {"reason": "RefusedByHub", "message": "InvalidValue: no"}
    named = {"version": "v1", "kind": "ConfigMap", "namespace": "lab", "name": "one"}
    entry = {**named, "condition": condition}
    status: Json = {"placementStatuses": [{"clusterName": "m1", "failedPlacements": [entry]}]}
    row = a_placement("p", {**named, "group": ""})._replace(status=status)
    rules = read_rules(row.kind, row.namespace, row.spec or {})
    bridged = NotTaken(bridged=True)
    bridged.recall(row)
    (said,) = bridged.of(rules, "p")
    assert said.message == "InvalidValue: no"
    bridged.drop(("", "ConfigMap", "lab", "one"))
    assert bridged.of(rules, "p") == ()
    assert {each.of for each in bridged.take_changed()} == {"p"}
    alone = NotTaken()
    alone.recall(row)
    assert alone.of(rules, "p") == ()


def test_only_what_lies_in_the_selected_namespace_counts():
    """Selectors of a cluster-scoped placement that chooses in a namespace mean that namespace."""
    spaces = {"s": an_object("s", kind="Namespace", name="lab", namespace="")}
    row = a_placement("p", {"group": "", "version": "v1", "kind": "ConfigMap", "name": "one"})
    chosen = {"group": "", "version": "v1", "kind": "Namespace", "name": "lab"}
    chosen["selectionScope"] = "NamespaceWithResourceSelectors"
    spec: Json = {"resourceSelectors": [chosen, *(row.spec or {})["resourceSelectors"]]}
    rules = read_rules("ClusterResourcePlacement", "", spec)
    book = NotTaken()
    for namespace in ("lab", "other"):
        book.put(("", "ConfigMap", namespace, "one"), "v1", {}, "InvalidValue", "no")
    found = Selection(objects=spaces)
    found.leave_out("p", rules, book.of(rules, "p"))
    assert [each.resource.namespace for each in found.left_out] == ["lab"]

"""Members get what is in envelopes, and not these; everything that is said of it names the envelope."""

from pathlib import Path

import pytest

from hub.services.placements.history.revisions import RollbackTo, roll_back
from hub.store import objects, works
from tests.services.members.hubs import running_hub
from tests.services.placements.enveloped import (
    ENVELOPE,
    MORE,
    PLACED,
    PLACEMENT,
    TYPED,
    from_kubectl,
    held,
    removed,
    started,
)
from tests.services.placements.fleet import FLEET, conditions

pytestmark = pytest.mark.anyio


async def test_members_get_what_is_in_it(tmp_path: Path):
    """With the envelope's namespace where none is named; the status names the envelope as selected."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, ENVELOPE, PLACED)
        assert fleet.held("m1") == ["ConfigMap/settings", "ServiceAccount/web"]
        assert held(fleet, "web")["manifest"]["metadata"]["namespace"] == "shop"
        status = await fleet.status(*PLACEMENT)
        assert conditions(status)["ResourcePlacementAvailable"][0] == "True"
        (selected,) = status["selectedResources"]
        assert (selected["kind"], selected["name"]) == ("ResourceEnvelope", "web")


async def test_what_changes_in_it_is_followed(tmp_path: Path):
    """A change, an addition, a removal, and the end of the envelope."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, ENVELOPE, PLACED)
        begin, _, _ = ENVELOPE.partition("  account.yaml")
        new = "  new.yaml: {apiVersion: v1, kind: ConfigMap, metadata: {name: new}}\n"
        await fleet.apply(begin.replace("blue", "red") + new)
        await fleet.sync()
        await fleet.sync()
        assert fleet.held("m1") == ["ConfigMap/new", "ConfigMap/settings"]
        assert held(fleet, "settings")["manifest"]["data"] == {"color": "red"}
        await removed(fleet, "ResourceEnvelope", "web")
        await fleet.sync()
        assert fleet.held("m1") == []


async def test_what_comes_back_by_a_rollback_lies_where_it_lay(tmp_path: Path):
    """Also what its envelope does not hold any more: what is said of it names the envelope."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, ENVELOPE, PLACED)
        row = await hub.hub.read(objects.find, FLEET, *PLACEMENT[::2], PLACEMENT[1])
        assert row is not None
        before = {w.name: w for w in await hub.hub.read(works.of_placement, row.uid)}
        await fleet.apply(ENVELOPE.partition("  account.yaml")[0])
        await fleet.sync()
        await fleet.sync()
        assert fleet.held("m1") == ["ConfigMap/settings"]
        await hub.write(roll_back, "shop", "inside", RollbackTo(0), "ann")
        await fleet.turn()
        await fleet.sync()
        after = {w.name: w for w in await hub.hub.read(works.of_placement, row.uid)}
        assert {name: (w.uid, w.hash, w.options) for name, w in after.items()} == {
            name: (w.uid, w.hash, w.options) for name, w in before.items()
        }
        assert {w.options.envelope for w in after.values()} == {"ResourceEnvelope/shop/web"}


async def test_what_moves_to_another_envelope_stays(tmp_path: Path):
    """It is the same object: nothing is taken away in between."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, ENVELOPE, PLACED)
        before = held(fleet, "settings")["uid"]
        begin = ENVELOPE.partition("  settings.yaml")[0]
        account = "  account.yaml: {apiVersion: v1, kind: ServiceAccount, metadata: {name: web}}\n"
        await fleet.apply(begin + account + "---" + MORE)
        await fleet.sync()
        assert held(fleet, "settings")["uid"] == before
        assert held(fleet, "settings")["manifest"]["data"] == {"color": "green"}


async def test_the_same_object_twice_is_told(tmp_path: Path):
    """The first envelope by name gives it; of the other it is said, with both names."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, ENVELOPE, MORE, PLACED)
        assert held(fleet, "settings")["manifest"]["data"] == {"color": "green"}
        status = await fleet.status(*PLACEMENT)
        assert conditions(status)["ResourcePlacementApplied"] == ("False", "ApplyFailed")
        (failed,) = status["placementStatuses"][0]["failedPlacements"]
        assert failed["envelope"] == TYPED
        assert failed["condition"]["reason"] == "Duplicated"
        text = failed["condition"]["message"]
        assert "ResourceEnvelope shop/web" in text
        assert "ResourceEnvelope shop/again as other.yaml" in text


async def test_what_is_selected_by_itself_comes_first(tmp_path: Path):
    """And the envelope's takes its place once it is gone."""
    async with running_hub(tmp_path) as hub:
        plain = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop, labels: {tier: web}}
data: {color: plain}
"""
        both = PLACED.replace(
            "  strategy:",
            '  - {group: "", version: v1, kind: ConfigMap, name: settings}\n  strategy:',
        )
        fleet = await started(hub, plain, ENVELOPE, both)
        assert held(fleet, "settings")["manifest"]["data"] == {"color": "plain"}
        (failed,) = (await fleet.status(*PLACEMENT))["placementStatuses"][0]["failedPlacements"]
        assert "selected itself too" in failed["condition"]["message"]
        await removed(fleet, "ConfigMap", "settings")
        await fleet.sync()
        assert held(fleet, "settings")["manifest"]["data"] == {"color": "blue"}


async def test_two_placements_do_not_fight_over_it(tmp_path: Path):
    """Whichever came first keeps it; the other says whose it is."""
    async with running_hub(tmp_path) as hub:
        plain = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: plain}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: itself, namespace: shop}
spec: {resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: settings}]}
"""
        fleet = await started(hub, ENVELOPE, PLACED, plain)
        assert held(fleet, "settings")["manifest"]["data"] == {"color": "blue"}
        status = await fleet.status("ResourcePlacement", "itself", "shop")
        (failed,) = status["placementStatuses"][0]["failedPlacements"]
        assert failed["condition"]["reason"] == "PlacedByAnother"
        assert "ResourcePlacement shop/inside" in failed["condition"]["message"]


async def test_overrides_reach_what_is_in_it(tmp_path: Path):
    """By the object's own name, as for any other."""
    async with running_hub(tmp_path) as hub:
        override = """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourceOverride
metadata: {name: colors, namespace: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: settings}]
  policy:
    overrideRules:
    - clusterSelector: {}
      jsonPatchOverrides: [{op: replace, path: /data/color, value: "${MEMBER-CLUSTER-NAME}"}]
"""
        fleet = await started(hub, override, ENVELOPE, PLACED, members=("m1", "m2"))
        found = [held(fleet, "settings", m)["manifest"]["data"]["color"] for m in ("m1", "m2")]
        assert found == ["m1", "m2"]


async def test_what_is_not_available_names_its_envelope(tmp_path: Path):
    """Availability counts what is inside."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, ENVELOPE, PLACED)
        await fleet.sync(available=False, reason="NotYet", message="no")
        status = await fleet.status(*PLACEMENT)
        assert conditions(status)["ResourcePlacementAvailable"][0] == "False"
        failed = status["placementStatuses"][0]["failedPlacements"]
        assert [each["envelope"] for each in failed] == [TYPED, TYPED]


async def test_what_can_not_be_placed_is_told_and_the_rest_placed(tmp_path: Path):
    """A Job in an envelope of the hub cluster does not run, and both sides say what to do instead."""
    async with running_hub(tmp_path) as hub:
        job = """
  job.yaml:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: train}
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}
"""
        fleet = await started(hub, PLACED)
        await from_kubectl(fleet, ENVELOPE + job)
        await fleet.sync()
        assert fleet.held("m1") == ["ConfigMap/settings", "ServiceAccount/web"]
        (failed,) = (await fleet.status(*PLACEMENT))["placementStatuses"][0]["failedPlacements"]
        assert (failed["kind"], failed["name"], failed["envelope"]) == ("Job", "train", TYPED)
        assert failed["condition"]["reason"] == "ManifestNotPlaceable"
        assert "take it out of the envelope and submit it" in failed["condition"]["message"]
        row = await fleet.hub.hub.read(objects.find, FLEET, "ResourceEnvelope", "shop", "web")
        assert row is not None
        assert row.status is not None
        assert "data[job.yaml].kind" in row.status["conditions"][0]["message"]


async def test_an_envelope_of_nothing_placeable_is_no_success(tmp_path: Path):
    """The placement is not scheduled, and says why."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, PLACED)
        begin = ENVELOPE.partition("  settings.yaml")[0]
        role = "  role: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}}"
        await from_kubectl(fleet, begin + role)
        status = await fleet.status(*PLACEMENT)
        assert conditions(status)["ResourcePlacementScheduled"] == (
            "False",
            "InvalidResourceSelectors",
        )
        assert "put it into a ClusterResourceEnvelope" in status["conditions"][0]["message"]


async def test_a_namespace_brings_its_envelopes(tmp_path: Path):
    """A ClusterResourcePlacement of the namespace, and one of it alone beside a ResourcePlacement."""
    async with running_hub(tmp_path) as hub:
        whole = """
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
        fleet = await started(hub, ENVELOPE, whole)
        assert fleet.held("m1") == ["ConfigMap/settings", "Namespace/shop", "ServiceAccount/web"]
        await fleet.apply(
            whole.replace("name: shop}]", "name: shop, selectionScope: NamespaceOnly}]")
        )
        await fleet.sync()
        assert fleet.held("m1") == ["Namespace/shop"]
        await fleet.apply(PLACED)
        await fleet.sync()
        assert fleet.held("m1") == ["ConfigMap/settings", "Namespace/shop", "ServiceAccount/web"]


CLUSTER_WIDE = """
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourceEnvelope
metadata: {name: roles}
data:
  role: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}, rules: []}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: roles}
spec:
  resourceSelectors:
  - {group: placement.kubernetes-fleet.io, version: v1, kind: ClusterResourceEnvelope, name: roles}
"""


async def test_cluster_scoped_objects_have_an_envelope_of_their_own(tmp_path: Path):
    """Placed without a namespace; the envelope has none in the status either."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, CLUSTER_WIDE)
        assert "namespace" not in held(fleet, "reader")["manifest"]["metadata"]
        await fleet.sync(available=False)
        status = await fleet.status("ClusterResourcePlacement", "roles")
        (failed,) = status["placementStatuses"][0]["failedPlacements"]
        assert failed["envelope"] == {"name": "roles", "type": "ClusterResourceEnvelope"}


NAMELESS = """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourceEnvelope
metadata: {name: web, namespace: shop, labels: {tier: web}}
data:
  generated.yaml: {apiVersion: v1, kind: ConfigMap, metadata: {generateName: settings-}}
  empty.yaml: {}
  settings.yaml: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
"""


async def test_what_says_no_name_is_told_by_its_name_in_the_envelope(tmp_path: Path):
    """Kind and name are never missing: the kinds of the hub cluster and clients require both."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, PLACED)
        await from_kubectl(fleet, NAMELESS)
        status = await fleet.status(*PLACEMENT)
        failed = status["placementStatuses"][0]["failedPlacements"]
        assert [(each["kind"], each["name"]) for each in failed] == [
            ("Manifest", "empty.yaml"),
            ("ConfigMap", "generated.yaml"),
        ]

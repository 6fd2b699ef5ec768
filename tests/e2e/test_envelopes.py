"""Envelopes and the status in a namespace, through the hub cluster's Kubernetes API and real agents alone.

hub cluster: ResourceEnvelope in shop ──placement──► its objects in m1, m2; the status back in shop
"""

from typing import Any

import pytest

from tests.e2e.running import RunningFleet, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(240)]
MEMBERS = ("m1", "m2")
ENVELOPES = "resourceenvelopes.v1.placement.kubernetes-fleet.io"
COPIES = "clusterresourceplacementstatuses.v1.placement.kubernetes-fleet.io"
MANIFESTS = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourceEnvelope
metadata: {name: web, namespace: shop}
data:
  settings.yaml:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: settings}
    data: {color: COLOR}
  train.yaml:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: train}
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourceOverride
metadata: {name: where, namespace: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: settings}]
  policy:
    overrideRules:
    - clusterSelector: {}
      jsonPatchOverrides: [{op: add, path: /data/at, value: "${MEMBER-CLUSTER-NAME}"}]
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  statusReportingScope: NamespaceAccessible
  strategy: {rollingUpdate: {maxUnavailable: "100%"}}
"""


def applied(fleet: RunningFleet, text: str) -> None:
    done = fleet.kubectl("apply", "-f", "-", stdin=text)
    assert done.returncode == 0, done.stderr


def given(fleet: RunningFleet) -> list[Any]:
    """What members have of the ConfigMap."""
    found = [fleet.find("configmaps.v1", "settings", "shop", cluster=m) for m in MEMBERS]
    return [each.get("data") for each in found]


def failed(fleet: RunningFleet) -> list[Any]:
    """What the copy of the status says could not be placed, cluster by cluster."""
    copy = fleet.find(COPIES, "shop", "shop")
    told = copy.get("sourceStatus", {}).get("placementStatuses") or ()
    return [each for one in told for each in one.get("failedPlacements") or ()]


def test_members_get_what_is_in_it_and_its_namespace_the_status(tmp_path):
    """Overridden, followed and taken back; a Job in it runs nowhere, and that is told."""
    with running_fleet(tmp_path, equal_members(2), packed=True) as fleet:
        applied(fleet, MANIFESTS.replace("COLOR", "blue"))
        until(
            lambda: given(fleet) == [{"color": "blue", "at": each} for each in MEMBERS],
            60,
            "given",
        )
        until(lambda: len(failed(fleet)) == 2, 30, "the Job is told of, in the namespace too")
        first = failed(fleet)[0]
        assert first["name"] == "train"
        assert first["envelope"] == {
            "name": "web",
            "namespace": "shop",
            "type": "ResourceEnvelope",
        }
        assert "submit it" in first["condition"]["message"]
        assert not fleet.find("jobs.v1.batch", "train", "shop", cluster="m1")
        assert not fleet.find("jobs.v1.batch", "train", "shop")
        assert not fleet.find(ENVELOPES, "web", "shop", cluster="m1")
        applied(fleet, MANIFESTS.replace("COLOR", "red"))
        until(lambda: [each["color"] for each in given(fleet)] == ["red", "red"], 60, "followed")
        fleet.kubectl("delete", "resourceenvelope", "web", "-n", "shop")
        until(lambda: given(fleet) == [None, None], 60, "taken back")
        fleet.kubectl("delete", "crp", "shop")
        until(
            lambda: not fleet.find(COPIES, "shop", "shop"),
            60,
            "the copy goes with its placement",
        )

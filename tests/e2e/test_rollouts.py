"""A change of what a placement selects reaches real agents' members some at a time, through kubectl alone.

hub cluster: Deployment, override ──placement──► m1 … m4, one after the other
"""

from typing import Any

import pytest

from tests.e2e.running import RunningFleet, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(240)]
MEMBERS = ("m1", "m2", "m3", "m4")
PLACEMENTS = "clusterresourceplacements.v1.placement.kubernetes-fleet.io"
NEVER = "registry.invalid/web:2"  # pods of it can not be pulled


def manifests(image: str) -> str:
    return f"""
apiVersion: v1
kind: Namespace
metadata: {{name: shop}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: web, image: "{image}"}}]}}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {{name: shop}}
spec:
  resourceSelectors: [{{group: "", version: v1, kind: Namespace, name: shop}}]
"""


OVERRIDE = """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourceOverride
metadata: {name: places}
spec:
  placement: {name: shop}
  clusterResourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy:
    overrideRules:
    - clusterSelector: {}
      jsonPatchOverrides: [{op: add, path: /metadata/annotations, value: {place: "${MEMBER-CLUSTER-NAME}"}}]
"""


def applied(fleet: RunningFleet, text: str) -> None:
    done = fleet.kubectl("apply", "-f", "-", stdin=text)
    assert done.returncode == 0, done.stderr


def web(fleet: RunningFleet, member: str) -> Any:
    return fleet.find("deployments.v1.apps", "web", "shop", cluster=member)


def images(fleet: RunningFleet) -> dict[str, str]:
    found = {}
    for member in MEMBERS:
        containers = (web(fleet, member).get("spec") or {}).get("template", {}).get("spec", {})
        found[member] = (containers.get("containers") or [{}])[0].get("image", "")
    return found


def rung(fleet: RunningFleet, name: str) -> tuple[str, str]:
    """A condition of the placement on the hub cluster: its status and its message."""
    placement = fleet.find(PLACEMENTS, "shop")
    for each in placement.get("status", {}).get("conditions") or ():
        if each["type"] == f"ClusterResourcePlacement{name}":
            return each["status"], each["message"]
    return "", ""


def test_a_bad_version_stops_at_one_member_and_the_next_mends_it(tmp_path):
    """25 % of four is one: the others run on; what overrides make is each member's own."""
    with running_fleet(tmp_path, equal_members(4), packed=True) as fleet:
        applied(fleet, manifests("example.com/web:1"))
        until(lambda: rung(fleet, "Available")[0] == "True", 60, "all have the first version")
        applied(fleet, manifests(NEVER))
        until(lambda: NEVER in images(fleet).values(), 30, "one has the second")
        until(
            lambda: "must become available first" in rung(fleet, "RolloutStarted")[1], 30, "held"
        )
        assert sorted(images(fleet).values()) == ["example.com/web:1"] * 3 + [NEVER]
        applied(fleet, manifests("example.com/web:3"))
        until(
            lambda: set(images(fleet).values()) == {"example.com/web:3"}, 60, "all have the third"
        )
        until(lambda: rung(fleet, "Available")[0] == "True", 30, "and it is available")
        applied(fleet, OVERRIDE)

        def places() -> list[str]:
            found = [web(fleet, each)["metadata"].get("annotations", {}) for each in MEMBERS]
            return [each.get("place", "") for each in found]

        until(lambda: places() == list(MEMBERS), 60, "each has its own")
        until(lambda: "in 4 cluster(s)" in rung(fleet, "Overridden")[1], 30, "which is told")

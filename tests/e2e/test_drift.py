"""Someone changes what the hub placed in a member: it is seen, and mended or left as asked.

hub: ConfigMap ──placement──► member: ConfigMap ◄── kubectl edit
"""

import json

import pytest

from tests.e2e.running import equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(240)]


def _objects(when: str) -> bytes:
    return f"""
apiVersion: v1
kind: Namespace
metadata: {{name: shop}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings, namespace: shop}}
data: {{colour: blue}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: web, image: "example.com/web:1"}}]}}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {{name: shop}}
spec:
  resourceSelectors: [{{group: "", version: v1, kind: Namespace, name: shop}}]
  policy: {{placementType: PickAll}}
  strategy: {{applyStrategy: {{whenToApply: {when}}}}}
""".encode()


def test_drift_is_reported_and_overwritten_under_always(tmp_path):
    """An edited ConfigMap and a scaled Deployment show on the hub with path and both values, and are
    put back.
    """
    with running_fleet(tmp_path, equal_members(1), packed=True) as fleet, fleet.client() as hub:
        hub.apply(_objects("Always"))
        until(lambda: _member_value(fleet) == "blue", 30, "the ConfigMap is in the member")
        _edit(fleet)
        until(lambda: _member_value(fleet) == "blue", 15, "it is put back")
        until(lambda: _replicas(fleet) == "2", 30, "the Deployment is in the member")
        _scale(fleet)
        until(lambda: _replicas(fleet) == "2", 15, "it has two replicas again")
        seen = until(lambda: _drifted(hub), 15, "both drifts are in the history")
        assert seen == {
            '/data/colour on m1: "blue" on the hub, "red" in the member',
            "/spec/replicas on m1: 2 on the hub, 5 in the member",
        }


def test_drift_is_left_and_reported_under_if_not_drifted(tmp_path):
    """An edited ConfigMap and a scaled Deployment stay as they are and show with both values."""
    with running_fleet(tmp_path, equal_members(1), packed=True) as fleet, fleet.client() as hub:
        hub.apply(_objects("IfNotDrifted"))
        until(lambda: _member_value(fleet) == "blue", 30, "the ConfigMap is in the member")
        until(
            lambda: fleet.kubectl("-n", "shop", "get", "deploy/web", cluster="m1").returncode == 0,
            30,
            "the Deployment is in the member",
        )
        _edit(fleet)
        _scale(fleet)
        drifts = until(lambda: _two(hub), 15, "both drifts are on the hub")
        found = {(d.kind, d.path): (d.hub, d.member) for d in drifts}
        assert found == {
            ("ConfigMap", "/data/colour"): ('"blue"', '"red"'),
            ("Deployment", "/spec/replicas"): ("2", "5"),
        }
        assert _member_value(fleet) == "red"


def _edit(fleet) -> None:
    patch = json.dumps({"data": {"colour": "red"}})
    done = fleet.kubectl("-n", "shop", "patch", "cm/settings", "-p", patch, cluster="m1")
    assert done.returncode == 0, done.stderr


def _scale(fleet) -> None:
    done = fleet.kubectl("-n", "shop", "scale", "deploy/web", "--replicas=5", cluster="m1")
    assert done.returncode == 0, done.stderr


def _replicas(fleet) -> str:
    shown = fleet.kubectl(
        "-n", "shop", "get", "deploy/web", "-o", "jsonpath={.spec.replicas}", cluster="m1"
    )
    return shown.stdout


def _drifted(hub) -> set[str]:
    """What the history says of drift, once it speaks of two objects."""
    events = [e for e in hub.events(limit=500) if e.reason == "Drifted"]
    return {e.message for e in events} if len({e.kind for e in events}) == 2 else set()


def _member_value(fleet) -> str:
    shown = fleet.kubectl(
        "-n", "shop", "get", "cm/settings", "-o", "jsonpath={.data.colour}", cluster="m1"
    )
    return shown.stdout


def _two(hub):
    drifts = list(hub.drift())
    return drifts if len(drifts) == 2 else None

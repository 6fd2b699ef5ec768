"""Someone changes what the hub placed in a member: it is seen, and mended or left as asked.

hub: ConfigMap ──placement──► member: ConfigMap ◄── kubectl edit
"""

import json
from collections.abc import Iterator

import pytest

from roadstead import Client
from roadstead.models.placements import DriftedField
from tests.e2e.running import RunningFleet, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningFleet]:
    """One member, for all tests of this module; each has a namespace of its own."""
    folder = tmp_path_factory.mktemp("drift")
    with running_fleet(folder, equal_members(1), packed=True) as running:
        yield running


@pytest.fixture
def hub(fleet: RunningFleet) -> Iterator[Client]:
    """An administrator's client."""
    with fleet.client() as client:
        yield client


def _objects(space: str, when: str) -> bytes:
    return f"""
apiVersion: v1
kind: Namespace
metadata: {{name: {space}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings, namespace: {space}}}
data: {{colour: blue}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: {space}}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: web, image: "example.com/web:1"}}]}}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {{name: {space}}}
spec:
  resourceSelectors: [{{group: "", version: v1, kind: Namespace, name: {space}}}]
  policy: {{placementType: PickAll}}
  strategy: {{applyStrategy: {{whenToApply: {when}}}}}
""".encode()


def test_drift_is_reported_and_overwritten_under_always(fleet: RunningFleet, hub: Client) -> None:
    """An edited ConfigMap and a scaled Deployment show on the hub with path and both values, and are
    put back.
    """
    hub.apply(_objects("mended", "Always"))
    until(lambda: _member_value(fleet, "mended") == "blue", 30, "the ConfigMap is in the member")
    _edit(fleet, "mended")
    until(lambda: _member_value(fleet, "mended") == "blue", 15, "it is put back")
    until(lambda: _replicas(fleet, "mended") == 2, 30, "the Deployment is in the member")
    _scale(fleet, "mended")
    until(lambda: _replicas(fleet, "mended") == 2, 15, "it has two replicas again")
    seen = until(lambda: _drifted(hub, "mended"), 15, "both drifts are in the history")
    assert seen == {
        '/data/colour on m1: "blue" on the hub, "red" in the member',
        "/spec/replicas on m1: 2 on the hub, 5 in the member",
    }


def test_drift_is_left_and_reported_under_if_not_drifted(fleet: RunningFleet, hub: Client) -> None:
    """An edited ConfigMap and a scaled Deployment stay as they are and show with both values."""
    hub.apply(_objects("left", "IfNotDrifted"))
    until(lambda: _member_value(fleet, "left") == "blue", 30, "the ConfigMap is in the member")
    until(lambda: _replicas(fleet, "left") == 2, 30, "the Deployment is in the member")
    _edit(fleet, "left")
    _scale(fleet, "left")
    drifts = until(lambda: _two(hub, "left"), 15, "both drifts are on the hub")
    found = {(d.kind, d.path): (d.hub, d.member) for d in drifts}
    assert found == {
        ("ConfigMap", "/data/colour"): ('"blue"', '"red"'),
        ("Deployment", "/spec/replicas"): ("2", "5"),
    }
    assert _member_value(fleet, "left") == "red"


def _edit(fleet: RunningFleet, space: str) -> None:
    patch = json.dumps({"data": {"colour": "red"}})
    done = fleet.kubectl("-n", space, "patch", "cm/settings", "-p", patch, cluster="m1")
    assert done.returncode == 0, done.stderr


def _scale(fleet: RunningFleet, space: str) -> None:
    done = fleet.kubectl("-n", space, "scale", "deploy/web", "--replicas=5", cluster="m1")
    assert done.returncode == 0, done.stderr


def _replicas(fleet: RunningFleet, space: str) -> int | None:
    found = fleet.find("deployments.v1.apps", "web", space, cluster="m1")
    return found["spec"]["replicas"] if found else None


def _member_value(fleet: RunningFleet, space: str) -> str | None:
    found = fleet.find("configmaps.v1", "settings", space, cluster="m1")
    return found["data"]["colour"] if found else None


def _drifted(hub: Client, space: str) -> set[str]:
    """What the history says of drift, once it speaks of two objects."""
    events = [e for e in hub.events(limit=500) if e.reason == "Drifted" and e.namespace == space]
    return {e.message for e in events} if len({e.kind for e in events}) == 2 else set()


def _two(hub: Client, space: str) -> list[DriftedField]:
    drifts = [each for each in hub.drift() if each.namespace == space]
    return drifts if len(drifts) == 2 else []

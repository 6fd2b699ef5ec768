"""A fresh hub joins a member that still holds objects of an earlier hub, with real agents.

The folder of the hub is deleted and the fleet started again: the member keeps its Jobs and objects.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests import stem
from tests.e2e.running import RunningFleet, a_job, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
OBJECTS = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: green}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy: {placementType: PickAll}
  strategy: {applyStrategy: {whenToTakeOver: Always}}
"""


def settings(fleet: RunningFleet) -> dict[str, Any]:
    """The placed object in the member, {} where it is not."""
    return fleet.read("/api/v1/namespaces/shop/configmaps/settings", "m1")


def pods(fleet: RunningFleet) -> list[str]:
    return [
        each["metadata"]["uid"]
        for each in fleet.read("/api/v1/namespaces/lab/pods", "m1")["items"]
    ]


def earlier(fleet: RunningFleet, *given: str) -> str:
    """`python -m agent.earlier` with the credential of the member's people; what it printed."""
    credential = f"--kubeconfig={fleet.kubeconfig('m1')}"
    done = stem.run("agent.earlier", *given, credential, within_s=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def begin(tmp_path: Path) -> tuple[str, str]:
    """An earlier hub runs Job `lab/train`, places `shop`, and loses its folder: its id, and the Job's uid."""
    with (
        running_fleet(tmp_path, equal_members(1, nodes=2), packed=True) as fleet,
        fleet.client() as hub,
    ):
        applied = fleet.cli("apply", "-f", "-", stdin=OBJECTS)
        assert applied.returncode == 0, applied.stderr
        job = hub.submit(a_job("train", namespace="lab", run_s=600))
        until(lambda: hub.job(job.uid).state == "Running", 60, "the Job runs")
        until(lambda: settings(fleet), 60, "the object is applied")
        old = hub.overview().hub_id
    data = tmp_path / "data"
    (data / "admin.token").unlink()
    lost: Sequence[str] = ("hub", "agents", "clusters/sim-hub")
    for part in lost:
        shutil.rmtree(data / part)
    return old, job.uid


def test_a_fresh_hub_adopts_a_job_that_runs_and_the_objects(tmp_path: Path):
    """The Job goes on in the same pod under its uid; the objects are taken over and released at the end."""
    old, uid = begin(tmp_path)
    with (
        running_fleet(tmp_path, equal_members(1, nodes=2), packed=True) as fleet,
        fleet.client() as hub,
    ):
        new = hub.overview().hub_id
        assert new != old
        before = pods(fleet)
        assert len(before) == 1
        told = earlier(fleet, "list")
        assert f"Job lab/train  hub {old}  Running" in told
        earlier(fleet, "adopt", "--hub-id", old, "--to", new, "--yes")

        def manifests() -> dict[str, str]:
            return {each.uid: each.manifest for each in hub.restored().items}

        until(lambda: manifests().get(uid) == "Reported", 60, "it is listed with its manifest")
        hub.adopt_leftover(uid)
        until(lambda: hub.job(uid).state == "Running", 60, "the hub has the Job")
        assert pods(fleet) == before
        assert hub.restored().stopped == ""
        applied = fleet.cli("apply", "-f", "-", stdin=OBJECTS)
        assert applied.returncode == 0, applied.stderr

        def marks() -> dict[str, str]:
            found: dict[str, str] = settings(fleet)["metadata"].get("labels") or {}
            return found

        until(lambda: marks().get("roadstead.dev/managed-by") == new, 60, "it is taken over")
        assert "roadstead.dev/created-by" not in marks()
        hub.cancel(uid)
        until(lambda: not pods(fleet), 90, "the adopted Job ends by the fresh hub's order")


def test_a_drain_leaves_nothing_that_the_earlier_hub_created(tmp_path: Path):
    """Its Job ends, its namespaces and objects are deleted; the fresh hub has nothing to do with it."""
    old, _ = begin(tmp_path)
    with (
        running_fleet(tmp_path, equal_members(1, nodes=2), packed=True) as fleet,
        fleet.client() as hub,
    ):
        assert hub.restored().items == ()
        earlier(fleet, "drain", "--hub-id", old, "--yes")
        until(
            lambda: not fleet.read("/api/v1/namespaces/shop", "m1"), 60, "the namespace is deleted"
        )
        assert fleet.read("/apis/batch/v1/jobs", "m1")["items"] == []
        assert "this member has no objects of an earlier hub" in earlier(
            fleet, "list", "--hub-id", old
        )

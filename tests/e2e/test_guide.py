"""The guide, in two ways: kubectl on the hub cluster, and REST, which the command line speaks.

Two fresh fleets from one members file get the guide's seven files unchanged, each in one of the
ways, and end in the same place: the same clusters, scores, reasons, conditions and statuses.
"""

import re
from typing import Any

import pytest

from roadstead.models.objects import Condition
from roadstead.models.placements import Placement
from tests.e2e.running import REPOSITORY, a_pool, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(300)]
FILES = sorted((REPOSITORY / "examples" / "guide").glob("guide-*.yaml"))
MEMBERS = [
    {"name": "cluster-1", "pools": [a_pool(2, cpu="16", memory="64Gi")]},
    {"name": "cluster-2", "pools": [a_pool(3, cpu="16", memory="64Gi")]},
    {"name": "cluster-3", "pools": [a_pool(8, cpu="32", memory="256Gi")]},
]
CONDITIONS = [
    "Scheduled",
    "RolloutStarted",
    "Overridden",
    "WorkSynchronized",
    "Applied",
    "Available",
]


def _by_kubectl(fleet) -> None:
    for path in FILES:
        done = fleet.kubectl("apply", "-f", str(path))
        assert done.returncode == 0, done.stderr


def _by_rest(fleet) -> None:
    with fleet.client() as hub:
        for path in FILES:
            hub.apply(path.read_bytes())


def test_the_guide_ends_the_same_by_kubectl_and_rest(tmp_path):
    """Same clusters, scores, reasons, condition types and statuses, whichever way it came in."""
    ends = {}
    for name, way in (("kubectl", _by_kubectl), ("rest", _by_rest)):
        with running_fleet(tmp_path / name, MEMBERS, packed=name != "kubectl") as fleet:
            way(fleet)
            ends[name] = _settled(fleet)
            if name == "kubectl":
                _check_what_kubectl_shows(fleet)
    assert ends["kubectl"] == ends["rest"]


def _settled(fleet) -> dict[str, Any]:
    """Where everything is once both jobs have ended and all placements have all conditions."""
    with fleet.client() as hub:
        until(lambda: _ended(hub), 60, "both jobs have ended")
        found = until(lambda: _all_true(hub), 60, "all conditions are true")
        return {
            "jobs": {j.name: (j.state, j.cluster, j.epoch) for j in hub.jobs()},
            "placements": {p.name: _shape(p) for p in found},
        }


def _ended(hub) -> bool:
    jobs = list(hub.jobs())
    return len(jobs) == 2 and all(j.state == "Succeeded" for j in jobs)


def _all_true(hub):
    placements = list(hub.placements())
    complete = len(placements) == 4 and all(
        [c.status for c in _ladder(p)] == ["True"] * len(CONDITIONS) for p in placements
    )
    return placements if complete else None


def _ladder(placement: Placement) -> list[Condition]:
    """Its conditions that tell how far it has come; others tell what is not acted on."""
    return [c for c in placement.conditions if c.type.startswith(placement.kind)]


def _shape(placement: Placement) -> dict[str, Any]:
    """What has to be equal: everything but times."""
    prefix = placement.kind
    assert [c.type for c in _ladder(placement)] == [prefix + c for c in CONDITIONS]
    return {
        "conditions": [(c.type, c.status, c.reason, c.message) for c in placement.conditions],
        "clusters": {
            s.cluster_name: [(c.type, c.status, c.reason, c.message) for c in s.conditions]
            for s in placement.placement_statuses
        },
        "drifted": [s.drifted_placements for s in placement.placement_statuses],
        "failed": [s.failed_placements for s in placement.placement_statuses],
    }


def _check_what_kubectl_shows(fleet) -> None:
    """`kubectl describe` shows what the guide shows, with all six conditions and nothing drifted."""
    shown = until(
        lambda: _described(fleet), 30, "the status is on the hub cluster, all six conditions true"
    )
    assert "affinity score: 70" in shown
    assert "Cluster Name:  cluster-3" in shown
    assert "Drifted Placements" not in shown
    assert "Failed Placements" not in shown
    for event in ("PlacementApplied", "PlacementAvailable", "PlacementRolloutCompleted"):
        assert event in shown
    until(lambda: _complete(fleet), 20, "`kubectl get job` shows its completion")


def _complete(fleet) -> bool:
    job = fleet.kubectl("-n", "compute-jobs", "get", "job", "mock-workload")
    return re.search(r"mock-workload\s+Complete\s+3/3", job.stdout) is not None


def _described(fleet) -> str:
    shown = fleet.kubectl(
        "describe", "resourceplacement", "job1-placement", "-n", "compute-jobs"
    ).stdout
    types = [f"ResourcePlacement{c}" for c in CONDITIONS]
    return shown if all(t in shown for t in types) and "False" not in shown else ""

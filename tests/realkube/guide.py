"""The guide typed with kubectl on a real hub cluster, and what is seen there when it ends.

Queues, members and placements come from somebody with the rights of `roadstead-operator`, the Jobs from
somebody with those of `roadstead-user` in their namespace alone.
"""

import contextlib
import re
from pathlib import Path

import yaml

from roadstead import Client
from tests.e2e.running import REPOSITORY, until
from tests.realkube import build
from tests.realkube.plane import Plane, PlaneError
from tests.realkube.processes import kubeconfig_by_script, member, with_line

FILES = sorted((REPOSITORY / "examples" / "guide").glob("guide-*.yaml"))
MEMBERS = [
    member("cluster-1", 2, "16", "64Gi"),
    member("cluster-3", 8, "32", "256Gi"),
]
_CONDITIONS = [
    "Scheduled",
    "RolloutStarted",
    "Overridden",
    "WorkSynchronized",
    "Applied",
    "Available",
]


def typed(plane: Plane, folder: Path) -> None:
    """Apply its files; the ClusterRoles of people are there."""
    served = "resourceplacements.v1.placement.kubernetes-fleet.io"
    until(lambda: plane.find(served), 60, "the kinds of placements are served")
    operator = plane.kubeconfig_for("olga", cluster_role="roadstead-operator")
    for path in FILES:
        who = _scientist(plane, folder) if path.stem.endswith("jobs") else operator
        _apply(plane, _for_this_version(path, folder), who)


def ends_as_described(plane: Plane, hub: Client) -> None:
    """The cluster, the score, six conditions, and the Job's completion on the hub cluster."""
    assert "compute-workload" in plane.kubectl("get", "clusterqueues"), (
        "a cohort in v1beta1's name"
    )
    shown = until(lambda: _described(plane), 120, "all six conditions are true")
    assert "affinity score: 70" in shown
    assert "Cluster Name:  cluster-3" in shown
    assert "Drifted Placements" not in shown
    assert "Failed Placements" not in shown
    until(lambda: _complete(plane), 30, "`kubectl get job` shows its completion")
    until(lambda: [j.state for j in hub.jobs()] == ["Succeeded"] * 2, 60, "both succeeded")
    assert {j.cluster for j in hub.jobs()} == {"cluster-3"}
    assert list(hub.drift()) == []
    if build.version() >= (1, 36):
        found = [hub.job(j.uid).annotations for j in hub.jobs()]
        who = {each.get("roadstead.dev/submitted-by") for each in found}
        assert who == {"system:serviceaccount:compute-jobs:ci"}
    until(lambda: _workloads(plane) == ["True"] * 2, 30, "their Workloads are finished")


def _scientist(plane: Plane, folder: Path) -> Path:
    """Somebody who may submit in the namespace `compute-jobs`, and nowhere else."""
    plane.kubectl("create", "serviceaccount", "ci", "-n", "compute-jobs")
    role = "--clusterrole=roadstead-user", "--serviceaccount=compute-jobs:ci"
    plane.kubectl("create", "rolebinding", "ci", *role, "-n", "compute-jobs")
    return kubeconfig_by_script(plane, folder / "ci.kubeconfig", "compute-jobs", "ci", "1h")


def _for_this_version(path: Path, folder: Path) -> Path:
    """A file of the guide; below 1.36 its Jobs have the line that they need there."""
    if build.version() >= (1, 36):
        return path
    documents = [each for each in yaml.safe_load_all(path.read_text()) if each]
    jobs = [with_line(each) if each["kind"] == "Job" else each for each in documents]
    made = folder / path.name
    made.write_text(yaml.safe_dump_all(jobs))
    return made


def _apply(plane: Plane, path: Path, who: Path) -> None:
    """A kind is served a moment after its CRD is established: try again until then."""

    def applied() -> bool:
        with contextlib.suppress(PlaneError):
            plane.kubectl("apply", "-f", str(path), kubeconfig=who)
            return True
        return False

    until(applied, 30, f"{path.name} is applied")


def _described(plane: Plane) -> str:
    with contextlib.suppress(PlaneError):
        shown = plane.kubectl(
            "describe", "resourceplacement", "job1-placement", "-n", "compute-jobs"
        )
        types = [f"ResourcePlacement{c}" for c in _CONDITIONS]
        if all(t in shown for t in types) and "False" not in shown:
            return str(shown)
    return ""


def _workloads(plane: Plane) -> list[str]:
    """Condition Finished of each Workload that the hub keeps beside a Job."""
    path = '{range .items[*]}{.status.conditions[?(@.type=="Finished")].status}{"\\n"}{end}'
    shown = plane.kubectl("get", "workloads", "-n", "compute-jobs", "-o", f"jsonpath={path}")
    return list(shown.split())


def _complete(plane: Plane) -> bool:
    job = plane.kubectl("-n", "compute-jobs", "get", "job", "mock-workload")
    return re.search(r"mock-workload\s+Complete\s+3/3", job) is not None

"""The guide on real control planes: hub cluster and two members with RBAC on, kubectl throughout.

The hub runs beside them with the CRDs it installs itself, and the account, rights and admission policy
of `deploy/hub-cluster`; each member gets the queue kinds, and its agent the rights of `deploy/member`.
The jobs are handed in by somebody with the rights of `roadstead-user` in their namespace alone. The
story ends where it ends on the embedded fleet: the same cluster, score, six conditions, and the Job's
completion on the hub.
"""

import contextlib
import re
from pathlib import Path

import pytest
import yaml

from tests.e2e.running import REPOSITORY, until
from tests.realkube import build
from tests.realkube.processes import (
    hub_and_agents,
    kubeconfig_by_script,
    member,
    prepare,
    protect,
    token_of_hub,
    with_line,
)

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(400)]
FILES = sorted((REPOSITORY / "examples" / "guide").glob("guide-*.yaml"))
CONDITIONS = [
    "Scheduled",
    "RolloutStarted",
    "Overridden",
    "WorkSynchronized",
    "Applied",
    "Available",
]


MEMBERS = [
    member("cluster-1", 2, "16", "64Gi"),
    member("cluster-3", 8, "32", "256Gi"),
]


def test_the_guide_runs_on_real_control_planes(real_fleet, tmp_path):
    """Applied with kubectl, both jobs go to the best cluster, complete, and the hub cluster says so."""
    planes = real_fleet(MEMBERS)
    kubectl = planes.hub.kubectl
    protect(planes.hub)
    prepare(planes)
    until(lambda: token_of_hub(planes.hub), 30, "its token is made")
    of_hub = kubeconfig_by_script(planes.hub, tmp_path / "hub.kubeconfig")
    with hub_and_agents(planes, tmp_path, hub_kubeconfig=of_hub) as hub:
        until(lambda: "resourceplacements" in kubectl("api-resources"), 60, "CRDs")
        operator = planes.hub.kubeconfig_for("olga", cluster_role="roadstead-operator")
        for path in FILES:
            who = _scientist(planes.hub, tmp_path) if path.stem.endswith("jobs") else operator
            _apply(planes.hub, _for_this_version(path, tmp_path), who)
        assert "compute-workload" in kubectl("get", "clusterqueues"), "a cohort in v1beta1's name"
        shown = until(lambda: _described(planes.hub), 90, "all six conditions are true")
        assert "affinity score: 70" in shown
        assert "Cluster Name:  cluster-3" in shown
        assert "Drifted Placements" not in shown
        assert "Failed Placements" not in shown
        until(lambda: _complete(planes.hub), 30, "`kubectl get job` shows its completion")
        until(lambda: [j.state for j in hub.jobs()] == ["Succeeded"] * 2, 60, "both succeeded")
        assert {j.cluster for j in hub.jobs()} == {"cluster-3"}
        assert list(hub.drift()) == []
        if build.version() >= (1, 36):
            found = [hub.job(j.uid).annotations for j in hub.jobs()]
            who = {each.get("roadstead.dev/submitted-by") for each in found}
            assert who == {"system:serviceaccount:compute-jobs:ci"}
        until(lambda: _workloads(planes.hub) == ["True"] * 2, 30, "their Workloads are finished")


def _scientist(plane, folder: Path) -> Path:
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


def _apply(plane, path: Path, who: Path) -> None:
    """A kind is served a moment after its CRD is established: try again until then."""

    def applied() -> bool:
        with contextlib.suppress(Exception):
            plane.kubectl("apply", "-f", str(path), kubeconfig=who)
            return True
        return False

    until(applied, 30, f"{path.name} is applied")


def _described(plane) -> str:
    with contextlib.suppress(Exception):
        shown = plane.kubectl(
            "describe", "resourceplacement", "job1-placement", "-n", "compute-jobs"
        )
        types = [f"ResourcePlacement{c}" for c in CONDITIONS]
        if all(t in shown for t in types) and "False" not in shown:
            return str(shown)
    return ""


def _workloads(plane) -> list[str]:
    """Condition Finished of each Workload that the hub keeps beside a Job."""
    path = '{range .items[*]}{.status.conditions[?(@.type=="Finished")].status}{"\\n"}{end}'
    shown = plane.kubectl("get", "workloads", "-n", "compute-jobs", "-o", f"jsonpath={path}")
    return list(shown.split())


def _complete(plane) -> bool:
    job = plane.kubectl("-n", "compute-jobs", "get", "job", "mock-workload")
    return re.search(r"mock-workload\s+Complete\s+3/3", job) is not None

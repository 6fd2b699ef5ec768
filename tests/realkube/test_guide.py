"""The guide on real control planes: hub cluster and three members with RBAC on, kubectl throughout.

The hub runs beside them with the CRDs it installs itself and the admission policy of
`deploy/hub-cluster`; each member gets the queue kinds, and its agent the rights of `deploy/member`. The
story ends where it ends on the embedded fleet: the same cluster, score, six conditions, and the Job's
completion on the hub.
"""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roadstead import Client, RoadsteadError
from tests.e2e.running import REPOSITORY, until

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


def _member(name: str, count: int, cpu: str, memory: str) -> dict:
    allocatable = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {"name": name, "pools": [{"name": "p", "count": count, "allocatable": allocatable}]}


MEMBERS = [
    _member("cluster-1", 2, "16", "64Gi"),
    _member("cluster-2", 3, "16", "64Gi"),
    _member("cluster-3", 8, "32", "256Gi"),
]


def test_the_guide_runs_on_real_control_planes(real_fleet, tmp_path):
    """Applied with kubectl, both jobs go to the best cluster, complete, and the hub cluster says so."""
    planes = real_fleet(MEMBERS)
    planes.hub.kubectl("apply", "-f", str(REPOSITORY / "deploy" / "hub-cluster"))
    crds = sorted((REPOSITORY / "deploy" / "crds").glob("kueue.x-k8s.io_*.yaml"))
    for member in planes.members.values():
        for path in crds:
            member.kubectl("apply", "--server-side", "-f", str(path))
        member.kubectl("apply", "-f", str(REPOSITORY / "deploy" / "member"))
    with _hub_and_agents(planes, tmp_path) as hub:
        until(lambda: "resourceplacements" in planes.hub.kubectl("api-resources"), 60, "CRDs")
        for path in FILES:
            _apply(planes.hub, path)
        shown = until(lambda: _described(planes.hub), 90, "all six conditions are true")
        assert "affinity score: 70" in shown
        assert "Cluster Name:  cluster-3" in shown
        assert "Drifted Placements" not in shown
        assert "Failed Placements" not in shown
        until(lambda: _complete(planes.hub), 30, "`kubectl get job` shows its completion")
        until(lambda: [j["state"] for j in hub.jobs()] == ["Succeeded"] * 2, 60, "both succeeded")
        assert {j["cluster"] for j in hub.jobs()} == {"cluster-3"}
        assert list(hub.drift()) == []
        until(lambda: _workloads(planes.hub) == ["True"] * 2, 30, "their Workloads are finished")


def _apply(plane, path: Path) -> None:
    """A kind is served a moment after its CRD is established: try again until then."""

    def applied() -> bool:
        with contextlib.suppress(Exception):
            plane.kubectl("apply", "-f", str(path))
            return True
        return False

    until(applied, 30, f"{path.name} is applied")


@contextlib.contextmanager
def _hub_and_agents(planes, folder: Path) -> Iterator[Client]:
    """The hub and an agent per member, as processes."""
    running: list[subprocess.Popen] = []

    def start(module: str, *arguments: str) -> subprocess.Popen:
        log = (folder / f"{module}-{len(running)}.log").open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments, "--die-with-parent"],
            stdout=subprocess.PIPE if module == "hub" else log,
            stderr=log,
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        log.close()
        running.append(process)
        return process

    try:
        kubeconfig = f"--hub-kubeconfig={planes.hub.kubeconfig}"
        hub = start("hub", f"--data={folder / 'hub'}", "--listen=127.0.0.1:0", kubeconfig)
        assert hub.stdout is not None
        server = hub.stdout.readline().decode().removeprefix("ready ").strip()
        hub.stdout.close()
        client = Client(server, (folder / "hub" / "admin.token").read_text().strip())
        for name, plane in planes.members.items():
            token = folder / f"{name}.join"
            token.write_text(client.add_cluster(name)["joinToken"])
            start(
                "agent",
                f"--hub={server}",
                f"--kubeconfig={plane.kubeconfig_of('agent', namespace='roadstead')}",
                f"--credential={folder / name}.credential",
                f"--join-token={token}",
            )
        until(lambda: _ready(client), 60, "all members have joined")
        yield client
        client.close()
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            process.wait(20)


def _ready(client: Client) -> bool:
    try:
        return all(cluster["ready"] for cluster in client.clusters())
    except RoadsteadError:
        return False


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

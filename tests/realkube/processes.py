"""A hub and agents as processes beside real control planes."""

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from roadstead import Client, RoadsteadError
from tests import stem
from tests.e2e.running import REPOSITORY, ready_line, until
from tests.realkube import build
from tests.realkube.plane import NO_COLLECTION, Fleet, Plane


def member(name: str, count: int, cpu: str, memory: str) -> dict[str, Any]:
    """A member of a members file: `count` equal nodes."""
    allocatable = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {"name": name, "pools": [{"name": "p", "count": count, "allocatable": allocatable}]}


def prepare(planes: Fleet) -> None:
    """Give every member the queue kinds, and its agent its rights."""
    for plane in planes.members.values():
        prepare_member(plane)


def prepare_member(plane: Plane) -> None:
    """The same for one."""
    crds = sorted((REPOSITORY / "deploy" / "crds").glob("kueue.x-k8s.io_*.yaml"))
    files = [option for path in crds for option in ("-f", str(path))]
    plane.kubectl("apply", "--server-side", *files)
    plane.kubectl("apply", "-f", str(REPOSITORY / "deploy" / "member"))


def protect(plane: Plane, *, marking: bool = True) -> None:
    """What the guide says to apply on a hub cluster of this Kubernetes; `marking` False: as below 1.36."""
    names = ["access.yaml", "job-guard.yaml", "mirror-guard.yaml"]
    if marking and build.version() >= (1, 36):
        names.append("job-policy.yaml")
    for name in names:
        plane.kubectl("apply", "-f", str(REPOSITORY / "deploy" / "hub-cluster" / name))


def token_of_hub(plane: Plane) -> str:
    """What stands in the Secret of `access.yaml`; "" until the cluster has filled it."""
    path = "jsonpath={.data.token}"
    return plane.kubectl("-n", "roadstead", "get", "secret", "hub-token", "-o", path)


def with_line(job: dict[str, Any]) -> dict[str, Any]:
    """A Job with a queue as it is written for any version: marked, and suspended where that is dropped."""
    return {**job, "spec": {"managedBy": "roadstead.dev/hub", "suspend": True, **job["spec"]}}


def kubeconfig_by_script(plane: Plane, path: Path, *arguments: str) -> Path:
    """What `deploy/hub-cluster/kubeconfig.sh` writes for its administrator."""
    folder = plane.kubectl_path.parent
    env = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "KUBECONFIG": str(plane.kubeconfig),
        "HOME": str(path.parent),  # where kubectl keeps what it has learned
        **NO_COLLECTION,
    }
    script = REPOSITORY / "deploy" / "hub-cluster" / "kubeconfig.sh"
    done = subprocess.run([script, *arguments], env=env, capture_output=True, check=True)
    path.write_bytes(done.stdout)
    return path


@contextlib.contextmanager
def hub_and_agents(
    planes: Fleet,
    folder: Path,
    env: Mapping[str, str] | None = None,
    hub_kubeconfig: Path | None = None,
) -> Iterator[Client]:
    """The hub and an agent per member, as processes; `env` in addition to ours.

    The hub is its cluster's administrator unless it is given a kubeconfig.
    """
    running: list[stem.Process] = []

    def start(module: str, *arguments: str) -> Path:
        log = folder / f"{module}-{len(running)}.log"
        log.write_bytes(b"")  # a hub of before wrote its address there
        running.append(stem.start(module, *arguments, log=log, env=env))
        return log

    try:
        kubeconfig = f"--hub-kubeconfig={hub_kubeconfig or planes.hub.kubeconfig}"
        hub = start("hub", f"--data={folder / 'hub'}", "--listen=127.0.0.1:0", kubeconfig)
        server = until(lambda: ready_line(hub), 60, "the hub is ready")
        client = Client(server, (folder / "hub" / "admin.token").read_text().strip())
        for name, plane in planes.members.items():
            token = folder / f"{name}.join"
            token.write_text(client.add_cluster(name).join_token)
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
        return all(cluster.ready for cluster in client.clusters())
    except RoadsteadError:
        return False

"""A whole fleet as processes, started by the command a user types, for stories told from outside."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx

from roadstead import Client
from tests import stem, waiting
from tests.e2e.recorder import ApiServer
from tests.realkube.plane import NO_COLLECTION

REPOSITORY = Path(__file__).parents[2]
PATIENCE = 3.0  # how much slower a busy machine may be
T = TypeVar("T")


@dataclass(frozen=True)
class RunningFleet:
    """`roadstead up` in its folder: how to reach it and how to hurt it."""

    folder: Path
    server: str
    process: "subprocess.Popen[Any] | stem.Process"

    def client(self) -> Client:
        return Client(self.server, (self.folder / "admin.token").read_text().strip())

    def pid(self, name: str) -> int:
        return int((self.folder / "pids" / name).read_text())

    def kill(self, name: str) -> None:
        """kill -9 of one part; returns when the supervisor has started it again."""
        old = self.pid(name)
        os.kill(old, signal.SIGKILL)
        until(lambda: self._pid_or_none(name) not in {None, old}, 30, f"{name} is back")

    def kubeconfig(self, member: str) -> Path:
        if member == "hub":
            return self.folder / "hub.kubeconfig"
        return self.folder / "members" / f"{member}.kubeconfig"

    def cli(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run the `roadstead` command against this fleet."""
        return stem.run(
            "roadstead.cli",
            *arguments,
            stdin=stdin or "",
            env={"ROADSTEAD_DATA": str(self.folder)},
        )

    def kubectl(
        self, *arguments: str, cluster: str = "hub", stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl against the hub cluster or a member."""
        return subprocess.run(
            ["kubectl", f"--kubeconfig={self.kubeconfig(cluster)}", *arguments],
            capture_output=True,
            text=True,
            input=stdin,
            check=False,
            timeout=120,
            cwd=REPOSITORY,
            env={**os.environ, "HOME": str(self.folder), **NO_COLLECTION},
        )

    def read(self, path: str, cluster: str = "hub") -> dict[str, Any]:
        """Read an object or a list from a cluster's API server; {} where there is none.

        Polls use this: a kubectl for each look costs a tenth of a CPU second.
        """
        try:
            return ApiServer(self.kubeconfig(cluster)).get(path)
        except urllib.error.HTTPError as refusal:
            if refusal.code != httpx.codes.NOT_FOUND:
                raise
            return {}

    def find(
        self, resource: str, name: str = "", namespace: str = "", *, cluster: str = "hub"
    ) -> dict[str, Any]:
        """The same by name: `deployments.v1.apps`, as kubectl takes it too."""
        return ApiServer(self.kubeconfig(cluster)).find(resource, name, namespace)

    def logs(self) -> str:
        """The last lines of every part's log, for a failing test."""
        parts = []
        for path in sorted((self.folder / "logs").glob("*.log")):
            lines = path.read_text(errors="replace").splitlines()[-15:]
            parts.append(f"--- {path.name}\n" + "\n".join(lines))
        return "\n".join(parts)

    def _pid_or_none(self, name: str) -> int | None:
        try:
            return self.pid(name)
        except (OSError, ValueError):
            return None


@contextlib.contextmanager
def running_fleet(
    folder: Path,
    members: list[dict[str, Any]] | int,
    *,
    packed: bool = False,
    env: dict[str, str] | None = None,
    source: Path = REPOSITORY,
    more: Sequence[str] = (),
) -> Iterator[RunningFleet]:
    """`roadstead up` for the length of the block; `source`: the tree whose code runs, `more`: options."""
    given = str(members)
    if not isinstance(members, int):
        file = folder / "members.yaml"
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"members": members}))
        given = str(file)
    data = folder / "data"
    command = ("roadstead.cli", "up", f"--data={data}", "--listen=127.0.0.1:0")
    command += (f"--members={given}", *(("--pack",) if packed else ()), *more)
    environment = {"PYTHONPATH": str(source), **(env or {})}
    log = folder / "up.log"
    log.unlink(missing_ok=True)  # of an earlier fleet on this folder: it says that it was ready
    process = _started(command, log, environment, source)
    try:
        until(lambda: ready_line(log) or process.poll() is not None, 120, "the fleet starts")
        fleet = RunningFleet(data, ready_line(log), process)
        assert fleet.server, f"not ready: {log.read_text()}\n{fleet.logs()}"
        yield fleet
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(90)
        except (subprocess.TimeoutExpired, TimeoutError):
            process.kill()
            process.wait()


def _started(
    command: tuple[str, ...], log: Path, environment: dict[str, str], source: Path
) -> "subprocess.Popen[Any] | stem.Process":
    log.parent.mkdir(parents=True, exist_ok=True)
    if source == REPOSITORY:
        return stem.start(*command, log=log, env=environment)
    with log.open("wb") as output:  # the forks run the sources of this tree
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            stdout=output,
            stderr=output,
            cwd=source,
            env={**os.environ, **environment},
        )


def ready_line(log: Path) -> str:
    """The address that a hub or `roadstead up` has printed into its log, or nothing yet."""
    lines = log.read_text().splitlines() if log.exists() else []
    return next((line.removeprefix("ready ") for line in lines if line.startswith("ready ")), "")


def until(
    condition: Callable[[], T], within_s: float, what: str, *, patience: float = PATIENCE
) -> T:
    """Poll until `condition` gives something true; returns it. A look costs CPU: fewer, the longer it takes.

    Fails after `within_s` seconds of a quiet machine, `patience` times as many here. A test that waits for
    something that must not happen passes 1.
    """
    within_s *= patience
    began = time.monotonic()
    while True:
        found = condition()
        if found:
            return found
        waited = time.monotonic() - began
        assert waited < within_s, f"not within {within_s} s: {what}"
        waiting.pause(min(max(0.1, waited / 10), 0.5), why="between two looks")


def a_pool(
    count: int = 4, *, name: str = "main", labels: dict[str, Any] | None = None, **resources
) -> dict[str, Any]:
    """A pool of `count` nodes; resources as keywords, dashes and dots by `_` are not needed here."""
    allocatable = {"cpu": "16", "memory": "64Gi", **resources}
    return {"name": name, "count": count, "labels": labels or {}, "allocatable": allocatable}


def equal_members(count: int, *, nodes: int = 4, **pool) -> list[dict[str, Any]]:
    """`count` equal members m1, m2, …"""
    return [{"name": f"m{i}", "pools": [a_pool(nodes, **pool)]} for i in range(1, count + 1)]


def a_job(name: str, *, namespace: str = "team-a", run_s: float = 1, indexes: int = 1, **request):
    """An Indexed Job of `indexes` pods that run `run_s` simulated seconds and ask one core."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "parallelism": indexes,
            "completions": indexes,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "template": {
                "metadata": {"annotations": {"sim.roadstead.dev/run-seconds": str(run_s)}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {
                            "name": "main",
                            "image": "example.com/task:1",
                            "resources": {"requests": request or {"cpu": "1", "memory": "1Gi"}},
                        }
                    ],
                },
            },
        },
    }

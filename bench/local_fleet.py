"""A fleet for a benchmark: `roadstead up` as a child process, and the hub's own CPU and memory."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roadstead import Client
from tests import databases

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class LocalFleet:
    """A running fleet: its folder, its address, and how to read its processes."""

    folder: Path
    server: str

    def client(self) -> Client:
        return Client(self.server, (self.folder / "admin.token").read_text().strip())

    def pid(self, name: str) -> int:
        return int((self.folder / "pids" / name).read_text())

    def cpu_s(self, name: str) -> float:
        """User and system CPU seconds of one child so far."""
        fields = Path(f"/proc/{self.pid(name)}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def cpu_by_part(self) -> dict[str, float]:
        """CPU seconds so far, summed over the hub, the simulators and the agents."""
        sums: dict[str, float] = {}
        for pid_file in (self.folder / "pids").iterdir():
            part = pid_file.name.split("-")[0] if pid_file.name != "sim-hub" else "sim-hub"
            with contextlib.suppress(OSError):
                sums[part] = sums.get(part, 0.0) + self.cpu_s(pid_file.name)
        return {part: round(seconds, 2) for part, seconds in sorted(sums.items())}

    def peak_rss_mib(self, name: str) -> float:
        """Peak resident memory of one child, MiB."""
        for line in Path(f"/proc/{self.pid(name)}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return 0.0


def equal_members(count: int, *, nodes: int = 20, cpu: int = 64) -> list[dict[str, Any]]:
    """`count` equal members of `nodes` nodes with `cpu` cores and 4 GiB per core each."""
    allocatable = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi"}
    pool = {"name": "main", "count": nodes, "allocatable": allocatable}
    return [{"name": f"m{i}", "pools": [pool]} for i in range(1, count + 1)]


@dataclass(frozen=True)
class Hubs:
    """Where the hubs of a fleet keep their data, and how many there are. `database`: None for SQLite."""

    database: str | None = None
    replicas: int = 1


@contextlib.contextmanager
def hubs(store: str, replicas: int = 1) -> Iterator[Hubs]:
    """`store`: sqlite, or postgres on a server of its own, which commits as durably as SQLite does."""
    if store == databases.SQLITE:
        yield Hubs()
        return
    if reason := databases.postgres_is_missing():
        raise SystemExit(reason)
    with databases.own_server(durable=True) as server:
        yield Hubs(server.database("hub"), replicas)


@contextlib.contextmanager
def fleet(
    members: list[dict[str, Any]],
    *,
    packed: bool = False,
    env: dict[str, str] | None = None,
    hubs: Hubs = Hubs(),
) -> Iterator[LocalFleet]:
    """Run a fleet for the length of the block."""
    with tempfile.TemporaryDirectory(prefix="roadstead-bench-") as name:
        folder = Path(name)
        file = folder / "members.yaml"
        file.write_text(json.dumps({"members": members}))  # JSON is YAML
        command = [
            *(sys.executable, "-m", "roadstead.cli", "up", "--data", str(folder / "data")),
            *("--listen", "127.0.0.1:0", "--members", str(file)),
            *(("--pack",) if packed else ()),
            *((f"--database={hubs.database}",) if hubs.database else ()),
            f"--replicas={hubs.replicas}",
        ]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line.startswith("ready "):
                raise SystemExit(f"the fleet did not start: {line!r}")
            yield LocalFleet(folder / "data", line.split()[1])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def machine() -> dict[str, object]:
    """What the figures were taken on."""
    return {
        "cpus": len(os.sched_getaffinity(0)),
        "python": sys.version.split()[0],
        "max_rss_self_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def show(figures: dict[str, object], *, only_json: bool) -> None:
    """Print figures for people, unless `only_json`, then as one JSON object on the last line."""
    if not only_json:
        for name, value in figures.items():
            print(f"{name:28} {value}")
    print(json.dumps(figures))

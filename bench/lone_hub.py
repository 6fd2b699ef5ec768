"""A hub alone for a benchmark: the real process on SQLite with every commit flushed, without members."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class LoneHub:
    """A running hub: its address, its administrator's token, its process."""

    server: str
    token: str
    pid: int

    def cpu_s(self) -> float:
        """User and system CPU seconds so far."""
        return cpu_s(self.pid)

    def peak_rss_mib(self) -> float:
        """Peak resident memory."""
        return peak_rss_mib(self.pid)


def temporary() -> tempfile.TemporaryDirectory[str]:
    """A folder for the length of a block."""
    return tempfile.TemporaryDirectory(prefix="roadstead-bench-")


def cpu_s(pid: int) -> float:
    """User and system CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def peak_rss_mib(pid: int) -> float:
    """Peak resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) / 1024, 1)
    return 0.0


@contextlib.contextmanager
def lone_hub(
    settings: Mapping[str, str], profile: str = "", folder: Path | None = None
) -> Iterator[LoneHub]:
    """Run a hub for the length of the block, with `settings` in its environment.

    `profile`: a file for a profile of it, as cProfile writes them. `folder`: its data, else its own.
    """
    with contextlib.ExitStack() as stack:
        name = str(folder) if folder else stack.enter_context(temporary())
        how = ["-m", "cProfile", "-o", profile, "-m", "hub"] if profile else ["-m", "hub"]
        command = [sys.executable, *how, "--data", name, "--listen", "127.0.0.1:0"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, **settings}
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line.startswith("ready "):
                raise SystemExit(f"the hub did not start: {line!r}")
            token = (Path(name) / "admin.token").read_text().strip()
            yield LoneHub(line.split()[1], token, process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)

"""What the stories of restored backups share: a fleet of two members, looked into and restored."""

import os
import signal
from pathlib import Path

from tests.e2e.running import RunningFleet, until

MEMBERS = ("m1", "m2")


def in_members(fleet: RunningFleet) -> dict[str, list[tuple[str, str, str]]]:
    """By name, each Job that a member holds: (member, its uid there, its uid on the hub)."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for member in MEMBERS:
        for job in fleet.find("jobs.v1.batch", cluster=member)["items"]:
            metadata = job["metadata"]
            of = metadata["labels"]["roadstead.dev/job-uid"]
            found.setdefault(metadata["name"], []).append((member, metadata["uid"], of))
    return found


def states(fleet: RunningFleet) -> dict[str, str]:
    with fleet.client() as hub:
        return {job.name: job.state for job in hub.jobs(namespace="team-a")}


def run(fleet: RunningFleet, *arguments: str) -> str:
    done = fleet.cli(*arguments)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def restore(fleet: RunningFleet, file: Path) -> None:
    """Restore while the hub, and nothing else, is stopped; what looks after it waits meanwhile."""
    os.kill(fleet.process.pid, signal.SIGSTOP)
    try:
        old = fleet.pid("hub")
        os.kill(old, signal.SIGKILL)
        until(
            lambda: fleet.cli("admin", "restore", str(file), "--replace").returncode == 0, 30, ""
        )
    finally:
        os.kill(fleet.process.pid, signal.SIGCONT)
    until(lambda: fleet.pid("hub") != old, 30, "the hub is started again")
    until(lambda: fleet.cli("restored").returncode == 1, 60, "it answers, and stands still")

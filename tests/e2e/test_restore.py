"""A backup that was taken while jobs run is restored: none is lost, none runs twice, none is invisible."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import RunningFleet, a_job, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(300)]
MEMBERS = ("m1", "m2")
KNOWN, LATER = 12, 6
RUN_S = 45


def in_members(fleet: RunningFleet) -> dict[str, list[tuple[str, str, str]]]:
    """By name, each Job that a member holds: (member, its uid there, its uid on the hub)."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for member in MEMBERS:
        done = fleet.kubectl("get", "jobs", "-A", "-o", "json", cluster=member)
        for job in json.loads(done.stdout)["items"]:
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


def leftovers(fleet: RunningFleet) -> Any:
    with fleet.client() as hub:
        told = hub.restored()
    return told if not told.awaited else None


def test_a_backup_taken_while_jobs_run_is_restored_without_a_second_start(tmp_path: Path) -> None:
    """What ran goes on as the same Jobs; what was started since is adopted, or removed, by decision."""
    known = {f"known-{i}" for i in range(KNOWN)}
    later = {f"later-{i}" for i in range(LATER)}
    with running_fleet(tmp_path, equal_members(2)) as fleet:
        with fleet.client() as hub:
            hub.submit_many([a_job(name, run_s=RUN_S) for name in sorted(known)])
            released = hub.submit(a_job("released", run_s=RUN_S))
            hub.hold(released.uid)
            until(lambda: list(states(fleet).values()).count("Running") == KNOWN, 60, "all run")
            file = tmp_path / "backup"
            assert "rows" in run(fleet, "admin", "backup", str(file))
            hub.release(released.uid)
            hub.submit_many([a_job(name, run_s=RUN_S) for name in sorted(later)])
            wanted = KNOWN + LATER + 1
            until(lambda: list(states(fleet).values()).count("Running") == wanted, 60, "all run")
        before = in_members(fleet)
        restore(fleet, file)

        told = until(lambda: leftovers(fleet), 60, "both members have been heard")
        seen = until(
            lambda: found if len(found := leftovers(fleet).items) > LATER else None,
            60,
            "what is left is listed before anything is accepted",
        )
        assert told.stopped
        assert {each.uid for each in seen} == {
            uid for name in {*later, "released"} for _, _, uid in before[name]
        }
        assert states(fleet)["released"] == "Held"
        removed = before["later-0"][0]
        run(fleet, "admin", "adopt", released.uid)
        unknown = before["later-1"][0][2]
        until(lambda: fleet.cli("admin", "adopt", unknown).returncode == 0, 30, "it is adopted")
        run(fleet, "admin", "forget", removed[2])
        run(fleet, "restored", "--accept")

        ended = {*known, "released", "later-1"}
        until(
            lambda: all(states(fleet)[name] == "Succeeded" for name in ended),
            RUN_S + 60,
            f"all that the hub knows have ended: {states(fleet)}",
        )
        until(lambda: "later-0" not in in_members(fleet), 60, "what was forgotten is gone")
        after = in_members(fleet)
        assert {name: after[name] for name in ended} == {name: before[name] for name in ended}
        assert all(len(where) == 1 for where in after.values())
        assert {name: after.get(name) for name in later - {"later-0"}} == {
            name: before[name] for name in later - {"later-0"}
        }

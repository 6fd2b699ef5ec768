"""After a restore no door releases a job that still runs in a member: REST, the CLI and kubectl refuse."""

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from roadstead.errors import Rejected
from tests.e2e.restoring import in_members, restore, run, states
from tests.e2e.running import RunningFleet, a_job, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(300)]
LIMITED, HELD, FORGOTTEN = "limited", "held", "forgotten"
NAMES = (LIMITED, HELD, FORGOTTEN)
_LIMIT = {"kueue.x-k8s.io/max-exec-time-seconds": "8"}


def state(fleet: RunningFleet, uid: str) -> str:
    with fleet.client() as hub:
        return str(hub.job(uid).state)


def is_in(fleet: RunningFleet, uid: str, wanted: str) -> bool:
    return state(fleet, uid) == wanted


def is_reported(fleet: RunningFleet, uid: str) -> bool:
    return "m1 still reports epoch" in by_rest(fleet, uid)


def by_rest(fleet: RunningFleet, uid: str) -> str:
    """What the hub answers a release; "" where it takes it."""
    with fleet.client() as hub:
        try:
            hub.release(uid)
        except Rejected as refusal:
            return f"{refusal.status} {refusal}"
    return ""


def by_cli(fleet: RunningFleet, uid: str) -> str:
    """What the command prints; "" where the release is taken."""
    done = fleet.cli("jobs", "release", uid)
    return done.stderr if done.returncode else ""


def by_kubectl(fleet: RunningFleet, name: str) -> None:
    """Set `spec.active` of the Job's Workload to true, and wait until the hub has set it back."""
    workload = "workload/" + until(partial(of_job, fleet, name), 20, f"{name} is shown")
    patch = ("patch", workload, "--type=merge", "-p", '{"spec": {"active": true}}')
    done = fleet.kubectl("-n", "team-a", *patch)
    assert done.returncode == 0, done.stderr
    until(lambda: active(fleet, name) is False, 30, f"{name} is shown as held again")


def workloads(fleet: RunningFleet) -> list[dict[str, Any]]:
    return list(fleet.find("workloads.v1beta2.kueue.x-k8s.io", namespace="team-a")["items"])


def of_job(fleet: RunningFleet, name: str) -> str:
    """The name of its Workload on the hub cluster; "" while there is none."""
    named = (each["metadata"]["name"] for each in workloads(fleet))
    return next((each for each in named if each.startswith(f"job-{name}-")), "")


def active(fleet: RunningFleet, name: str) -> bool | None:
    of = of_job(fleet, name)
    found = (each for each in workloads(fleet) if each["metadata"]["name"] == of)
    return next((bool(each["spec"].get("active", True)) for each in found), None)


def a_lost_time(fleet: RunningFleet, backup: Path) -> dict[str, str]:
    """A backup in which the jobs wait for a release; since then they run on m1, whose agent is paused."""
    assert fleet.kubectl("create", "namespace", "team-a").returncode == 0
    shown = ("label", "namespace", "team-a", "roadstead.dev/show-jobs=true")
    assert fleet.kubectl(*shown).returncode == 0
    with fleet.client() as hub:
        hub.cordon("m2")
        made = [a_job(name, run_s=600) for name in NAMES]
        made[0]["metadata"]["labels"] = _LIMIT
        uids = {name: hub.submit(job).uid for name, job in zip(NAMES, made, strict=True)}
        for name in (HELD, FORGOTTEN):
            hub.hold(uids[name])
            until(partial(is_in, fleet, uids[name], "Held"), 30, f"{name} is held")
        until(lambda: state(fleet, uids[LIMITED]) == "Deactivated", 40, "its time is up")
        run(fleet, "admin", "backup", str(backup))
        for uid in uids.values():
            hub.release(uid)
    until(lambda: set(states(fleet).values()) == {"Running"}, 30, "all run")
    os.kill(fleet.pid("agent-m1"), signal.SIGSTOP)
    return uids


def test_no_door_releases_a_job_that_still_runs_from_before_the_restore(tmp_path: Path) -> None:
    """Deactivated, held or forgotten: each is refused until its member no longer reports the Job."""
    backup = tmp_path / "backup"
    with running_fleet(tmp_path, equal_members(2)) as fleet:
        uids = a_lost_time(fleet, backup)
        before = in_members(fleet)
        assert {name: len(before[name]) for name in NAMES} == dict.fromkeys(NAMES, 1)
        restore(fleet, backup)
        run(fleet, "clusters", "uncordon", "m2")
        until(lambda: fleet.cli("restored", "--accept").returncode == 0, 60, "it is accepted")

        for uid in uids.values():
            said = by_rest(fleet, uid)
            assert said.startswith("422 InvalidState: ")
            assert "m1 has not reported all its Jobs since the restore" in said
            assert "roadstead clusters fence m1 --destroyed" in by_cli(fleet, uid)
        for name in NAMES:
            by_kubectl(fleet, name)
        run(fleet, "jobs", "hold", uids[HELD])

        os.kill(fleet.pid("agent-m1"), signal.SIGCONT)
        for uid in uids.values():
            until(partial(is_reported, fleet, uid), 30, "m1 reports")
            assert "m1 still reports epoch" in by_cli(fleet, uid)
        for name in NAMES:
            by_kubectl(fleet, name)

        run(fleet, "admin", "forget", uids[FORGOTTEN])
        assert "m1 still reports epoch" in by_rest(fleet, uids[FORGOTTEN])
        until(lambda: FORGOTTEN not in in_members(fleet), 30, "the forgotten Job is removed")
        until(lambda: not by_rest(fleet, uids[FORGOTTEN]), 60, "the release is accepted")
        until(lambda: len(in_members(fleet).get(FORGOTTEN, ())) == 1, 30, "it runs again")

        after = in_members(fleet)
        assert {n: after[n] for n in (LIMITED, HELD)} == {n: before[n] for n in (LIMITED, HELD)}
        assert state(fleet, uids[LIMITED]) == "Deactivated"
        assert state(fleet, uids[HELD]) == "Held"

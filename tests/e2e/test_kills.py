"""kill -9 of any part in mid-run of 500 jobs: every job still runs exactly once.

submit 500 ──► some end ──► kill -9 PART ──► it is started again ──► all 500 end
recorder: watches the members' API servers from before the first job until after the last
"""

import shutil
import subprocess
import sys

import pytest

from roadstead import RoadsteadError
from tests.e2e.recorder import Recorder
from tests.e2e.running import REPOSITORY, a_job, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
JOBS = 500
INDEXES = 2


@pytest.mark.parametrize("victim", ["hub", "agent-m1", "sim-m1"])
def test_every_job_runs_exactly_once_when_a_part_is_killed(tmp_path, victim):
    """No job is lost, none runs twice: one Job uid per name, one start per index, one Complete."""
    names = {f"job-{i:03d}" for i in range(JOBS)}
    with running_fleet(tmp_path, equal_members(3)) as fleet:
        kubeconfigs = {m: fleet.kubeconfig(m) for m in ("m1", "m2", "m3")}
        with Recorder(kubeconfigs, "team-a") as recorder, fleet.client() as hub:
            for result in hub.submit_many(_manifests(names)):
                assert not result.get("code"), result
            until(lambda: recorder.completed() > JOBS / 10, 60, "a tenth has ended")
            fleet.kill(victim)
            until(lambda: recorder.completed() == JOBS, 120, "all have ended on the members")
            until(lambda: _succeeded(fleet) == JOBS, 60, "the hub knows that all have ended")
            assert recorder.violations(names, INDEXES) == []


def test_two_agents_on_one_credential_run_nothing_twice(tmp_path):
    """A second agent started on a copied credential takes over; the first stops acting."""
    names = {f"job-{i:03d}" for i in range(JOBS)}
    with running_fleet(tmp_path, equal_members(3)) as fleet:
        kubeconfigs = {m: fleet.kubeconfig(m) for m in ("m1", "m2", "m3")}
        with Recorder(kubeconfigs, "team-a") as recorder, fleet.client() as hub:
            for result in hub.submit_many(_manifests(names)):
                assert not result.get("code"), result
            until(lambda: recorder.completed() > JOBS / 10, 60, "a tenth has ended")
            twin = _second_agent(fleet, "m1", tmp_path)
            try:
                until(lambda: recorder.completed() == JOBS, 120, "all have ended on the members")
                until(lambda: _succeeded(fleet) == JOBS, 60, "the hub knows that all have ended")
            finally:
                twin.terminate()
                twin.wait(20)
            assert recorder.violations(names, INDEXES) == []


def _second_agent(fleet, member: str, folder) -> subprocess.Popen:
    credential = folder / "copied.credential"
    shutil.copy(fleet.folder / "agents" / member / "credential", credential)
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "agent", f"--hub={fleet.server}"),
            f"--kubeconfig={fleet.kubeconfig(member)}",
            f"--credential={credential}",
            "--die-with-parent",
        ],
        cwd=REPOSITORY,
        stderr=subprocess.DEVNULL,
    )


def _manifests(names: set[str]) -> list[dict]:
    return [a_job(name, run_s=0.5, indexes=INDEXES) for name in sorted(names)]


def _succeeded(fleet) -> int:
    try:
        with fleet.client() as hub:
            return hub.overview()["jobs"].get("Succeeded", 0)
    except (RoadsteadError, OSError):
        return 0

"""kill -9 of any part, or two agents on one credential: every job still runs exactly once."""

import os
import shutil
import signal

import pytest

from tests import stem, waiting
from tests.e2e import exactly_once
from tests.soaking import others_soak

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(400)]


@pytest.mark.parametrize("victim", others_soak(["hub", "agent-m1", "sim-m1"], "sim-m1"))
def test_every_job_runs_exactly_once_when_a_part_is_killed(tmp_path, victim):
    """No job is lost, none runs twice: one Job uid per name, one start per index, one Complete."""
    assert exactly_once.run(tmp_path, lambda fleet: fleet.kill(victim)) == []


@pytest.mark.soak
def test_what_was_offered_waits_for_its_silent_cluster(tmp_path):
    """The hub is killed, an agent falls silent: what it was told of starts nowhere else."""
    assert exactly_once.run(tmp_path, kill_hub_and_silence_agent) == []


def test_two_agents_on_one_credential_run_nothing_twice(tmp_path):
    """A second agent started on a copied credential takes over; the first stops acting."""
    twins = []

    def start_twin(fleet) -> None:
        credential = tmp_path / "copied.credential"
        shutil.copy(fleet.folder / "agents" / "m1" / "credential", credential)
        reached = (f"--hub={fleet.server}", f"--kubeconfig={fleet.kubeconfig('m1')}")
        own = f"--credential={credential}"
        twins.append(stem.start("agent", *reached, own, log=tmp_path / "twin.log"))

    try:
        assert exactly_once.run(tmp_path, start_twin) == []
    finally:
        for twin in twins:
            twin.terminate()
            twin.wait(20)


def kill_hub_and_silence_agent(fleet) -> None:
    """kill -9 of the hub; the agent acts on what it was told last, then stops for 15 s."""
    agent = fleet.pid("agent-m1")
    os.kill(fleet.pid("hub"), signal.SIGKILL)
    waiting.pause(0.7, why="the fault itself: so long the agent goes on")
    os.kill(agent, signal.SIGSTOP)
    try:
        waiting.pause(15, why="the fault itself: so long it is stopped")
    finally:
        os.kill(agent, signal.SIGCONT)

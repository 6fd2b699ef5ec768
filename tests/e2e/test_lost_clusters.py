"""A cluster is cut off, a job fails, a time to live is over: where a job runs next, on real agents.

Every change plays the first; the rules of the others stand in tests/services/members: test_retries.py,
test_ends.py.
"""

import json
import os
import signal

import pytest

from tests import waiting
from tests.e2e.exactly_once import IMPATIENT
from tests.e2e.recorder import Recorder
from tests.e2e.running import RunningFleet, a_job, equal_members, running_fleet, until
from tests.e2e.upgrading import all_are, started, states

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(300)]
LOSS = "roadstead.dev/on-cluster-loss"


def apply(fleet: RunningFleet, name: str, run_s: float, notes: dict[str, str], **spec) -> None:
    job = a_job(name, run_s=run_s)
    job["metadata"].setdefault("annotations", {}).update(notes)
    job["spec"].update(spec)
    done = fleet.cli("apply", "-f", "-", stdin=json.dumps(job))
    assert done.returncode == 0, done.stderr


def reasons(fleet: RunningFleet, name: str) -> list[str]:
    shown = json.loads(fleet.cli("jobs", "show", f"team-a/{name}", "-o", "json").stdout)
    return [each["reason"] for each in shown["events"]]


def test_a_job_that_allows_it_leaves_a_silent_cluster_and_the_older_goes_on_its_return(tmp_path):
    """One that does not allow it stays where it is; the double run is told; each ends once."""
    with running_fleet(tmp_path, equal_members(2), env=IMPATIENT) as fleet:
        apply(fleet, "moves", 600, {LOSS: "RescheduleAfter(60s)", "roadstead.dev/clusters": "m1"})
        apply(fleet, "stays", 600, {"roadstead.dev/clusters": "m1"})
        all_are(fleet, ["moves", "stays"], "Running")
        apply(fleet, "moves", 600, {LOSS: "RescheduleAfter(60s)"})
        agent = fleet.pid("agent-m1")
        os.kill(agent, signal.SIGSTOP)
        try:
            all_are(fleet, ["moves", "stays"], "Unknown")
            assert "not before" in fleet.cli("jobs", "show", "team-a/moves").stdout
            until(
                lambda: {each[0] for each in started(fleet)["moves"]} == {"m1", "m2"},
                120,
                "it runs in m2 as well",
            )
            assert "left behind in m1" in fleet.cli("jobs", "show", "team-a/moves").stdout
            assert {each[0] for each in started(fleet)["stays"]} == {"m1"}
        finally:
            os.kill(agent, signal.SIGCONT)
        until(
            lambda: [each[0] for each in started(fleet)["moves"]] == ["m2"],
            60,
            "the older is withdrawn",
        )
        all_are(fleet, ["moves", "stays"], "Running")
        assert "DoubleRun" in reasons(fleet, "moves")
        assert "DoubleRun" not in reasons(fleet, "stays")
        assert [each[0] for each in started(fleet)["stays"]] == ["m1"]


@pytest.mark.soak
def test_a_job_that_fails_in_one_cluster_is_tried_in_another(tmp_path):
    """Two epochs, as its annotation allows, in two clusters, one after the other; then it has failed."""
    with running_fleet(tmp_path, equal_members(2), packed=True) as fleet:
        members = {name: fleet.kubeconfig(name) for name in ("m1", "m2")}
        with Recorder(members, "team-a") as seen:
            job = a_job("fails", run_s=1)
            job["metadata"].setdefault("annotations", {})["roadstead.dev/retry"] = "2"
            pod = job["spec"]["template"].setdefault("metadata", {})
            pod.setdefault("annotations", {})["sim.roadstead.dev/exit-code"] = "1"
            job["spec"]["backoffLimit"] = 0
            done = fleet.cli("apply", "-f", "-", stdin=json.dumps(job))
            assert done.returncode == 0, done.stderr
            all_are(fleet, ["fails"], "Failed")
        shown = json.loads(fleet.cli("jobs", "show", "team-a/fails", "-o", "json").stdout)
        placed = [e["message"] for e in shown["events"] if e["reason"] == "Placed"]
        assert len(seen.jobs["fails"].uids) == 2
        assert shown["epoch"] == 2
        assert len({text.split(",")[0] for text in placed}) == 2, placed


@pytest.mark.soak
def test_a_job_that_its_time_to_live_has_removed_stays_finished(tmp_path):
    """The member's Job goes, and is not made again; the hub keeps the result."""
    with running_fleet(tmp_path, equal_members(2), packed=True) as fleet:
        members = {name: fleet.kubeconfig(name) for name in ("m1", "m2")}
        with Recorder(members, "team-a") as seen:
            apply(fleet, "brief", 1, {}, ttlSecondsAfterFinished=2)
            uid = json.loads(fleet.cli("jobs", "show", "team-a/brief", "-o", "json").stdout)["uid"]
            until(lambda: "brief" in seen.jobs, 60, "it is made")
            until(lambda: "brief" not in started(fleet), 90, "its time is over")
            waiting.pause(8.0, why="in which it would be made again")
            assert "brief" not in started(fleet)
            assert states(fleet).get("brief", "Succeeded") == "Succeeded"
        assert len(seen.jobs["brief"].uids) == 1
        with fleet.client() as hub:
            assert hub.job(uid).state == "Succeeded"

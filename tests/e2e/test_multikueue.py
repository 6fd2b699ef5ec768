"""A MultiKueue setup, unchanged, on an embedded fleet: by kubectl on the hub cluster, and by the command."""

import json
from functools import partial

import pytest

from tests.e2e.running import REPOSITORY, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(180)]
EXAMPLE = REPOSITORY / "examples" / "multikueue"
MEMBERS = [
    {"name": "worker1", "pools": [{"name": "n", "allocatable": {"cpu": "4", "memory": "16Gi"}}]},
    {"name": "worker2", "pools": [{"name": "n", "allocatable": {"cpu": "4", "memory": "16Gi"}}]},
    {
        "name": "elsewhere",
        "pools": [{"name": "n", "allocatable": {"cpu": "64", "memory": "64Gi"}}],
    },
]


def test_a_multikueue_setup_works_unchanged(tmp_path):
    """Jobs end on the workers, never elsewhere; kinds and Jobs say on the hub cluster what they should."""
    with running_fleet(tmp_path, MEMBERS, packed=True) as fleet, fleet.client() as hub:
        for name in ("setup.yaml", "jobs.yaml"):
            done = fleet.kubectl("apply", "-f", str(EXAMPLE / name))
            assert done.returncode == 0, done.stderr
        jobs = until(lambda: _ended(hub), 60, "both jobs have ended")
        assert {job.cluster for job in jobs} <= {"worker1", "worker2"}
        told = hub.explain("default/sample-job-1")
        verdicts = {c["cluster"]: c["message"] for c in told.decision["clusters"]}
        assert verdicts["elsewhere"] == "the queue's MultiKueueConfig does not name it"
        for kind, name in (
            ("multikueuecluster", "worker1"),
            ("multikueuecluster", "worker2"),
            ("admissioncheck", "dispatch"),
            ("clusterqueue", "cluster-queue"),
        ):
            until(partial(_active, fleet, kind, name), 30, f"{kind} {name} is Active")
        until(lambda: _complete(fleet, "sample-job-1"), 30, "the hub cluster's Job is Complete")


def test_the_same_setup_by_the_command(tmp_path):
    """Without kubectl: the same files by `roadstead apply`, to the same end."""
    with running_fleet(tmp_path, MEMBERS, packed=True) as fleet, fleet.client() as hub:
        for name in ("setup.yaml", "jobs.yaml"):
            done = fleet.cli("apply", "-f", str(EXAMPLE / name))
            assert done.returncode == 0, done.stderr
        jobs = until(lambda: _ended(hub), 60, "both jobs have ended")
        assert {job.cluster for job in jobs} <= {"worker1", "worker2"}


def _ended(hub):
    jobs = list(hub.jobs())
    return jobs if len(jobs) == 2 and all(j.state == "Succeeded" for j in jobs) else None


def _shown(fleet, kind, name):
    done = fleet.kubectl("get", kind, name, "-n", "default", "-o", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout).get("status") or {}


def _active(fleet, kind, name):
    conditions = _shown(fleet, kind, name).get("conditions") or []
    return any(c["type"] == "Active" and c["status"] == "True" for c in conditions)


def _complete(fleet, name):
    conditions = _shown(fleet, "job", name).get("conditions") or []
    return any(c["type"] == "Complete" and c["status"] == "True" for c in conditions)

"""A fleet in balance on real control planes: the split by room, and an API server that hangs.

Every change plays the same on simulated members: tests/e2e/test_balance.py and test_dead_server.py.
"""

import os
import signal
from collections import Counter

import pytest

from tests.e2e.running import a_job, until
from tests.realkube.processes import hub_and_agents, member, prepare

pytestmark = [pytest.mark.realkube, pytest.mark.soak, pytest.mark.timeout(400)]
COMPONENT = "kube-apiserver"
JOBS = 300  # a thousand are placed in tests/services/scheduling


def test_equal_jobs_split_as_the_members_room(real_fleet, tmp_path):
    """Members of 100 and 50 nodes: each gets its part, within five points."""
    nodes = {"large": 100, "half": 50}
    planes = real_fleet([member(name, count, "8", "32Gi") for name, count in nodes.items()])
    prepare(planes)
    with hub_and_agents(planes, tmp_path) as hub:
        jobs = [a_job(f"job-{number}", run_s=3600, cpu="1") for number in range(JOBS)]
        hub.submit_many(jobs)
        until(lambda: sum(_split(hub).values()) == JOBS, 60, "all jobs have their cluster")
        split = _split(hub)
        for name, count in nodes.items():
            assert abs(split[name] / JOBS - count / 150) < 0.05, split


def test_a_member_whose_api_server_hangs_gets_no_new_work_and_keeps_nobody(real_fleet, tmp_path):
    """Within 15 s no job is offered there; what was offered in that time ends all the same."""
    planes = real_fleet([member(name, 2, "8", "32Gi") for name in ("m1", "m2")])
    prepare(planes)
    env = {"ROADSTEAD_SCHEDULING_UNHEALTHY_AFTER_S": "5"}
    with hub_and_agents(planes, tmp_path, env) as hub:
        server = planes.members["m1"].pid(COMPONENT)
        os.kill(server, signal.SIGSTOP)
        try:
            early = [hub.submit(a_job(f"early-{number}")) for number in range(6)]
            until(lambda: _state(hub, "m1") == "Unhealthy", 15, "the hub knows", patience=1)
            late = [hub.submit(a_job(f"late-{number}")) for number in range(10)]
            for job in late:
                ended = hub.wait(job.uid, timeout_s=90)
                assert (ended.state, ended.cluster) == ("Succeeded", "m2")
        finally:
            os.kill(server, signal.SIGCONT)
        for job in early:
            assert hub.wait(job.uid, timeout_s=90).state == "Succeeded"
        until(lambda: _state(hub, "m1") == "Ready", 30, "it is taken back")


def _split(hub) -> Counter[str]:
    return Counter(job.cluster for job in hub.jobs() if job.cluster)


def _state(hub, name: str) -> str:
    (found,) = [each.state for each in hub.clusters() if each.name == name]
    return found

"""A member whose API server dies while its agent lives, told from outside on a running fleet."""

import os
import signal

import pytest

from tests.e2e.running import a_job, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def test_a_dead_member_gets_no_new_work_and_keeps_nobody(tmp_path):
    """Within 15 s no job is offered there; what was offered in that time ends all the same."""
    env = {"ROADSTEAD_SCHEDULING_UNHEALTHY_AFTER_S": "5"}
    with running_fleet(tmp_path, equal_members(2), env=env) as fleet, fleet.client() as hub:
        server = fleet.pid("sim-m1")
        os.kill(server, signal.SIGSTOP)
        try:
            early = [hub.submit(a_job(f"early-{n}")) for n in range(6)]
            until(lambda: _state(hub, "m1") == "Unhealthy", 15, "the hub knows", patience=1)
            late = [hub.submit(a_job(f"late-{n}")) for n in range(20)]
            for job in late:
                ended = hub.wait(job.uid, timeout_s=90)
                assert (ended.state, ended.cluster) == ("Succeeded", "m2")
        finally:
            os.kill(server, signal.SIGCONT)
        for job in early:
            assert hub.wait(job.uid, timeout_s=90).state == "Succeeded"
        until(lambda: _state(hub, "m1") == "Ready", 15, "it is taken back")


def _state(hub, name: str) -> str:
    (found,) = [each.state for each in hub.clusters() if each.name == name]
    return found

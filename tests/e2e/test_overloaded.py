"""Overloaded API servers of members that go on answering: jobs stay where they were given, and end there.

Every request takes longer than the agent's probe waits, on all members at once. A hub that took that for
members that are down would move what they have not created yet from one to the next, again and again.
"""

import collections

import pytest

from tests.chaos.member import Member
from tests.e2e.running import a_job, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

JOBS = 150
MEMBERS = 3
DELAY_S = 8.0  # beyond the probe's deadline of 2.5 s
MOST_EPOCHS = 2


def test_overloaded_members_do_not_thrash(tmp_path):
    """150 jobs on 3 slow members: each ends within two epochs, and hardly any is placed twice."""
    env = {"ROADSTEAD_SCHEDULING_UNHEALTHY_AFTER_S": "15"}
    with running_fleet(tmp_path, equal_members(MEMBERS, nodes=8), env=env) as fleet:
        names = [f"m{number}" for number in range(1, MEMBERS + 1)]
        members = [Member(name, fleet.kubeconfig(name)) for name in names]
        for member in members:
            member.add_fault(action="delay", seconds=DELAY_S, count=0)
        with fleet.client() as hub:
            hub.submit_many([a_job(f"job-{n:03d}", run_s=1, cpu="100m") for n in range(JOBS)])

            def ended() -> int:
                return hub.overview().jobs.get("Succeeded", 0)

            until(lambda: ended() >= JOBS / 2, 120, "half of them have ended")
            for member in members:
                member.clear_faults()
            until(lambda: ended() == JOBS, 90, "all have ended")
            epochs = collections.Counter(job.epoch for job in hub.jobs())
        assert max(epochs) <= MOST_EPOCHS, epochs
        assert epochs[1] >= JOBS * 0.9, epochs

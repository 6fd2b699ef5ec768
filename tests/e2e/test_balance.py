"""A fleet of unequal members, told from outside: the split by room."""

from collections import Counter

import pytest

from tests.e2e.running import a_job, a_pool, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
NODES = {"large": 100, "almost": 95, "half": 50}
JOBS = 300  # a thousand are placed in tests/services/scheduling


def test_equal_jobs_split_as_the_members_room(tmp_path):
    """Members of 100, 95 and 50 nodes: each gets its part, within five points."""
    members = [{"name": name, "pools": [a_pool(count)]} for name, count in NODES.items()]
    with running_fleet(tmp_path, members, packed=True) as fleet, fleet.client() as hub:
        jobs = [a_job(f"job-{number}", run_s=3600) for number in range(JOBS)]
        hub.submit_many(jobs)
        until(lambda: sum(_split(hub).values()) == JOBS, 60, "all jobs have their cluster")
        split = _split(hub)
        for name, count in NODES.items():
            assert abs(split[name] / JOBS - count / 245) < 0.05, split


def _split(hub) -> Counter[str]:
    return Counter(job.cluster for job in hub.jobs() if job.cluster)

"""Preemptors get the room that they preempted for: hub, agents and simulated members as processes."""

from typing import Any

import pytest
import yaml

from tests.e2e import preempting
from tests.e2e.running import a_pool, running_fleet

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def test_preemptors_run_where_their_victims_were(tmp_path):
    """Findings B6 and K11, one after the other, with a budget of two victims."""
    members = [
        {"name": name, "pools": [a_pool(count, cpu=cpu, memory="64Gi")]}
        for name, (count, cpu) in preempting.MEMBERS.items()
    ]
    env = dict(preempting.SETTINGS)
    with running_fleet(tmp_path, members, packed=True, env=env) as fleet, fleet.client() as hub:
        done = fleet.cli("apply", "-f", "-", stdin=yaml.safe_dump_all(preempting.queues()))
        assert done.returncode == 0, done.stderr

        def pods(member: str) -> list[dict[str, Any]]:
            listed: list[dict[str, Any]] = fleet.read("/api/v1/pods", member)["items"]
            return listed

        preempting.one_victim_is_enough(hub, pods)
        preempting.two_victims_on_one_node(hub, pods)

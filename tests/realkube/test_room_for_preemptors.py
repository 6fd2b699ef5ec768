"""Preemptors get the room that they preempted for, on members whose kube-scheduler is the real one.

The same stories play on simulated members: tests/e2e/test_room_for_preemptors.py.
"""

import json
from typing import Any

import pytest
import yaml

from tests.e2e import preempting
from tests.realkube.processes import hub_and_agents, member, prepare

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(600)]


def test_preemptors_run_where_their_victims_were(real_fleet, tmp_path):
    """Findings B6 and K11: the pods are bound to the nodes that the hub kept for them."""
    sizes = preempting.MEMBERS.items()
    planes = real_fleet([member(name, count, cpu, "64Gi") for name, (count, cpu) in sizes])
    prepare(planes)
    with hub_and_agents(planes, tmp_path, preempting.SETTINGS) as hub:
        hub.apply(yaml.safe_dump_all(preempting.queues()))

        def pods(name: str) -> list[dict[str, Any]]:
            found = planes.members[name].kubectl("get", "pods", "-A", "-o", "json")
            listed: list[dict[str, Any]] = json.loads(found)["items"]
            return listed

        preempting.one_victim_is_enough(hub, pods)
        preempting.two_victims_on_one_node(hub, pods)

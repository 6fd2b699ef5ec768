"""Absence of pods, proved by lists: what appears between two of them is found by a later one."""

import asyncio

import pytest

from agent.member.pods_left import pods_left
from agent.objects.holds import LEADER_WORKER_SET
from tests.agent.parents import a_template
from tests.agent.scripted_hub import eventually

pytestmark = pytest.mark.anyio
STATEFUL_SETS = "statefulsets.apps"


def the_workers(uid):
    """The StatefulSet of a group's workers, of which its controller has made no pod yet."""
    template = a_template(uid, 1, 0)
    template["metadata"]["labels"] |= {"group": "0"}
    template["spec"]["restartPolicy"] = "Always"
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "parent-0", "namespace": "team"},
        "spec": {
            "replicas": 0,
            "serviceName": "parent-0",
            "selector": {"matchLabels": {"group": "0"}},
            "template": template,
        },
    }


async def asked(member, meanwhile):
    """The answer about a LeaderWorkerSet, where `meanwhile` happens between the first two lists."""
    held = member.cluster.faults.add("hold", verb="list", resource="pods", count=1)
    asking = asyncio.create_task(
        pods_left(member.kube, "team", "u-1", "parent", LEADER_WORKER_SET)
    )
    await eventually(lambda: held.hits == 1)
    meanwhile()
    member.cluster.faults.remove(held.id)
    return await asking


async def test_workers_that_a_leader_brought_between_the_first_lists_are_found(member):
    """The leader was there at the first list, made the StatefulSet, and was gone at the second."""

    def lead():
        member.cluster.store.create(STATEFUL_SETS, the_workers("u-1"))

    assert await asked(member, lead) == "StatefulSet parent-0 still exists"


async def test_nothing_is_left_where_nothing_came_between(member):
    """Nor is a StatefulSet of another job."""

    def nothing():
        member.cluster.store.create(STATEFUL_SETS, the_workers("u-2"))

    assert await asked(member, nothing) == ""

"""What one object waits for holds up what needs it, and never a whole member for ever."""

from functools import partial

import pytest

from tests.agent.build import a_config_map, a_deployment, a_namespace
from tests.agent.scripted_hub import an_object

pytestmark = pytest.mark.anyio
ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "readers"},
    "rules": [],
}


async def test_a_namespace_that_is_stuck_going_holds_nobody_else_up(member):
    """Somebody deletes it in the member, and something in it never ends."""
    member.hub.put(an_object(a_namespace("other"), "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    kept = {"metadata": {"name": "kept", "namespace": "other", "finalizers": ["example.com/x"]}}
    await member.kube.create(
        {"apiVersion": "v1", "kind": "ConfigMap", **kept}, field_manager="somebody"
    )
    await member.kube.delete("v1", "Namespace", "", "other")
    await member.hub.until(partial(is_going, uid="o-1"))
    member.hub.put(an_object(a_deployment(), "o-2"))
    await member.hub.seen("o-2", "Applied")


def is_going(hub, uid: str) -> bool:
    return hub.observed[uid].reason == "Deleting"


@pytest.mark.parametrize("fault", ["503", "500"])
async def test_what_a_failing_server_does_not_take_holds_others_up_for_a_few_tries(member, fault):
    """A webhook that is broken for one kind is told of; what others placed goes on."""
    member.cluster.faults.add(fault, verb="patch", resource="clusterroles", count=0)
    member.cluster.faults.add(fault, verb="create", resource="clusterroles", count=0)
    member.hub.put(an_object(ROLE, "o-1"), an_object(a_deployment(), "o-2"))
    member.start()
    await member.hub.seen("o-2", "Applied")


async def test_a_kind_that_may_not_be_read_is_told_and_holds_nobody_up(member):
    """The agent's account lacks a right: the placement says which."""
    member.cluster.faults.add("403", verb="list", resource="clusterroles", count=0)
    member.hub.put(an_object(ROLE, "o-1"), an_object(a_deployment(), "o-2"))
    member.hub.put(an_object(a_config_map(), "o-3"))
    member.start()
    entry = await member.hub.seen("o-1", "Failed")
    assert entry.reason == "KindNotReadable"
    assert "may not list and watch ClusterRole" in entry.message
    await member.hub.seen("o-2", "Applied")

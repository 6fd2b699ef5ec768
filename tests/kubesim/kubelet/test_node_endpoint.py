"""The private endpoint through which tests and demonstrations change the machines."""

import asyncio
import json

import pytest

from shared.kubesim.apimachinery.errors import ApiError
from shared.kubesim.requests.call import Call, User
from shared.kubesim.server.node_endpoint import NodeEndpoint
from tests.kubesim.world import World, a_pool

ADMIN = User("admin", ("system:masters",))


@pytest.fixture
def world():
    return World([a_pool(count=1)])


def ask(world, path, body=None, *, method="POST", user=ADMIN):
    call = Call(method, path, {}, {}, json.dumps(body).encode(), user)
    return asyncio.run(NodeEndpoint(world.behaviours.nodes).answer(call))


def test_an_administrator_adds_and_removes_nodes(world):
    """add answers with the node, remove with an empty object."""
    reply = ask(world, "/_sim/nodes/add", {"name": "big", "allocatable": {"cpu": "64"}})
    assert json.loads(reply.body)["status"]["allocatable"]["cpu"] == "64"
    assert json.loads(ask(world, "/_sim/nodes/remove", {"name": "big"}).body) == {}
    assert [node["metadata"]["name"] for node in world.store.list("nodes")] == ["cpu-0"]


def test_other_paths_are_somebody_elses(world):
    """What is not below the endpoint is passed on."""
    assert ask(world, "/api/v1/nodes") is None


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"user": User("somebody")}, 403),
        ({"method": "GET"}, 405),
        ({"body": ["cpu-0"]}, 400),
        ({"body": {"name": "nobody"}}, 404),
    ],
)
def test_requests_that_are_refused(world, request_, status):
    """Only an administrator, only POST, only an object, only nodes that exist."""
    with pytest.raises(ApiError) as refusal:
        ask(world, "/_sim/nodes/lose", **{"body": {"name": "cpu-0"}, **request_})
    assert refusal.value.status == status

"""Where nodes come from, and what becomes of them over restarts."""

import pytest

from shared.kubesim.apimachinery.errors import ApiError
from tests.kubesim.world import World, a_pool, conditions_of


def names(world):
    return sorted(node["metadata"]["name"] for node in world.store.list("nodes"))


def restarted_with(world, pools):
    world.pools = pools
    return world.restarted()


def test_a_pool_makes_its_nodes():
    """Nodes are named after their pool, ready, labelled and say what they have."""
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    world = World([a_pool("gpu", 2, {"gpu-type": "a100"}, [taint], **{"nvidia.com/gpu": "8"})])
    assert names(world) == ["gpu-0", "gpu-1"]
    node = world.get("nodes", "gpu-1")
    assert node["metadata"]["labels"] == {
        "gpu-type": "a100",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "gpu-1",
        "kubernetes.io/os": "linux",
    }
    assert node["spec"]["taints"] == [taint]
    assert node["status"]["allocatable"] == {"nvidia.com/gpu": "8", "pods": "110"}
    assert node["status"]["capacity"] == node["status"]["allocatable"]
    assert {c["type"]: c["status"] for c in conditions_of(node)}["Ready"] == "True"


def test_a_restart_changes_nothing():
    """The same pools again: not one write."""
    world = World([a_pool()])
    assert world.restarted().writes("nodes") == 0


def test_a_changed_pool_changes_its_nodes():
    """More or fewer nodes, other labels or amounts: the nodes follow at the next start."""
    world = World([a_pool(count=2), a_pool("old", 1)])
    again = restarted_with(world, [a_pool(count=3, labels={"zone": "a"}, cpu="16")])
    assert names(again) == ["cpu-0", "cpu-1", "cpu-2"]
    assert again.get("nodes", "cpu-0")["status"]["allocatable"] == {"cpu": "16", "pods": "110"}
    assert again.get("nodes", "cpu-0")["metadata"]["labels"]["zone"] == "a"


def test_nodes_that_were_added_by_hand_stay():
    """A node outside the pools is kept over a restart; so is a label that somebody set."""
    world = World([a_pool(count=1)])
    world.behaviours.add_node("extra", allocatable={"cpu": "2"})
    node = world.get("nodes", "cpu-0")
    labels = {**node["metadata"]["labels"], "mine": "yes"}
    world.store.update("nodes", {**node, "metadata": {**node["metadata"], "labels": labels}})
    again = world.restarted()
    assert names(again) == ["cpu-0", "extra"]
    assert again.get("nodes", "cpu-0")["metadata"]["labels"]["mine"] == "yes"


def test_a_created_node_comes_up():
    """A Node that somebody creates through the API becomes ready, and takes pods."""
    world = World()
    world.create("nodes", {"metadata": {"name": "n"}, "spec": {}})
    assert {c["type"]: c["status"] for c in conditions_of(world.get("nodes", "n"))}[
        "Ready"
    ] == "True"


@pytest.mark.parametrize(
    ("action", "body", "status"),
    [
        ("add", {}, 400),
        ("add", {"name": "cpu-0"}, 409),
        ("add", {"name": "x", "allocatable": {"cpu": "many"}}, 400),
        ("remove", {"name": "nobody"}, 404),
        ("paint", {"name": "cpu-0"}, 400),
    ],
)
def test_requests_that_make_no_sense_are_refused(action, body, status):
    """The private endpoint refuses as the API server does."""
    world = World([a_pool()])
    with pytest.raises(ApiError) as refusal:
        world.behaviours.nodes_request(action, body)
    assert refusal.value.status == status

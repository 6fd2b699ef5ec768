"""Pools that grow: nodes come for pods that wait, as few as will do, and no more than may be."""

from tests.kubesim.world import World, a_job, a_pool


def growing(most, count=0, name="burst", add_s=2, **more):
    return a_pool(name, count, **more) | {"maxNodes": most, "addSeconds": add_s}


def names(world):
    return sorted(node["metadata"]["name"] for node in world.store.list("nodes"))


def waiting(*, pods=1, cpu="8", name="job"):
    """A Job of so many pods with so much cpu each."""
    return a_job(name, parallelism=pods, completions=pods, requests={"cpu": cpu})


def test_nodes_come_after_a_while_for_pods_that_wait():
    """Three pods of a whole node each: three nodes after two seconds, not before, and they run."""
    world = World([growing(5)])
    world.create("jobs.batch", waiting(pods=3))
    world.advance(1.5)
    assert names(world) == []
    world.advance(1)
    assert names(world) == ["burst-0", "burst-1", "burst-2"]
    world.advance(2)
    assert len(world.pods("Running")) == 3


def test_no_more_nodes_come_than_the_pool_may_have():
    """The nodes that are there count."""
    world = World([growing(2, count=1)])
    world.create("jobs.batch", waiting(pods=5))
    world.advance(10)
    assert names(world) == ["burst-0", "burst-1"]


def test_as_few_nodes_come_as_will_do():
    """Two pods fit one node."""
    world = World([growing(5)])
    world.create("jobs.batch", waiting(pods=4, cpu="4"))
    world.advance(3)
    assert names(world) == ["burst-0", "burst-1"]


def test_pods_that_no_new_node_would_hold_call_for_none():
    """Larger than any node of the pool."""
    world = World([growing(5)])
    world.create("jobs.batch", waiting(cpu="9"))
    world.advance(5)
    assert names(world) == []


def test_new_nodes_say_which_pool_they_are_of_and_how_far_it_may_grow():
    """By the labels that agents read."""
    world = World([growing(5, count=1)])
    labels = world.get("nodes", "burst-0")["metadata"]["labels"]
    assert labels["roadstead.dev/pool"] == "burst"
    assert labels["roadstead.dev/pool-max-nodes"] == "5"


def test_nodes_that_came_stay_over_a_restart():
    """They are not taken for leftovers of a larger pool."""
    world = World([growing(3)])
    world.create("jobs.batch", waiting(pods=2))
    world.advance(3)
    again = world.restarted()
    assert names(again) == ["burst-0", "burst-1"]

"""Bounds of a capacity report: what is just possible is believed, one more is refused as a whole."""

from typing import Any

import pytest

from hub.services.reading.capacity_report import MAX_NODES, check_capacity
from shared import quantity
from shared.wire.agent_v1 import Capacity


def a_report(allocatable: int = 8, free: int = 8, nodes: int = 1, **more: Any) -> Capacity:
    node = {"allocatable": [allocatable], "free": [free]}
    listed = [{"name": f"n{number}", **node} for number in range(nodes)]
    pool = {"labels": {}, "resources": ["cpu"], "nodes": listed}
    return Capacity.model_validate({"pools_revision": 0, "pools": [pool], "bound": []} | more)


def growing(**more: Any) -> dict[str, Any]:
    pool: dict[str, Any] = {"name": "p", "labels": {}, "resources": ["cpu"], "shape": [8]}
    pool |= {"max_nodes": 2, "nodes": 1}
    return {"growing": [pool | more]}


def bound(**more: Any) -> dict[str, Any]:
    return {"bound": [{"uid": "u", "epoch": 1, "bound": 1, "succeeded": 1} | more]}


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, None),
        ({"nodes": MAX_NODES}, None),
        ({"nodes": MAX_NODES + 1}, f"more than {MAX_NODES} nodes"),
        ({"nodes": 0}, None),
        ({"allocatable": 0, "free": 0}, None),  # a node may have none of a resource
        ({"allocatable": -1, "free": -1}, "allocatable cpu is -1"),
        ({"allocatable": quantity.MAX, "free": quantity.MAX}, None),
        ({"allocatable": quantity.MAX + 1}, "allocatable cpu is"),
        ({"free": 8}, None),
        ({"free": 9}, "9 of 8 cpu is free"),
        ({"free": 0}, None),
        ({"free": -1}, None),  # more is promised there than it has
        ({"free": quantity.MIN}, None),
        ({"free": quantity.MIN - 1}, "of 8 cpu is free"),
        (growing(), None),
        (growing(max_nodes=0), None),  # it may not grow now
        (growing(max_nodes=-1), "the number of nodes is negative"),
        (growing(nodes=0), None),
        (growing(nodes=-1), "the number of nodes is negative"),
        (growing(shape=[0]), None),
        (growing(shape=[-1]), "out of bounds"),
        (growing(shape=[quantity.MAX]), None),
        (growing(shape=[quantity.MAX + 1]), "out of bounds"),
        (growing(shape=[1, 1]), "one amount expected"),
        (bound(bound=0, succeeded=0), None),
        (bound(bound=-1), "is negative"),
        (bound(succeeded=-1), "is negative"),
        ({"properties": {"n" * 317: "v" * 256}}, None),
        ({"properties": {"n" * 318: "v"}}, "too long"),
        ({"properties": {"n": "v" * 257}}, "too long"),
    ],
)
def test_a_report_is_believed_up_to_its_bounds(given: dict[str, Any], fault: str | None) -> None:
    """Each bound by itself; what is wrong is said with its node, pool, work or property."""
    try:
        report = a_report(**given)
    except ValueError:
        assert fault is not None  # what the wire's own types refuse needs no bound
        return
    said = check_capacity(report)
    assert (said is None) is (fault is None), said
    assert fault is None or fault in str(said)


def test_each_node_is_listed_once() -> None:
    """Neither twice in a pool nor in two pools: places of pods are counted over all that is listed."""
    pool = a_report(nodes=2).pools[0].model_dump()
    once = {**pool, "nodes": pool["nodes"][:1]}
    twice = {**pool, "nodes": pool["nodes"][:1] * 2}
    on_second = bound(bound=1, nodes=[1, 1])
    for pools in ([twice], [once, once]):
        assert check_capacity(a_report(pools=pools, **on_second)) == "node 'n0' is listed twice"
    assert check_capacity(a_report(pools=[pool], **on_second)) is None
    assert check_capacity(a_report(pools=[once], **on_second)) is not None

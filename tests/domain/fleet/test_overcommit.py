"""Reservations when nodes vanish: who is placed keeps room, then who reserved first."""

import pytest

from hub.domain.fleet.clusters import Cluster, with_report
from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.fleet.overcommit import squeezed_out
from hub.domain.fleet.promises import Members, Promise
from shared.resources import Resources
from tests.services.hubs import a_pool

ASK = NodeAsk((), (), ())


def a_cluster(*cpus: int) -> Cluster:
    """A member with a node of so many CPUs each."""
    pools = [a_pool(cpu=str(cpu)) for cpu in cpus]
    for n, pool in enumerate(pools):
        pool["nodes"][0]["name"] = f"n{n}"
        pool["labels"] = {"n": str(n)}
    return with_report(
        Cluster("c", joined=False), {"pools_revision": 0, "pools": pools, "bound": []}
    )


def a_fleet(nodes: tuple[int, ...], promised: dict[str, int]) -> Members:
    """The cluster with promises of one pod each: uid → CPUs."""
    members = Members()
    members.put(a_cluster(*nodes))
    for uid, cpu in promised.items():
        pods = ((Resources({"cpu": cpu * 1000}), ASK, 1),)
        members.promise(Promise(uid, 1, "c", pods, 1, 0))
    members.refresh(lambda _best, _left: None)
    return members


@pytest.mark.parametrize(
    ("nodes", "promised", "reserved", "out"),
    [
        ((8,), {"a": 4, "b": 4}, ["a", "b"], []),
        ((4,), {"a": 4, "b": 4}, ["a", "b"], ["b"]),
        ((4,), {"a": 4, "b": 4}, ["b", "a"], ["a"]),
        ((4,), {"placed": 4, "a": 1}, ["a"], ["a"]),
        ((3, 3), {"a": 4, "b": 2, "c": 3}, ["a", "b", "c"], ["a"]),
        ((2,), {"placed": 4}, [], []),
    ],
)
def test_who_can_no_longer_be_held(
    nodes: tuple[int, ...], promised: dict[str, int], reserved: list[str], out: list[str]
) -> None:
    """On these nodes, with these promises: the reservations that must go, in their order."""
    assert squeezed_out(a_fleet(nodes, promised), "c", reserved) == out


def test_a_cluster_that_is_unknown_squeezes_nobody() -> None:
    """It has left; that is another rule's business."""
    assert squeezed_out(a_fleet((4,), {"a": 8}), "elsewhere", ["a"]) == []

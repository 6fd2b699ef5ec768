"""The fleet below quota in a live cycle: room kept for whoever others make room for."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from hub.domain.cycle.capacity_view import LiveFleet
from hub.domain.cycle.snapshot import Nomination
from hub.domain.fleet.clusters import BoundPods, Cluster
from hub.domain.fleet.free_capacity import Layout, NodeAsk, Room
from hub.domain.placement.cluster_search import ClusterSearch
from hub.domain.placement.registry import FILTERS
from hub.domain.plan import Assignment, PodSetAssignment
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload, Pods
from shared.resources import Resources
from tests.domain.build import NOW, a_cluster, a_demand, a_pod_set, a_pool, amounts, growing


def test_a_gang_is_tried_in_every_order_that_may_serve() -> None:
    """The larger pod goes first where the smaller would take the only node for it."""
    cluster = a_cluster(a_pool(cpu=6), replace(a_pool(cpu=4), nodes=("small",)))
    fleet = {"c": cluster}
    room = Room.of(Layout([cluster]), fleet)
    live = LiveFleet(room.copy(), room, ClusterSearch(fleet, room, FILTERS, NOW), {})
    demand = a_demand(
        a_pod_set(name="smaller", requests={"cpu": 4}),
        a_pod_set(name="larger", requests={"cpu": 6}),
    )
    who = PendingWorkload("w", "ns", "w", "q", demand.pod_sets, demand=demand)
    given = tuple(PodSetAssignment(p.name, 1, (), (), (), ()) for p in demand.pod_sets)
    assignment = Assignment(given, {}, (NodeAsk(), NodeAsk()))
    assert live.claim(who, assignment, ()) == "c"


@pytest.mark.parametrize(("there", "cluster"), [(2, "c"), (4, None)])
def test_another_claim_takes_first_what_is_left_for_it(there: int, cluster: str | None) -> None:
    """Beside a claim to 2 cpu whose victim still stands, 6 are placed where 6 are free, not where 4 are."""
    member = a_cluster(a_pool(cpu=8, used={"cpu": there}))
    room = Room.of(Layout([member]), {"c": member})
    leaving = AdmittedWorkload("h", "ns", "h", "q", {}, cluster="c", pods=_pods(there))
    claims = {"other": Nomination("c", _pods(2), (leaving,)), "w": Nomination("c", _pods(6))}
    search = ClusterSearch({"c": member}, room, FILTERS, NOW)
    live = LiveFleet(room.copy(), room, search, claims)
    demand = a_demand(a_pod_set(requests={"cpu": 6}))
    who = PendingWorkload("w", "ns", "w", "q", demand.pod_sets, demand=demand)
    given = tuple(PodSetAssignment(p.name, 1, (), (), (), ()) for p in demand.pod_sets)
    assert live.place(who, Assignment(given, {}, (NodeAsk(),))) == cluster


def a_fleet(*clusters: Cluster, claims: Mapping[str, Nomination] | None = None) -> LiveFleet:
    """Nothing is taken yet but what claims keep."""
    fleet = {c.name: c for c in clusters}
    room = Room.of(Layout(clusters), fleet)
    return LiveFleet(room.copy(), room, ClusterSearch(fleet, room, FILTERS, NOW), claims or {})


def of_cpu(cpu: int, uid: str = "w", *, grows: bool = False) -> tuple[PendingWorkload, Assignment]:
    """A workload of one pod, with what it was assigned."""
    demand = a_demand(a_pod_set(requests={"cpu": cpu}))
    who = PendingWorkload(uid, "ns", uid, "q", demand.pod_sets, demand=demand)
    given = (PodSetAssignment("main", 1, (), (), (), ()),)
    return who, Assignment(given, {}, (NodeAsk(growing=grows),))


def a_victim(uid: str, cluster: str, cpu: int) -> AdmittedWorkload:
    return AdmittedWorkload(uid, "ns", uid, "q", {}, cluster=cluster, pods=_pods(cpu))


FULL = a_pool(cpu=4, used={"cpu": 4})


def test_a_claim_is_kept_where_victims_leave() -> None:
    """Not where nobody leaves, though there is room; who has a claim is told the same again."""
    live = a_fleet(a_cluster(FULL, name="full"), a_cluster(a_pool(cpu=9), name="z"))
    gone = [a_victim("v", "full", 4)]
    assert live.claim(*of_cpu(4), gone) == "full"
    assert live.has_claim(of_cpu(4)[0])
    assert live.claim(*of_cpu(4), ()) == "full"
    assert not live.has_claim(of_cpu(4, "other")[0])


def test_a_claim_serves_more_pods_only_where_they_fit() -> None:
    """Its workload may ask for more by now: with what else becomes free there, each counted once."""
    victims = [a_victim("v", "full", 4), a_victim("u", "full", 4)]
    full = a_cluster(a_pool(cpu=8, used={"cpu": 8}), name="full")
    live = a_fleet(full, claims={"w": Nomination("full", _pods(4), (victims[0],))})
    assert live.claim(*of_cpu(4), ()) == "full"
    assert live.claim(*of_cpu(8), victims[:1]) is None
    assert live.claim(*of_cpu(8), victims) == "full"


def test_where_its_victims_leave_too_little_another_cluster_will_do() -> None:
    """Any that may and can; none is none."""
    gone = [a_victim("v", "full", 2)]
    full = a_cluster(FULL, name="full")
    assert a_fleet(full, a_cluster(a_pool(cpu=4), name="b")).claim(*of_cpu(4), gone) == "b"
    closed = a_cluster(a_pool(cpu=4), name="b", cordoned=True)
    assert a_fleet(full, closed).claim(*of_cpu(4), gone) is None


def test_real_room_goes_before_nodes_to_come() -> None:
    """A claim takes nodes that pools may add only where no victim leaves enough."""
    grows = a_cluster(name="z", growing=(growing(),))
    full = a_cluster(FULL, name="full")
    gone = [a_victim("v", "full", 4)]
    assert a_fleet(full, grows).claim(*of_cpu(4, grows=True), gone) == "full"
    assert a_fleet(full, grows).claim(*of_cpu(4, grows=True), ()) == "z"
    assert a_fleet(full, grows).claim(*of_cpu(4), ()) is None


def test_a_claim_on_nodes_to_come_is_placed_with_what_must_be_added() -> None:
    """The nodes are kept for it: another workload finds none of them."""
    live = a_fleet(a_cluster(name="c", growing=(growing(1),)))
    who, assignment = of_cpu(4, grows=True)
    assert live.claim(who, assignment, ()) == "c"
    other, assigned = of_cpu(4, "other", grows=True)
    assert not live.can_hold(other, other.pod_sets, assigned.asks)
    assert live.place(other, assigned) is None
    assert live.place(who, assignment) == "c"
    assert live.choices["w"].scores[0].new_nodes == (("x", 1),)
    assert not live.has_claim(who)


def test_a_claim_is_worth_nothing_where_the_cluster_may_take_it_no_more() -> None:
    """Cordoned meanwhile, or its nodes gone: it is not placed elsewhere either."""
    claims = {"w": Nomination("c", _pods(4))}
    wide = a_cluster(a_pool(cpu=9), name="wide")
    who, assignment = of_cpu(4)
    cordoned = a_cluster(a_pool(cpu=4), name="c", cordoned=True)
    assert a_fleet(cordoned, wide, claims=claims).place(who, assignment) is None
    smaller = a_cluster(a_pool(cpu=3), name="c")
    assert a_fleet(smaller, wide, claims=claims).place(who, assignment) is None
    there = a_cluster(a_pool(cpu=4), name="c")
    assert a_fleet(there, wide, claims=claims).place(who, assignment) == "c"
    left = {"w": Nomination("left", _pods(4))}
    assert a_fleet(there, claims=left).place(who, assignment) == "c"


def test_where_it_may_go_were_clusters_empty() -> None:
    """Large enough nodes on clusters that may take it; with a claim that cluster alone."""
    clusters = [
        a_cluster(FULL, name="full"), a_cluster(a_pool(cpu=3), name="small"),
        a_cluster(a_pool(cpu=9), name="cordoned", cordoned=True), a_cluster(a_pool(cpu=4), name="a"),
    ]  # fmt: skip
    who, _ = of_cpu(4)
    assert a_fleet(*clusters).may_use(who) == ["full", "a"]
    claims = {"w": Nomination("a", _pods(4))}
    assert a_fleet(*clusters, claims=claims).may_use(who) == ["a"]


def test_victims_on_a_cluster_that_has_gone_free_nothing() -> None:
    """Neither do those on another one than is looked at."""
    live = a_fleet(a_cluster(FULL, name="full"))
    who, assignment = of_cpu(4)
    for cluster, holds in (("gone", False), ("full", True)):
        gone = [a_victim("v", cluster, 4)]
        assert live.can_hold(who, who.pod_sets, assignment.asks, gone) is holds


def test_a_claim_counts_on_those_alone_who_leave_its_cluster() -> None:
    """Victims elsewhere, who go for their quota, are not waited for."""
    here, elsewhere = a_victim("here", "full", 4), a_victim("elsewhere", "z", 4)
    live = a_fleet(a_cluster(FULL, name="full"), a_cluster(FULL, name="z"))
    who, assignment = of_cpu(4)
    assert live.claim(who, assignment, [here, elsewhere]) == "full"
    assert live.leaving_for(who) == [here]


def test_a_reduced_assignment_takes_the_room_of_its_pods() -> None:
    """As many as were assigned, not as many as were asked for."""
    demand = a_demand(a_pod_set(count=3, requests={"cpu": 2}))
    who = PendingWorkload("w", "ns", "w", "q", demand.pod_sets, demand=demand)
    live = a_fleet(a_cluster(a_pool(cpu=4)))
    for count, cluster in ((3, None), (2, "c")):
        given = (PodSetAssignment("main", count, (), (), (), ()),)
        assert live.place(who, Assignment(given, {}, (NodeAsk(),))) == cluster


def _pods(cpu: int) -> Pods:
    return ((Resources(amounts({"cpu": cpu})), NodeAsk(), 1),)


def seated(uid: str, cpu: int) -> AdmittedWorkload:
    """One whose pod the report shows on a node."""
    return replace(a_victim(uid, "c", cpu), epoch=1, completions=1)


def reporting(nodes: int = 2, **on: tuple[int, int]) -> Cluster:
    """Full nodes of 4 cpu; node and pods of each workload by uid."""
    bound = {(uid, 1): BoundPods(count, 0, ((node, count),)) for uid, (node, count) in on.items()}
    return a_cluster(a_pool(nodes=nodes, cpu=4, used={"cpu": 4}), bound=bound)


def test_a_claim_is_kept_on_the_node_that_its_victim_leaves() -> None:
    """The model would have had another; nobody else is offered the room there."""
    live = a_fleet(reporting(v=(1, 1)))
    assert live.claim(*of_cpu(4), [seated("v", 4)]) == "c"
    assert live.kept_nodes("w") == ("node-1",)
    other, assigned = of_cpu(1, "other")
    assert not live.can_hold(other, other.pod_sets, assigned.asks)
    assert not live.can_hold(other, other.pod_sets, assigned.asks, [seated("v", 4)])


def test_room_on_two_nodes_is_no_room_for_one_pod() -> None:
    """Two victims of 2 cpu on two nodes leave no node with 4."""
    there = reporting(v=(0, 1), u=(1, 1), x=(0, 1))
    gone = [seated("v", 2), seated("u", 2)]
    assert a_fleet(there).claim(*of_cpu(4), gone) is None
    assert a_fleet(there).claim(*of_cpu(4), [seated("v", 2), seated("x", 2)]) == "c"


def test_a_claim_stays_on_the_nodes_that_it_names() -> None:
    """In the next cycle there is room on both: what was named is kept, the other is anybody's."""
    member = a_cluster(a_pool(nodes=2, cpu=4))
    live = a_fleet(member, claims={"w": Nomination("c", _pods(3), (), ("node-0",))})
    assert live.kept_nodes("w") == ("node-0",)
    assert live.place(*of_cpu(3)) == "c"
    assert live.kept_nodes("w") == ("node-0",)


def test_where_the_node_is_gone_room_is_kept_on_another() -> None:
    """The preemptor waits for no node for ever."""
    claims = {"w": Nomination("c", _pods(3), (), ("gone",))}
    live = a_fleet(a_cluster(a_pool(cpu=4)), claims=claims)
    assert live.kept_nodes("w") == ("node-0",)
    assert live.place(*of_cpu(3)) == "c"


def test_a_preemptor_that_fits_elsewhere_in_its_cluster_waits_no_longer() -> None:
    """Room came free on another node first: it starts there, and nothing is kept for it any more."""
    member = a_cluster(replace(a_pool(cpu=4, used={"cpu": 4}), nodes=("full",)), a_pool(cpu=4))
    live = a_fleet(member, claims={"w": Nomination("c", _pods(3), (), ("full",))})
    assert live.place(*of_cpu(3)) == "c"
    assert live.kept_nodes("w") in {(), ("node-0",)}


def test_a_preemptor_is_counted_once_in_the_share_in_use() -> None:
    """Finding K11: 125 % of a cluster were said to be in use once it is placed."""
    member = a_cluster(a_pool(nodes=2, cpu=8, used={"cpu": 2}))
    live = a_fleet(member, claims={"w": Nomination("c", _pods(6), (), ("node-0",))})
    assert live.place(*of_cpu(6)) == "c"
    (room,) = [t for t in live.choices["w"].scores[0].terms if t.name == "in-use-after"]
    assert room.value == 10 / 16


def test_a_claim_that_can_not_be_judged_keeps_nothing() -> None:
    """The fleet names it; the claims beside it stand."""
    pods: Any = ((None, NodeAsk(), 1),)
    claims = {"bad": Nomination("c", pods), "good": Nomination("c", _pods(2))}
    live = a_fleet(a_cluster(a_pool(cpu=4)), claims=claims)
    assert [live.has_claim(of_cpu(2, uid)[0]) for uid in claims] == [False, True]
    (fault,) = live.faults
    assert fault.startswith("claim of bad: ")


def test_a_claim_partly_on_nodes_to_come_fits_where_it_was_kept() -> None:
    """On the node that it names and on one that is still to come; not where nothing may come."""
    who, assignment = of_cpu(4, grows=True)
    pod_sets = (replace(who.pod_sets[0], count=2),)
    asks = assignment.asks
    grows = a_fleet(a_cluster(a_pool(cpu=4), name="c", growing=(growing(1),)))
    stays = a_fleet(a_cluster(a_pool(cpu=4), name="c"))
    (node,) = a_pool(cpu=4).nodes
    assert grows.fits_on(who, pod_sets, asks, "c", (), (node,))
    assert not grows.fits_on(who, pod_sets, asks, "c", (), ("gone",))
    assert not stays.fits_on(who, pod_sets, asks, "c", (), (node,))

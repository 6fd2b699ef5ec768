"""Equal workloads of a cycle looking for clusters: what a decision lists, and what shrinks meanwhile."""

from dataclasses import replace

import pytest

from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.placement.picking.picker import BELOW_REAL_ROOM, in_new_nodes
from hub.domain.plan import Placement, Plan, Score
from hub.domain.selectors import PropertyExpression
from hub.domain.workloads.demand import Constraints, Demand
from hub.domain.workloads.placement_policy import Policy, Preferred, Required
from shared.quantity import number
from shared.selectors import LabelSelector, parse_selector
from tests.domain.build import (
    PLENTY,
    a_cluster,
    a_demand,
    a_lane,
    a_pod_set,
    a_pool,
    a_queue,
    a_snapshot,
    decide,
    growing,
    where,
)

CPU = "resources.kubernetes-fleet.io/available-cpu"
RICH = a_queue(cpu=PLENTY, memory=PLENTY)


def plan_of(demand: Demand, clusters: list[Cluster], *uids: str) -> Plan:
    return decide(a_snapshot([a_lane(demand, *(uids or ("w",)))], clusters, RICH))


def only(plan: Plan) -> Placement:
    (placement,) = plan.placements
    return placement


def fleet(count: int) -> list[Cluster]:
    """Clusters of 1, 2, 3 … nodes: the later ones have more room."""
    return [a_cluster(a_pool(nodes=n + 1, cpu=8), name=f"c{n:02}") for n in range(count)]


@pytest.mark.parametrize(
    ("count", "listed", "others"), [(1, 1, 0), (2, 2, 0), (8, 8, 0), (9, 2, 7), (30, 2, 28)]
)
def test_how_many_others_a_decision_lists(count: int, listed: int, others: int) -> None:
    """In a small fleet all seven; in a large one the runner-up; the rest is a number."""
    placement = only(plan_of(a_demand(), fleet(count)))
    assert (len(placement.scores), placement.others) == (listed, others)
    names = [score.cluster for score in placement.scores]
    assert names == [f"c{n:02}" for n in range(count - 1, count - 1 - listed, -1)]


def test_under_a_placement_nineteen_others_are_listed() -> None:
    """Best first; whose policy it was is told."""
    policy = Policy("PickN", 1, preferred=(Preferred(100, sorter=CPU),))
    demand = replace(a_demand(constraints=Constraints(policy=policy)), placement="p")
    placement = only(plan_of(demand, fleet(25)))
    assert (len(placement.scores), placement.others, placement.placed_by) == (20, 5, "p")
    assert [s.cluster for s in placement.scores] == [f"c{n:02}" for n in range(24, 4, -1)]
    assert placement.scores[0].score == 100


def test_others_that_would_have_to_grow_stand_below_too() -> None:
    """All of them are scored in nodes to come; the chosen one tells how many it adds."""
    clusters = [
        a_cluster(name="a", growing=(growing(3),)),
        a_cluster(name="b", growing=(growing(9),)),
    ]
    chosen, other = only(plan_of(a_demand(a_pod_set(requests={"cpu": 4})), clusters)).scores
    assert (chosen.cluster, chosen.new_nodes, other.new_nodes) == ("a", (("x", 1),), ())
    assert (chosen.score, other.score) == (3333 - BELOW_REAL_ROOM, 1111 - BELOW_REAL_ROOM)


def test_a_score_in_new_nodes() -> None:
    """Below real room by a fixed amount, with the pools by name; without any it is as it was."""
    score = Score("c", 70)
    assert in_new_nodes(score, {}) is score
    told = in_new_nodes(score, {"z": 1, "a": 2})
    assert (told.score, told.new_nodes) == (70 - BELOW_REAL_ROOM, (("a", 2), ("z", 1)))


def at_least(cpu: str, selector: LabelSelector | None = None) -> Required:
    """Required of a cluster: so much available cpu, and labels."""
    return Required(selector, (PropertyExpression(CPU, "Ge", number(cpu), cpu),))


def under(*terms: Required) -> Constraints:
    return Constraints(policy=Policy("PickN", 1, required=terms))


@pytest.mark.parametrize(
    ("bound", "placed"), [("3", 3), ("2", 4), ("5.001", 0), ("5", 1), ("2.001", 3)]
)
def test_required_availability_is_asked_before_each_placement(bound: str, placed: int) -> None:
    """Of five cpu one less is available after each; down to the bound itself they go there."""
    demand = a_demand(constraints=under(at_least(bound)))
    plan = plan_of(demand, [a_cluster(a_pool(cpu=5))], *"abcdefg")
    assert len(plan.placements) == placed


def test_labels_of_a_required_term_still_count() -> None:
    """Each cluster is held to all of the same term, before each placement."""
    east, west = {"zone": "east"}, {"zone": "west"}
    clusters = [
        a_cluster(a_pool(cpu=3), name="e", labels=east), a_cluster(a_pool(cpu=9), name="w", labels=west),
    ]  # fmt: skip
    demand = a_demand(constraints=under(at_least("2", parse_selector("zone=east"))))
    assert where(plan_of(demand, clusters, "a", "b", "c")) == {"a": "e", "b": "e"}
    terms = at_least("2", parse_selector("zone=east")), at_least("9", parse_selector("zone=west"))
    both = a_demand(constraints=under(*terms))
    assert sorted(where(plan_of(both, clusters, *"abcd")).values()) == ["e", "e", "w"]


def test_availability_counts_what_is_promised_already() -> None:
    """By the room, not by the report."""
    demand = a_demand(constraints=under(at_least("4")))
    picture = a_snapshot([a_lane(demand, "w")], [a_cluster(a_pool(cpu=5))], RICH)
    need = picture.room.layout.need({"cpu": 1500}, NodeAsk())
    picture.room.promise(need, 1, 0)
    assert not decide(picture).placements


def test_what_no_node_reports_is_measured_as_it_is_told() -> None:
    """A static property beside an available one; a resource that is missing satisfies nothing."""
    price = PropertyExpression("price", "Lt", number("2"), "2")
    cpu = PropertyExpression(CPU, "Ge", number("1"), "1")
    gpu = PropertyExpression(CPU.replace("cpu", "nvidia.com/gpu"), "Ge", number("0"), "0")
    cheap = a_cluster(a_pool(cpu=2), properties={"price": "1"})
    for wanted, uids in (((price, cpu), ["a", "b"]), ((cpu, gpu), [])):
        policy = Policy("PickN", 1, required=(Required(properties=wanted),))
        demand = a_demand(constraints=Constraints(policy=policy))
        assert sorted(where(plan_of(demand, [cheap], "a", "b", "c"))) == uids


def test_many_placements_of_others_between_two_looks() -> None:
    """Nine clusters are taken from before a class looks again: it sees what is left of each."""
    clusters = [a_cluster(a_pool(nodes=2, cpu=10), name=f"c{n}") for n in range(10)]
    first = replace(a_demand(a_pod_set(requests={"cpu": 1})), key="first")
    big = replace(a_demand(a_pod_set(name="x", requests={"cpu": 10}), priority=9), key="big")
    late = replace(a_demand(a_pod_set(requests={"cpu": 1}), priority=-9), key="late")
    lanes = [
        a_lane(replace(first, priority=10), "f"),
        a_lane(big, *(f"b{n:02}" for n in range(15))),
        a_lane(late, "l0", "l1"),
    ]
    plan = decide(a_snapshot(lanes, clusters, RICH))
    found = {p.uid: p for p in plan.placements}
    assert len(found) == 18
    taken = dict.fromkeys((c.name for c in clusters), 0)
    for uid, placement in found.items():
        if uid.startswith(("f", "b")):
            taken[placement.cluster] += 1 if uid == "f" else 10
    assert taken[found["l0"].cluster] == min(taken.values())
    used = (min(taken.values()) + 1) / 20
    (term, _) = found["l0"].scores[0].terms
    assert term.score == round(10_000 * (1 - used))
    assert term.value == pytest.approx(used)


def test_a_job_that_asks_for_nothing_goes_by_cpu() -> None:
    """Where any node reports cpu; else all clusters stand alike."""
    nothing = a_demand(a_pod_set(requests={}))
    half = a_cluster(a_pool(cpu=4, used={"cpu": 2}), name="z")
    assert only(plan_of(nothing, [half, a_cluster(a_pool(cpu=4), name="a")])).cluster == "a"
    bare = [a_cluster(a_pool(memory=4), name=name) for name in "ab"]
    assert {s.score for s in only(plan_of(nothing, bare)).scores} == {10_000}
    twenty = plan_of(nothing, bare, *(f"j{n:02}" for n in range(20)))
    assert len(twenty.placements) == 20

"""Clusters for objects of placements: all, the best N, those named; who stays; spread."""

import datetime as dt
from typing import Any

import pytest

from hub.domain.placement.pick import Decisions, Scores, pick
from hub.domain.selectors import Taint
from hub.domain.workloads.placement_policy import Policy, Preferred, Spread, read_policy
from tests.domain.build import NOW, a_cluster, a_pool

CPU = "resources.kubernetes-fleet.io/available-cpu"


def test_pick_all_takes_every_cluster_that_may_with_score_0() -> None:
    """PickAll filters and does not score; the words are KubeFleet's."""
    clusters = [a_cluster(name="cluster-1"), a_cluster(name="cluster-2", cordoned=True)]
    decided = pick(Policy(), clusters, NOW)
    first, second = decided.decisions
    assert first.message == (
        'Successfully scheduled resources for placement in "cluster-1" '
        "(affinity score: 0, topology spread score: 0): picked by scheduling policy"
    )
    assert (second.selected, "cordoned" in second.message) == (False, True)
    assert decided.fulfilled


def test_pick_n_takes_the_best_and_tells_the_others_both_numbers() -> None:
    """A cluster that is not picked learns its affinity and topology score."""
    clusters = [a_cluster(a_pool(cpu=str(n)), name=f"c{n}") for n in (2, 4, 8)]
    decided = pick(Policy("PickN", 1, preferred=(Preferred(100, sorter=CPU),)), clusters, NOW)
    assert decided.selected == ("c8",)
    assert decided.decisions[1].message == (
        'Cluster "c4" was not picked: its score is not high enough '
        "(affinity score: 33, topology spread score: 0)"
    )


def test_what_the_hub_promised_is_not_available() -> None:
    """Availability is what is free less what the hub has given away."""
    busy = a_cluster(a_pool(cpu="8"), name="busy", reserved={"cpu": 6000})
    free = a_cluster(a_pool(cpu="4"), name="free")
    policy = Policy("PickN", 1, preferred=(Preferred(100, sorter=CPU),))
    assert pick(policy, [busy, free], NOW).selected == ("free",)


@pytest.mark.parametrize(
    "resource", ["memory", "nvidia.com/gpu", "ephemeral-storage", "example.com/a-b"]
)
def test_any_resource_can_be_sorted_by(resource: str) -> None:
    """Extended resources and names with a dash or a slash are properties like cpu."""
    few: dict[str, Any] = {resource: 4}
    many: dict[str, Any] = {resource: 8}
    less = a_cluster(a_pool(**few), name="z")
    more = a_cluster(a_pool(**many), name="a")
    sorter = f"resources.kubernetes-fleet.io/allocatable-{resource}"
    policy = Policy("PickN", 1, preferred=(Preferred(10, sorter=sorter),))
    assert pick(policy, [less, more], NOW).selected == ("a",)


def test_chosen_clusters_stay_chosen_whatever_becomes_of_them() -> None:
    """Taints, cordons and silence never unseat a cluster; being gone from the fleet does."""
    old = NOW - dt.timedelta(hours=1)
    chosen = {"a": Scores(70, 0), "b": Scores(10, 0)}
    a = a_cluster(name="a", taints=(Taint("x", "", "NoSchedule"),), heartbeat_at=old)
    decided = pick(Policy("PickN", 2), [a, a_cluster(name="c")], NOW, chosen=chosen)
    assert decided.selected == ("a", "c")
    assert decided.decisions[0].affinity_score == 70


def test_scaling_down_drops_the_lowest_score_the_smaller_name_first() -> None:
    """Of kept clusters that are too many the lowest score goes; of equals the smaller name."""
    clusters = [a_cluster(name=n) for n in "abc"]
    chosen = {"a": Scores(5), "b": Scores(5), "c": Scores(9)}
    assert pick(Policy("PickN", 2), clusters, NOW, chosen=chosen).selected == ("b", "c")


def test_too_few_clusters_leave_the_policy_unfulfilled() -> None:
    """PickN that finds fewer than it wants says so."""
    decided = pick(Policy("PickN", 3), [a_cluster(name="a")], NOW)
    assert (decided.selected, decided.fulfilled) == (("a",), False)


def test_a_cluster_of_an_older_policy_wins_a_tie() -> None:
    """Bound under an older policy, it competes anew with a bonus that only breaks ties."""
    clusters = [a_cluster(name="a"), a_cluster(name="b")]
    assert pick(Policy("PickN", 1), clusters, NOW, obsolete={"a"}).selected == ("a",)
    assert pick(Policy("PickN", 1), clusters, NOW).selected == ("b",)


def test_pick_fixed_ignores_taints_and_affinity() -> None:
    """Named clusters are taken if they are eligible; unknown names leave it unfulfilled, and are told."""
    tainted = a_cluster(name="a", taints=(Taint("x", "", "NoSchedule"),))
    decided = pick(Policy("PickFixed", cluster_names=("a", "gone")), [tainted], NOW)
    assert (decided.selected, decided.fulfilled) == (("a",), False)
    assert why(decided) == {"gone": "it is not in the fleet: add it, or name another"}


def test_required_affinity_is_labels_and_properties() -> None:
    """Terms are ORed, their parts ANDed; a missing property satisfies nothing, not even Ne."""
    required = {
        "clusterSelectorTerms": [
            {
                "labelSelector": {"matchLabels": {"zone": "east"}},
                "propertySelector": {
                    "matchExpressions": [{"name": CPU, "operator": "Ge", "values": ["4"]}]
                },
            },
            {
                "propertySelector": {
                    "matchExpressions": [{"name": "x", "operator": "Ne", "values": ["1"]}]
                }
            },
        ]
    }
    policy = read_policy(
        {
            "affinity": {
                "clusterAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
            }
        }
    )
    east, west = {"zone": "east"}, {"zone": "west"}
    clusters = [
        a_cluster(a_pool(cpu="4"), name="fits", labels=east),
        a_cluster(a_pool(cpu="2"), name="small", labels=east),
        a_cluster(a_pool(cpu="8"), name="west", labels=west),
        a_cluster(name="by-property", labels=west, properties={"x": "2"}),
    ]
    assert pick(policy, clusters, NOW).selected == ("by-property", "fits")


SPREAD = (Spread("zone", 1),)


def _zones(**counts: int) -> tuple[list[Any], dict[str, Scores]]:
    clusters, chosen = [], {}
    for zone, count in counts.items():
        clusters.append(a_cluster(name=f"{zone}-new", labels={"zone": zone}))
        for n in range(count):
            clusters.append(a_cluster(name=f"{zone}-{n}", labels={"zone": zone}))
            chosen[f"{zone}-{n}"] = Scores()
    return clusters, chosen


@pytest.mark.parametrize(
    ("counts", "picked", "score"),
    [
        ({"east": 2, "west": 0}, "west-new", 1),
        ({"a": 0, "b": 0, "c": 1}, "b-new", 0),
        ({"a": 1, "b": 1}, "b-new", -1),
    ],
    ids=["T1", "T3", "T4"],
)
def test_topology_spread(counts: dict[str, int], picked: str, score: int) -> None:
    """The next pick keeps the skew within bounds, with the score of how it changes the skew."""
    clusters, chosen = _zones(**counts)
    policy = Policy("PickN", len(chosen) + 1, spread=SPREAD)
    decided = pick(policy, clusters, NOW, chosen=chosen)
    (new,) = set(decided.selected) - set(chosen)
    assert new == picked
    assert next(d for d in decided.decisions if d.cluster == new).topology_score == score


def test_a_move_that_lowers_the_skew_is_always_allowed() -> None:
    """Although the skew stays above its bound after the move, it is not refused."""
    clusters, chosen = _zones(east=4, west=0)
    decided = pick(Policy("PickN", 5, spread=SPREAD), clusters, NOW, chosen=chosen)
    assert "west-new" in decided.selected


def why(decided: Decisions) -> dict[str, str]:
    """Of those not picked, without the words that all have."""
    return {
        d.cluster: d.message.removeprefix(f'Cluster "{d.cluster}" was not picked: ')
        for d in decided.decisions
        if not d.selected
    }


def test_pick_fixed_tells_why_a_cluster_is_not_taken() -> None:
    """One that is not named, or is not heard of; one already bound stays whatever it is."""
    silent = {"heartbeat_at": NOW - dt.timedelta(hours=1)}
    clusters = [
        a_cluster(name="bound", **silent), a_cluster(name="silent", **silent),
        a_cluster(name="ok"), a_cluster(name="other"),
    ]  # fmt: skip
    policy = Policy("PickFixed", cluster_names=("ok", "silent", "bound", "ok"))
    decided = pick(policy, clusters, NOW, chosen={"bound": Scores(9, 9)})
    assert decided.selected == ("bound", "ok")
    assert (decided.wanted, decided.fulfilled) == (3, False)
    assert why(decided) == {
        "other": "the placement does not name it",
        "silent": "its agent has been silent for 60 minutes: see whether it runs there and reaches the hub",
    }
    assert decided.decisions[0].affinity_score == 0
    assert decided.message == (
        "scheduler could not find all clusters needed: 2 found, 3 cluster(s) wanted"
    )


def test_pick_n_fills_up_in_order_and_tells_what_it_found() -> None:
    """The best two of three; the third stood as high as the second and has the smaller name."""
    clusters = [
        a_cluster(a_pool(cpu=str(n)), name=name)
        for name, n in zip("abcd", (4, 4, 8, 2), strict=True)
    ]
    policy = Policy("PickN", 2, preferred=(Preferred(90, sorter=CPU),))
    decided = pick(policy, clusters, NOW)
    assert decided.selected == ("b", "c")
    assert [d.cluster for d in decided.decisions] == ["b", "c", "a", "d"]
    assert [d.affinity_score for d in decided.decisions] == [30, 90, 30, 0]
    assert why(decided)["a"].startswith("tied at 30 with b; the tie is broken by the larger name")
    assert decided.message == "scheduler found all clusters needed: 2 found, 2 cluster(s) wanted"


def test_what_was_bound_before_wins_the_tie_and_is_told() -> None:
    """Not for one that was bound as well."""
    clusters = [a_cluster(name=n) for n in "abc"]
    decided = pick(Policy("PickN", 1), clusters, NOW, obsolete={"a"})
    told = "tied at 0 with a; the tie is broken by what is placed there already"
    assert all(each.startswith(told) for each in why(decided).values())
    both = pick(Policy("PickN", 1), clusters, NOW, obsolete={"a", "b"})
    assert both.selected == ("b",)
    assert "the larger name" in why(both)["a"]
    assert "what is placed there already" in why(both)["c"]


def test_kept_clusters_that_are_too_many_are_told_so() -> None:
    """Topology then affinity of their pick; they may not come in again by another way."""
    clusters = [a_cluster(name=n) for n in "abc"]
    chosen = {"a": Scores(5, 1), "b": Scores(4, 1), "c": Scores(9, 0)}
    decided = pick(Policy("PickN", 1), clusters, NOW, chosen=chosen)
    assert decided.selected == ("a",)
    assert set(why(decided).values()) == {"more clusters were picked than are wanted now"}


@pytest.mark.parametrize("count", [0, None])
def test_none_wanted_is_none_picked(count: int | None) -> None:
    """Zero is a number; that is fulfilled."""
    decided = pick(Policy("PickN", count), [a_cluster(name="a")], NOW)
    assert (decided.selected, decided.wanted, decided.fulfilled) == ((), 0, True)


def test_a_hard_spread_leaves_the_policy_unfulfilled() -> None:
    """What one more would exceed is told; a refusal that has passed is forgotten."""
    clusters, _ = _zones(east=2)
    clusters.append(a_cluster(name="west", labels={"zone": "west"}))
    decided = pick(Policy("PickN", 4, spread=SPREAD), clusters, NOW)
    assert (len(decided.selected), decided.fulfilled) == (3, False)
    assert list(why(decided).values()) == ["zone=east would exceed a skew of 1"]


def test_a_property_that_can_not_be_read_is_noted() -> None:
    """It counts as missing, and that is said."""
    clusters = [
        a_cluster(name="a", properties={"p": "much"}),
        a_cluster(name="b", properties={"p": "1"}),
    ]
    decided = pick(Policy("PickN", 1, preferred=(Preferred(10, sorter="p"),)), clusters, NOW)
    assert decided.notes == ('cluster a: property "p" is not a quantity; counted as missing',)


def test_promises_of_what_no_node_has_change_nothing() -> None:
    """A reservation may be of a resource that has gone."""
    clusters = [a_cluster(a_pool(cpu="2"), name="a", reserved={"gone": 5}), a_cluster(name="b")]
    policy = Policy("PickN", 1, preferred=(Preferred(10, sorter=CPU),))
    assert pick(policy, clusters, NOW).selected == ("b",)


def test_the_kind_that_is_placed_must_be_served() -> None:
    """A cluster that does not is told so."""
    clusters = [a_cluster(name="a", kinds=frozenset({"apps/v1/Deployment"})), a_cluster(name="b")]
    decided = pick(Policy(), clusters, NOW, kind="v1/ConfigMap")
    assert (decided.selected, decided.wanted) == (("b",), None)
    assert why(decided) == {"a": "v1/ConfigMap is not served there"}
    assert decided.message.endswith("1 found, every matching cluster wanted")

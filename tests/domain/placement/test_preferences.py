"""Scores kept up to date while a cycle takes room: as if every cluster were scored anew."""

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import Layout, Need, NodeAsk, Room
from hub.domain.placement.scoring.preferences import Ranking
from hub.domain.workloads.placement_policy import Preferred
from shared.resources import Resources
from shared.selectors import parse_selector
from tests.domain.build import a_cluster, a_pool, amounts

CPU = "resources.kubernetes-fleet.io/available-cpu"
MEMORY = "resources.kubernetes-fleet.io/available-memory"
EVEN = parse_selector("even=yes")

terms = st.lists(
    st.builds(
        Preferred,
        st.sampled_from([-70, 0, 30, 100]),
        selector=st.sampled_from([None, EVEN]),
        sorter=st.sampled_from(["", CPU, MEMORY]),
        ascending=st.booleans(),
    ),
    min_size=1,
    max_size=3,
)
# Few sizes, so that several clusters have the largest.
fleets = st.lists(st.tuples(st.sampled_from([0, 8, 16]), st.booleans()), min_size=1, max_size=4)
# Where how many pods of how much are taken, so many placements before the scores are asked for.
takes = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3), st.integers(1, 4)), max_size=20),
    max_size=4,
)


def a_fleet(sizes: list[tuple[int, bool]]) -> dict[str, Cluster]:
    """Clusters of so many cpu and 8 Gi; not all of them tell their memory, every other has a label."""
    fleet = {}
    for n, (cpu, told) in enumerate(sizes):
        pool = a_pool(cpu=cpu, memory="8Gi") if told else a_pool(cpu=cpu)
        labels = {"even": "yes"} if n % 2 == 0 else {}
        fleet[f"c{n}"] = a_cluster(pool, name=f"c{n}", labels=labels)
    return fleet


def a_need(room: Room, cpu: int) -> Need:
    return room.layout.need(Resources(amounts({"cpu": cpu})), NodeAsk())


@given(terms, fleets, takes)
# Two have the largest value, and both lose some of it, one after the other.
@example(
    [Preferred(100, sorter=CPU)],
    [(16, True), (16, True), (8, True)],
    [[(1, 1, 1)], [(2, 1, 1)]],
)
def test_scores_after_each_placement_are_those_of_a_ranking_made_anew(
    preferred: list[Preferred],
    sizes: list[tuple[int, bool]],
    rounds: list[list[tuple[int, int, int]]],
) -> None:
    """However many placements lie between two looks, and whether least or largest moved by them."""
    clusters = a_fleet(sizes)
    room = Room.of(Layout(list(clusters.values())), clusters)
    kept = Ranking(preferred, clusters, room)
    for placements in rounds:
        for at, cpu, count in placements:
            if at < len(clusters):
                room.take(a_need(room, cpu), count, at)
        anew = Ranking(preferred, clusters, room)
        assert np.array_equal(kept.refresh(), anew.scores)
        assert [kept.listed(at) for at in range(len(clusters))] == [
            anew.listed(at) for at in range(len(clusters))
        ]


@pytest.mark.parametrize("taken", [12, 13])
def test_many_placements_between_two_looks(taken: int) -> None:
    """However many there were, scores are those of what is left; what was listed is listed anew."""
    clusters = a_fleet([(16, True), (16, True), (0, True)])
    room = Room.of(Layout(list(clusters.values())), clusters)
    ranking = Ranking([Preferred(100, sorter=CPU)], clusters, room)
    assert [ranking.listed(at).score for at in range(3)] == [0, 100, 100]
    for _ in range(taken):
        assert room.take(a_need(room, 1), 1, 1)
    share = round((16 - taken) / 16 * 100)
    assert ranking.refresh().tolist() == [0, share, 100]
    term = ranking.listed(1).terms[0]
    assert (term.score, term.value, term.name, term.weight) == (share, 16.0 - taken, CPU, 100)


def test_who_has_not_the_property_scores_nothing() -> None:
    """Neither sorted up nor down; its value is none."""
    clusters = {
        "a": a_cluster(name="a", properties={"p": "2"}),
        "b": a_cluster(name="b", properties={"p": "6"}),
        "c": a_cluster(name="c"),
        "d": a_cluster(name="d", properties={"p": "3"}),
    }
    room = Room.of(Layout(list(clusters.values())), clusters)
    down = Ranking([Preferred(10, sorter="p")], clusters, room)
    up = Ranking([Preferred(10, sorter="p", ascending=True)], clusters, room)
    assert dict(zip("dcba", down.scores.tolist(), strict=True)) == {
        "a": 0,
        "b": 10,
        "c": 0,
        "d": 3,
    }
    assert dict(zip("dcba", up.scores.tolist(), strict=True)) == {"a": 10, "b": 0, "c": 0, "d": 8}
    assert [down.listed(at).terms[0].value for at in range(4)] == [3.0, None, 6.0, 2.0]


def test_a_preference_without_weight_is_none() -> None:
    """It neither scores nor is listed among the terms of a decision."""
    clusters = a_fleet([(4, True)])
    room = Room.of(Layout(list(clusters.values())), clusters)
    ranking = Ranking([Preferred(0, sorter=CPU)], clusters, room)
    assert (list(ranking.refresh()), ranking.listed(0).terms) == ([0], ())

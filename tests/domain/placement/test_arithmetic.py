"""KubeFleet's affinity score, by the worked examples of its arithmetic (P1 … P15)."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hub.domain.placement import pick
from hub.domain.placement.scoring.arithmetic import (
    known_range,
    round_half_away,
    round_one,
    sorted_score,
    sorted_scores,
)
from hub.domain.workloads.placement_policy import Policy, Preferred
from tests.domain.build import NOW, a_cluster

P = "example.com/value"

EXAMPLES: dict[str, Any] = {
    "P1": ({"a": 10, "b": 20, "c": 100}, [(100, False)], {"a": 0, "b": 11, "c": 100}, "cba"),
    "P2": ({"a": 10, "b": 20, "c": 100}, [(100, True)], {"a": 100, "b": 89, "c": 0}, "abc"),
    "P3": ({"v": 20, "s": 10, "j": 5}, [(100, False)], {"v": 100, "s": 33, "j": 0}, "vsj"),
    "P5": ({"1": 0.05, "2": 0.02, "3": None}, [(50, True)], {"1": 0, "2": 50, "3": 0}, "231"),
    "P7": ({"a": 8, "b": 8, "g": 8}, [(100, False)], {"a": 0, "b": 0, "g": 0}, "gba"),
    "P11 Desc": ({"0": 0, "1": 1, "2": 2}, [(25, False)], {"0": 0, "1": 13, "2": 25}, "210"),
    "P11 minus": ({"0": 0, "1": 1, "2": 2}, [(-25, False)], {"0": 0, "1": -13, "2": -25}, "012"),
    "P11 Asc": ({"0": 0, "1": 1, "2": 2}, [(25, True)], {"0": 25, "1": 13, "2": 0}, "012"),
    "P13": ({"1": 0, "2": 2, "3": None}, [(100, True)], {"1": 100, "2": 0, "3": 0}, "132"),
    "P15": ({"a": None, "b": None, "c": None}, [(100, False)], {"a": 0, "b": 0, "c": 0}, "cba"),
    "guide": (
        {"x": 4, "y": 16, "z": 8},
        [(40, False), (30, False)],
        {"x": 0, "y": 70, "z": 23},
        "yzx",
    ),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_worked_examples(example: str) -> None:
    """Scores and order are KubeFleet's, ties by the larger name."""
    values, terms, scores, order = EXAMPLES[example]
    clusters = [
        a_cluster(name=n, properties={} if v is None else {P: str(v)}) for n, v in values.items()
    ]
    preferred = tuple(Preferred(w, sorter=P, ascending=a) for w, a in terms)
    policy = Policy("PickN", count=0, preferred=preferred)
    found = []
    for wanted in range(1, len(clusters) + 1):
        decided = pick.pick(Policy("PickN", count=wanted, preferred=preferred), clusters, NOW)
        found += [d.cluster for d in decided.decisions if d.selected and d.cluster not in found]
    none = pick.pick(policy, clusters, NOW)
    assert {d.cluster: d.affinity_score for d in none.decisions} == scores
    assert "".join(found) == order


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(0.5, 1), (-0.5, -1), (1.5, 2), (2.5, 3), (0.49999999999999994, 0), (-2.4, -2), (12.5, 13)],
)
def test_half_is_rounded_away_from_zero(value: float, rounded: int) -> None:
    """R rounds half away from zero, exactly as Go's math.Round."""
    assert round_one(value) == rounded
    assert round_half_away(np.array([value])).tolist() == [rounded]


finite = st.floats(0, 1e15, allow_nan=False)


@given(
    st.lists(finite | st.just(math.nan), min_size=1, max_size=12),
    st.integers(-100, 100),
    st.booleans(),
)
def test_one_cluster_scores_as_in_the_array(
    values: list[float], weight: int, ascending: bool
) -> None:
    """The scalar and the array formula agree bit for bit, and stay between 0 and the weight."""
    array = np.array(values)
    low, high = known_range(array)
    scores = sorted_scores(weight, array, low, high, ascending=ascending).tolist()
    assert scores == [sorted_score(weight, v, low, high, ascending=ascending) for v in values]
    assert all(min(0, weight) <= s <= max(0, weight) for s in scores)


def test_a_value_that_does_not_parse_counts_as_missing_with_a_note() -> None:
    """One unreadable property lowers that cluster to 0 and stops no other."""
    clusters = [
        a_cluster(name="a", properties={P: "1"}),
        a_cluster(name="b", properties={P: "2"}),
        a_cluster(name="z", properties={P: "lots"}),
    ]
    policy = Policy("PickN", count=1, preferred=(Preferred(100, sorter=P),))
    decided = pick.pick(policy, clusters, NOW)
    assert decided.selected == ("b",)
    assert decided.notes == (f'cluster z: property "{P}" is not a quantity; counted as missing',)

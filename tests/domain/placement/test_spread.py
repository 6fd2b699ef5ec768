"""Topology spread: which moves break a constraint, and what the others are worth."""

import pytest

from hub.domain.placement.spread import SpreadScore, spread_score
from hub.domain.workloads.placement_policy import Spread
from tests.domain.build import a_cluster


@pytest.mark.parametrize(
    ("zone", "score"),
    [
        ("a", SpreadScore(1)),  # it lowers the skew
        ("b", SpreadScore(0, "zone=b would exceed a skew of 1")),  # it leaves it as it is
        ("c", SpreadScore(0, "zone=c would exceed a skew of 1")),
    ],
)
def test_beyond_its_bound_a_skew_may_only_fall(zone: str, score: SpreadScore) -> None:
    """With 0, 2 and 3 clusters in three zones and a skew of 1 allowed, only the first may get one."""
    fleet = [a_cluster(name=f"{z}{n}", labels={"zone": z}) for z in "abc" for n in range(4)]
    chosen = {"b0", "b1", "c0", "c1", "c2"}
    cluster = next(each for each in fleet if each.name == f"{zone}3")
    assert spread_score([Spread("zone", 1)], cluster, fleet, chosen) == score

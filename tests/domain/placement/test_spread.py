"""Topology spread: what adding one cluster does to the skew of each constraint."""

import pytest

from hub.domain.fleet.clusters import Cluster
from hub.domain.placement.spread import SpreadScore, spread_score
from hub.domain.workloads.placement_policy import Spread
from tests.domain.build import a_cluster

SOFT = Spread("zone", 1, required=False)
HARD = Spread("zone", 1)


def fleet(**counts: int) -> tuple[list[Cluster], set[str]]:
    """Per zone so many chosen clusters, and one more that is not."""
    clusters = [
        a_cluster(name=f"{zone}{n}", labels={"zone": zone})
        for zone, count in counts.items()
        for n in range(count + 1)
    ]
    chosen = {f"{zone}{n}" for zone, count in counts.items() for n in range(count)}
    return clusters, chosen


def score(constraint: Spread, zone: str, **counts: int) -> SpreadScore:
    """Of the cluster of `zone` that is not chosen yet."""
    clusters, chosen = fleet(**counts)
    new = next(c for c in clusters if c.name == f"{zone}{counts[zone]}")
    return spread_score([constraint], new, clusters, chosen)


@pytest.mark.parametrize(
    ("zone", "counts", "expected"),
    [
        ("a", {"a": 0}, -1),  # one zone is the largest and the smallest: its skew would be 1 by rule
        ("a", {"a": 1, "b": 1}, -1),
        ("a", {"a": 0, "b": 1}, 1),  # the only smallest one lowers the skew
        ("a", {"a": 0, "b": 0, "c": 1}, 0),  # one of two smallest leaves it
        ("b", {"a": 0, "b": 1, "c": 2}, -1000),  # skew 2 is above 1 already and does not fall
        ("a", {"a": 0, "b": 1, "c": 2}, 1),
        ("c", {"a": 0, "b": 1, "c": 1}, -1000),  # one more of the largest: 2
    ],
)  # fmt: skip
def test_what_one_more_does_to_the_skew(zone: str, counts: dict[str, int], expected: int) -> None:
    """Lower is +1, unchanged 0, higher -1, and -1000 where a wish would be violated."""
    assert score(SOFT, zone, **counts) == SpreadScore(expected)


@pytest.mark.parametrize(("most", "refused"), [(1, True), (2, False)])
def test_a_required_spread_refuses_beyond_its_skew(*, most: int, refused: bool) -> None:
    """A skew of exactly maxSkew is allowed; what is refused is told with zone and bound."""
    found = score(Spread("zone", most), "c", a=0, b=1, c=1)
    words = "zone=c would exceed a skew of 1"
    assert found == (SpreadScore(0, words) if refused else SpreadScore(-1))


def test_a_cluster_without_the_label_is_not_judged() -> None:
    """It violates nothing and scores 0, and its absence counts for no zone."""
    clusters, chosen = fleet(a=3, b=0)
    bare = a_cluster(name="bare")
    assert spread_score([HARD], bare, [*clusters, bare], chosen) == SpreadScore(0)
    with_bare = spread_score([HARD], clusters[-1], [*clusters, bare], {*chosen, "bare"})
    assert with_bare == SpreadScore(1)


def test_constraints_add_up() -> None:
    """Each key is judged by its own counts; the first that refuses is told."""
    labels = [{"zone": "a", "rack": "1"}, {"zone": "b", "rack": "1"}]
    clusters = [a_cluster(name=f"c{n}", labels=each) for n, each in enumerate(labels)]
    both = [SOFT, Spread("rack", 9, required=False)]
    assert spread_score(both, clusters[1], clusters, {"c0"}) == SpreadScore(1 - 1)
    narrow = [SOFT, Spread("rack", 1)]
    assert spread_score(narrow, clusters[1], clusters, {"c0"}) == SpreadScore(0)


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


def test_of_several_smallest_zones_each_may_have_one_more() -> None:
    """Else three in one zone and none in two others would stay so; KubeFleet refuses it."""
    clusters, chosen = fleet(a=0, b=0, c=3)
    new = next(each for each in clusters if each.name == "a0")
    assert spread_score([HARD], new, clusters, chosen) == SpreadScore(0)
    kubefleets = spread_score([HARD], new, clusters, chosen, repairs=False)
    assert kubefleets.refused == "zone=a would exceed a skew of 1"

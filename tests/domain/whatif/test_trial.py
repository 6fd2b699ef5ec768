"""A workload's case on one picture and on others: how each cluster stands, and how little is asked."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from hub.domain.admission.flavor_assigner import Mode
from hub.domain.whatif.trial import CLUSTERS, Stand, Variation
from hub.domain.workloads.demand import QUOTA_ONLY, Constraints
from tests.domain.build import PLENTY, a_cluster, a_demand, a_pod_set, a_pool, a_queue, growing
from tests.domain.whatif.pictures import LOWER, a_holder, a_picture, a_trial

TWO = a_demand(a_pod_set(requests={"cpu": 2}))
RICH = a_queue(cpu=PLENTY)


@given(st.integers(0, 40), st.integers(1, 40))
def test_the_least_that_will_do(most: int, enough: int) -> None:
    """By halving: at most so many questions as the number has bits, and one; none where all are too few."""
    trial = a_trial(a_picture(), TWO)
    asked: list[int] = []

    def will_do(number: int) -> bool:
        asked.append(number)
        return number >= enough

    assert trial.least(most, will_do) == (enough if enough <= most else None)
    assert len(asked) <= most.bit_length() + 1


def test_without_questions_left_there_is_no_least() -> None:
    """Not even the most is tried."""
    assert a_trial(a_picture(), TWO, left=0).least(3, lambda _: True) is None


def test_how_each_cluster_stands() -> None:
    """Those that could hold it first, then by name, each with its reason."""
    clusters = [
        a_cluster(a_pool(cpu=1), name="a"),
        a_cluster(a_pool(cpu=4), name="b", cordoned=True),
        a_cluster(a_pool(cpu=4), name="d"),
        a_cluster(a_pool(cpu=2), name="c"),
    ]
    trial = a_trial(a_picture((), RICH, clusters=clusters), TWO)
    assert trial.fleet(trial.ask()) == [
        Stand("c", ""),
        Stand("d", ""),
        Stand("a", "misses 1 cpu on one node"),
        Stand("b", "the cluster is cordoned"),
    ]


def test_how_clusters_stand_whatever_quota_says() -> None:
    """Also where no flavor was found; of who asks for quota alone no cluster is told."""
    empty = a_trial(a_picture((), a_queue(memory=1)), TWO)
    nominee = empty.ask()
    assert nominee.search.assignment is None
    assert empty.fleet(nominee) == [Stand("c", "")]
    only = replace(TWO, constraints=QUOTA_ONLY)
    quota = a_trial(a_picture(), only)
    assert quota.fleet(quota.ask()) == []


def test_of_a_large_fleet_fifty_clusters_are_told() -> None:
    """No more."""
    clusters = [a_cluster(a_pool(cpu=4), name=f"c{n:02}") for n in range(CLUSTERS + 2)]
    trial = a_trial(a_picture((), RICH, clusters=clusters), TWO)
    assert len(trial.fleet(trial.ask())) == CLUSTERS


def test_pod_sets_that_only_fit_apart_do_not_fit() -> None:
    """Each fits the cluster, not both: no cluster can hold them together."""
    sets = [a_pod_set(name=name, requests={"cpu": 3}) for name in "ab"]
    trial = a_trial(a_picture((), RICH, clusters=[a_cluster(a_pool(cpu=4))]), a_demand(*sets))
    found = trial.ask().search
    assert (found.mode, found.reason) == (Mode.NO_FIT, "NoClusterFits")
    assert not trial.fits(Variation())
    more = a_cluster(a_pool(nodes=2, cpu=4))
    assert trial.fits(Variation(clusters={"c": more}))


def test_each_question_differs_in_one_thing_alone() -> None:
    """Priority, policy, constraints: what one changed is as it was for the next."""
    picture = a_picture([a_holder("h", 4, priority=3)])
    trial = a_trial(picture, TWO)
    assert not trial.ask(Variation(priority=4)).victims
    may = Variation(priority=4, policy=LOWER)
    assert [v.holder.uid for v in trial.ask(may).victims] == ["h"]
    assert not trial.ask(Variation(policy=LOWER)).victims
    assert trial.ask().search.mode is Mode.NO_CANDIDATES
    nowhere = Variation(gone=[a_holder("h", 4)], constraints=Constraints(clusters=("x",)))
    assert not trial.fits(nowhere)
    assert trial.left == 95


def test_whose_room_is_free_once_they_are_gone() -> None:
    """Of those that hold quota and room both are given back; the picture stays as it is."""
    holder = a_holder("h", 4, cluster="c")
    picture = a_picture([holder], clusters=[a_cluster(a_pool(cpu=4))])
    trial = a_trial(picture, TWO)
    assert not trial.fits(Variation())
    assert trial.fits(Variation(gone=[holder]))
    assert not trial.fits(Variation())


@pytest.mark.parametrize(("nodes", "fits"), [(1, False), (2, True)])
def test_nodes_to_come_count_beside_another_fleet(*, nodes: int, fits: bool) -> None:
    """With one cluster changed, what is promised of nodes to come of the others stays promised."""
    grows = a_cluster(name="grows", growing=(growing(nodes),))
    other = a_cluster(a_pool(cpu=1), name="other")
    picture = a_picture((), RICH, clusters=[grows, other])
    assert picture.room.growth is not None
    at = picture.room.layout.position["grows"]
    picture.room.growth.free[picture.room.layout.row["cpu"], :1] = 0
    assert at in (0, 1)
    trial = a_trial(picture, TWO)
    assert trial.fits(Variation(clusters={"other": replace(other, cordoned=True)})) is fits

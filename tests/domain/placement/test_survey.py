"""The state of every cluster for one job: what `explain` tells of a fleet."""

from collections.abc import Mapping
from dataclasses import replace

from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import Layout, NodeAsk, Room
from hub.domain.placement.cluster_search import OVERLOADED, ClusterSearch, Survey
from hub.domain.placement.registry import FILTERS
from hub.domain.placement.scoring.pace import NO_STARTS, Starts
from hub.domain.workloads.demand import Demand
from tests.domain.build import NOW, a_cluster, a_demand, a_pod_set, a_pool

TWO_CPU = a_demand(a_pod_set(requests={"cpu": 2}))
FLEET = (
    a_cluster(a_pool(cpu=8), name="large"),
    a_cluster(a_pool(cpu=4), name="small"),
    a_cluster(a_pool(cpu=4, used={"cpu": 3}), name="full"),
    a_cluster(a_pool(cpu=8), name="away", cordoned=True),
)


def a_search(*clusters: Cluster, starts: Mapping[str, Starts] = NO_STARTS) -> ClusterSearch:
    fleet = {c.name: c for c in clusters}
    return ClusterSearch(fleet, Room.of(Layout(clusters), fleet), FILTERS, NOW, starts)


def survey(demand: Demand = TWO_CPU) -> Survey:
    return a_search(*FLEET).survey(demand, (NodeAsk(),), "job")


def test_every_cluster_is_told_once() -> None:
    """Those that could hold it with a score, the others with the reason."""
    told = survey()
    assert {s.cluster for s in told.scores} == {"large", "small"}
    reasons = {v.cluster: v.rejection.reason for v in told.refused}
    assert reasons == {"full": "InsufficientRoom", "away": "ClusterCordoned"}


def test_the_cluster_that_it_would_go_to_is_first() -> None:
    """The first of a survey is the choice of the picker."""
    chosen = a_search(*FLEET).picker(TWO_CPU, (NodeAsk(),)).place("job")
    assert chosen is not None
    assert survey().scores[0].cluster == chosen.cluster


def test_an_avoided_cluster_could_hold_it_and_comes_later() -> None:
    """A cluster that it left after a failure is told, though another is chosen."""
    first = survey().scores[0].cluster
    avoiding = replace(TWO_CPU, constraints=replace(TWO_CPU.constraints, avoided=(first,)))
    told = survey(avoiding)
    assert told.scores[0].cluster != first
    assert first in {s.cluster for s in told.scores}


def test_a_survey_takes_no_room() -> None:
    """Asked twice, it tells the same."""
    search = a_search(*FLEET)
    assert search.survey(TWO_CPU, (NodeAsk(),), "a") == search.survey(TWO_CPU, (NodeAsk(),), "a")


def test_a_cluster_whose_create_window_is_full_is_refused_for_that() -> None:
    """As many jobs as it may have are on their way there."""
    full = {"large": Starts(unapplied=3, window=3)}
    told = a_search(*FLEET, starts=full).survey(TWO_CPU, (NodeAsk(),), "job")
    reasons = {v.cluster: v.rejection.reason for v in told.refused}
    assert reasons["large"] == OVERLOADED
    assert [s.cluster for s in told.scores] == ["small"]

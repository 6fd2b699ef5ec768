"""Where a workload may go: read from its annotations, its history and its pods."""

import datetime as dt

import pytest

from hub.domain.workloads.demand import (
    CLUSTER_SELECTOR,
    CLUSTERS,
    JOB,
    QUOTA_ONLY,
    explanation_key,
    kind_constraint,
    queue_profile,
    read_constraints,
    selected_keys,
)
from hub.domain.workloads.placement_policy import Policy
from shared.errors import Rejected
from shared.resources import Expression, NodeTerm, PodSet, Toleration
from shared.selectors import parse_selector
from tests.domain.build import a_demand, a_pod_set

SPOT, GPU = Toleration("spot", "Exists"), Toleration("gpu", "Exists")


@pytest.mark.parametrize(
    ("text", "clusters"),
    [(" b, a ,,c", ("a", "b", "c")), ("a", ("a",)), ("", None), (",", ())],
)
def test_named_clusters_are_sorted_and_trimmed(text: str, clusters: tuple[str, ...]) -> None:
    """An empty annotation names none and forbids none; one of commas alone forbids all."""
    assert read_constraints({CLUSTERS: text}, None, None, ()).clusters == clusters
    assert read_constraints({}, None, None, ()).clusters is None


def test_a_selector_is_read_in_kubectls_notation() -> None:
    """What is not one is refused with the annotation's name."""
    found = read_constraints({CLUSTER_SELECTOR: "zone=a"}, None, None, ())
    assert found.selector == parse_selector("zone=a")
    assert read_constraints({CLUSTER_SELECTOR: ""}, None, None, ()).selector is None
    with pytest.raises(Rejected) as refused:
        read_constraints({CLUSTER_SELECTOR: "zone in"}, None, None, ())
    assert refused.value.field == CLUSTER_SELECTOR


def test_clusters_set_aside_are_sorted_and_their_instants_are_utc() -> None:
    """An instant that carries no zone is UTC."""
    until = {"b": "2026-01-01T12:00:00", "a": "2026-01-01T12:00:00+02:00"}
    assert read_constraints({}, until, None, ()).set_aside == (
        ("a", dt.datetime(2026, 1, 1, 10, tzinfo=dt.UTC)),
        ("b", dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)),
    )


def _sets(*tolerations: tuple[Toleration, ...]) -> list[PodSet]:
    return [a_pod_set(tolerations=each) for each in tolerations]


@pytest.mark.parametrize(
    ("pod_sets", "expected"),
    [
        ([], ()),
        (_sets((SPOT, GPU)), (SPOT, GPU)),
        (_sets((SPOT, GPU), (GPU,)), (GPU,)),
        (_sets((SPOT,), (GPU,)), ()),
        (_sets((SPOT,), (SPOT,), ()), ()),
    ],
)
def test_a_taint_is_tolerated_where_all_pod_sets_do(
    pod_sets: list[PodSet], expected: tuple[Toleration, ...]
) -> None:
    """A cluster's taint concerns every pod."""
    assert read_constraints({}, None, None, pod_sets).tolerations == expected


def test_under_a_placement_its_tolerations_count() -> None:
    """Not those of the pods."""
    policy = Policy(tolerations=(GPU,))
    found = read_constraints({}, None, policy, _sets((SPOT,)))
    assert (found.tolerations, found.policy) == ((GPU,), policy)


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ({"cpu": "1"}, {"cpu": 100}),
        ({"memory": "1Gi", "cpu": "1"}, {"cpu": 50, "memory": 50}),
        ({"cpu": "1", "memory": "1", "gpu": 1}, {"cpu": 33, "memory": 33, "nvidia.com/gpu": 33}),
        ({"cpu": "1", "gpu": 0, "ephemeral-storage": "1Gi"}, {"cpu": 100}),
        ({"ephemeral-storage": "1Gi"}, {"cpu": 100}),
        ({"cpu": "1", "vpc.amazonaws.com/pod-eni": 1, "smarter-devices/fuse": 1}, {"cpu": 100}),
    ],
)
def test_kubefleets_arithmetic_sorts_by_what_is_asked(
    requests: dict[str, str | int], expected: dict[str, int]
) -> None:
    """CPU, memory and devices alike, a hundred together, rounded down; cpu where none of them is asked."""
    found = queue_profile([a_pod_set(requests=requests)])
    prefix = "resources.kubernetes-fleet.io/available-"
    assert {p.sorter.removeprefix(prefix): p.weight for p in found} == expected
    assert not any(p.ascending for p in found)


def test_keys_that_the_pods_look_at() -> None:
    """Of selectors and of every term's requirements, not of its fields."""
    term = NodeTerm((Expression("a", "Exists"),), (Expression("metadata.name", "In", ("n",)),))
    pods = [
        a_pod_set(node_selector=(("b", ""),), affinity_terms=(term,)),
        a_pod_set(affinity_terms=(NodeTerm((Expression("c", "Exists"),)),)),
        a_pod_set(),
    ]
    assert selected_keys(pods) == {"a", "b", "c"}


def test_who_wants_no_kind_asks_for_quota_alone() -> None:
    """An empty kind means that nothing is created anywhere."""
    assert a_demand(constraints=QUOTA_ONLY).quota_only
    assert not a_demand().quota_only


def test_a_class_is_named_by_queue_shape_and_constraints() -> None:
    """Other constraints are another class; a queue's name counts by its first hundred characters."""
    one = explanation_key("q", "s", ["a", None])
    assert one.startswith("q/s/")
    assert one == explanation_key("q", "s", ["a", None])
    assert one != explanation_key("q", "s", ["a", ""])
    assert explanation_key("x" * 101, "s", []) == explanation_key("x" * 100, "s", [])
    assert explanation_key("x" * 99, "s", []) != explanation_key("x" * 100, "s", [])


def test_a_job_asks_for_the_kind_of_its_object():
    """Jobs of every version are one kind; another kind is asked for in its version."""
    assert kind_constraint("batch/v1", "Job") == JOB
    assert kind_constraint("a.b/v1", "Set") == "a.b/v1/Set"

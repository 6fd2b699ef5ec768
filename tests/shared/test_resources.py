"""What a pod requests and what a Job's pods request together: Kubernetes' own rule."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from shared import quantity
from shared.errors import Rejected
from shared.resources import (
    Expression,
    NodeTerm,
    Resources,
    Toleration,
    job_pod_sets,
    pod_requests,
)


def a_container(requests=None, limits=None, **more):
    return {"name": "c", "resources": {"requests": requests, "limits": limits}, **more}


def a_sidecar(cpu):
    return a_container({"cpu": cpu}, restartPolicy="Always")


def cpu_of(**pod_spec):
    return pod_requests(pod_spec).get("cpu")


def test_app_containers_add_up():
    """Containers run side by side, so their requests add up."""
    asked = [a_container({"cpu": "1"}), a_container({"cpu": "500m", "memory": "1Gi"})]
    assert pod_requests({"containers": asked}) == {"cpu": 1500, "memory": 1024**3}


def test_the_sum_is_rounded_once():
    """Rounding up happens on the total, not on each container."""
    assert cpu_of(containers=[a_container({"cpu": "300u"})] * 3) == 1


def test_an_init_container_counts_by_itself():
    """Init containers run one after the other: the largest counts if it exceeds the sum."""
    init = [a_container({"cpu": "3"}), a_container({"cpu": "1"})]
    assert cpu_of(containers=[a_container({"cpu": "2"})], initContainers=init) == 3000
    assert cpu_of(containers=[a_container({"cpu": "4"})], initContainers=init) == 4000


def test_a_sidecar_adds_to_the_app_containers():
    """A restartable init container runs beside the app containers."""
    assert cpu_of(containers=[a_container({"cpu": "2"})], initContainers=[a_sidecar("1")]) == 3000


def test_a_sidecar_runs_beside_later_init_containers_only():
    """An init container meets the sidecars that were started before it, not those after it."""
    big = a_container({"cpu": "5"})
    app = [a_container({"cpu": "1"})]
    assert cpu_of(containers=app, initContainers=[a_sidecar("2"), big]) == 7000
    assert cpu_of(containers=app, initContainers=[big, a_sidecar("2")]) == 5000
    assert cpu_of(containers=app, initContainers=[a_sidecar("2"), big, a_sidecar("6")]) == 9000


def test_a_limit_is_the_request_where_there_is_none():
    """Kubernetes defaults a missing request to the limit, resource by resource."""
    asked = a_container({"cpu": "1"}, {"cpu": "2", "nvidia.com/gpu": 1})
    assert pod_requests({"containers": [asked]}) == {"cpu": 1000, "nvidia.com/gpu": 1}


def test_overhead_is_added():
    """The runtime's overhead comes on top."""
    assert cpu_of(containers=[a_container({"cpu": "1"})], overhead={"cpu": "250m"}) == 1250


def test_pod_level_requests_replace_the_sum():
    """spec.resources counts instead of the containers, for CPU, memory and huge pages alone."""
    pod = {
        "containers": [a_container({"cpu": "1", "nvidia.com/gpu": "1"})],
        "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "9", "memory": "1Gi"}},
    }
    assert pod_requests(pod) == {"cpu": 4000, "memory": 1024**3, "nvidia.com/gpu": 1}


def test_pod_level_requests_below_the_containers_are_not_believed():
    """Each resource counts at least what the containers ask for, and overhead on top."""
    pod: dict[str, Any] = {
        "initContainers": [a_container({"memory": "2Gi"})],
        "containers": [a_container({"cpu": "100", "memory": "1Gi"})],
        "resources": {"requests": {"cpu": "1", "memory": "3Gi"}},
        "overhead": {"cpu": "1"},
    }
    assert pod_requests(pod) == {"cpu": 101_000, "memory": 3 * 1024**3}
    pod["resources"]["requests"]["memory"] = "1Gi"
    assert pod_requests(pod)["memory"] == 2 * 1024**3


def test_a_sum_beyond_63_bits_is_refused():
    """Two containers that overflow together are QuantityTooLarge."""
    half = a_container({"memory": "5000000000000000000"})
    with pytest.raises(Rejected, match="QuantityTooLarge"):
        pod_requests({"containers": [half, half]})


@pytest.mark.parametrize(
    ("parallelism", "completions", "count"),
    [(None, None, 1), (3, 3, 3), (5, 3, 3), (3, 5, 3), (3, None, 3), (None, 4, 1), (0, 4, 0)],
)
def test_a_job_counts_the_pods_that_run_at_once(parallelism, completions, count):
    """The pod set's count is min(parallelism, completions), each 1 by default."""
    spec = {"parallelism": parallelism, "completions": completions, "template": {}}
    (pods,) = job_pod_sets({"spec": {k: v for k, v in spec.items() if v is not None}})
    assert (pods.name, pods.count) == ("main", count)


def test_a_job_beyond_63_bits_is_refused():
    """The product of request and count is checked."""
    template = {"spec": {"containers": [a_container({"memory": "1E"})]}}
    with pytest.raises(Rejected, match="QuantityTooLarge"):
        job_pod_sets({"spec": {"parallelism": 100, "completions": 100, "template": template}})


def test_a_pod_set_carries_where_its_pods_may_go():
    """Node selector, required affinity and tolerations come along as hashable records."""
    expression = {"key": "zone", "operator": "In", "values": ["a", "b"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    spec = {
        "nodeSelector": {"b": "2", "a": "1"},
        "affinity": affinity,
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
    }
    (pods,) = job_pod_sets({"spec": {"template": {"spec": spec}}})
    assert pods.node_selector == (("a", "1"), ("b", "2"))
    assert pods.affinity_terms == (NodeTerm((Expression("zone", "In", ("a", "b")),)),)
    assert pods.tolerations == (Toleration("gpu", "Exists"),)
    assert hash(pods)


def test_fewer_pods_may_do():
    """Kueue's annotation for partial admission sets the least number of pods."""
    metadata = {"annotations": {"kueue.x-k8s.io/job-min-parallelism": "2"}}
    (pods,) = job_pod_sets({"metadata": metadata, "spec": {"parallelism": 5}})
    assert pods.min_count == 2


vectors = st.dictionaries(st.sampled_from("abc"), st.integers(0, quantity.MAX)).map(Resources)


@given(vectors, vectors)
def test_vectors_obey_the_laws_of_addition(a, b):
    """Adding and taking away are inverse, order does not matter, absent means zero."""
    assert a + b == b + a
    assert a + b - b == a
    assert a <= a + b
    assert a.fits(a + b)
    assert hash(a + b - b) == hash(a)


@given(vectors, vectors)
def test_what_is_lacking_is_what_would_make_it_fit(a, room):
    """A vector fits exactly when nothing is lacking, and fits once the lack is supplied."""
    assert a.fits(room) == (not a.lacking(room))
    assert a.fits(room + a.lacking(room))


def test_vectors_print_in_canonical_form():
    """A vector reads as people write quantities."""
    assert str(Resources({"memory": 2 * 1024**3, "cpu": 1500})) == "cpu 1500m, memory 2Gi"


def test_saturating_holds_amounts_within_64_bits():
    """A sum that left 64 bits is held at the end of the range."""
    assert Resources({"cpu": quantity.MAX * 3}).saturating() == {"cpu": quantity.MAX}

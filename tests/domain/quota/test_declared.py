"""Quota as manifests declare it, and what an admission charges."""

import pytest

from hub.domain.quota.declared import (
    EVERYTHING,
    FlavorResource,
    LocalQueue,
    Quota,
    read_cluster_queue,
    read_flavor,
    read_local_queue,
    read_usage,
)
from hub.domain.selectors import Taint
from shared.errors import Rejected
from shared.quantity import MAX
from shared.resources import Toleration
from shared.selectors import LabelSelector
from tests.domain.build import a_queue

CPU = FlavorResource("f", "cpu")


def _spec(**resource: object) -> dict[str, object]:
    listed = [{"name": "f", "resources": [{"name": "cpu", **resource}]}]
    return {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": listed}]}


@pytest.mark.parametrize(
    ("resource", "quota"),
    [
        ({}, Quota(0)),
        ({"nominalQuota": "1500m"}, Quota(1500)),
        ({"nominalQuota": "0.0001"}, Quota(1)),
        ({"nominalQuota": "2", "borrowingLimit": "0", "lendingLimit": "1"}, Quota(2000, 0, 1000)),
        ({"nominalQuota": str(MAX)}, Quota(MAX)),
    ],
)
def test_quotas_are_exact_and_limits_may_be_absent(
    resource: dict[str, object], quota: Quota
) -> None:
    """Parts of a milli-core are rounded up; a limit of 0 is not the same as none."""
    assert read_cluster_queue("q", {}, _spec(**resource)).quotas == {CPU: quota}


def test_a_quantity_that_is_none_is_refused() -> None:
    """With the field that holds it."""
    with pytest.raises(Rejected) as refused:
        read_cluster_queue("q", {}, _spec(nominalQuota="2", lendingLimit="much"))
    assert refused.value.field == "lendingLimit"


def test_what_a_spec_leaves_out() -> None:
    """BestEffortFIFO, no cohort, not stopped, weight 1."""
    queue = read_cluster_queue("q", {"a": "b"}, None)
    assert (queue.strict, queue.cohort, queue.stopped, queue.weight) == (False, "", False, "1")
    assert (queue.labels, queue.groups, queue.quotas) == ({"a": "b"}, (), {})


def test_what_a_spec_says() -> None:
    """Both spellings of the cohort; the newer one counts."""
    spec = {
        "queueingStrategy": "StrictFIFO", "cohort": "old", "cohortName": "new",
        "stopPolicy": "Hold", "fairSharing": {"weight": "2500m"},
    }  # fmt: skip
    queue = read_cluster_queue("q", {}, spec)
    assert (queue.strict, queue.cohort, queue.stopped, queue.weight) == (
        True,
        "new",
        True,
        "2500m",
    )
    assert read_cluster_queue("q", {}, {"cohort": "old"}).cohort == "old"


@pytest.mark.parametrize(
    ("spec", "missing", "expected"),
    [
        ({}, EVERYTHING, EVERYTHING),
        ({}, None, None),
        ({"namespaceSelector": {}}, None, LabelSelector()),
        (
            {"namespaceSelector": {"matchLabels": {"a": "b"}}},
            EVERYTHING,
            LabelSelector((("a", "b"),)),
        ),
    ],
)
def test_an_absent_namespace_selector_means_what_the_reader_says(
    spec: dict[str, object], missing: LabelSelector | None, expected: LabelSelector | None
) -> None:
    """One that is there counts as it is, the empty one too."""
    assert read_cluster_queue("q", {}, spec, missing).selector == expected


def test_the_group_that_covers_a_resource() -> None:
    """None where no group does."""
    queue = a_queue(cpu=1, memory=1)
    assert queue.group_of("memory") is queue.groups[0]
    assert queue.group_of("pods") is None


def test_a_flavor_is_read_from_its_spec() -> None:
    """Labels sorted; taints and tolerations as they are."""
    spec = {
        "nodeLabels": {"b": "2", "a": "1"},
        "nodeTaints": [{"key": "t", "effect": "NoSchedule"}],
        "tolerations": [{"key": "t", "operator": "Exists"}],
        "topologyName": "racks",
    }
    flavor = read_flavor("f", spec)
    assert flavor.labels == (("a", "1"), ("b", "2"))
    assert flavor.taints == (Taint("t", "", "NoSchedule"),)
    assert (flavor.tolerations, flavor.topology) == ((Toleration("t", "Exists"),), "racks")
    assert read_flavor("f", None).labels == ()


@pytest.mark.parametrize(
    ("weight", "expected"), [(None, 1.0), ("500m", 0.5), (0, 0.0), ("2", 2.0)]
)
def test_the_weight_of_a_local_queue(weight: object, expected: float) -> None:
    """1 where none is given; zero is a weight."""
    read = read_local_queue("ns", "lq", {"clusterQueue": "q", "fairSharing": {"weight": weight}})
    assert read == LocalQueue("ns", "lq", "q", "None", expected)


def test_a_local_queue_that_is_stopped_or_empty() -> None:
    """Any policy but None stops it; without a spec it leads nowhere."""
    assert read_local_queue("ns", "lq", {"stopPolicy": "HoldAndDrain"}).stopped
    empty = read_local_queue("ns", "lq", None)
    assert (empty.cluster_queue, empty.stopped) == ("", False)


def test_what_an_admission_charges() -> None:
    """Pod sets of one flavor are added up, up to 63 bits; of what is nothing nothing is charged."""
    admission = {
        "podSets": [
            {"flavors": {"cpu": "f", "memory": "g"}, "usage": {"cpu": 3, "memory": 0}},
            {"flavors": {"cpu": "f"}, "usage": {"cpu": "4", "pods": 2}},
            {"flavors": {"cpu": "big"}, "usage": {"cpu": MAX}},
            {"flavors": {"cpu": "big"}, "usage": {"cpu": 1}},
            {},
        ]
    }
    assert read_usage(admission) == {
        CPU: 7, FlavorResource("", "pods"): 2, FlavorResource("big", "cpu"): MAX,
    }  # fmt: skip
    assert read_usage(None) == {}

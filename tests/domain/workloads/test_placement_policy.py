"""A placement's policy as its manifest has it."""

import pytest

from hub.domain.selectors import PropertyExpression
from hub.domain.workloads.placement_policy import (
    Policy,
    Preferred,
    Required,
    Spread,
    read_policy,
)
from shared.quantity import number
from shared.resources import Toleration
from shared.selectors import LabelSelector

EAST = LabelSelector((("zone", "east"),))
LABELS = {"labelSelector": {"matchLabels": {"zone": "east"}}}


def test_without_a_policy_every_cluster_is_picked() -> None:
    """Absent and empty mean PickAll."""
    assert read_policy(None) == read_policy({}) == Policy("PickAll")


def test_number_names_and_tolerations_are_read() -> None:
    """PickN counts, PickFixed names; both may tolerate."""
    spec = {
        "placementType": "PickN", "numberOfClusters": 0, "clusterNames": ["b", "a"],
        "tolerations": [{"key": "k", "operator": "Exists"}],
    }  # fmt: skip
    assert read_policy(spec) == Policy(
        "PickN", 0, ("b", "a"), tolerations=(Toleration("k", "Exists"),)
    )


def test_required_terms_have_labels_and_properties() -> None:
    """A part that is absent asks for nothing."""
    expression = {"name": "p", "operator": "Lt", "values": ["2"]}
    terms = [LABELS, {"propertySelector": {"matchExpressions": [expression]}}]
    wanted = {"clusterSelectorTerms": terms}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": wanted}
    read = read_policy({"affinity": {"clusterAffinity": affinity}})
    assert read.required == (
        Required(EAST),
        Required(properties=(PropertyExpression("p", "Lt", number("2"), "2"),)),
    )


@pytest.mark.parametrize(
    ("sorter", "expected"),
    [
        ({}, Preferred(7, EAST)),
        ({"name": "p", "sortOrder": "Ascending"}, Preferred(7, EAST, "p", ascending=True)),
        ({"name": "p", "sortOrder": "Descending"}, Preferred(7, EAST, "p")),
    ],
)
def test_preferences_have_weight_labels_and_a_sorter(
    sorter: dict[str, str], expected: Preferred
) -> None:
    """Larger is better unless it is sorted ascending."""
    preferred = [{"weight": 7, "preference": {**LABELS, "propertySorter": sorter}}, {}]
    affinity = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    read = read_policy({"affinity": {"clusterAffinity": affinity}})
    assert read.preferred == (expected, Preferred(0))


def test_spread_is_required_with_a_skew_of_one_unless_told_otherwise() -> None:
    """ScheduleAnyway makes it a wish."""
    wish = {"topologyKey": "z", "maxSkew": 3, "whenUnsatisfiable": "ScheduleAnyway"}
    read = read_policy({"topologySpreadConstraints": [{"topologyKey": "z"}, wish]})
    assert read.spread == (Spread("z", 1, required=True), Spread("z", 3, required=False))

"""Kubernetes' semantics of taints, tolerations and node affinity; KubeFleet's of properties."""

from decimal import Decimal

import pytest

from hub.domain.selectors import (
    PropertyExpression,
    Taint,
    node_matches,
    read_properties,
    read_taints,
    read_tolerations,
    tolerates,
    untolerated,
)
from shared.errors import Rejected
from shared.resources import Expression, NodeTerm, Toleration

GPU = Taint("gpu", "a100", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration("gpu", "Equal", "a100", "NoSchedule"), True),
        (Toleration("gpu", "Equal", "a100", ""), True),
        (Toleration("gpu", "Equal", "a100", "NoExecute"), False),
        (Toleration("gpu", "Equal", "t4", "NoSchedule"), False),
        (Toleration("gpu", "Equal", "", "NoSchedule"), False),
        (Toleration("disk", "Equal", "a100", "NoSchedule"), False),
        (Toleration("gpu", "Exists", "", "NoSchedule"), True),
        (Toleration("gpu", "Exists", "", ""), True),
        (Toleration("gpu", "Exists", "", "NoExecute"), False),
        (Toleration("disk", "Exists", "", ""), False),
        (Toleration("", "Exists", "", ""), True),
        (Toleration("", "Exists", "", "NoExecute"), False),
        (Toleration("", "Equal", "a100", ""), False),
    ],
)
def test_a_toleration_matches_by_key_operator_value_and_effect(
    toleration: Toleration, expected: bool
) -> None:
    """Equal compares key and value, Exists the key alone or none; an empty effect is any effect."""
    assert tolerates(toleration, GPU) is expected


@pytest.mark.parametrize(
    ("effect", "blocks"),
    [("NoSchedule", True), ("NoExecute", True), ("PreferNoSchedule", False), ("", False)],
)
def test_only_two_effects_keep_pods_away(effect: str, blocks: bool) -> None:
    """NoSchedule and NoExecute block; PreferNoSchedule is a wish."""
    taint = Taint("k", "v", effect)
    assert untolerated([taint], []) == (taint if blocks else None)


def test_each_taint_needs_a_toleration_of_its_own() -> None:
    """The first blocking taint that none of the tolerations covers is named."""
    taints = [Taint("soft", "", "PreferNoSchedule"), GPU, Taint("x", "", "NoExecute")]
    one = Toleration("gpu", "Exists")
    both = [one, Toleration("x", "Exists")]
    assert untolerated(taints, []) == GPU
    assert untolerated(taints, [one]) == taints[2]
    assert untolerated(taints, iter(both)) is None


@pytest.mark.parametrize(
    ("taint", "text"),
    [(GPU, "gpu=a100:NoSchedule"), (Taint("x", "", "NoExecute"), "x:NoExecute")],
)
def test_taints_are_spelled_as_kubectl_does(taint: Taint, text: str) -> None:
    """`key=value:effect`, without `=` where there is no value."""
    assert str(taint) == text


def test_what_manifests_leave_out_of_taints_and_tolerations() -> None:
    """Absent parts are empty; a toleration's operator is Equal, its seconds none."""
    assert read_taints([{"key": "a", "effect": "NoExecute"}]) == (Taint("a", "", "NoExecute"),)
    assert read_taints(None) == ()
    assert read_tolerations([{"key": "a", "tolerationSeconds": 5}, {"operator": "Exists"}]) == (
        Toleration("a", "Equal", "", "", 5),
        Toleration("", "Exists", "", "", None),
    )
    assert read_tolerations(None) == ()


def _in(key: str, *values: str) -> Expression:
    return Expression(key, "In", values)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (None, True),
        ((), False),
        ((NodeTerm(),), False),
        ((NodeTerm((_in("zone", "a"),)),), True),
        ((NodeTerm((_in("zone", "b"),)),), False),
        ((NodeTerm((_in("zone", "a"), _in("disk", "ssd"))),), False),
        ((NodeTerm((_in("zone", "b"),)), NodeTerm((_in("zone", "a"),))), True),
        ((NodeTerm(fields=(_in("metadata.name", "n"),)),), True),
        ((NodeTerm((_in("zone", "b"),), (_in("metadata.name", "n"),)),), False),
    ],
)
def test_required_node_affinity(terms: tuple[NodeTerm, ...] | None, expected: bool) -> None:
    """Terms are ORed, their requirements ANDed; an empty term matches nothing, fields are not judged."""
    assert node_matches(terms, {"zone": "a"}) is expected


@pytest.mark.parametrize(
    ("operator", "less", "equal", "more"),
    [
        ("Gt", False, False, True),
        ("Ge", False, True, True),
        ("Eq", False, True, False),
        ("Ne", True, False, True),
        ("Lt", True, False, False),
        ("Le", True, True, False),
        ("Like", False, False, False),
    ],
)
def test_property_operators(operator: str, *, less: bool, equal: bool, more: bool) -> None:
    """What is measured stands on the left; an operator that nobody knows holds of nothing."""
    wanted = PropertyExpression("p", operator, Decimal(4), "4")
    measured = [Decimal("3.999"), Decimal(4), Decimal("4.001")]
    assert [wanted.holds(each) for each in measured] == [less, equal, more]
    assert not wanted.holds(None)


def test_properties_are_quantities() -> None:
    """Values are read as Kubernetes' quantities and shown as they were written."""
    (read,) = read_properties(
        {"matchExpressions": [{"name": "p", "operator": "Ge", "values": ["1500m"]}]}
    )
    assert (read.value, str(read)) == (Decimal("1.5"), "p Ge 1500m")
    assert read_properties(None) == ()
    with pytest.raises(Rejected):
        read_properties({"matchExpressions": [{"name": "p", "operator": "Ge", "values": ["x"]}]})

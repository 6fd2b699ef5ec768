"""Rules of availability as an administrator declares them: which are refused, with field and what to do."""

import pytest

from shared.errors import Rejected
from shared.kinds.availability_rules import Rule
from shared.kinds.declared_availability import MOST_RULES, check, rules_of


def a_rule(**given):
    whole = {"group": "ray.io", "kind": "RayCluster", "available": "cond('Ready')", "message": ""}
    return {**whole, **given}


def test_rules_that_are_expressions_are_taken():
    """Of custom kinds, also of those with a built-in rule; by group and kind."""
    given = [a_rule(message="'not yet'"), a_rule(group="kueue.x-k8s.io", kind="ClusterQueue")]
    check(given)
    assert rules_of(given)[("ray.io", "RayCluster")] == Rule("cond('Ready')", "'not yet'")


@pytest.mark.parametrize(
    ("given", "field", "told"),
    [
        ({"group": ""}, "rules[0].group", "kinds that Kubernetes brings have rules of their own"),
        ({"group": "apps"}, "rules[0].group", "the API group of a custom resource"),
        ({"group": "networking.k8s.io"}, "rules[0].group", "the API group of a custom resource"),
        ({"group": "Ray.io"}, "rules[0].group", "the API group of a custom resource"),
        ({"kind": "rayclusters"}, "rules[0].kind", "a kind as manifests have it"),
        ({"kind": ""}, "rules[0].kind", "a kind as manifests have it"),
        ({"kind": "R" * 64}, "rules[0].kind", "a kind as manifests have it"),
        ({"available": ""}, "rules[0].available", "true or false: it is empty"),
        ({"available": "status.ready"}, "rules[0].available", "fields begin with object."),
        ({"available": "object.a =="}, "rules[0].available", "Syntax error"),
        ({"message": "object.a."}, "rules[0].message", "gives a text"),
    ],
)
def test_what_is_no_rule_is_refused_with_its_field(given, field, told):
    """And what would be one."""
    with pytest.raises(Rejected) as refused:
        check([a_rule(**given)])
    (error,) = refused.value.errors
    assert (error.field, error.code.status) == (field, 422)
    assert told in error.message


def test_every_fault_is_told_at_once():
    """One per field, in order; a kind has one rule."""
    with pytest.raises(Rejected) as refused:
        check([a_rule(), a_rule(available="x"), a_rule(kind="B", message="1 +")])
    fields = [each.field for each in refused.value.errors]
    assert fields == ["rules[1]", "rules[1].available", "rules[2].message"]


def test_there_are_not_endlessly_many():
    """Nor endlessly long: agents are told all of them."""
    with pytest.raises(Rejected, match="at most 100 are kept"):
        check([a_rule(kind=f"K{each}") for each in range(MOST_RULES + 1)])
    long = "cond('" + "x" * 1500 + "')"
    with pytest.raises(Rejected, match="more than 65536 characters"):
        check([a_rule(kind=f"K{each}", available=long) for each in range(50)])

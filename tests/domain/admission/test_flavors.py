"""Which flavors' nodes are for a pod set, and what it asks of nodes under them."""

import pytest

from hub.domain.admission.flavors import UNKNOWN_KEY, FlavorCatalog, mismatch_of
from hub.domain.quota.declared import Flavor
from hub.domain.selectors import Taint
from shared.resources import Expression, NodeTerm, Toleration
from tests.domain.build import a_pod_set

A100 = Flavor("a100", (("gpu", "a100"), ("zone", "east")))


def _in(key: str, *values: str) -> NodeTerm:
    return NodeTerm((Expression(key, "In", values),))


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ((), ""),
        ((("gpu", "a100"),), ""),
        ((("disk", "ssd"),), ""),
        ((("gpu", "t4"),), "flavor a100 has gpu=a100, the pods select t4"),
        ((("disk", "ssd"), ("zone", "west")), "flavor a100 has zone=east, the pods select west"),
    ],
)
def test_a_selector_may_not_contradict_the_flavor(
    selector: tuple[tuple[str, str], ...], expected: str
) -> None:
    """Only keys that the flavor has are compared."""
    assert mismatch_of(a_pod_set(node_selector=selector), A100) == expected


@pytest.mark.parametrize(
    ("terms", "matches"),
    [
        (None, True),
        ((), False),
        ((_in("gpu", "a100"),), True),
        ((_in("gpu", "t4"),), False),
        ((_in("gpu", "t4"), _in("zone", "east")), True),
        ((_in("disk", "ssd"),), True),
        ((NodeTerm((*_in("gpu", "t4").expressions, *_in("disk", "ssd").expressions)),), False),
    ],
)
def test_required_affinity_is_held_against_the_flavors_own_keys(
    terms: tuple[NodeTerm, ...] | None, *, matches: bool
) -> None:
    """One term suffices; of its requirements those count whose key the flavor has."""
    expected = "" if matches else "flavor a100 does not match the pods' required node affinity"
    assert mismatch_of(a_pod_set(affinity_terms=terms), A100) == expected


TAINT = Taint("spot", "", "NoSchedule")
TOLERATES = Toleration("spot", "Exists")


def test_taints_of_a_flavor_are_tolerated_by_the_pods_or_by_the_flavor() -> None:
    """Whichever of the two does; else the taint is named."""
    bare = Flavor("f", taints=(TAINT,))
    assert mismatch_of(a_pod_set(), bare) == (
        "flavor f has taint spot:NoSchedule, which the pods do not tolerate"
    )
    assert mismatch_of(a_pod_set(tolerations=(TOLERATES,)), bare) == ""
    assert mismatch_of(a_pod_set(), Flavor("f", taints=(TAINT,), tolerations=(TOLERATES,))) == ""


def test_what_is_asked_of_nodes() -> None:
    """The selector with the flavors' labels, sorted; tolerations of both; affinity as it is."""
    catalog = FlavorCatalog({}, {"gpu": 3, "zone": 5, "disk": 7, "arch": 9})
    terms = (_in("arch", "arm64"),)
    other = Flavor("b", (("disk", "ssd"),), tolerations=(Toleration("b"),))
    pods = a_pod_set(
        node_selector=(("zone", "east"),), affinity_terms=terms, tolerations=(TOLERATES,)
    )
    ask = catalog.ask(pods, [A100, other])
    assert ask.labels == (("disk", "ssd"), ("gpu", "a100"), ("zone", "east"))
    assert ask.terms == (terms,)
    assert ask.tolerations == (TOLERATES, Toleration("b"))
    assert (ask.revision, ask.growing) == (9, False)


def test_nodes_are_known_once_reports_are_grouped_by_all_keys() -> None:
    """The latest revision of all keys counts; a key never told of is known to no report."""
    catalog = FlavorCatalog({}, {"a": 3, "b": 5})
    assert catalog.ask(a_pod_set()).revision == 0
    assert catalog.ask(a_pod_set(node_selector=(("b", ""), ("a", "")))).revision == 5
    unknown = a_pod_set(node_selector=(("a", ""), ("c", "")))
    assert catalog.ask(unknown).revision == UNKNOWN_KEY
    assert catalog.ask(a_pod_set()).terms == ()

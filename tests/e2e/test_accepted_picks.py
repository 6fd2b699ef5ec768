"""KubeFleet's acceptance scenarios of picking, through the hub cluster's API, on real agents.

Each but those in `BY_SERVICES` is played with a ClusterResourcePlacement of a namespace, and those in
`BOTH_SCOPES` also with a ResourcePlacement in a namespace that all members have; `make soak` plays all
with both.

Members m1 … m4 have 1, 2, 3 and 3 nodes; m1 and m2 are in zone a, m1 and m3 in tier x; all but
m4 tell what a core costs: 3, 1 and 2.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.e2e.scenarios import (
    COST,
    CPU,
    MEMBERS,
    NODES,
    Acceptance,
    a_map,
    a_member,
    a_namespace,
    a_placement,
    acceptance,
    fixed,
    having,
    labelled,
    n,
    sorted_by,
)
from tests.soaking import others_soak

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
Json = dict[str, Any]
ALL = list(MEMBERS)
SHARED = "shared"
SPREAD = [{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
ANYWAY = [{**SPREAD[0], "whenUnsatisfiable": "ScheduleAnyway"}]
ABSENT = "example.com/absent"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Acceptance]:
    with acceptance(tmp_path_factory.mktemp("picks")) as it:
        for name, cost in (("m1", 3), ("m2", 1), ("m3", 2)):
            told = a_map("roadstead-properties", "roadstead", properties=f"{COST} = {cost}\n")
            it.apply(a_namespace("roadstead"), told, cluster=name)
        only = {"selectionScope": "NamespaceOnly"}
        selector = {"group": "", "version": "v1", "kind": "Namespace", "name": SHARED, **only}
        it.apply(a_namespace(SHARED), a_placement(SHARED, selectors=[selector]))
        it.settled(SHARED)
        yield it


# Name → what is applied one after the other: a policy, and who holds the object then.
PICKS: dict[str, list[tuple[Json, Sequence[str]]]] = {
    "all-no-policy": [({}, ALL)],
    "all-no-affinity": [({"placementType": "PickAll"}, ALL)],
    "all-labels": [({"required": [labelled(zone="a")]}, ["m1", "m2"])],
    "all-labels-updated": [
        ({"required": [labelled(zone="a")]}, ["m1", "m2"]),
        ({"required": [labelled(zone="b")]}, ["m3", "m4"]),
    ],
    "all-labels-none": [({"required": [labelled(zone="c")]}, [])],
    "all-terms-or-and": [
        ({"required": [labelled(zone="a", tier="x"), labelled(zone="b", tier="y")]}, ["m1", "m4"])
    ],
    "all-node-count": [({"required": [having(NODES, "Ge", "3")]}, ["m3", "m4"])],
    "all-capacity-updated": [
        ({"required": [having(NODES, "Ge", "2")]}, ["m2", "m3", "m4"]),
        ({"required": [having(CPU, "Gt", "20")]}, ["m4"]),
    ],
    "all-cost-allocatable-none": [({"required": [having(COST, "Lt", "3") | labelled(tier="z")]}, [])],
    "all-label-property": [({"required": [having(NODES, "Le", "2") | labelled(tier="x")]}, ["m1"])],
    "all-label-property-updated": [
        ({"required": [having(NODES, "Le", "2") | labelled(tier="x")]}, ["m1"]),
        ({"required": [having(NODES, "Eq", "3") | labelled(tier="x")]}, ["m3"]),
    ],
    "all-cost": [({"required": [having(COST, "Le", "2")]}, ["m2", "m3"])],
    "all-cost-none": [({"required": [having(COST, "Lt", "0")]}, [])],
    "all-shape-none": [
        ({"required": [having("kubernetes.azure.com/vm-sizes/none/count", "Ge", "1")]}, [])
    ],
    "all-expressions-not-equal": [({"required": [having(COST, "Ne", "1")]}, ["m1", "m3"])],
    "fixed-some": [(fixed("m1", "m3"), ["m1", "m3"])],
    "fixed-refreshed": [(fixed("m1", "m3"), ["m1", "m3"]), (fixed("m2", "m3"), ["m2", "m3"])],
    "fixed-unknown": [(fixed("m1", "nobody"), ["m1"])],
    "fixed-zero-one-zero": [(fixed(), []), (fixed("m4"), ["m4"]), (fixed(), [])],
    "n-plain": [(n(2), ["m3", "m4"])],
    "n-down": [(n(3), ["m2", "m3", "m4"]), (n(1), ["m4"])],
    "n-up": [(n(1), ["m4"]), (n(3), ["m2", "m3", "m4"])],
    "n-zero": [(n(2), ["m3", "m4"]), (n(0), [])],
    "n-too-many": [(n(9), ALL)],
    "n-affinity-spread": [
        (n(2, required=[labelled(tier="x")], topologySpreadConstraints=SPREAD), ["m1", "m3"])
    ],
    "n-affinity-spread-updated": [
        (n(2, required=[labelled(tier="x")], topologySpreadConstraints=SPREAD), ["m1", "m3"]),
        (n(2, required=[labelled(zone="a")], topologySpreadConstraints=ANYWAY), ["m1", "m2"]),
    ],
    "n-spread-required": [(n(2, topologySpreadConstraints=SPREAD), ["m2", "m4"])],
    "n-one-sorter": [(n(1, preferred=[sorted_by(COST, 50, "Ascending")]), ["m2"])],
    "n-several-sorters": [
        (n(1, preferred=[sorted_by(COST, 10, "Ascending"), sorted_by(NODES, 90)]), ["m3"])
    ],
    "n-label-sorter": [(n(1, preferred=[sorted_by(NODES, 20, zone="a")]), ["m2"])],
    "n-required-preferred": [
        (n(1, required=[labelled(zone="a")], preferred=[sorted_by(NODES, 20, "Ascending")]), ["m1"])
    ],
    "n-negative-weight": [(n(1, preferred=[sorted_by(NODES, -20)]), ["m1"])],
    "n-sorter-equal": [(n(1, required=[having(NODES, "Eq", "3")], preferred=[sorted_by(NODES, 9)]), ["m4"])],
    "n-sorter-missing": [(n(1, preferred=[sorted_by(ABSENT, 9)]), ["m4"])],
}  # fmt: skip


# One of each type of policy: both kinds of placement go through the same picker (tests/domain/placement).
BOTH_SCOPES = {"all-labels-updated", "fixed-refreshed", "n-up", "n-several-sorters"}
# The same policies and members in tests/services/placements/test_scenarios.py, each with who is picked: with
# agents they are played before a release.
BY_SERVICES = {
    *("all-no-policy", "all-no-affinity", "all-labels", "all-labels-none", "all-terms-or-and"),
    *(
        "all-label-property",
        "n-plain",
        "n-down",
        "n-zero",
        "n-affinity-spread",
        "n-spread-required",
    ),
    *("n-one-sorter", "n-label-sorter", "n-required-preferred", "n-negative-weight"),
    *("n-sorter-equal", "n-sorter-missing"),
}


def _is_of_every_change(name: str, *, namespaced: bool) -> bool:
    """True for a scenario that `.ci/run` plays."""
    return name in BOTH_SCOPES if namespaced else name not in BY_SERVICES


@pytest.mark.parametrize(
    ("name", "namespaced"),
    [
        pytest.param(
            *(name, namespaced),
            id=f"{name}-{'namespaced' if namespaced else 'cluster'}",
            marks=[] if _is_of_every_change(name, namespaced=namespaced) else [pytest.mark.soak],
        )
        for name in PICKS
        for namespaced in (False, True)
    ],
)
def test_who_is_picked(fleet: Acceptance, name: str, namespaced: bool) -> None:
    """Every step's policy ends with the object in these members and no others, and the status says so."""
    namespace = SHARED if namespaced else ""
    home = namespace or name
    if not namespaced:
        fleet.apply(a_namespace(name))
    fleet.apply(a_map(name, home))
    for policy, expected in PICKS[name]:
        fleet.apply(a_placement(name, namespace, **policy))
        fleet.until(lambda: "Scheduled" in fleet.rungs(name, namespace), "it is decided")
        fleet.held_by(name, home, expected)
        short = name in {"n-too-many", "fixed-unknown"}
        reason = "SchedulingPolicyUnfulfilled" if short else "SchedulingPolicyFulfilled"
        fleet.rung("Scheduled", name, namespace, said=reason)


TAINT = {"key": "only", "value": "gpu", "effect": "NoSchedule"}
TOLERATION = {"key": "only", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}


@pytest.fixture
def as_declared(fleet: Acceptance) -> Iterator[Acceptance]:
    """Members have their usual labels and no taints when it is over."""
    yield fleet
    fleet.declare(*map(a_member, MEMBERS))


@pytest.mark.parametrize(
    "namespaced", others_soak([False, True], False), ids=["cluster", "namespaced"]
)
def test_taints(as_declared: Acceptance, namespaced: bool) -> None:
    """Fixed ignores them; others wait for a toleration or for the taint to go; whom one has it keeps."""
    fleet, namespace = as_declared, SHARED if namespaced else ""
    names = ["before", "waits", "tolerates", "one", "fixed"]
    names = [f"taint-{name}-{'rp' if namespaced else 'crp'}" for name in names]
    before, waits, tolerates, one, named = names
    for name in names:
        if not namespaced:
            fleet.apply(a_namespace(name))
        fleet.apply(a_map(name, namespace or name))
    fleet.apply(a_placement(before, namespace))
    fleet.held_by(before, namespace or before, ALL)
    fleet.declare(a_member("m3", TAINT), a_member("m4", {**TAINT, "value": "else"}))
    fleet.apply(a_placement(waits, namespace), a_placement(tolerates, namespace))
    fleet.apply(a_placement(one, namespace, **n(3, tolerations=[TOLERATION])))
    fleet.apply(a_placement(named, namespace, **fixed("m4")))
    fleet.held_by(waits, namespace or waits, ["m1", "m2"])
    fleet.held_by(one, namespace or one, ["m1", "m2", "m3"])
    fleet.held_by(named, namespace or named, ["m4"])
    fleet.apply(a_placement(tolerates, namespace, tolerations=[TOLERATION]))
    fleet.held_by(tolerates, namespace or tolerates, ["m1", "m2", "m3"])
    fleet.declare(a_member("m3"))
    fleet.held_by(waits, namespace or waits, ["m1", "m2", "m3"])
    assert fleet.holders(before, namespace or before) == ALL


@pytest.mark.parametrize(
    "namespaced", others_soak([False, True], True), ids=["cluster", "namespaced"]
)
def test_who_becomes_eligible_and_who_no_longer_is(
    as_declared: Acceptance, namespaced: bool
) -> None:
    """By label: PickAll and a PickN that wants more take it; who is chosen does not move."""
    fleet, namespace = as_declared, SHARED if namespaced else ""
    kind = "rp" if namespaced else "crp"
    wanted = [labelled(**{f"new-{kind}": "yes"})]
    policies = {
        "every": {"required": wanted},
        "more": n(2, required=wanted),
        "done": n(1, required=wanted),
        "spread": n(2, required=wanted, topologySpreadConstraints=SPREAD),
    }
    fleet.declare(a_member("m1", **{f"new-{kind}": "yes"}))
    for short, policy in policies.items():
        name = f"eligible-{short}-{kind}"
        if not namespaced:
            fleet.apply(a_namespace(name))
        fleet.apply(a_map(name, namespace or name), a_placement(name, namespace, **policy))
        fleet.held_by(name, namespace or name, ["m1"])
    fleet.declare(a_member("m3", **{f"new-{kind}": "yes"}))
    for short, expected in (
        ("every", ["m1", "m3"]),
        ("more", ["m1", "m3"]),
        ("spread", ["m1", "m3"]),
        ("done", ["m1"]),
    ):
        name = f"eligible-{short}-{kind}"
        fleet.held_by(name, namespace or name, expected)
    fleet.declare(a_member("m1"), a_member("m3"))
    witness = f"eligible-witness-{kind}"
    if not namespaced:
        fleet.apply(a_namespace(witness))
    fleet.apply(a_map(witness, namespace or witness))
    fleet.apply(a_placement(witness, namespace, required=wanted))
    fleet.rung("Scheduled", witness, namespace, said="SchedulingPolicyFulfilled")
    assert fleet.holders(witness, namespace or witness) == []
    for short in policies:
        name = f"eligible-{short}-{kind}"
        assert "m1" in fleet.holders(name, namespace or name)

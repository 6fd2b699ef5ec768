"""KubeFleet's acceptance scenarios of selecting and applying, through the hub cluster's API, on real agents.

Two members, m1 (tier x) and m2 (tier y). A scenario with a namespaced twin is played in
one scope in every change; `make soak` plays the other.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.e2e.scenarios import (
    FLEET,
    Acceptance,
    a_map,
    a_namespace,
    a_placement,
    acceptance,
    fixed,
    four_members,
    n,
)
from tests.soaking import others_soak

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
Json = dict[str, Any]
BOTH = ["m1", "m2"]
SHARED = "shared"
OF_CLUSTER, OF_NAMESPACE = (
    pytest.mark.parametrize(
        "namespaced", others_soak([False, True], often), ids=["cluster", "namespaced"]
    )
    for often in (False, True)
)
ROLES = "rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Acceptance]:
    with acceptance(tmp_path_factory.mktemp("objects"), four_members()[:2]) as it:
        only = {"selectionScope": "NamespaceOnly"}
        selector = {"group": "", "version": "v1", "kind": "Namespace", "name": SHARED, **only}
        it.apply(a_namespace(SHARED), a_placement(SHARED, selectors=[selector]))
        it.settled(SHARED)
        yield it


def by_label(kind: str, **labels: str) -> Json:
    return {
        "group": "", "version": "v1", "kind": kind, "labelSelector": {"matchLabels": labels}
    }  # fmt: skip


def by_name(kind: str, name: str, **more: str) -> Json:
    return {"group": "", "version": "v1", "kind": kind, "name": name, **more}


def strategy(**applying: Any) -> Json:
    return {"applyStrategy": applying}


@OF_CLUSTER
def test_what_is_selected_comes_and_goes(fleet: Acceptance, namespaced: bool) -> None:
    """By label: what gets it is placed, what loses it or is deleted leaves, what is changed changes."""
    tag = f"label-{'rp' if namespaced else 'crp'}"
    if namespaced:
        home, namespace = SHARED, SHARED
        fleet.apply(a_map(f"{tag}-a", home, labels={"set": tag}), a_map(f"{tag}-b", home))
        selectors = [by_label("ConfigMap", set=tag)]
    else:
        home, namespace = tag, ""
        fleet.apply(a_namespace(home), a_map(f"{tag}-b", home))
        selectors = [by_label("Namespace", set=tag)]
    fleet.apply(a_placement(tag, namespace, selectors))
    if namespaced:
        fleet.held_by(f"{tag}-a", home, BOTH)
        assert fleet.holders(f"{tag}-b", home) == []
        fleet.apply(a_map(f"{tag}-b", home, labels={"set": tag}))
    else:
        fleet.rung("Scheduled", tag, said="SchedulingPolicyFulfilled")
        assert fleet.holders(f"{tag}-b", home) == []
        fleet.apply(a_namespace(home, set=tag))
    fleet.held_by(f"{tag}-b", home, BOTH)
    fleet.apply(a_map(f"{tag}-c", home, labels={"set": tag}, a="1"))  # added to what is selected
    fleet.held_by(f"{tag}-c", home, BOTH)
    fleet.apply(a_map(f"{tag}-c", home, labels={"set": tag}, a="2"))
    fleet.until(
        lambda: (
            [m.get("data") for m in fleet.in_members("v1", "ConfigMap", f"{tag}-c", home)]
            == [{"a": "2"}] * 2
        ),
        "the change is there",
    )
    fleet.delete("v1", "ConfigMap", f"{tag}-c", home)
    fleet.held_by(f"{tag}-c", home, [])
    if namespaced:
        fleet.apply(a_map(f"{tag}-b", home, labels={"set": "other"}))
    else:
        fleet.apply(a_namespace(home, set="other"))
    fleet.held_by(f"{tag}-b", home, [])


@OF_NAMESPACE
def test_selectors_that_name_an_object_twice_place_it_once(
    fleet: Acceptance, namespaced: bool
) -> None:
    """By name and by label, with PickN; the status lists it once, in the same order each time."""
    tag, namespace = f"twice-{'rp' if namespaced else 'crp'}", SHARED if namespaced else ""
    kind = "ConfigMap" if namespaced else "Namespace"
    labels = {"set": tag}
    if not namespaced:
        fleet.apply(a_namespace(tag, **labels))
    for name in ("z", tag, "a"):
        fleet.apply(a_map(f"{tag}-{name}", namespace or tag, labels=labels))
    named = f"{tag}-a" if namespaced else tag
    selectors = [by_name(kind, named), by_label(kind, **labels)]
    fleet.apply(a_placement(tag, namespace, selectors, **n(1)))
    fleet.held_by(f"{tag}-a", namespace or tag, ["m2"])
    fleet.settled(tag, namespace)
    listed = [
        (each["kind"], each["name"]) for each in fleet.status(tag, namespace)["selectedResources"]
    ]
    assert len(listed) == len(set(listed)) == (3 if namespaced else 4)
    assert listed == sorted(listed)


def test_how_much_of_a_namespace(fleet: Acceptance) -> None:
    """Only itself; chosen objects with it; cluster-scoped objects besides; none that is not there yet."""
    for name in ("only", "chosen"):
        home = f"mode-{name}"
        fleet.apply(
            a_namespace(home), a_map("in", home, labels={"take": "yes"}), a_map("out", home)
        )
    version, kind = "scheduling.k8s.io/v1", "PriorityClass"
    fleet.apply({"apiVersion": version, "kind": kind, "metadata": {"name": "mode"}, "value": 1})
    whole = "NamespaceWithResourceSelectors"
    chosen = [by_name("Namespace", "mode-chosen", selectionScope=whole)]
    chosen += [by_label("ConfigMap", take="yes")]
    chosen += [{**by_name(kind, "mode"), "group": "scheduling.k8s.io"}]
    only = [by_name("Namespace", "mode-only", selectionScope="NamespaceOnly")]
    later = [
        by_name("Namespace", "mode-later", selectionScope=whole),
        by_label("ConfigMap", take="yes"),
    ]
    fleet.apply(
        a_placement("mode-only", selectors=only),
        a_placement("mode-chosen", selectors=chosen),
        a_placement("mode-later", selectors=later),
    )
    fleet.held_by("in", "mode-chosen", BOTH)
    fleet.until(lambda: all(fleet.in_members("v1", "Namespace", "mode-only")), "the namespace")
    fleet.until(lambda: all(fleet.in_members(version, kind, "mode")), "the class")
    fleet.settled("mode-only")
    assert fleet.holders("out", "mode-chosen") == fleet.holders("in", "mode-only") == []
    fleet.rung("Scheduled", "mode-later", said="SchedulingPolicyFulfilled")
    fleet.apply(a_namespace("mode-later"), a_map("in", "mode-later", labels={"take": "yes"}))
    fleet.held_by("in", "mode-later", BOTH)


def test_large_selections_arrive_whole_and_versions_are_counted(fleet: Acceptance) -> None:
    """More than a mebibyte in three objects; each change is another index, told per cluster."""
    fleet.apply(a_namespace("large"))
    for name in "abc":
        fleet.apply(a_map(name, "large", text=name * 500_000))
    placement = a_placement("large")
    placement["spec"]["revisionHistoryLimit"] = 1
    fleet.apply(placement)
    for name in "abc":
        fleet.held_by(name, "large", BOTH)
    fleet.settled("large")
    first = int(fleet.status("large")["observedResourceIndex"])
    for number in (1, 2):
        fleet.apply(a_map("a", "large", text=str(number)))
        fleet.until(partial(_both_have, fleet, str(first + number)), "both have the next version")


def _both_have(fleet: Acceptance, index: str) -> bool:
    entries = [fleet.entry("large", "", member) for member in BOTH]
    return all(each.get("observedResourceIndex") == index for each in entries)


def test_what_can_not_be_applied_is_told(fleet: Acceptance) -> None:
    """A kind that members take from nobody: named, with the member's words; the rest is applied."""
    role = {"apiVersion": ROLES, "kind": "ClusterRole", "metadata": {"name": "fails"}, "rules": []}
    selectors = [by_name("Namespace", "fails")]
    selectors += [{**by_name("ClusterRole", "fails"), "group": ROLES.partition("/")[0]}]
    fleet.apply(role, a_namespace("fails"), a_map("fine", "fails"))
    fleet.apply(a_placement("fails", selectors=selectors))
    fleet.held_by("fine", "fails", BOTH)
    fleet.rung("Applied", "fails", said="ApplyFailed")
    for member in BOTH:
        (failed,) = fleet.entry("fails", "", member)["failedPlacements"]
        assert (failed["kind"], failed["name"]) == ("ClusterRole", "fails")
        assert failed["condition"]["reason"] == "RefusedByMember"
        assert "this member takes no ClusterRole" in failed["condition"]["message"]


def test_reserved_namespaces_are_not_placed(fleet: Acceptance) -> None:
    """Refused by the API server, or told in the placement's condition."""
    bad = a_placement("reserved", selectors=[by_name("Namespace", "kube-system")])
    fleet.apply(bad)
    fleet.until(
        lambda: any(
            (c["type"], c["status"], c["reason"]) == ("Accepted", "False", "ReservedNamespace")
            for c in fleet.status("reserved").get("conditions") or ()
        ),
        "it is told",
    )


@OF_CLUSTER
def test_nothing_is_placed_twice(fleet: Acceptance, namespaced: bool) -> None:
    """The first placement keeps the object, whichever kinds the two are, until it lets it go."""
    tag = f"dual-{'rp' if namespaced else 'crp'}"
    fleet.apply(a_namespace(tag), a_map(tag, tag), a_placement(tag))
    fleet.held_by(tag, tag, BOTH)
    name, namespace = f"{tag}-second", tag if namespaced else ""
    selectors = [by_name("ConfigMap", tag)] if namespaced else [by_name("Namespace", tag)]
    fleet.apply(a_placement(name, namespace, selectors, strategy=strategy(allowCoOwnership=True)))
    fleet.rung("Applied", name, namespace, said="ApplyFailed")
    failed = fleet.entry(name, namespace, "m1")["failedPlacements"]
    assert {each["condition"]["reason"] for each in failed} == {"PlacedByAnother"}
    fleet.delete(FLEET, "ClusterResourcePlacement", tag)
    if not namespaced:
        fleet.settled(name)
        fleet.held_by(tag, tag, BOTH)


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "boss"}


def test_what_is_there_already(fleet: Acceptance) -> None:
    """By whenToTakeOver, comparisonOption and allowCoOwnership: taken, or left with the reason told.

    The namespaces in the member accept the hub (docs/explain/ownership.md).
    """
    cases: dict[str, tuple[Json, Json, bool]] = {
        "always": ({"whenToTakeOver": "Always"}, {"data": {"a": "2"}}, True),
        "never": ({"whenToTakeOver": "Never"}, {"data": {"a": "1"}}, False),
        "same": ({"whenToTakeOver": "IfNoDiff"}, {"data": {"a": "1"}}, True),
        "differs": ({"whenToTakeOver": "IfNoDiff"}, {"data": {"a": "2"}}, False),
        "more": ({"whenToTakeOver": "IfNoDiff"}, {"data": {"a": "1", "b": "1"}}, True),
        "more-full": (
            {"whenToTakeOver": "IfNoDiff", "comparisonOption": "FullComparison"},
            {"data": {"a": "1", "b": "1"}},
            False,
        ),
        "always-full": (
            {"whenToTakeOver": "Always", "comparisonOption": "FullComparison"},
            {"data": {"a": "2", "b": "1"}},
            True,
        ),
        "owned": ({"whenToTakeOver": "Always"}, {"owner": OWNER, "data": {"a": "1"}}, False),
        "co-owned": (
            {"whenToTakeOver": "Always", "allowCoOwnership": True},
            {"owner": OWNER, "data": {"a": "2"}},
            True,
        ),
        "unforced": (
            {
                "type": "ServerSideApply",
                "whenToTakeOver": "Always",
                "serverSideApplyConfig": {"force": False},
            },
            {"data": {"a": "2"}},
            False,
        ),
        "forced": (
            {
                "type": "ServerSideApply",
                "whenToTakeOver": "Always",
                "serverSideApplyConfig": {"force": True},
            },
            {"data": {"a": "2"}},
            True,
        ),
    }  # fmt: skip
    hub = fleet.get("m1", "v1", "Namespace", SHARED)["metadata"]["labels"][
        "roadstead.dev/managed-by"
    ]
    for name, (applying, given, _) in cases.items():
        home = f"there-{name}"
        there = a_map("it", home) | {"data": given["data"]}
        consenting = a_namespace(home)
        consenting["metadata"]["labels"]["roadstead.dev/accept"] = hub
        fleet.apply(consenting, a_map("boss", home), cluster="m1")
        if "owner" in given:
            boss = fleet.get("m1", "v1", "ConfigMap", "boss", home)["metadata"]["uid"]
            there["metadata"]["ownerReferences"] = [{**given["owner"], "uid": boss}]
        fleet.apply(there, cluster="m1")
        namespace_first = [by_name("Namespace", home, selectionScope="NamespaceOnly")]
        taking = {"whenToTakeOver": "Always"}
        fleet.apply(a_namespace(home), a_map("it", home, a="1"))
        fleet.apply(a_placement(home, selectors=namespace_first, strategy=strategy(**taking)))
        placed = a_placement("it", home, strategy=strategy(**applying), **fixed("m1"))
        fleet.apply(placed)
    for name, (applying, given, taken) in cases.items():
        home = f"there-{name}"
        fleet.rung("Applied", "it", home, said="True" if taken else "False")
        held = fleet.get("m1", "v1", "ConfigMap", "it", home)
        assert held["data"]["a"] == ("1" if taken else given["data"]["a"]), name
        if "b" in given["data"]:
            assert held["data"]["b"] == "1", name
        if not taken and applying["whenToTakeOver"] == "IfNoDiff":
            (failed,) = fleet.entry("it", home, "m1")["failedPlacements"]
            assert "it differs in 1 fields: /data/" in failed["condition"]["message"]


def test_the_strategy_may_change(fleet: Acceptance) -> None:
    """A large object client-side, compared only, server-side: what differs is told, and then mended."""
    home = "changes"
    big = {"a": "1", "big": "x" * 300_000}
    fleet.apply(a_namespace(home), a_map(home, home) | {"data": big})
    fleet.apply(a_placement(home, strategy=strategy(type="ClientSideApply")))
    fleet.held_by(home, home, BOTH)
    fleet.settled(home)
    fleet.apply(a_placement(home, strategy=strategy(type="ReportDiff")))
    fleet.rung("DiffReported", home, said="True")
    fleet.edit("m1", a_map(home, home), {"data": {"a": "else"}})
    diffed = fleet.until(lambda: fleet.entry(home, "", "m1").get("diffedPlacements"), "a diff", 90)
    assert diffed[0]["observedDiffs"] == [
        {"path": "/data/a", "valueInMember": "else", "valueInHub": "1"}
    ]
    assert fleet.get("m1", "v1", "ConfigMap", home, home)["data"]["a"] == "else"
    fleet.apply(
        a_placement(home, strategy=strategy(type="ServerSideApply", whenToTakeOver="Always"))
    )
    fleet.settled(home)
    fleet.until(
        lambda: fleet.get("m1", "v1", "ConfigMap", home, home)["data"]["a"] == "1", "mended"
    )


@OF_NAMESPACE
def test_drift(fleet: Acceptance, namespaced: bool) -> None:
    """Always mends it, IfNotDrifted leaves and tells it, with FullComparison what others added too."""
    kind = "rp" if namespaced else "crp"
    cases: dict[str, tuple[Json, Json, bool]] = {
        "always": ({}, {"data": {"a": "else"}}, True),
        "left": ({"whenToApply": "IfNotDrifted"}, {"data": {"a": "else"}}, False),
        "full": (
            {"whenToApply": "IfNotDrifted", "comparisonOption": "FullComparison"},
            {"data": {"b": "added"}},
            False,
        ),
    }
    for name, (applying, _, _) in cases.items():
        tag, namespace = f"drift-{name}-{kind}", SHARED if namespaced else ""
        if not namespaced:
            fleet.apply(a_namespace(tag))
        fleet.apply(a_map(tag, namespace or tag, a="1"))
        fleet.apply(a_placement(tag, namespace, strategy=strategy(**applying)))
    for name, (_, change, _) in cases.items():
        tag, namespace = f"drift-{name}-{kind}", SHARED if namespaced else ""
        fleet.settled(tag, namespace)
        fleet.edit("m2", a_map(tag, namespace or tag), change)
    for name, (_, change, mended) in cases.items():
        tag, namespace = f"drift-{name}-{kind}", SHARED if namespaced else ""

        def data(tag: str = tag, namespace: str = namespace) -> Json:
            held = fleet.get("m2", "v1", "ConfigMap", tag, namespace or tag)
            return dict(held["data"])

        if mended:
            fleet.until(lambda: data() == {"a": "1"}, "it is put back")
            continue
        drifted = fleet.told(partial(fleet.entry, tag, namespace, "m2"), "driftedPlacements")
        ((path, value),) = change["data"].items()
        (seen,) = drifted[0]["observedDrifts"]
        assert (seen["path"], seen.get("valueInMember")) == (f"/data/{path}", value)
        assert data()[path] == value

"""Placements of any kind on fleets of any kind go where KubeFleet's rules say, written down once more."""

import datetime as dt
from random import Random
from typing import Any

import hypothesis
import pytest
from hypothesis import given, strategies as st

from hub.offline.inputs import documents, placements
from hub.offline.reports.places import place_report
from tests.examples import Contents, examples, sample
from tests.offline.kubefleet import USAGE, place

Json = dict[str, Any]
NOW = "2026-01-01T12:00:00+00:00"
LABELS = {"zone": "abc", "region": "xy", "tier": "12"}
AMOUNTS: tuple[str, ...] = (
    *("0", "1", "2", "4", "8", "8", "8", "16", "1500m", "0.5", ".25", "100u", "250n", "1e3"),
    *("12e-3", "1Ki", "2Mi", "1.5Gi", "7k", "1M", "4G", "5T", "1Pi", "2E", "-2"),
)
UNREADABLE = ("bad", "", "1.2.3", "5 apples")
OWN = ("example.com/cost", "kubernetes-fleet.io/node-count", "example.com/absent")
RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "ephemeral-storage")
PROPERTIES = OWN + tuple(
    f"{USAGE}{view}-{r}" for view in ("total", "allocatable", "available") for r in RESOURCES
)


def ago(seconds: float) -> str:
    return (dt.datetime.fromisoformat(NOW) - dt.timedelta(seconds=seconds)).isoformat()


def a_member(rnd: Random, name: str) -> Json:
    texts = AMOUNTS + UNREADABLE
    status: Json = {
        "properties": {n: {"value": rnd.choice(texts)} for n in OWN[:2] if rnd.random() < 0.8},
        "resourceUsage": {
            view: {r: rnd.choice(texts) for r in RESOURCES if rnd.random() < 0.8}
            for view in ("capacity", "allocatable", "available")
            if rnd.random() < 0.9
        },
    }
    if rnd.random() < 0.6:
        status["agentStatus"] = [an_agent(rnd)]
    if rnd.random() < 0.2:
        status["namespaces"] = {rnd.choice(["team", "other"]): "work"}
    taint = {"key": rnd.choice("kj"), "value": rnd.choice(["", "v"]), "effect": "NoSchedule"}
    leaves = {"deletionTimestamp": NOW} if rnd.random() < 0.05 else {}
    labels = {k: rnd.choice(values) for k, values in LABELS.items() if rnd.random() < 0.8}
    return {
        "apiVersion": f"cluster.kubernetes-fleet.io/{rnd.choice(['v1', 'v1beta1'])}",
        "kind": "MemberCluster",
        "metadata": {"name": name, "labels": labels, **leaves},
        "spec": {"taints": [taint]} if rnd.random() < 0.2 else {},
        "status": status,
    }


def an_agent(rnd: Random) -> Json:
    told: Json = {"type": "MemberAgent", "conditions": []}
    if rnd.random() < 0.95:
        told["lastReceivedHeartbeat"] = ago(rnd.choice([0, 46, 200, 299, 300, 301, 1000]))
    for kind in ("Joined", "Healthy"):
        if rnd.random() < 0.95:
            status = rnd.choice(["True"] * 6 + ["False", "Unknown"])
            since = ago(rnd.choice([10, 299, 300, 301, 4000]))
            told["conditions"].append(
                {"type": kind, "status": status, "lastTransitionTime": since}
            )
    return told


def a_selector(rnd: Random) -> Json:
    key, how = rnd.choice(list(LABELS)), rnd.choice(["In", "NotIn", "Exists", "DoesNotExist", ""])
    if not how:
        return {"matchLabels": {key: rnd.choice(LABELS[key])}}
    values = {"values": rnd.sample("abcxy12", 2)} if how in {"In", "NotIn"} else {}
    return {"matchExpressions": [{"key": key, "operator": how, **values}]}


def a_term(rnd: Random) -> Json:
    how = rnd.choice(["Gt", "Ge", "Eq", "Ne", "Lt", "Le"])
    wanted = {"name": rnd.choice(PROPERTIES), "operator": how, "values": [rnd.choice(AMOUNTS)]}
    term: Json = {"labelSelector": a_selector(rnd)} if rnd.random() < 0.5 else {}
    if not term or rnd.random() < 0.5:
        term["propertySelector"] = {"matchExpressions": [wanted]}
    return term


def a_preference(rnd: Random) -> Json:
    order = rnd.choice(["Ascending", "Descending"])
    preference: Json = {"labelSelector": a_selector(rnd)} if rnd.random() < 0.4 else {}
    if not preference or rnd.random() < 0.7:
        preference["propertySorter"] = {"name": rnd.choice(PROPERTIES), "sortOrder": order}
    return {
        "weight": rnd.choice([0, 1, -1, 25, -25, 50, 100, -100, 33, 7]),
        "preference": preference,
    }


def a_policy(rnd: Random, names: list[str]) -> Json:
    kind = rnd.choice(["PickN"] * 6 + ["PickAll", "PickFixed"])
    if kind == "PickFixed":
        return {"placementType": kind, "clusterNames": rnd.sample(names, min(2, len(names)))}
    affinity: Json = {}
    policy: Json = {"placementType": kind, "affinity": {"clusterAffinity": affinity}}
    if rnd.random() < 0.4:
        terms = [a_term(rnd) for _ in range(rnd.randint(1, 2))]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "clusterSelectorTerms": terms
        }
    if rnd.random() < 0.3:
        tolerations = [{"operator": "Exists"}, {"key": "k", "operator": "Exists"}, {"key": "j"}]
        tolerations.append({"key": "k", "value": "v", "effect": "NoSchedule"})
        policy["tolerations"] = [rnd.choice(tolerations)]
    if kind == "PickN":
        policy["numberOfClusters"] = rnd.randint(0, 6)
        preferred = [a_preference(rnd) for _ in range(rnd.randint(0, 3))]
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
        if rnd.random() < 0.5:
            policy["topologySpreadConstraints"] = [
                {"topologyKey": key, **rnd.choice(_SPREADS)}
                for key in rnd.sample(list(LABELS), rnd.randint(1, 2))
            ]
    return policy


_SPREADS: list[Json] = [
    {},
    {"maxSkew": 2},
    {"whenUnsatisfiable": "ScheduleAnyway"},
    {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"},
]


def a_placement(rnd: Random, names: list[str]) -> Json:
    namespaced = rnd.random() < 0.3
    picks = rnd.sample(names, rnd.choice([0, 0, 0, 1, 2]) if len(names) > 2 else 0)
    metadata = {"name": "p", **({"namespace": "team"} if namespaced else {})}
    return {
        "apiVersion": f"placement.kubernetes-fleet.io/{rnd.choice(['v1', 'v1beta1'])}",
        "kind": "ResourcePlacement" if namespaced else "ClusterResourcePlacement",
        "metadata": metadata,
        "spec": {"policy": a_policy(rnd, names)},
        "status": {"placementStatuses": [{"clusterName": name} for name in picks]},
    }


def rules_compared(settings: hypothesis.settings, *, compatible: bool) -> Contents:
    """Play the property; in which scenes a score counts."""
    found = Contents()

    @settings
    @given(st.randoms(use_true_random=True))
    def rule(rnd: Random) -> None:
        names = [f"m{i}" for i in range(rnd.randint(1, 8))]
        members = [a_member(rnd, name) for name in names]
        placement = a_placement(rnd, names)
        read = [documents.read_document("scene", 1, m) for m in (*members, placement)]
        scene = placements.build(read, documents.read_instant(NOW))
        (told,) = place_report(scene, compatible=compatible)["placements"]
        expected = place(members, placement, NOW, compatible=compatible)
        picked = [c for c in told["clusters"] if c["selected"]]
        assert {c["name"] for c in picked} == expected.names
        assert [
            (c["name"], (c["affinityScore"], c["topologySpreadScore"]))
            for c in picked
            if c["name"] in expected.scores
        ] == list(expected.scores.items())
        found.note(any(any(score) for score in expected.scores.values()))

    rule()
    return found


@pytest.mark.parametrize("compatible", [True, False])
def test_who_is_picked_with_which_scores_is_as_the_rules_have_it(compatible: bool) -> None:
    """Those picked, their scores and their order, by KubeFleet's arithmetic and by the hub's own."""
    rules_compared(examples(300), compatible=compatible)


def test_scores_count_in_some_of_these_scenes() -> None:
    """The property before has scores to compare."""
    found = rules_compared(sample(100), compatible=True)
    assert found.are_in(0.1), found.seen

"""`roadstead simulate place`: where placements would go, by KubeFleet's arithmetic and by the hub's own."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from roadstead.cli.simulate import simulate

Json = dict[str, Any]
CPU = "resources.kubernetes-fleet.io/available-cpu"
COST = "kubernetes.azure.com/per-cpu-core-cost"
NOW = "2026-01-01T12:00:00Z"
TAINTS = [{"key": "k", "effect": "NoSchedule"}]


def a_member(name: str, *, labels: Json | None = None, cpu: Any = None, **more: Any) -> Json:
    """A MemberCluster; `more`: `properties`, `taints`, parts of its status and metadata."""
    status: Json = {}
    if cpu is not None:
        status["resourceUsage"] = {"available": {"cpu": str(cpu)}}
    if "properties" in more:
        status["properties"] = {
            key: {"value": str(value), "observationTime": NOW}
            for key, value in more["properties"].items()
        }
    status.update(more.get("status", {}))
    return {
        "apiVersion": "cluster.kubernetes-fleet.io/v1",
        "kind": "MemberCluster",
        "metadata": {"name": name, "labels": labels or {}, **more.get("metadata", {})},
        "spec": {"taints": more["taints"]} if "taints" in more else {},
        "status": status,
    }


def a_sorter(weight: int, name: str = CPU, *, ascending: bool = False, **labels: str) -> Json:
    order = "Ascending" if ascending else "Descending"
    preference: Json = {"propertySorter": {"name": name, "sortOrder": order}}
    if labels:
        preference["labelSelector"] = {"matchLabels": labels}
    return {"weight": weight, "preference": preference}


def a_placement(
    *preferred: Json,
    count: int = 1,
    status: Json | None = None,
    namespace: str = "",
    **policy: Any,
) -> Json:
    """PickN `count` by these preferences; a ResourcePlacement where there is a namespace."""
    given: Json = {"placementType": "PickN", "numberOfClusters": count, **policy}
    affinity: Json = {}
    if preferred:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = list(preferred)
    if required := given.pop("required", None):
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = required
    if affinity:
        given["affinity"] = {"clusterAffinity": affinity}
    selector: Json = {"group": "", "version": "v1", "kind": "Namespace", "name": "team"}
    if namespace:
        selector = {**selector, "kind": "ConfigMap"}
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1" + ("beta1" if namespace else ""),
        "kind": "ResourcePlacement" if namespace else "ClusterResourcePlacement",
        "metadata": {"name": "p", **({"namespace": namespace} if namespace else {})},
        "spec": {"resourceSelectors": [selector], "policy": given},
        "status": status or {},
    }


def picks(*names: str, message: str = "") -> Json:
    """A placement's status in which these clusters are picked."""
    return {
        "placementStatuses": [
            {
                "clusterName": name,
                "conditions": [{"type": "Scheduled", "status": "True", "message": message}],
            }
            for name in names
        ]
    }


def run(path: Path, *objects: Json, args: tuple[str, ...] = ()) -> Result:
    file = path / "scene.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    return CliRunner().invoke(simulate, ["place", str(file), *args])


def placed(path: Path, *objects: Json, compatible: bool = True, now: str = "") -> list[Json]:
    """What is said of each cluster."""
    args = ["-o", "json", *(["--compatible"] if compatible else [])]
    done = run(path, *objects, args=(*args, *(["--now", now] if now else [])))
    assert done.exit_code == 0, done.stderr
    (one,) = json.loads(done.stdout)["placements"]
    assert one.keys() == {"namespace", "name", "clusters"}
    return list(one["clusters"])


def scores(told: list[Json]) -> list[tuple[str, int]]:
    return [(each["name"], each["affinityScore"]) for each in told]


@pytest.mark.parametrize("compatible", [True, False])
@pytest.mark.parametrize(
    ("values", "preference", "expected"),
    [
        ({"a": 10, "b": 20, "c": 100}, a_sorter(100), [("c", 100), ("b", 11), ("a", 0)]),
        (
            {"a": 10, "b": 20, "c": 100},
            a_sorter(100, ascending=True),
            [("a", 100), ("b", 89), ("c", 0)],
        ),
        (
            {"bravelion": 20, "smartfish": 10, "jumpingcat": 5},
            a_sorter(100),
            [("bravelion", 100), ("smartfish", 33), ("jumpingcat", 0)],
        ),
        (
            {"alpha": 8, "beta": 8, "gamma": 8},
            a_sorter(100),
            [("gamma", 0), ("beta", 0), ("alpha", 0)],
        ),
        ({"a": 0, "b": 1, "c": 2}, a_sorter(25), [("c", 25), ("b", 13), ("a", 0)]),
        ({"a": 0, "b": 1, "c": 2}, a_sorter(-25), [("a", 0), ("b", -13), ("c", -25)]),
        (
            {"a": 0, "b": 1, "c": 2},
            a_sorter(25, ascending=True),
            [("a", 25), ("b", 13), ("c", 0)],
        ),
        (
            {"m1": 0, "m2": 2, "m3": None},
            a_sorter(100, ascending=True),
            [("m1", 100), ("m3", 0), ("m2", 0)],
        ),
        ({"a": None, "b": None}, a_sorter(100), [("b", 0), ("a", 0)]),
    ],
)
def test_scores_and_order_are_kubefleets(
    tmp_path: Path,
    values: dict[str, int | None],
    preference: Json,
    expected: list[tuple[str, int]],
    compatible: bool,
) -> None:
    """The reference's examples: best first, of equals the larger name; all eligible, both modes agree."""
    members = [a_member(name, cpu=value) for name, value in values.items()]
    told = placed(tmp_path, *members, a_placement(preference), compatible=compatible)
    assert scores(told) == expected
    assert [each["selected"] for each in told] == [True] + [False] * (len(values) - 1)


def test_a_missing_cost_stands_with_the_worst(tmp_path: Path) -> None:
    """Cheapest first; a cluster without the property scores as the dearest, and the larger name wins."""
    members = [
        a_member("m1", properties={COST: ".05"}),
        a_member("m2", properties={COST: ".02"}),
        a_member("m3"),
    ]
    told = placed(tmp_path, *members, a_placement(a_sorter(50, COST, ascending=True)))
    assert scores(told) == [("m2", 50), ("m3", 0), ("m1", 0)]


def test_only_the_compatible_mode_measures_clusters_that_may_not_be_picked(tmp_path: Path) -> None:
    """One large cluster that is tainted flattens KubeFleet's ranking, and not the hub's own."""
    members = [
        a_member("a", cpu=10),
        a_member("b", cpu=20),
        a_member("big", cpu=1000, taints=TAINTS),
    ]
    placement = a_placement(a_sorter(100))
    flat = placed(tmp_path, *members, placement)
    assert scores(flat) == [("b", 1), ("a", 0), ("big", 0)]
    assert "taint" in flat[2]["reason"]
    own = placed(tmp_path, *members, placement, compatible=False)
    assert scores(own) == [("b", 100), ("a", 0), ("big", 0)]


def test_an_unreadable_property_affects_its_cluster_alone(tmp_path: Path) -> None:
    """It counts as missing there, and a warning names it; the others are scored as ever."""
    members = [
        a_member("m1", properties={COST: "cheap"}),
        a_member("m2", properties={COST: "0.2"}),
        a_member("m3", properties={COST: "0.1"}),
    ]
    placement = a_placement(a_sorter(50, COST, ascending=True))
    assert scores(placed(tmp_path, *members, placement))[0] == ("m3", 50)
    assert (
        f"MemberCluster m1: status.properties.{COST}" in run(tmp_path, *members, placement).stderr
    )


ZONE = [{"topologyKey": "zone", "maxSkew": 1}]


def test_topology_goes_before_affinity(tmp_path: Path) -> None:
    """Each pick is scored by how it changes the skew; then by affinity; then by name."""
    members = [
        a_member("a", cpu=10, labels={"zone": "east"}),
        a_member("b", cpu=20, labels={"zone": "east"}),
        a_member("c", cpu=100, labels={"zone": "west"}),
    ]
    placement = a_placement(a_sorter(100), count=2, topologySpreadConstraints=ZONE)
    told = placed(tmp_path, *members, placement)
    assert [(c["name"], c["selected"], c["topologySpreadScore"]) for c in told] == [
        ("c", True, -1),
        ("b", True, 1),
        ("a", False, 1),
    ]


def test_a_pick_that_would_exceed_the_skew_is_refused_by_name(tmp_path: Path) -> None:
    """Two in the east and none in the west: the third may not be in the east."""
    members = [a_member(name, labels={"zone": "east"}) for name in "abc"]
    members.append(a_member("w", labels={"zone": "west"}, taints=TAINTS))
    placement = a_placement(
        count=3,
        topologySpreadConstraints=[{"topologyKey": "zone", "maxSkew": 2}],
        status=picks("a", "b"),
    )
    told = placed(tmp_path, *members, placement)
    assert [c["name"] for c in told if c["selected"]] == ["b", "a"]
    assert "zone=east would exceed a skew of 2" in told[-1]["reason"] + told[-2]["reason"]


@pytest.mark.parametrize("compatible", [True, False])
def test_a_move_that_lowers_the_skew_is_always_allowed(tmp_path: Path, compatible: bool) -> None:
    """Three in one zone and none in the other: the other is filled, though the skew stays above its limit."""
    members = [a_member(name, labels={"zone": "east"}) for name in "abc"]
    members += [a_member("w", labels={"zone": "west"})]
    placement = a_placement(count=4, topologySpreadConstraints=ZONE, status=picks("a", "b", "c"))
    told = placed(tmp_path, *members, placement, compatible=compatible)
    assert [c["name"] for c in told if c["selected"]] == ["c", "b", "a", "w"]


def test_what_is_picked_stays_and_the_lowest_score_goes_first(tmp_path: Path) -> None:
    """By the score that its status tells; taints, labels and silence never unseat it."""
    said = "(affinity score: {}, topology spread score: 0): picked by scheduling policy"
    status = picks("a", message=said.format(7))
    status["placementStatuses"] += picks("b", message=said.format(3))["placementStatuses"]
    members = [a_member("a", cpu=1, taints=TAINTS), a_member("b", cpu=5), a_member("c", cpu=9)]
    told = placed(tmp_path, *members, a_placement(a_sorter(100), count=1, status=status))
    assert (told[0]["name"], told[0]["selected"], told[0]["affinityScore"]) == ("a", True, 7)
    more = placed(tmp_path, *members, a_placement(a_sorter(100), count=3, status=status))
    assert [(c["name"], c["affinityScore"]) for c in more] == [("a", 7), ("b", 3), ("c", 100)]


def test_an_entry_that_was_not_scheduled_is_no_pick(tmp_path: Path) -> None:
    """Its condition Scheduled is False."""
    status = picks("a")
    status["placementStatuses"][0]["conditions"][0]["status"] = "False"
    told = placed(tmp_path, a_member("a"), a_member("b"), a_placement(status=status))
    assert [(c["name"], c["selected"]) for c in told] == [("b", True), ("a", False)]


JOINED, HEALTHY = {"type": "Joined", "status": "True"}, {"type": "Healthy", "status": "True"}
UNHEALTHY = {"type": "Healthy", "status": "False", "lastTransitionTime": "2026-01-01T11:50:00Z"}
LATELY = {**UNHEALTHY, "lastTransitionTime": "2026-01-01T11:56:00Z"}


def an_agent(*conditions: Json, beat: str = NOW) -> Json:
    heard = {"lastReceivedHeartbeat": beat} if beat else {}
    return {"agentStatus": [{"type": "MemberAgent", "conditions": list(conditions), **heard}]}


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({}, ""),
        (an_agent(JOINED, HEALTHY), ""),
        (an_agent(JOINED, LATELY), ""),
        (an_agent(JOINED, HEALTHY, beat="2026-01-01T11:55:00Z"), ""),
        ({"agentStatus": [{"type": "ServiceExportImportAgent"}]}, "its agent is not online yet"),
        (an_agent(JOINED, HEALTHY, beat="2026-01-01T11:54:00Z"), "no heartbeat for 6.00 minutes"),
        (an_agent(JOINED, HEALTHY, beat=""), "no heartbeat at all"),
        (an_agent(HEALTHY), "its agent has not joined yet"),
        (an_agent(JOINED), "its health is not known yet"),
        (an_agent(JOINED, UNHEALTHY), "it has been unhealthy for 10.00 minutes"),
        ({"conditions": [{"type": "Joined", "status": "False"}]}, "its agent has not joined yet"),
    ],
)
def test_who_is_eligible_is_as_kubefleet_has_it(tmp_path: Path, status: Json, why: str) -> None:
    """And each who is not is told why, with minutes; a status that tells nothing of its agent is well."""
    (told,) = placed(tmp_path, a_member("a", status=status), a_placement(), now=NOW)
    assert (told["selected"], why in told["reason"]) == (not why, True), told["reason"]


def test_a_cluster_that_leaves_is_replaced(tmp_path: Path) -> None:
    """What was picked there counts no longer."""
    leaving = a_member("b", metadata={"deletionTimestamp": NOW, "finalizers": ["x/y"]})
    placement = a_placement(status=picks("b"))
    for compatible in (True, False):
        told = placed(tmp_path, a_member("a"), leaving, placement, compatible=compatible)
        assert [(c["name"], c["selected"]) for c in told] == [("a", True), ("b", False)]
        assert "it has left the fleet" in told[1]["reason"]


def test_without_an_instant_the_newest_heartbeat_is_now(tmp_path: Path) -> None:
    """So that what was dumped is judged as of its own time."""
    old = "2020-02-02T00:00:00Z"
    members = [
        a_member("a", status=an_agent(JOINED, HEALTHY, beat=old)),
        a_member("b", status=an_agent(JOINED, HEALTHY, beat="2020-02-01T00:00:00Z")),
    ]
    assert [c["selected"] for c in placed(tmp_path, *members, a_placement())] == [True, False]


def test_a_member_that_reports_namespaces_must_have_that_of_a_namespaced_placement(
    tmp_path: Path,
) -> None:
    """One that reports none is not asked, nor is anybody for a ClusterResourcePlacement."""
    members = [
        a_member("a", status={"namespaces": {"team": "work"}}),
        a_member("b", status={"namespaces": {"other": "work"}}),
        a_member("c"),
    ]
    told = placed(tmp_path, *members, a_placement(count=3, namespace="team"))
    assert {c["name"]: c["selected"] for c in told} == {"a": True, "b": False, "c": True}
    assert "no namespace team" in told[-1]["reason"]
    assert all(c["selected"] for c in placed(tmp_path, *members, a_placement(count=3)))


@pytest.mark.parametrize(
    ("view", "best"), [("total", "b"), ("allocatable", "a"), ("available", "c")]
)
def test_total_allocatable_and_available_are_three_figures(
    tmp_path: Path, view: str, best: str
) -> None:
    """Of any resource, with dashes and slashes in its name too."""
    gpu = "nvidia.com/gpu"
    amounts = {"a": (5, 5, 1), "b": (9, 4, 2), "c": (5, 4, 3)}
    members = [
        a_member(
            name,
            status={
                "resourceUsage": {
                    kind: {gpu: str(amount)}
                    for kind, amount in zip(
                        ("capacity", "allocatable", "available"), of, strict=True
                    )
                }
            },
        )
        for name, of in amounts.items()
    ]
    sorter = a_sorter(10, f"resources.kubernetes-fleet.io/{view}-{gpu}")
    assert placed(tmp_path, *members, a_placement(sorter))[0]["name"] == best


def test_pick_all_and_pick_fixed(tmp_path: Path) -> None:
    """PickAll takes who passes the filters, with score 0; PickFixed the named, taints or not."""
    members = [a_member("a"), a_member("b", taints=TAINTS), a_member("c")]
    every = a_placement()
    every["spec"]["policy"] = {"placementType": "PickAll"}
    told = placed(tmp_path, *members, every)
    assert [(c["name"], c["selected"]) for c in told] == [("c", True), ("a", True), ("b", False)]
    every["spec"]["policy"] = {"placementType": "PickFixed", "clusterNames": ["b", "gone"]}
    told = placed(tmp_path, *members, every)
    assert [(c["name"], c["selected"]) for c in told][:2] == [("b", True), ("gone", False)]
    assert "it is not in the fleet" in told[1]["reason"]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (a_member("a", status={"agentStatus": 1}), ["status.agentStatus", "list of objects"]),
        (
            a_member("a", status=an_agent(JOINED, beat="soon")),
            ["lastReceivedHeartbeat", "RFC 3339"],
        ),
        (a_member("a", status={"resourceUsage": []}), ["status.resourceUsage", "an object"]),
        (a_member("a", status={"conditions": {}, "x": 1}), []),
        (
            a_placement(status={"placementStatuses": [{"conditions": ["x"]}]}),
            ["placementStatuses"],
        ),
        (a_placement(placementType="PickSome"), ["placementType"]),
    ],
)
def test_unreadable_input_is_named(tmp_path: Path, broken: Json, said: list[str]) -> None:
    """Exit code 2 with file, document and field; an empty object is no fault."""
    done = run(tmp_path, broken)
    assert done.exit_code == (2 if said else 0), done.output
    for text in said:
        assert text in done.stderr


def test_the_table_says_the_same(tmp_path: Path) -> None:
    """A line for each cluster."""
    done = run(tmp_path, a_member("a", cpu=1), a_member("b", cpu=2), a_placement(a_sorter(9)))
    head, first, second = done.stdout.strip().splitlines()
    assert head.split() == ["PLACEMENT", "CLUSTER", "PICKED", "AFFINITY", "SPREAD", "REASON"]
    assert first.split()[:5] == ["p", "b", "yes", "9", "0"]
    assert second.split()[:5] == ["p", "a", "no", "0", "0"]

"""What `simulate place` reads: files of any shape, what a scene leaves out, and what it refuses."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from roadstead.cli.simulate import simulate

Json = dict[str, Any]
PLACEMENT = "placement.kubernetes-fleet.io"


def a_member(name: str, **metadata: Any) -> Json:
    return {
        "apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
        "kind": "MemberCluster",
        "metadata": {"name": name, **metadata},
        "spec": {"identity": {"kind": "User", "name": name}},
    }


def a_placement(name: str = "p", policy: Json | None = None, **more: Any) -> Json:
    return {
        "apiVersion": f"{PLACEMENT}/v1beta1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": name, "uid": "1", "creationTimestamp": None, "managedFields": []},
        "spec": {"policy": policy},
        **more,
    }


def n(count: int, **more: Any) -> Json:
    return {"placementType": "PickN", "numberOfClusters": count, **more}


def run(*objects: Any, args: tuple[str, ...] = ("-o", "json")) -> Result:
    """The objects as YAML documents on standard input: JSON is YAML."""
    return CliRunner().invoke(
        simulate, ["place", "-", *args], input="\n---\n".join(map(json.dumps, objects))
    )


def picked(*objects: Any, compatible: bool = True) -> dict[str, list[str]]:
    """Placement → clusters, as they were picked."""
    done = run(*objects, args=("-o", "json", *(["--compatible"] if compatible else [])))
    assert done.exit_code == 0, done.stderr
    return {
        p["name"]: [c["name"] for c in p["clusters"] if c["selected"]]
        for p in json.loads(done.stdout)["placements"]
    }


def test_lists_and_several_placements_are_read() -> None:
    """A v1 List, a list of one kind whose items do not say it, both versions, both kinds."""
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [a_member("a"), a_placement("one", n(1))],
    }
    of_a_kind = {
        **a_member("none"),
        "kind": "MemberClusterList",
        "items": [{"metadata": {"name": "b"}}],
    }
    two: Json = a_placement("two") | {"kind": "ResourcePlacement", "apiVersion": f"{PLACEMENT}/v1"}
    assert picked(listed, of_a_kind, two) == {"one": ["b"], "two": ["b", "a"]}  # fmt: skip


def test_other_kinds_change_nothing() -> None:
    """Selected objects and whatever else is in the files need not even be valid."""
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"nonsense": True}}
    other = {"apiVersion": "example.com/v1", "kind": "Whatever", "metadata": {"name": "x"}}
    run_of = {"apiVersion": f"{PLACEMENT}/v1alpha1", "kind": "StagedUpdateRun"}
    assert picked(a_member("a"), deployment, other, run_of, a_placement()) == {"p": ["a"]}


def test_what_is_null_is_not_given() -> None:
    """A label without a value is empty, a policy that is null is PickAll."""
    empty = n(2, affinity={"clusterAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": [
            {"labelSelector": {"matchLabels": {"gpu": ""}}}
        ]}
    }})  # fmt: skip
    members = [a_member("a", labels={"gpu": None}), a_member("b", labels=None)]
    assert picked(*members, a_placement("all"), a_placement("gpu", empty)) == {
        "all": ["b", "a"],
        "gpu": ["a"],
    }


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_as_many_as_there_are(count: int) -> None:
    """None where none is wanted or none is there; never more than there are."""
    assert picked(a_placement(policy=n(count))) == {"p": []}
    assert picked(a_member("a"), a_member("b"), a_placement(policy=n(count))) == {
        "p": ["b", "a"][:count]
    }


def test_what_there_is_none_of_is_warned_of() -> None:
    """The answer stays in its shape, on standard output, and the exit code is 0."""
    done = run(a_member("a"))
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"placements": []})
    assert "no placement in the files" in done.stderr
    assert "no MemberCluster in the files" in run(a_placement()).stderr


def test_a_pick_that_has_nothing_yet_goes_first() -> None:
    """Of fewer clusters those stay that were given something, whatever the scores; then the best."""
    said = "(affinity score: {}, topology spread score: {}): picked"

    def entry(name: str, started: str, affinity: int, topology: int) -> Json:
        message = said.format(affinity, topology)
        return {
            "clusterName": name,
            "conditions": [
                {"type": "Scheduled", "status": "True", "message": message},
                {"type": "RolloutStarted", "status": started},
            ],
        }

    entries = [entry("a", "True", 1, 0), entry("b", "Unknown", 9, 1), entry("c", "True", 0, 1)]
    entries += [{"conditions": [{"type": "Scheduled", "status": "False"}]}]
    members = [a_member(name) for name in "abcd"]
    for count, expected in ((3, ["c", "a", "b"]), (2, ["c", "a"]), (1, ["c"])):
        status = {"placementStatuses": entries}
        assert picked(*members, a_placement(policy=n(count), status=status)) == {"p": expected}


def test_who_is_not_asked_is_told_why() -> None:
    """Where as many are picked as are wanted, nobody's score was too low."""
    status = {"placementStatuses": [{"clusterName": "a"}]}
    members = [a_member("a"), a_member("b")]
    assert "1 are picked already" in run(*members, a_placement(policy=n(1), status=status)).stdout
    assert "no cluster is wanted" in run(*members, a_placement(policy=n(0))).stdout


def test_nothing_is_rounded_and_nothing_stands_in_for_what_is_not_told() -> None:
    """A property is its exact quantity of either sign; a view that is not told is missing."""
    usage = {"a": "-1", "b": "100u", "c": "1500m", "d": "1"}
    members = [
        a_member(name) | {"status": {"resourceUsage": {"available": {"memory": text}}}}
        for name, text in usage.items()
    ]
    members.append(a_member("e") | {"status": {"resourceUsage": {"allocatable": {"memory": "9"}}}})
    for view, expected in (("available", ["c", "d", "b", "e", "a"]), ("total", list("edcba"))):
        sorter = {
            "name": f"resources.kubernetes-fleet.io/{view}-memory",
            "sortOrder": "Descending",
        }
        term = {"weight": 100, "preference": {"propertySorter": sorter}}
        affinity = {"preferredDuringSchedulingIgnoredDuringExecution": [term]}
        policy = n(5, affinity={"clusterAffinity": affinity})
        assert picked(*members, a_placement(policy=policy)) == {"p": expected}


def test_an_unreadable_property_that_is_asked_for_is_warned_of() -> None:
    """Whatever its name; one that nobody asks for is not."""
    told = {name: {"value": "fast"} for name in ("example.com/speed", "example.com/other")}
    wanted = {"name": "example.com/speed", "operator": "Ne", "values": ["1"]}
    term = {"propertySelector": {"matchExpressions": [wanted]}}
    required = {"clusterSelectorTerms": [term]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    policy = n(1, affinity={"clusterAffinity": affinity})
    done = run(a_member("a") | {"status": {"properties": told}}, a_placement(policy=policy))
    assert not json.loads(done.stdout)["placements"][0]["clusters"][0]["selected"]
    assert done.stderr.splitlines() == [
        "warning: MemberCluster a: status.properties.example.com/speed is no quantity and counts as missing"
    ]


@pytest.mark.parametrize("compatible", [True, False])
@pytest.mark.parametrize("told", [{"namespaces": {}}, {}])
def test_one_that_collects_namespaces_and_has_none_lacks_them(
    told: Json, compatible: bool
) -> None:
    """A ResourcePlacement is not for it; where nothing is said of collecting, it is not asked."""
    collects = {"type": "NamespaceCollectionSucceeded", "status": "True"}
    namespaced = a_placement() | {"kind": "ResourcePlacement"}
    member = a_member("a") | {"status": {**told, "conditions": [collects]}}
    assert picked(member, namespaced, compatible=compatible) == {"p": []}
    assert picked(a_member("a") | {"status": told}, namespaced) == {"p": ["a"]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no document"),
        ("a: [", "line"),
        ("just text", "ExpectedObject"),
        ("kind: Job", "apiVersion"),
        (json.dumps(a_placement(policy={"placementType": "PickN"})), "numberOfClusters"),
        (json.dumps(a_placement(policy=n(-1))), "numberOfClusters"),
        (json.dumps(a_placement(policy=n(1, x=1))), "spec.policy.x"),
        (json.dumps(a_member("Capital")), "metadata.name"),
        (json.dumps(a_member("a", labels={"a": 1})), "metadata.labels"),
        (json.dumps(a_placement() | {"apiVersion": f"{PLACEMENT}/v1alpha1"}), "v1 and v1beta1"),
        (json.dumps(a_placement() | {"spec": None}), "spec"),
    ],
)
def test_what_can_not_be_read_is_named(text: str, said: str) -> None:
    """Exit code 2 and one line with the place and what is wrong; nothing on standard output."""
    done = CliRunner().invoke(simulate, ["place", "-", "-o", "json"], input=text)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("args", [[], ["absent.yaml"], ["-", "-"], ["-", "--now", "yesterday"]])
def test_a_call_that_can_not_be_meant_is_refused(args: list[str]) -> None:
    """Exit code 2: no file, one that is not there, standard input twice, an instant that is none."""
    done = CliRunner().invoke(simulate, ["place", *args], input=json.dumps(a_placement()))
    assert (done.exit_code, done.stdout) == (2, "")

"""`queues stop`, `resume`, `set`: one field changes, all else stays."""

import json
from typing import Any

import pytest

from roadstead.cli.kinds import KUEUE
from tests.cli.commands import run
from tests.cli.scripted import Answer, answering, items, problem


@pytest.fixture
def queue(hub):
    """A ClusterQueue of two flavors with a LocalQueue, anew for each test."""
    api = f"{KUEUE}/v1beta2"
    flavors = [
        {"apiVersion": api, "kind": "ResourceFlavor", "metadata": {"name": n}}
        for n in ("f1", "f2")
    ]
    amounts = [{"name": "cpu", "nominalQuota": 4}, {"name": "example.com/gpu", "nominalQuota": 1}]
    groups = [
        {
            "coveredResources": ["cpu", "example.com/gpu"],
            "flavors": [
                {"name": "f1", "resources": amounts},
                {"name": "f2", "resources": amounts},
            ],
        },
        {
            "coveredResources": ["memory"],
            "flavors": [{"name": "f3", "resources": [{"name": "memory", "nominalQuota": "1Gi"}]}],
        },
    ]
    made = {
        "apiVersion": api,
        "kind": "ClusterQueue",
        "metadata": {"name": "edited", "labels": {"a": "b"}},
        "spec": {"namespaceSelector": {}, "resourceGroups": groups},
    }
    entrance = {
        "apiVersion": api,
        "kind": "LocalQueue",
        "metadata": {"name": "lq", "namespace": "edits"},
        "spec": {"clusterQueue": "edited"},
    }
    with hub.client() as client:
        for each in (*flavors, made, entrance):
            client.apply(json.dumps(each))
    return "edited"


def _spec(hub, kind="ClusterQueue", name="edited", namespace="") -> dict[str, Any]:
    with hub.client() as client:
        found = client.find(kind, name, group=KUEUE, namespace=namespace)
        assert found.metadata.labels == ({"a": "b"} if kind == "ClusterQueue" else {})
        return found.spec


def test_a_queue_is_stopped_and_goes_on(hub, queue):
    """Hold, HoldAndDrain with --drain, None; nothing else of it changes."""
    before = _spec(hub)
    done = hub.run("queues", "stop", queue)
    assert (done.code, done.out) == (0, "ClusterQueue edited is stopped\n")
    assert _spec(hub) == {**before, "stopPolicy": "Hold"}
    hub.run("queues", "stop", "--drain", queue, "edits/lq")
    assert _spec(hub)["stopPolicy"] == "HoldAndDrain"
    assert _spec(hub, "LocalQueue", "lq", "edits")["stopPolicy"] == "HoldAndDrain"
    done = hub.run("queues", "resume", queue, "no-such", "edits/lq")
    assert (done.code, len(done.lines)) == (3, 2)
    assert _spec(hub) == {**before, "stopPolicy": "None"}


def test_a_dry_run_stops_nothing(hub, queue):
    """It names queues of both kinds that would stop or resume, and is refused as the stop would be."""
    before = _spec(hub)
    done = hub.run("queues", "stop", "--dry-run", queue, "edits/lq", "no-such")
    assert done.code == 3
    assert done.lines == [
        "ClusterQueue edited would be stopped; 0 jobs waiting would keep waiting",
        "  0 admitted jobs would run on",
        "LocalQueue edits/lq would be stopped; 0 jobs waiting would keep waiting",
        "  0 admitted jobs would run on",
    ]
    assert "no-such" in done.err
    assert "nothing was changed" in done.err
    done = hub.run("queues", "resume", "--dry-run", queue)
    assert done.out == "ClusterQueue edited has stopPolicy None already: nothing would change\n"
    assert _spec(hub) == before
    hub.run("queues", "stop", queue)
    done = hub.run("queues", "resume", "--dry-run", queue)
    assert done.out == (
        "ClusterQueue edited would admit again; 0 jobs waiting would be considered again\n"
    )
    assert _spec(hub)["stopPolicy"] == "Hold"


def test_a_dry_run_names_who_would_leave():
    """A drain evicts what is admitted: some of it by name, and how many more."""
    job = {"namespace": "team-a", "name": "train", "state": "Running", "cluster": "gpu-1"}
    told = {
        "kind": "ClusterQueue",
        "namespace": "",
        "name": "q",
        "carriedOut": False,
        "stopPolicy": "None",
        "wouldBe": "HoldAndDrain",
        "pending": 1,
        "evicted": 2,
        "left": 0,
        "jobs": [job],
    }
    with answering(Answer(told)) as script:
        done = run("--server", script.address, "queues", "stop", "--drain", "--dry-run", "q")
    assert done.lines == [
        "ClusterQueue q would be stopped; 1 job waiting would keep waiting",
        "  2 admitted jobs would be evicted and requeued",
        "    team-a/train  Running on gpu-1",
        "    ... and 1 more",
    ]
    assert script.asked == ["POST /v1/queues/q/stop?dryRun=true"]


@pytest.mark.parametrize(
    ("verb", "cordoned", "said"),
    [
        ("cordon", False, "c would be cordoned: no new work goes there; its 1 job continues"),
        ("cordon", True, "c is cordoned already: nothing would change"),
        (
            "uncordon",
            True,
            "c would be uncordoned: new work goes there again; its 1 job continues",
        ),
    ],
)
def test_a_cordon_has_a_dry_run(verb, cordoned, said):
    """It says how the member and its jobs would change."""
    told = {"name": "c", "carriedOut": False, "cordoned": cordoned, "wouldBe": verb == "cordon"}
    with answering(Answer(told | {"jobs": 1})) as script:
        done = run("--server", script.address, "clusters", verb, "--dry-run", "c")
    assert (done.code, done.out) == (0, said + "\n")
    assert script.asked == [f"POST /v1/clusters/c/{verb}?dryRun=true"]


def test_edits_are_in_the_audit_with_both_values(hub, queue):
    """`stop` and `resume` by their verbs, `set` with each value before and after."""
    hub.run("queues", "stop", queue)
    hub.run("queues", "resume", queue)
    done = hub.run("queues", "set", queue, "--nominal", "f1/cpu=8", "--cohort", "audited")
    assert done.code == 0, done.err
    with hub.client() as client:
        told = [each for each in client.audit() if each.name == queue]
    said = {(each.verb, each.outcome) for each in told}
    assert said >= {
        ("stop", "None -> Hold"),
        ("resume", "Hold -> None"),
        ("set", "f1/cpu nominalQuota 4 -> 8"),
        ("set", "cohortName none -> audited"),
    }


def test_amounts_are_set_by_flavor_and_resource(hub, queue):
    """The flavor where several have the resource; a resource may have a slash itself."""
    done = hub.run("queues", "set", queue, "--nominal", "f1/cpu=8", "--nominal", "memory=2Gi",
                   "--nominal", "f2/example.com/gpu=0", "--cohort", "all", "--borrow", "memory=1Gi",
                   "--strategy", "strictfifo")  # fmt: skip
    assert (done.code, done.out) == (0, "ClusterQueue edited is set\n"), done.err
    spec = _spec(hub)
    first, second = spec["resourceGroups"]
    told = [[r["nominalQuota"] for r in each["resources"]] for each in first["flavors"]]
    assert told == [["8", 1], [4, "0"]]
    assert second["flavors"][0]["resources"] == [
        {"name": "memory", "nominalQuota": "2Gi", "borrowingLimit": "1Gi"}
    ]
    assert (spec["cohortName"], spec["queueingStrategy"]) == ("all", "StrictFIFO")
    assert hub.run("queues", "set", queue, "--borrow", "memory=").code == 0
    assert hub.run("queues", "set", queue, "--cohort", "").code == 0
    spec = _spec(hub)
    assert "cohortName" not in spec
    assert "borrowingLimit" not in spec["resourceGroups"][1]["flavors"][0]["resources"][0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Nothing to set"),
        (("--nominal", "cpu=1"), "of which flavor? f1/cpu or f2/cpu"),
        (("--nominal", "tpu=1"), "the queue has no quota for it"),
        (("--nominal", "memory="), "a quota is an amount"),
        (("--nominal", "memory=much"), "is not a quantity"),
        (("--nominal", "cpu"), "RESOURCE=QUANTITY"),
    ],
)
def test_what_can_not_be_set_is_wrong_usage(hub, queue, arguments, said):
    """Told with what to type; nothing is changed."""
    before = _spec(hub)
    done = hub.run("queues", "set", queue, *arguments)
    assert (done.code, said in " ".join(done.err.split())) == (2, True), done.err
    assert _spec(hub) == before


def test_what_the_hub_refuses_is_told(hub, queue):
    """A limit without a cohort, for example: in the hub's words, with exit code 3."""
    done = hub.run("queues", "set", queue, "--borrow", "memory=1")
    assert (done.code, "NeedsCohort" in done.err) == (3, True)


def test_somebody_elses_change_is_not_undone():
    """The version that was read goes with what is applied; after a conflict it is read anew."""
    held: dict[str, Any] = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "metadata": {"name": "q", "uid": "u", "resourceVersion": "1"},
        "spec": {"cohortName": "x"},
    }
    newer = {**held, "metadata": {**held["metadata"], "resourceVersion": "2"}, "spec": {}}
    conflict = problem(409, "Conflict", "another version", items=[
        {"index": 0, "result": "rejected", "code": "Conflict", "detail": "another version"}])  # fmt: skip
    well = items({"index": 0, "result": "configured", "kind": "ClusterQueue", "name": "q"})
    with answering(Answer(held), conflict, Answer(newer), well) as script:
        done = run("--server", script.address, "queues", "set", "q", "--cohort", "y")
    assert (done.code, done.out) == (0, "ClusterQueue q is set\n"), done.err
    first, second = (json.loads(body) for body in script.bodies if body)
    assert first["metadata"] == {"name": "q", "resourceVersion": "1"}
    assert (second["metadata"]["resourceVersion"], second["spec"]) == ("2", {"cohortName": "y"})

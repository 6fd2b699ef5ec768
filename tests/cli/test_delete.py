"""`roadstead delete`: objects and jobs by name and by their manifests; what is refused, and what then."""

import json
from typing import Any

import pytest

from roadstead import NotFound, Rejected
from tests.cli.build import a_job, a_listed_job, a_namespace, text
from tests.cli.commands import Reached, run
from tests.cli.scripted import Answer, answering, problem

KUEUE = "kueue.x-k8s.io"


def _queue(name: str) -> list[dict[str, Any]]:
    """A ClusterQueue of its own namespace, and the LocalQueue of the same name."""
    version = {"apiVersion": f"{KUEUE}/v1beta2"}
    return [
        a_namespace(name),
        {
            **version,
            "kind": "ClusterQueue",
            "metadata": {"name": name},
            "spec": {"namespaceSelector": {}},
        },
        {
            **version,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": name},
            "spec": {"clusterQueue": name},
        },
    ]


def _applied(hub: Reached, *documents: dict[str, Any]) -> None:
    with hub.client() as client:
        assert not any(each.is_rejected for each in client.apply(text(*documents)))


def test_a_file_goes_from_its_end(hub, tmp_path):
    """Every document of every file, the last first, so that nothing goes before what needs it."""
    file = tmp_path / "all.yaml"
    file.write_text(text(*_queue("gone-1"), a_job("j", "gone-1")))
    _applied(hub, *_queue("gone-1"))
    with hub.client() as client:
        client.submit(a_job("j", "gone-1"))
    done = hub.run("delete", "-f", str(file), "--ignore-not-found")
    assert done.lines[:3] == [
        "Job gone-1/j deleted",
        "LocalQueue gone-1/gone-1 deleted",
        "ClusterQueue gone-1 deleted",
    ]


def test_names_and_kinds_as_people_write_them(hub):
    """Any case, plural or short; NAME with -n, or NAMESPACE/NAME; KIND/NAME several times."""
    _applied(hub, *_queue("gone-2"), *_queue("gone-3"))
    assert hub.run("delete", "cq", "gone-2", "gone-3").lines == [
        "ClusterQueue gone-2 deleted",
        "ClusterQueue gone-3 deleted",
    ]
    assert hub.run("delete", "localqueue", "gone-2", "-n", "gone-2").lines == [
        "LocalQueue gone-2/gone-2 deleted"
    ]
    assert hub.run("delete", "LocalQueues/gone-3/gone-3", "namespace/gone-2").lines == [
        "LocalQueue gone-3/gone-3 deleted",
        "Namespace gone-2 deleted",
    ]


def test_a_kind_of_nobody_is_asked_for(hub):
    """A kind that the command does not know is one that the hub holds, in a namespace or in none."""
    version = {"apiVersion": "example.com/v1", "kind": "Widget"}
    _applied(hub, {**version, "metadata": {"name": "w", "namespace": "default"}})
    assert hub.run("delete", "widget", "w").lines == ["Widget default/w deleted"]
    unknown = hub.run("delete", "gadget", "w")
    assert (unknown.code, unknown.out) == (3, "")
    assert "gadget is not a kind that the hub holds" in unknown.err


def test_a_kind_without_namespaces_is_told_without_one(hub):
    """Whether its scope is known, or the hub alone knows it."""
    widget = {"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": {"name": "w"}}
    karta = {
        "apiVersion": "run.ai/v1alpha1",
        "kind": "Karta",
        "metadata": {"name": "hive"},
        "spec": {
            "structureDefinition": {
                "rootComponent": {
                    "name": "hive",
                    "kind": {"group": "example.com", "version": "v1", "kind": "Hive"},
                    "specDefinition": {"podTemplateSpecPath": ".spec.template"},
                    "statusDefinition": {"conditionsDefinition": {"path": ".status.conditions"}},
                }
            }
        },
    }
    _applied(hub, widget, karta)
    assert hub.run("delete", "gizmo", "w").lines == ["Gizmo w deleted"]
    assert hub.run("delete", "Karta.run.ai", "hive").lines == ["Karta hive deleted"]


def test_one_that_is_refused_keeps_no_other_back(hub):
    """It is named, with its code; the exit code is 3; `--ignore-not-found` lets what is absent pass."""
    _applied(hub, a_namespace("gone-4"))
    done = hub.run("delete", "ns", "nowhere", "gone-4")
    assert (done.code, done.lines) == (3, ["Namespace gone-4 deleted"])
    assert "there is no Namespace nowhere [NotFound]" in done.err
    well = hub.run("delete", "ns", "nowhere", "--ignore-not-found")
    assert (well.code, well.lines) == (0, ["Namespace nowhere does not exist"])


def test_draining_is_asked_of_queues_alone():
    """`--drain` goes with ClusterQueues; a queue with jobs that is not drained says how to."""
    gone = Answer({"uid": "u", "result": "deleted"})
    with answering(gone) as script:
        run("--server", script.address, "delete", "cq/a", "ns/b", "--drain")
    assert script.asked == [
        f"DELETE /v1/objects/{KUEUE}/ClusterQueue/a?drain=true",
        "DELETE /v1/objects/core/Namespace/b",
    ]
    with answering(problem(409, "QueueNotEmpty", "3 jobs are charged to it")) as script:
        done = run("--server", script.address, "delete", "cq/a")
    assert done.code == 3
    assert "roadstead delete clusterqueue NAME --drain" in done.err


def test_a_dry_run_of_a_job_is_refused_as_its_deletion_is():
    """The hub is asked for the deletion itself, in a way that deletes nothing."""
    forbidden = problem(403, "Forbidden", "you may see job n/j and no more")
    with answering(Answer(a_listed_job("u")), forbidden) as script:
        done = run("--server", script.address, "delete", "job/n/j", "--dry-run")
    assert (done.code, done.out) == (4, "")
    assert "you may see job n/j and no more" in done.err
    assert (script.asked[1].split()[0], script.bodies[1]) == ("DELETE", b'{"dryRun":true}')


def test_a_dry_run_of_a_job_says_whether_it_leaves_a_cluster():
    """One that runs is withdrawn first; one that has ended is deleted."""
    for state, said in (
        ("Running", "would be withdrawn from gpu-1, then deleted"),
        ("Failed", "would be deleted"),
    ):
        with answering(Answer(a_listed_job("j", state=state))) as script:
            done = run("--server", script.address, "delete", "job/n/j", "--dry-run")
        assert done.out == f"Job n/j {said}\n"


def test_a_dry_run_says_where_an_object_of_kubectl_is_deleted():
    """With what that does in members; the exit code is 0, as nothing was refused."""
    counts = {"deleted": 1, "deletedIfEmpty": 0, "released": 0, "withdrawn": 0, "left": 0}
    there = {"cluster": "m1", **counts, "notReported": 0, "objects": []}
    said = {"result": "ownedElsewhere", "message": "kubectl delete configmap c -n n"}
    with answering(Answer({"uid": "u", **said, "members": [there]})) as script:
        done = run("--server", script.address, "delete", "configmap/n/c", "--dry-run")
    assert done.code == 0
    assert done.lines[0] == ("ConfigMap n/c is not deleted here: kubectl delete configmap c -n n")
    assert any("m1" in line for line in done.lines[1:])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Name what to delete"),
        (("cq",), "name one:"),
        (("cq/a", "b"), "expected KIND/NAME for each"),
        (("cq", "a", "-f", "x.yaml"), "Name what to delete"),
    ],
    ids=["nothing", "no-name", "mixed", "both"],
)
def test_what_is_not_understood_asks_no_hub(arguments, words):
    """Wrong usage ends with 2, whether or not a hub answers."""
    done = run("--server", "http://127.0.0.1:9", "delete", *arguments)
    assert done.code == 2
    assert words in done.err


def test_a_document_without_a_name_is_refused_before_anything_goes(tmp_path):
    """The file and the document are named; nothing is deleted."""
    file = tmp_path / "x.yaml"
    file.write_text(
        text(a_namespace("a"), {"apiVersion": "v1", "kind": "Namespace", "metadata": {}})
    )
    done = run("--server", "http://127.0.0.1:9", "delete", "-f", str(file))
    assert done.code == 2
    assert f"{file}, document 2" in done.err


def test_answers_for_scripts(hub):
    """`-o json` gives each with kind, name and result."""
    _applied(hub, a_namespace("gone-5"))
    done = hub.run("delete", "ns/gone-5", "-o", "json")
    (item,) = json.loads(done.out)["items"]
    assert (item["kind"], item["name"], item["result"]) == ("Namespace", "gone-5", "deleted")


def test_a_member_is_forgotten(hub):
    """`clusters rm` names each that goes; one that does not exist makes the exit code 3."""
    with hub.client() as client:
        client.add_cluster("spare-1")
    done = hub.run("clusters", "rm", "spare-1", "spare-2")
    assert (done.code, done.lines) == (3, ["spare-1 removed"])
    assert "spare-2" in done.err


def test_the_sdk_deletes(hub):
    """`delete_object` says what became of it, and raises what the hub refuses."""
    _applied(hub, a_namespace("gone-6"), a_namespace("gone-7"))
    with hub.client() as client:
        assert client.delete_object("Namespace", "gone-6").result == "deleted"
        with pytest.raises(NotFound):
            client.delete_object("Namespace", "gone-6")
        client.submit(a_job("j", "gone-7"))
        with pytest.raises(Rejected, match="NamespaceNotEmpty"):
            client.delete_object("Namespace", "gone-7")

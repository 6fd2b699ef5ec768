"""`roadstead run --kind`: a command becomes a JobSet, a PyTorchJob or a RayJob that the hub takes."""

import json
from typing import Any

import pytest
import yaml

from hub.bridge.work_kinds import is_left_alone
from hub.services.reading.work_kinds import ReadWork, read_work
from shared.kinds.registry import parse
from tests.cli.build import a_listed_job
from tests.cli.commands import run
from tests.cli.scripted import Answer, answering, items

Json = dict[str, Any]
IMAGE = ("--image", "ex/ray:2")


def made(kind: str, *arguments: str) -> Json:
    """What --dry-run prints, in queue `q`."""
    done = run("run", "--dry-run", "--name", "train", "-q", "q", "--kind", kind, *arguments)
    assert done.code == 0, done.err
    found: Json = yaml.safe_load(done.out)
    return found


def read(manifest: Json) -> ReadWork:
    """As the hub reads it."""
    found = read_work(parse(manifest))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("kind", "pods"),
    [
        ("jobset", [("workers", 3)]),
        ("pytorch", [("master", 1), ("worker", 3)]),
        ("ray", [("head", 1), ("workers", 3), ("submitter", 1)]),
    ],
)
def test_each_kind_has_the_workers_asked_for(kind, pods):
    """The hub charges as many pods, of the size that was asked for."""
    given = (
        "--workers",
        "3",
        "--cpu",
        "2",
        *IMAGE,
        "-e",
        "A=b",
        "--",
        "python",
        "train.py",
        "a b",
    )
    found = read(made(kind, *given))
    assert [(each.name, each.count) for each in found.pod_sets] == pods
    assert found.pod_sets[0].requests["cpu"] == 2000


@pytest.mark.parametrize("kind", ["jobset", "pytorch", "ray"])
def test_the_operators_of_a_hub_cluster_leave_the_printed_object_alone(kind):
    """It carries managedBy, so that kubectl may apply it there."""
    assert is_left_alone(made(kind, *IMAGE, "--", "python", "train.py"))


def test_the_common_options_are_those_of_a_job():
    """Queue, priority, chains, retries and the limit of time; PyTorch's container has its operator's name."""
    options = ("--priority", "high", "--retries", "2", "--time", "1h", "--after", "prepare")
    for kind in ("jobset", "pytorch", "ray"):
        found = made(kind, *options, *IMAGE, "--", "x")
        assert found["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] == "high"
        assert found["metadata"]["annotations"]["roadstead.dev/after"] == "prepare"
        read(found)
    rules = made("pytorch", *options, "--", "x")["spec"]["runPolicy"]
    assert (rules["backoffLimit"], rules["activeDeadlineSeconds"]) == (2, 3600)
    (job,) = made("jobset", *options, "--", "x")["spec"]["replicatedJobs"]
    assert job["template"]["spec"]["activeDeadlineSeconds"] == 3600
    worker = made("pytorch", "--", "x")["spec"]["pytorchReplicaSpecs"]["Worker"]
    assert worker["template"]["spec"]["containers"][0]["name"] == "pytorch"


def queue(name: str, *local: str) -> Json:
    """A ClusterQueue as the hub lists it, with LocalQueues of these names in namespace `default`."""
    entrances = [{"namespace": "default", "name": each, "clusterQueue": name} for each in local]
    return {"name": name, "localQueues": [{**each, "pending": 0} for each in entrances]}


@pytest.mark.parametrize(
    ("queues", "named"),
    [
        ([], "default"),
        ([queue("main", "a")], "a"),
        ([queue("main", "a"), queue("default", "default")], "default"),
    ],
)
def test_without_a_queue_it_gets_the_default_or_the_only_one(queues, named):
    """Objects of other kinds have to name theirs; a hub without queues provides `default`."""
    job = a_listed_job("train")
    with answering(asked=lambda p: items(*queues) if "queues" in p else Answer(job)) as script:
        done = run("--server", script.address, "run", "--kind", "jobset", "--", "x")
    assert done.code == 0, done.err
    sent = json.loads(script.bodies[-1])
    assert sent["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == named


def test_of_several_queues_the_user_names_one():
    """Nothing is sent; the error has the option and the names."""
    with answering(asked=lambda _: items(queue("main", "a", "b"))) as script:
        done = run("--server", script.address, "run", "--kind", "jobset", "--", "x")
    assert done.code == 2
    assert "-q NAME: a, b." in done.err
    assert script.asked == ["GET /v1/queues"]


def test_ray_runs_the_command_in_its_head_as_a_shell_reads_it():
    """Words with spaces stay whole; Ray counts the CPUs of limits."""
    spec = made("ray", *IMAGE, "--", "python", "train.py", "a b")["spec"]
    assert spec["entrypoint"] == "python train.py 'a b'"
    head = spec["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    assert "command" not in head
    assert head["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}


def test_without_workers_the_first_pod_runs_alone():
    """A master, or a head."""
    assert len(read(made("pytorch", "--workers", "0", "--", "x")).pod_sets) == 1
    found = read(made("ray", "--workers", "0", *IMAGE, "--", "x"))
    assert [each.name for each in found.pod_sets] == ["head", "submitter"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--workers", "2"), "--workers needs --kind"),
        (("--kind", "jobset", "--array", "0-3"), "has --workers"),
        (("--kind", "pytorch", "--parallelism", "3"), "has --workers"),
        (("--kind", "ray"), "--image"),
        (("--kind", "jobset", "--workers", "0"), "at least one pod"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments, told):
    """Before anything is sent, with the option to use."""
    done = run("run", "--dry-run", *arguments, "--", "x")
    assert done.code == 2
    assert told in done.err

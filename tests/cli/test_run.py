"""`roadstead run`: a command becomes a Job, as it is printed and as it is sent."""

import json
from typing import Any

import pytest
import yaml

from roadstead.cli.run.manifest import name_for
from tests.cli.build import a_listed_job
from tests.cli.commands import Ran, run
from tests.cli.scripted import Answer, answering
from tests.cli.terminal import on_terminal, plain

TAKEN = Answer(a_listed_job("train", state="Pending", cluster=""), 201)


def made(*arguments: str) -> dict[str, Any]:
    """The Job that --dry-run prints."""
    done = run("run", "--dry-run", "--name", "train", *arguments)
    assert done.code == 0, done.err
    found: dict[str, Any] = yaml.safe_load(done.out)
    return found


def container(*arguments: str) -> dict[str, Any]:
    """Its only container."""
    found: dict[str, Any] = made(*arguments)["spec"]["template"]["spec"]["containers"][0]
    return found


def test_a_command_alone_is_a_job_of_one_cpu():
    """Without options: one pod, one CPU, 1Gi without a limit, no retry, nothing superfluous."""
    assert made("--", "python", "train.py", "--lr", "0.1") == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {
                            "name": "main",
                            "image": "python:3.13-slim",
                            "command": ["python", "train.py", "--lr", "0.1"],
                            "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                        }
                    ],
                }
            },
        },
    }


def test_what_is_asked_for_is_requested_and_limited():
    """Devices and memory are limits too, as Kubernetes needs the one and people mean the other."""
    found = container("--gpus", "2", "--cpu", "8", "--memory", "16Gi", "--", "x")["resources"]
    assert found["requests"] == {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "2"}
    assert found["limits"] == {"memory": "16Gi", "nvidia.com/gpu": "2"}


def test_other_devices_are_named():
    """--gpus takes another maker's, --resource anything."""
    found = container("--gpus", "amd.com/gpu=1", "--resource", "e.com/f=2", "--", "x")["resources"]
    assert found["limits"] == {"amd.com/gpu": "1", "e.com/f": "2"}


def test_queue_and_priority_are_kueues_labels():
    """-q and --priority become the labels that Kueue reads; --label and --annotation are kept."""
    found = made("-q", "lq", "--priority", "high", "--label", "a=b", "--annotation", "c=d=e",
                 "-n", "ns", "--", "x")["metadata"]  # fmt: skip
    assert found["namespace"] == "ns"
    assert found["annotations"] == {"c": "d=e"}
    assert found["labels"] == {
        "a": "b",
        "kueue.x-k8s.io/queue-name": "lq",
        "kueue.x-k8s.io/priority-class": "high",
    }


def test_a_variable_alone_has_the_value_it_has_here(monkeypatch):
    """-e K=V says it, -e K takes it from here; one that is not here is refused."""
    monkeypatch.setenv("ROADSTEAD_TEST_HERE", "1")
    found = container("-e", "A=x=y", "-e", "ROADSTEAD_TEST_HERE", "--", "x")["env"]
    assert found == [
        {"name": "A", "value": "x=y"},
        {"name": "ROADSTEAD_TEST_HERE", "value": "1"},
    ]
    assert run("run", "-e", "ROADSTEAD_TEST_NOWHERE", "--", "x").code == 2


def test_many_pods_know_their_number():
    """--parallelism N is an Indexed Job of N, all at once."""
    found = made("--parallelism", "4", "--retries", "2", "--time", "1h30m", "--", "x")["spec"]
    del found["template"]
    assert found == {
        "completionMode": "Indexed",
        "completions": 4,
        "parallelism": 4,
        "backoffLimit": 2,
        "activeDeadlineSeconds": 5400,
    }


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("python", "jobs/Train_Model.py", "--x"), "train-model-s"),
        (("/bin/echo", "hi"), "echo-s"),
        (("___",), "run-s"),
        (("a" * 90,), "a" * 40 + "-s"),
    ],
)
def test_a_name_is_made_of_the_script(command, name):
    """Without --name: of the script, else of the program, within what Kubernetes takes."""
    assert name_for(command, "s") == name


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--memory", "16", "Did you mean '16Gi'?"),
        ("--memory", "16GB", "Did you mean '16Gi'?"),
        ("--memory", "1.5g", "Did you mean '1.5Gi'?"),
        ("--memory", "lots", "'lots' is not a quantity such as 16Gi"),
        ("--memory", "500m", "Did you mean"),
        ("--cpu", "two", "'two' is not a quantity such as 0.5, 8 or 500m"),
        ("--cpu", "0", "'0' requests nothing"),
        ("--cpu", "-1", "'-1' is not a quantity such as 0.5, 8 or 500m: must not be negative"),
        ("--gpus", "0.5", "use a whole number"),
        ("--gpus", "0", "use a whole number"),
        ("--gpus", "=1", "use a whole number"),
        ("--resource", "x", "use NAME=QUANTITY"),
        ("--env", "=1", "use KEY=VALUE"),
        ("--label", "a", "use KEY=VALUE"),
        ("--time", "soon", "not a duration: use 90s, 30m, 2h, 1d or 1h30m"),
        ("--time", "0", "not a duration"),
        ("--time", "90", "'90' has no unit. Did you mean '90m', or '90s' or '90h'?"),
        ("--parallelism", "0", "is not in the range"),
    ],
)
def test_a_bad_amount_says_what_to_type(option, value, words):
    """A quantity that is none is wrong usage: the option, what is wrong, what to type; nothing is sent."""
    done = run("run", option, value, "--", "x")
    assert (done.code, words in " ".join(done.err.split())) == (2, True), done.err
    assert f"'{option}'" in done.err or f"/ '{option}'" in done.err


def test_options_end_where_the_command_begins():
    """What follows the first word of the command is its own, with `--` or without."""
    assert container("echo", "--cpu", "3")["command"] == ["echo", "--cpu", "3"]
    assert run("run", "--cpu", "3").code == 2


def _sent(*arguments: str, answers: tuple[Answer, ...] = (TAKEN,)) -> tuple[Ran, dict[str, Any]]:
    with answering(*answers) as script:
        done = run("--server", script.address, "run", *arguments)
    return done, json.loads(script.bodies[0])


def test_the_job_that_was_printed_is_the_one_that_is_sent():
    """What --dry-run shows is submitted, and told with its uid."""
    done, sent = _sent("--name", "train", "--gpus", "1", "--", "x")
    assert sent == made("--gpus", "1", "--", "x")
    assert done.out == "team-a/train submitted (01a1feaf-1339-78fd-a076-6ec8b2409717)\n"
    assert (done.code, done.err) == (0, "")


def test_waiting_tells_how_it_ended():
    """--wait ends with 0 where it succeeded, with 1 and the way to the reason where it did not."""
    well = Answer(a_listed_job("train", state="Succeeded"))
    done, _ = _sent("--wait", "--", "x", answers=(TAKEN, well))
    assert (done.code, done.lines[-1]) == (0, "team-a/train Succeeded on gpu-1")
    ill = Answer(a_listed_job("train", state="Failed", reason="BackoffLimitExceeded"))
    done, _ = _sent("--wait", "--", "x", answers=(TAKEN, ill))
    assert (done.code, "roadstead explain team-a/train" in done.err) == (1, True)


def test_waiting_tells_how_it_stands_meanwhile():
    """Each change of state, place and reason once, on standard error: a script reads the end alone."""
    waits = Answer(a_listed_job("train", state="Pending", cluster="", reason="WaitingForQuota"))
    runs = Answer(a_listed_job("train", state="Running"))
    well = Answer(a_listed_job("train", state="Succeeded"))
    done, _ = _sent("--wait", "--", "x", answers=(TAKEN, waits, waits, runs, well))
    assert done.err.splitlines() == [
        "team-a/train Pending: WaitingForQuota (roadstead explain team-a/train)",
        "team-a/train Running on gpu-1",
    ]
    assert done.lines[-1] == "team-a/train Succeeded on gpu-1"


def test_what_was_made_for_programs():
    """-o json prints the job as the hub holds it, and nothing else."""
    done, _ = _sent("-o", "json", "--", "x")
    assert json.loads(done.out)["uid"] == "01a1feaf-1339-78fd-a076-6ec8b2409717"
    assert done.err == ""


def test_the_namespace_of_the_environment_is_the_default(monkeypatch):
    """ROADSTEAD_NAMESPACE names it where -n does not."""
    monkeypatch.setenv("ROADSTEAD_NAMESPACE", "team-z")
    assert made("--", "x")["metadata"]["namespace"] == "team-z"
    assert made("-n", "other", "--", "x")["metadata"]["namespace"] == "other"


def test_the_next_step_is_told_on_a_terminal():
    """A person at a terminal is told what to type next; a pipe is not."""
    with answering(TAKEN) as script:
        seen = on_terminal("--server", script.address, "run", "--", "x", out=False, err=True)
    assert "Next: roadstead logs team-a/train -f  |  roadstead explain team-a/train" in plain(
        seen.terminal
    )
    assert "Next" not in seen.out


def test_what_the_simulation_goes_by_stands_at_the_pods():
    """Annotations for the simulated kubelet are the pod template's."""
    found = made("--annotation", "sim.roadstead.dev/run-seconds=2", "--", "x")
    assert "annotations" not in found["metadata"]
    assert found["spec"]["template"]["metadata"]["annotations"] == {
        "sim.roadstead.dev/run-seconds": "2"
    }

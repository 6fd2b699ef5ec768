"""Completion offers names of what is there; and `kubectl roadstead` is the same program."""

import shutil
import time

import pytest

from tests.cli.build import a_listed_job
from tests.cli.commands import REPOSITORY, spawn
from tests.cli.scripted import Answer, answering, items


def offered(server: str, *words: str, **environment: str) -> list[str]:
    """What a shell is offered for the last word."""
    typed = ["roadstead", *words]
    done = spawn(COMP_WORDS=" ".join(typed), COMP_CWORD=str(len(typed) - 1),
                 _ROADSTEAD_COMPLETE="bash_complete", ROADSTEAD_SERVER=server, **environment)  # fmt: skip
    assert "Traceback" not in done.err
    return [line.partition(",")[2] for line in done.lines if line]


def answers(path: str) -> Answer:
    """A hub with some of everything."""
    queue = {"name": "cq-1", "localQueues": [{"namespace": "team-a", "name": "lq"}], "quotas": []}
    found = {
        "/v1/jobs": [a_listed_job("one"), a_listed_job("two")],
        "/v1/clusters": [{"name": "c1", "state": "Ready", "ready": True}],
        "/v1/queues": [queue],
        "/v1/objects": [{"group": "", "kind": "ConfigMap", "count": 1}],
        "/v1/objects/core/Namespace": [{"metadata": {"name": "made"}}],
        "/v1/placements": [],
    }
    return items(*found.get(path.partition("?")[0], []))


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("jobs", "cancel", "team"), ["team-a/one", "team-a/two"]),
        (("jobs", "show", "team-a/t"), ["team-a/two"]),
        (("explain", "team"), ["team-a/one", "team-a/two"]),
        (("jobs", "ls", "--cluster", ""), ["c1"]),
        (("clusters", "cordon", "c"), ["c1"]),
        (("run", "-q", ""), ["lq"]),
        (("run", "-n", "m"), ["made"]),
        (("queues", "stop", ""), ["cq-1", "team-a/lq"]),
        (("get", "con"), ["configmap"]),
        (("context", "use", "l"), ["local"]),
        (("jobs", "resu"), ["resubmit"]),
    ],
    ids=str,
)
def test_names_are_offered(words, names):
    """By what the word stands for: jobs, members, queues, namespaces, kinds, contexts; verbs as before."""
    with answering(asked=answers) as script:
        assert offered(script.address, *words) == names


def test_names_alone_where_a_namespace_is_set():
    """A job is offered as it may be typed."""
    with answering(asked=answers) as script:
        assert "one" in offered(script.address, "jobs", "show", "o", ROADSTEAD_NAMESPACE="team-a")


def test_a_name_that_would_steer_the_terminal_is_not_offered():
    """What can not be printed can not be typed either."""
    with answering(items(a_listed_job("a\x1b[2J"))) as script:
        assert offered(script.address, "jobs", "cancel", "team-a/") == []


@pytest.mark.parametrize("answer", [Answer(silent=True), Answer(cut=True), Answer([], 500)])
def test_a_hub_that_does_not_answer_offers_nothing_soon(answer):
    """The shell gets its answer within a few seconds, and no error."""
    begun = time.monotonic()
    with answering(answer) as script:
        assert offered(script.address, "jobs", "cancel", "") == []
    assert time.monotonic() - begun < 8


def test_kubectl_finds_the_program():
    """`kubectl roadstead …` is it, and says so in its usage."""
    programs = REPOSITORY / ".venv/bin"
    if shutil.which("kubectl") is None or not (programs / "kubectl-roadstead").exists():
        pytest.skip("kubectl, or the installed command, does not exist")
    import os
    import subprocess

    path = f"{programs}:{os.environ['PATH']}"
    done = subprocess.run(["kubectl", "roadstead", "jobs", "nope"], env={**os.environ, "PATH": path},
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: kubectl roadstead jobs ")

"""Verbs for several jobs, and filters: what does not exist is named, and shows in the exit code."""

import json
import os

import pytest

from roadstead.models.jobs import WholeJob
from tests.cli.build import a_job, a_listed_job, text
from tests.cli.commands import run
from tests.cli.filled import filled
from tests.cli.scripted import Answer, answering, items, problem

ABSENT = problem(404, "NotFound", "there is no job no-such")


@pytest.mark.parametrize("verb", ["cancel", "hold", "release", "delete"])
def test_a_name_that_is_not_there_stops_no_other(hub, tmp_path, verb):
    """The others are dealt with and told in order; the one that does not exist is named; 3."""
    names = [f"team-a/{verb}-{i}" for i in range(3)]
    jobs = [a_job(name.partition("/")[2]) for name in names]
    (tmp_path / "jobs.yaml").write_text(text(*jobs))
    assert hub.run("apply", "-f", str(tmp_path / "jobs.yaml")).code == 0
    done = hub.run("jobs", verb, names[0], "team-a/no-such", *names[1:])
    assert done.code == 3
    assert [line.split()[0] for line in done.lines] == names
    (said, *_) = done.err.splitlines()
    assert said == "error: there is no job team-a/no-such [NotFound]"


def test_a_job_of_anothers_stops_no_other():
    """Whoever cancels what matches has theirs cancelled, and is told whose is not theirs; 4."""
    jobs = [a_listed_job(f"j{i}", uid=f"u{i}") for i in range(3)]
    another = problem(403, "Forbidden", "job team-a/j1 is another's")
    done = [Answer(filled(WholeJob, name=f"j{i}", state="Cancelled")) for i in (0, 2)]
    by_path = {"u0": done[0], "u1": another, "u2": done[1]}

    def asked(path: str) -> Answer:
        return next((by_path[u] for u in by_path if f"/{u}/" in path), items(*jobs))

    with answering(asked=asked) as script:
        ran = run("--server", script.address, "jobs", "cancel", "-n", "team-a", "--yes")
    assert ran.code == 4
    assert [line.split()[0].partition("/")[2] for line in ran.lines] == ["j0", "j2"]
    assert "job team-a/j1 is another's" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("explain", "a/b/c"), "'a/b/c' is not the name of a job: use NAMESPACE/NAME or a uid"),
        (("jobs", "show", ""), "'' is not the name of a job: use NAMESPACE/NAME or a uid"),
        (("jobs", "cancel", "a/"), "'a/' is not the name of a job: use NAMESPACE/NAME or a uid"),
        (
            ("workloads", "show", "nope"),
            "'nope' is not the name of a Workload: use NAMESPACE/NAME",
        ),
        (("queues", "show", ""), "the name is empty"),
    ],
    ids=str,
)
def test_what_is_no_name_is_told_what_one_is(hub, arguments, said):
    """Not that a path of the hub's is unknown, which nobody typed."""
    done = hub.run(*arguments)
    assert (done.code, done.err) == (3, f"error: {said} [NotFound]\n")


@pytest.mark.parametrize(
    "arguments", [("explain",), ("jobs", "ls", "--queue"), ("queues", "show")]
)
def test_bytes_that_are_no_text_are_a_name_that_is_not_there(hub, arguments):
    """A terminal may send anything."""
    done = hub.spawn(*arguments, os.fsdecode(b"\xff\xfe"))
    assert done.code == 3
    assert "Traceback" not in done.err


def test_members_are_cordoned_in_the_same_way(hub):
    """One that is not declared keeps none of the others back."""
    for verb in ("cordon", "uncordon"):
        done = hub.run("clusters", verb, "no-such", "c1")
        assert (done.code, done.lines) == (3, [f"c1 {verb}ed"])
        assert "there is no cluster no-such [NotFound]" in done.err


def test_a_member_is_not_fenced_by_another_name(hub):
    """What is typed must be its name; the hub says so, and nothing happens."""
    done = hub.run("clusters", "fence", "c1", "--destroyed", "--confirm", "c2")
    assert done.code == 3
    assert "[ConfirmationMismatch]" in done.err


def test_a_member_that_answers_is_not_fenced_by_its_name_alone():
    """The refusal tells when it was heard; the word that is asked for besides is named, and sent."""
    alive = problem(409, "ClusterAlive", "c1 answers: its agent reported 6 s ago")
    fence = ("clusters", "fence", "c1", "--destroyed", "--confirm", "c1")
    with answering(alive, Answer({"name": "c1", "released": 2})) as script:
        refused = run("--server", script.address, *fence)
        done = run("--server", script.address, *fence, "--though-it-answers")
    assert refused.code == 3
    assert "reported 6 s ago [ClusterAlive]" in refused.err
    assert "--though-it-answers" in refused.err
    assert done.out == "c1 fenced; 2 jobs requeued\n"
    assert [json.loads(body) for body in script.bodies] == [
        {"confirm": "c1"},
        {"confirm": "c1", "thoughItAnswers": True},
    ]


def test_every_refused_name_is_told():
    """Each has a line of its own; a refusal that does not say the name gets it."""
    refused = problem(409, "AlreadyEnded", "it has ended")
    with answering(refused) as script:
        done = run("--server", script.address, "jobs", "hold", "uid-1", "uid-2")
    assert (done.code, done.out) == (3, "")
    assert done.err.splitlines() == [
        "error: uid-1: it has ended [AlreadyEnded]",
        "error: uid-2: it has ended [AlreadyEnded]",
    ]


def test_a_matter_of_rights_counts_whatever_comes_after_it():
    """4, though the last name is only not there."""
    another = problem(403, "Forbidden", "job team-a/j1 is another's")

    def asked(path: str) -> Answer:
        return another if "/uid-1/" in path else ABSENT

    with answering(asked=asked) as script:
        done = run("--server", script.address, "jobs", "hold", "uid-1", "uid-2", "uid-3")
    assert (done.code, done.err.count("error:")) == (4, 3)


def test_a_credential_that_is_not_accepted_ends_the_verb():
    """It is no matter of the names, and none of them is told."""
    refused = problem(401, "Unauthenticated", "the credential is not accepted")
    with answering(refused) as script:
        done = run("--server", script.address, "jobs", "hold", "uid-1", "uid-2", "uid-3")
    assert (done.code, done.err.count("error:")) == (4, 1)
    assert "uid-" not in done.err


def test_programs_get_those_that_were_answered():
    """-o json holds the jobs that were cancelled, and nothing else."""
    with answering(ABSENT, items()) as script:
        done = run("--server", script.address, "jobs", "cancel", "no-such", "-o", "json")
    assert done.code == 3
    assert json.loads(done.out) == {"items": []}


def test_a_hub_that_is_gone_ends_the_verb():
    """Where nobody answers the other names are not tried one by one."""
    done = run("--server", "http://127.0.0.1:1", "jobs", "cancel", "a", "b", "c")
    assert done.code == 5
    assert done.err.count("error:") == 1


def test_many_are_dealt_with_a_few_at_a_time():
    """Forty names, told in the order in which they were given, over a handful of connections."""
    names = [f"uid-{i}" for i in range(40)]
    with answering(problem(404, "NotFound", "there is no such job")) as script:
        done = run("--server", script.address, "jobs", "delete", *names)
        assert sorted(script.asked) == sorted(f"DELETE /v1/jobs/{name}" for name in names)
    assert [line.split(": ")[1] for line in done.err.splitlines()] == names


@pytest.mark.parametrize(
    ("arguments", "absent", "hint"),
    [
        (("jobs", "ls", "-n", "no-such"), "Namespace no-such", "jobs ls"),
        (("jobs", "ls", "-q", "no-such"), "LocalQueue no-such", "queues ls -o wide"),
        (
            ("jobs", "ls", "-n", "compute-jobs", "-q", "no-such"),
            "LocalQueue compute-jobs/no-such",
            "queues ls -o wide",
        ),
        (("jobs", "ls", "--cluster", "no-such"), "cluster no-such", "clusters ls"),
        (("workloads", "ls", "-n", "no-such"), "Namespace no-such", "jobs ls"),
        (("workloads", "ls", "--cluster-queue", "no-such"), "ClusterQueue no-such", "queues ls"),
        (("events", "-n", "no-such"), "Namespace no-such", "jobs ls"),
        (("checks", "ls", "--check", "no-such"), "AdmissionCheck no-such", "checks ls"),
        (("queues", "show", "no-such"), "ClusterQueue no-such", "queues ls"),
        (("queues", "show", "a/no-such"), "LocalQueue a/no-such", "queues ls -o wide"),
        (("queues", "pending", "no-such"), "ClusterQueue no-such", "queues ls"),
        (("clusters", "show", "job"), "cluster job", "clusters ls"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else None,
)
def test_what_is_not_there_is_said_and_no_success(hub, arguments, absent, hint):
    """A list narrowed to what the hub does not have ends with 3, and points to the list that helps."""
    done = hub.run(*arguments)
    assert (done.code, done.out) == (3, "")
    assert (
        done.err
        == f"error: there is no {absent} [NotFound]\n  List the existing ones: roadstead {hint}\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("jobs", "ls", "--cluster", "c1"),
        ("jobs", "ls", "-n", "default", "-l", "no=such"),
        ("jobs", "ls", "-q", "local-queue", "--state", "Succeeded"),
        ("checks", "ls", "--controller", "example.com/no-such"),
    ],
    ids=" ".join,
)
def test_what_is_there_and_empty_is_a_success(hub, arguments):
    """A filter that names what exists, or names no thing, may find nothing."""
    assert hub.run(*arguments).code == 0


def test_a_listed_job_is_shown_without_further_questions():
    """Only an empty list makes the command ask what is there."""
    with answering(items(a_listed_job())) as script:
        assert run("--server", script.address, "jobs", "ls", "-n", "gone").code == 0
        assert len(script.asked) == 1

"""`jobs wait` and `jobs show -w`: exit codes for scripts, and a page that follows."""

import json

import pytest

from tests.cli.build import a_listed_job
from tests.cli.commands import run
from tests.cli.scripted import Answer, answering, items, problem
from tests.cli.terminal import on_terminal, plain

STARTED = "2026-03-01T12:00:01Z"


def at(state: str, **more) -> Answer:
    started = None if state in {"Pending", "Cancelled"} else STARTED
    return Answer(a_listed_job(state=state, **{"startedAt": started, **more}))


@pytest.mark.parametrize(
    ("what", "state", "code"),
    [
        ("complete", "Succeeded", 0),
        ("complete", "Failed", 1),
        ("complete", "Cancelled", 1),
        ("failed", "Failed", 0),
        ("failed", "Succeeded", 1),
        ("ended", "Failed", 0),
        ("ENDED", "Cancelled", 0),
        ("running", "Running", 0),
        ("running", "Failed", 0),
        ("running", "Cancelled", 1),
    ],
)
def test_how_it_ended_is_the_exit_code(what, state, code):
    """0 where it came to what was waited for, 1 where it never can any more."""
    with answering(at("Pending"), at(state)) as script:
        done = run("--server", script.address, "jobs", "wait", "team-a/ok", "--for", what)
    assert done.code == code, done.err
    assert done.lines[-1].startswith(f"team-a/ok {state}")
    assert script.asked[0] == "GET /v1/namespaces/team-a/jobs/ok"
    assert script.asked[1].startswith("GET /v1/jobs/01a1feaf"), "by its uid from then on"


def test_too_long_is_6():
    """--timeout ends the wait, not the job."""
    with answering(at("Running")) as script:
        done = run("--server", script.address, "jobs", "wait", "u", "--timeout", "1s")
    assert (done.code, done.err.splitlines()[0]) == (
        6,
        "error: team-a/ok is Running, not complete in time",
    )


def test_all_of_several():
    """Each is told; one that failed makes it 1, and keeps no other from being waited for."""
    with answering(at("Failed", name="a"), at("Succeeded", name="b")) as script:
        done = run("--server", script.address, "jobs", "wait", "u-a", "u-b")
    assert (done.code, len(done.lines)) == (1, 2)
    assert "roadstead explain team-a/a" in done.err


def test_what_is_not_there_is_3():
    """No such job is no wait."""
    with answering(problem(404, "NotFound", "there is no job u")) as script:
        assert run("--server", script.address, "jobs", "wait", "u").code == 3


def test_programs_are_given_the_jobs_as_they_ended():
    """-o json prints {"items": […]} and nothing else."""
    with answering(at("Succeeded")) as script:
        done = run("--server", script.address, "jobs", "wait", "u", "-o", "json")
    assert json.loads(done.out)["items"][0]["state"] == "Succeeded"


def test_a_page_follows_its_job_into_a_pipe():
    """`jobs show -w` prints the page anew when it has changed, and ends with the job."""
    answers = [at("Pending"), items(), at("Pending"), items(), at("Succeeded"), items()]
    with answering(*answers) as script:
        done = run("--server", script.address, "jobs", "show", "u", "-w")
    assert done.code == 0
    states = [line.split()[1] for line in done.lines if line.startswith("  state")]
    assert states == ["Pending", "Succeeded"]


def test_a_page_is_brought_up_to_date_in_its_place():
    """On a terminal it is drawn where it stands, and stays when the job has ended."""
    answers = [at("Running"), items(), at("Succeeded"), items()]
    with answering(*answers) as script:
        seen = on_terminal("--server", script.address, "jobs", "show", "u", "--watch")
    assert (seen.code, "state     Succeeded" in plain(seen.terminal)) == (0, True)


def test_watching_is_for_people():
    """-w with -o json is wrong usage, which names the verb for programs."""
    done = run("jobs", "show", "u", "-w", "-o", "json")
    assert (done.code, "jobs wait" in done.err) == (2, True)

"""`jobs priority`: another class for jobs that are named, and what is said of each."""

import json

from tests.cli.build import a_listed_job
from tests.cli.commands import run
from tests.cli.scripted import Answer, answering, problem


def test_jobs_get_another_class():
    """Each is asked for by itself; one that is refused keeps no other back."""
    urgent = Answer(a_listed_job("b", priority=100, priorityClass="urgent"))
    no = problem(409, "AlreadyEnded", "the job is Succeeded: submit it again")
    with answering(no, urgent) as script:
        done = run("--server", script.address, "jobs", "priority", "u1", "u2", "urgent")
    assert done.code == 3
    assert "team-a/b has priority 100 (urgent)" in done.out
    assert "submit it again" in done.err
    assert [json.loads(body) for body in script.bodies] == [{"priorityClass": "urgent"}] * 2


def test_a_dash_is_none():
    """The class is taken away."""
    with answering(Answer(a_listed_job("b", priority=0, priorityClass=""))) as script:
        done = run("--server", script.address, "jobs", "priority", "u1", "-", "-o", "json")
    assert (done.code, json.loads(script.bodies[0])) == (0, {"priorityClass": ""})
    assert json.loads(done.out)["items"][0]["name"] == "b"

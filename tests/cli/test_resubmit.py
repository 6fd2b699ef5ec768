"""`jobs resubmit`: the manifest as it was received, under a name that is free."""

import json
from typing import Any

import pytest
import yaml

from shared.resubmitted import copy_of, next_name
from tests.cli.build import a_job, a_listed_job
from tests.cli.commands import run
from tests.cli.scripted import Answer, answering, problem

TAKEN = Answer(a_listed_job("new", state="Pending"), 201)


def held(manifest: dict[str, Any]) -> Answer:
    """A job that the hub holds with its manifest."""
    name = manifest["metadata"]["name"]
    return Answer(a_listed_job(name, state="Failed", manifest=manifest))


def test_a_copy_is_sent_under_the_next_name():
    """`ok` becomes `ok-r2`; all else is as it was."""
    with answering(held(a_job("ok")), TAKEN) as script:
        done = run("--server", script.address, "jobs", "resubmit", "team-a/ok")
    assert done.code == 0, done.err
    assert done.out.startswith("team-a/new submitted (")
    assert json.loads(script.bodies[1]) == a_job("ok-r2")


def test_a_copy_of_a_run_of_a_cron_job_has_no_scheduled_time():
    """The hub alone writes these annotations; others stay."""
    job = a_job("nightly-29934657")
    notes = {
        "roadstead.dev/cron-job": "nightly",
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-11-30T23:00:00Z",
        "team": "a",
    }
    job["metadata"]["annotations"] = notes
    assert copy_of(job, "again")["metadata"]["annotations"] == {"team": "a"}


@pytest.mark.parametrize("code", ["AlreadyExists", "BeingDeleted"])
def test_a_name_that_is_taken_is_passed_over(code):
    """The next free name is taken; a job that is being deleted holds its name. --name is never changed."""
    no = problem(409, code, "job team-a/ok-r2 exists")
    with answering(held(a_job("ok")), no, no, TAKEN) as script:
        assert run("--server", script.address, "jobs", "resubmit", "team-a/ok").code == 0
    assert json.loads(script.bodies[3])["metadata"]["name"] == "ok-r4"
    with answering(held(a_job("ok")), no) as script:
        done = run("--server", script.address, "jobs", "resubmit", "u", "--name", "mine")
    assert (done.code, json.loads(script.bodies[1])["metadata"]["name"]) == (3, "mine")


@pytest.mark.parametrize(
    ("name", "then"),
    [("a", "a-r2"), ("a-r2", "a-r3"), ("a-r99", "a-r100"), ("x" * 63, "x" * 60 + "-r2")],
)
def test_names_count_on(name, then):
    """Within what Kubernetes takes."""
    assert next_name(name) == then


def test_what_an_api_server_added_is_left_out():
    """A Job that came by kubectl is submitted again without the selector and labels of its first life."""
    job = a_job("ok")
    labels = {"controller-uid": "u", "batch.kubernetes.io/job-name": "ok", "own": "1"}
    job["metadata"] |= {"labels": labels, "ownerReferences": [{}]}
    job["spec"] |= {"selector": {}, "manualSelector": False, "managedBy": "m", "suspend": False}
    job["spec"]["template"]["metadata"] = {"labels": {"job-name": "ok"}}
    expected = a_job("new")
    expected["metadata"]["labels"] = {"own": "1"}
    expected["spec"]["template"]["metadata"] = {}
    assert copy_of(job, "new") == expected


def test_who_made_the_first_one_is_not_said_of_the_copy():
    """The hub says that of each job, and lets nobody else say it."""
    job = a_job("one")
    notes = {"roadstead.dev/submitted-by": "ana", "roadstead.dev/retry": "3"}
    made = copy_of({**job, "metadata": {**job["metadata"], "annotations": notes}}, "two")
    assert made["metadata"]["annotations"] == {"roadstead.dev/retry": "3"}


def test_what_is_hidden_is_not_submitted():
    """Who sees [hidden] in place of a variable's value would run something else: refused, nothing is sent."""
    job = a_job("ok")
    job["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "A", "value": "plain"},
        {"name": "B", "value": "[hidden]"},
    ]
    with answering(held(job), TAKEN) as script:
        done = run("--server", script.address, "jobs", "resubmit", "team-a/ok")
    assert (done.code, len(script.asked)) == (3, 1)
    assert "EnvironmentHidden" in done.err


def test_it_is_printed_without_being_sent():
    """--dry-run prints the Job as it would be submitted."""
    with answering(held(a_job("ok"))) as script:
        done = run("--server", script.address, "jobs", "resubmit", "u", "--dry-run")
    assert (yaml.safe_load(done.out), len(script.asked)) == (a_job("ok-r2"), 1)


def test_one_name_is_for_one_copy():
    """--name with two jobs is wrong usage."""
    assert run("jobs", "resubmit", "a/b", "a/c", "--name", "x").code == 2

"""`roadstead restored`: what has happened, and what is left from before."""

import json

from tests.cli.commands import run
from tests.cli.scripted import Answer, answering

LEFT = {
    "cluster": "north",
    "uid": "u-1",
    "objectUid": "m-1",
    "epoch": 1,
    "there": "Succeeded",
    "job": "team-a/one",
    "state": "Pending",
    "seenAt": "2026-05-01T00:00:00Z",
}


def test_all_is_well(hub):
    """A store that never went back has one line."""
    done = hub.run("restored")
    assert (done.code, done.lines) == (0, ["The store is as the hub left it."])


def test_what_is_left_is_listed():
    """With how it is in the member, and what the hub has of it; what it does not know is unknown."""
    told = {"stopped": "the store is older", "items": [LEFT, {**LEFT, "job": "", "state": ""}]}
    with answering(Answer(told)) as script:
        done = run("--server", script.address, "--token", "t", "restored")
    assert script.asked == ["GET /v1/restored"]
    assert done.code == 1  # until it is accepted: a script can wait for that
    assert done.lines[0] == "the store is older"
    heads = ["CLUSTER", "JOB", "UID", "EPOCH", "THERE", "HERE", "MANIFEST", "DECIDED", "SEEN"]
    assert done.lines[3].split() == heads
    assert done.lines[4].split()[:6] == ["north", "team-a/one", "u-1", "1", "Succeeded", "Pending"]
    assert done.lines[5].split()[1] == "unknown"


def test_a_job_that_the_hub_does_not_know_has_its_name_in_the_member():
    """As its agent reported it."""
    told = {"items": [{**LEFT, "job": "", "state": "", "name": "team-b/two"}]}
    with answering(Answer(told)) as script:
        done = run("--server", script.address, "--token", "t", "restored")
    assert done.lines[4].split()[:6] == ["north", "team-b/two", "u-1", "1", "Succeeded", "unknown"]


def test_a_script_reads_it_as_json():
    """The whole answer, and the same exit code."""
    told = {"stopped": "the store is older", "awaited": [], "items": [LEFT]}
    with answering(Answer(told)) as script:
        done = run("--server", script.address, "--token", "t", "restored", "-o", "json")
    assert (done.code, json.loads("\n".join(done.lines))) == (1, told)

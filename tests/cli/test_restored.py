"""`roadstead restored`: what has happened, and what is left from before."""

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
    heads = ["CLUSTER", "UID", "EPOCH", "THERE", "HERE", "MANIFEST", "DECIDED", "SEEN"]
    assert done.lines[3].split() == heads
    assert done.lines[4].split()[:6] == ["north", "u-1", "1", "Succeeded", "team-a/one", "Pending"]
    assert done.lines[5].split()[4] == "unknown"

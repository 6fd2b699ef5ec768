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
OBJECT_HEADS = [
    "CLUSTER",
    "KIND",
    "NAMESPACE",
    "NAME",
    "ORIGIN",
    "HERE",
    "UID",
    "DECIDED",
    "SINCE",
]


def test_all_is_well(hub):
    """A store that never went back has one line."""
    done = hub.run("restored")
    assert (done.code, done.lines) == (0, ["The store has not been rolled back."])


def test_what_is_left_is_listed():
    """With how it is in the member, and what the hub has of it; what it does not know is unknown."""
    told = {"stopped": "the store is older", "items": [LEFT, {**LEFT, "job": "", "state": ""}]}
    with answering(Answer(told)) as script:
        done = run("--server", script.address, "--token", "t", "restored")
    assert script.asked == ["GET /v1/restored"]
    assert done.code == 1  # until it is accepted: a script can wait for that
    assert done.lines[0] == "the store is older"
    heads = ["CLUSTER", "JOB", "UID", "EPOCH", "THERE", "HERE", "MANIFEST", "DECIDED", "SEEN"]
    assert done.lines[2].split() == heads
    assert done.lines[3].split()[:6] == ["north", "team-a/one", "u-1", "1", "Succeeded", "Pending"]
    assert done.lines[4].split()[1] == "unknown"


def test_a_job_that_the_hub_does_not_know_has_its_name_in_the_member():
    """As its agent reported it."""
    told = {"items": [{**LEFT, "job": "", "state": "", "name": "team-b/two"}]}
    with answering(Answer(told)) as script:
        done = run("--server", script.address, "--token", "t", "restored")
    assert done.lines[3].split()[:6] == ["north", "team-b/two", "u-1", "1", "Succeeded", "unknown"]


def test_other_objects_that_the_hub_does_not_know_are_listed():
    """With their kind and place, whether an agent created them, and since when; a namespace may be none."""
    left = {"cluster": "north", "kind": "ConfigMap", "namespace": "team", "name": "settings"}
    taken = {**left, "kind": "PriorityClass", "namespace": "", "name": "gold"}
    told = {"items": [], "objects": [{**left, "created": True}, taken]}
    with answering(Answer(told)) as script:
        done = run("--server", script.address, "--token", "t", "restored")
    assert done.lines[2].split() == OBJECT_HEADS
    assert done.lines[3].split()[:5] == ["north", "ConfigMap", "team", "settings", "created"]
    assert done.lines[4].split()[:6] == ["north", "PriorityClass", "-", "gold", "taken", "over"]


def test_what_is_decided_about_an_object_is_shown_with_how_far_it_is():
    """Until its member has carried it out; the commands that decide are named."""
    left = {"cluster": "north", "kind": "ConfigMap", "namespace": "team", "name": "settings"}
    waits = {"objectUid": "m-1", "decided": "Remove", "message": "not sent to its agent yet"}
    with answering(Answer({"objects": [{**left, **waits}]})) as script:
        done = run("--server", script.address, "--token", "t", "restored")
    assert done.lines[3].split()[6:9] == ["unknown", "m-1", "Remove"]
    assert "ConfigMap team/settings in north: not sent to its agent yet" in done.out
    assert "roadstead admin abandon UID" in done.err


EFFECTS = {
    "decision": "Remove", "carriedOut": True, "count": 1, "more": False, "refused": [],
    "members": [
        {
            "cluster": "north", "deleted": 1,
            "objects": [
                {"kind": "ConfigMap", "namespace": "team", "name": "settings", "fate": "Deleted",
                 "message": "the member's agent created it"},
            ],
        },
    ],
}  # fmt: skip


def test_an_object_is_removed_by_its_uid():
    """The answer has what becomes of it."""
    with answering(Answer(EFFECTS)) as script:
        done = run("--server", script.address, "--token", "t", "admin", "remove", "m-1")
    assert script.asked == ["POST /v1/restored:remove"]
    assert done.code == 0
    assert done.lines[0] == "1 object(s) decided: Remove"
    assert "ConfigMap team/settings  Deleted: the member's agent created it" in done.out


def test_a_dry_run_decides_nothing_and_a_member_that_cannot_is_named():
    """The exit code is 1 where something stays undecided."""
    refused = [{"cluster": "south", "message": "the agent of south cannot decide"}]
    told = {
        **EFFECTS,
        "decision": "Abandon",
        "carriedOut": False,
        "more": True,
        "refused": refused,
    }
    with answering(Answer(told)) as script:
        done = run(
            "--server", script.address, "--token", "t",
            "admin", "abandon", "--cluster", "north", "--placement", "ResourcePlacement/web", "--dry-run",
        )  # fmt: skip
    assert script.asked == ["POST /v1/restored:abandon"]
    assert done.code == 1
    assert done.lines[0] == "1 object(s) would be decided: Abandon"
    assert "the agent of south cannot decide" in done.out
    assert "More objects match" in done.out


def test_a_script_reads_it_as_json():
    """The whole answer, and the same exit code."""
    told = {"stopped": "the store is older", "awaited": [], "items": [LEFT]}
    with answering(Answer(told)) as script:
        done = run("--server", script.address, "--token", "t", "restored", "-o", "json")
    assert (done.code, json.loads("\n".join(done.lines))) == (1, told)


def test_a_member_that_owes_a_report_is_named_with_the_way_out():
    """Also where nothing else is left to do: it can not be removed until it reports or is fenced."""
    with answering(Answer({"items": [], "owing": ["north"]})) as script:
        done = run("--server", script.address, "--token", "t", "restored")
    assert done.code == 0
    assert done.lines[0] == "The store has not been rolled back."
    assert "north has not reported its Jobs since the restore" in "\n".join(done.lines)
    assert "roadstead clusters fence north --destroyed" in "\n".join(done.lines)


def test_a_missing_right_stands_beside_the_member_that_owes_its_report():
    """Its agent may not list a kind of jobs, and proves nothing until it may."""
    lacking = {"north": "its agent's account may not list and watch ray.io/v1/RayJob: grant it"}
    told = {"owing": ["east", "north"], "lacking": lacking}
    with answering(Answer(told)) as script:
        done = run("--server", script.address, "--token", "t", "restored")
    assert [line for line in done.lines if "ray.io/v1/RayJob" in line]
    assert sum("It cannot report them" in line for line in done.lines) == 1

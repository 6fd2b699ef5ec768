"""`roadstead logs` and `roadstead jobs pods`: what is printed of what the hub answers."""

import json
from collections.abc import Mapping

import pytest

from roadstead.cli.visible import visible
from roadstead.models.jobs import WholeJob
from tests.cli.commands import Ran, run
from tests.cli.filled import filled
from tests.cli.scripted import Answer, answering, problem

JOB = Answer(filled(WholeJob))
ENDED: Mapping[str, object] = {"end": {"code": "Ended", "message": ""}}


def a_line(text: str, **more: object) -> dict[str, object]:
    return {"pod": "p-1", "container": "main", "line": text, **more}


def told(*records: Mapping[str, object]) -> Answer:
    return Answer(b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in records))


def asked(line: str, *answers: Answer) -> Ran:
    with answering(*answers) as script:
        return run("--server", script.address, *line.split())


def test_each_line_has_its_pod_and_container_before_it() -> None:
    """And its instant where that is asked for; one that is cut says so; notes are beside the lines."""
    at = {"time": "2026-01-01T00:00:00Z"}
    note = {"pod": "p-2", "container": "main", "note": "waits: ImagePullBackOff"}
    records: list[Mapping[str, object]] = [
        a_line("one", **at),
        a_line("long", cut=True, **at),
        note,
        ENDED,
    ]
    ran = asked("logs u --timestamps", JOB, told(*records))
    assert ran.out == (
        "p-1 main 2026-01-01T00:00:00Z one\np-1 main 2026-01-01T00:00:00Z long … (cut)\n"
    )
    assert (ran.err, ran.code) == ("p-2 main waits: ImagePullBackOff\n", 0)


def test_lines_alone() -> None:
    """For scripts that know whose they are."""
    assert asked("logs u --no-prefix", JOB, told(a_line("one"), ENDED)).out == "one\n"


def test_records_for_scripts() -> None:
    """-o json gives what the hub gives, a record a line, in ASCII."""
    ran = asked("logs u -o json", JOB, told(a_line("\x1b[2J\u202e"), ENDED))
    assert [json.loads(line) for line in ran.out.splitlines()] == [a_line("\x1b[2J\u202e"), ENDED]
    assert ran.out.isascii()
    assert "\x1b" not in ran.out


def test_control_characters_are_shown_and_not_obeyed() -> None:
    """Of lines, and of names that an agent made up."""
    evil = "\x1b[2J\x1b]0;title\x07\rover\x9b31m\u202eback"
    ran = asked("logs u", JOB, told(a_line(evil, pod="\x1bp"), ENDED))
    assert ran.out == "^[p main ^[[2J^[]0;title^G^Mover\\u009b31m\\u202eback\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("plain", "plain"), ("a\tb", "a\tb"), ("é 日本 🚀", "é 日本 🚀"), ("\x00\x7f", "^@^?")],
)
def test_what_is_visible_stays(text: str, shown: str) -> None:
    """Letters of all scripts, and tabs."""
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("end", "code", "words"),
    [
        ([ENDED], 0, ""),
        ([{"end": {"code": "AgentSilent", "message": "gone"}}], 5, "gone [AgentSilent]"),
        ([{"end": {"code": "LongestReached", "message": "long"}}], 6, "long [LongestReached]"),
        ([], 5, "the stream broke off"),
    ],
)
def test_a_stream_that_is_not_whole_is_no_success(
    end: list[Mapping[str, object]], code: int, words: str
) -> None:
    """The exit code says whether all has been said."""
    ran = asked("logs u -f", JOB, told(a_line("one"), *end))
    assert (ran.out, ran.code) == ("p-1 main one\n", code)
    assert words in ran.err


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (problem(409, "LogsOff", "this member gives no logs"), 3),
        (problem(404, "PodNotFound", "it has no pod x"), 3),
        (problem(503, "ClusterSilent", "its agent is silent"), 5),
    ],
)
def test_refusals_are_told_with_their_exit_codes(refusal: Answer, code: int) -> None:
    """As those of every other verb."""
    ran = asked("logs u", JOB, refusal)
    assert ran.code == code
    assert refusal.body["detail"] in ran.err


@pytest.mark.parametrize(
    ("given", "seconds"), [("90", 90), ("45s", 45), ("10m", 600), ("1h30m", 5400), ("2d", 172800)]
)
def test_how_long_ago(given: str, seconds: int) -> None:
    """--since takes what people write."""
    with answering(JOB, told(ENDED)) as script:
        run("--server", script.address, "logs", "u", "--since", given)
    assert script.asked[1].endswith(f"/logs?since={seconds}")


@pytest.mark.parametrize("given", ["", "soon", "1x", "-5", "m", "9" * 20])
def test_what_is_no_time_is_wrong_usage(given: str) -> None:
    """And nothing is asked."""
    assert run("--server", "http://localhost:1", "logs", "u", "--since", given).code == 2


def test_pods_of_a_job() -> None:
    """A line each, and each reason once."""
    container = {"name": "main", "exitCode": 137}
    pods = [
        {"name": "p-1", "phase": "Failed", "reason": "OOMKilled", "containers": [container]},
        {
            "name": "p-2",
            "phase": "Pending",
            "reason": "Unschedulable",
            "message": "0/3 nodes\x1b[2J",
        },
    ]
    event = {"at": "", "reason": "Killing", "object": "Pod/p-1", "message": "killed", "count": 2}
    body = {"cluster": "c", "items": pods, "leftOut": 3, "events": [event], "eventsUnread": ""}
    ran = asked("jobs pods u --events", Answer(body))
    assert [line.split() for line in ran.out.splitlines()] == [
        ["POD", "PHASE", "REASON", "EXIT", "RESTARTS", "NODE", "STARTED", "FINISHED"],
        ["p-1", "Failed", "OOMKilled", "137", "0", "-", "-", "-"],
        ["p-2", "Pending", "Unschedulable", "-", "0", "-", "-", "-"],
        ["Unschedulable:", "0/3", "nodes^[[2J"],
        ["3", "more", "pods", "are", "not", "shown"],
        [],
        ["AT", "REASON", "OBJECT", "COUNT", "MESSAGE"],
        ["-", "Killing", "Pod/p-1", "2", "killed"],
    ]


def test_a_job_is_shown_with_its_pods() -> None:
    """Of one that is in a cluster; where they can not be had, why not, and the page is whole."""
    running = filled(WholeJob, state="Running")
    body = {"cluster": "c", "items": [{"name": "p-1", "phase": "Running"}]}
    events = Answer({"items": []})
    assert "  pods now\n" in asked("jobs show u", Answer(running), events, Answer(body)).out
    refused = asked(
        "jobs show u", Answer(running), events, problem(503, "ClusterSilent", "silent")
    )
    assert "  pods now: silent\n" in refused.out
    assert refused.code == 0

"""`roadstead logs` and `roadstead jobs pods`: what is printed of what the hub answers."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

from roadstead.cli.visible import visible
from roadstead.models.jobs import Job, WholeJob
from roadstead.retries import BrokeOff, taking_up_again
from tests.cli.commands import Ran, run
from tests.cli.filled import filled
from tests.cli.scripted import Answer, answering, items, problem

JOB = Answer(filled(WholeJob))
ENDED: Mapping[str, object] = {"end": {"code": "Ended", "message": ""}}


class Followed(NamedTuple):
    """How a command ended, and the queries of its questions for logs."""

    ran: Ran
    queries: list[dict[str, list[str]]]


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
    """The exit code says whether all has been said, to whoever does not want it taken up again."""
    ran = asked("logs u -f --no-wait", JOB, told(a_line("one"), *end))
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


def a_job(state: str, cluster: str = "west", **more: Any) -> Answer:
    return Answer(filled(WholeJob, state=state, cluster=cluster, namespace="a", name="j", **more))


def followed(jobs: list[Answer], streams: list[Answer], line: str = "logs a/j -f") -> Followed:
    """Run it against a hub that answers questions for the job, and for its logs, each in their order."""
    seen: list[str] = []

    def answer(path: str) -> Answer:
        seen.append(path)
        left = streams if "/logs" in path else jobs
        return left.pop(0) if len(left) > 1 else left[0]

    with answering(asked=answer) as script:
        ran = run("--server", script.address, *line.split())
    return Followed(ran, [parse_qs(urlsplit(path).query) for path in seen if "/logs" in path])


AT = "2026-01-01T00:00:0"
RUNNING, DONE = a_job("Running"), a_job("Succeeded")
STOPPED: Mapping[str, object] = {"end": {"code": "HubStopped", "message": "this hub stops"}}


def test_what_breaks_off_goes_on() -> None:
    """From the last line of each container on: lines that are told again are known, of one instant too."""
    one, two, also_two = (
        a_line(text, time=f"{AT}{at}Z")
        for text, at in (("one", "1"), ("two", "2.5"), ("2nd", "2.5"))
    )
    three = a_line("three", time=f"{AT}2.51Z")
    other = a_line("other", pod="p-2", time=f"{AT}1Z")
    streams = [
        told(one, two, other),
        told(two, also_two, STOPPED),
        told(two, also_two, three, ENDED),
    ]
    ran, queries = followed([RUNNING, RUNNING, RUNNING, DONE], streams)
    assert ran.out.split("\n") == [
        "p-1 main one", "p-1 main two", "p-2 main other", "p-1 main 2nd", "p-1 main three", "",
    ]  # fmt: skip
    assert ran.code == 0
    assert ran.err == ("the stream broke off; retrying\nthis hub stops [HubStopped]; retrying\n")
    assert "after" not in queries[0]
    assert queries[1]["after"] == [f"p-1/main={AT}2.5Z,p-2/main={AT}1Z"]


def test_the_last_lines_are_not_asked_for_twice() -> None:
    """A log that went on is asked for from its place; of one of which no line came, what came since."""
    line = a_line("one", time=f"{AT}1Z")
    _, queries = followed(
        [RUNNING, RUNNING, DONE], [told(line), told(ENDED)], "logs a/j -f --tail 3"
    )
    assert queries[0]["tail"] == ["3"]
    assert "tail" not in queries[1]
    assert int(queries[1]["since"][0]) <= 5


def test_a_hub_that_is_away_is_asked_again_once_it_was_there() -> None:
    """It says so once, however often it asks; a cluster that is silent is waited for as well."""
    silent = problem(503, "ClusterSilent", "its agent is silent")
    line = a_line("one", time=f"{AT}1Z")
    ran, _ = followed(
        [RUNNING, RUNNING, RUNNING, RUNNING, DONE],
        [told(line, STOPPED), silent, silent, told(ENDED)],
    )
    assert (ran.out, ran.code) == ("p-1 main one\n", 0)
    assert ran.err == "this hub stops [HubStopped]; retrying\n"


def test_a_job_that_waits_is_waited_for() -> None:
    """Why it waits is said as often as it changes; --no-wait does not wait."""
    waits = a_job("Pending", cluster="", message="3 jobs are before it")
    refused = problem(409, "JobWaits", "a/j is Pending")
    line = told(a_line("one", time=f"{AT}1Z"), ENDED)
    ran, _ = followed([waits, waits, RUNNING, DONE], [line])
    assert (ran.out, ran.code) == ("p-1 main one\n", 0)
    assert ran.err == "a/j is Pending: 3 jobs are before it\n"
    ran, _ = followed([waits], [refused], "logs a/j -f --no-wait")
    assert (ran.code, "JobWaits" in ran.err) == (3, True)


def test_a_job_that_runs_again_elsewhere_is_followed_there() -> None:
    """The stream of its first run ends; the job has not: its new pods are read from their beginning."""
    first = told(a_line("one", time=f"{AT}9Z"), ENDED)
    again = told(a_line("again", time=f"{AT}1Z"), ENDED)
    waits = a_job("Pending", cluster="", message="preempted")
    jobs = [RUNNING, waits, waits, a_job("Running", cluster="east", epoch=2), DONE]
    ran, queries = followed(jobs, [first, again], "logs a/j -f --tail 2")
    assert (ran.out, ran.code) == ("p-1 main one\np-1 main again\n", 0)
    assert ran.err == "a/j is Pending: preempted\na/j runs again on east\n"
    assert not {"after", "tail", "since"} & set(queries[1])


def test_a_job_that_is_deleted_ends_its_log() -> None:
    """Nothing more comes of it."""
    gone = problem(404, "NotFound", "there is no job")
    ran, _ = followed([RUNNING, gone], [told(a_line("one", time=f"{AT}1Z"), STOPPED)])
    assert (ran.out, ran.code) == ("p-1 main one\n", 0)
    assert ran.err.endswith("a/j was deleted\n")


def test_where_the_agent_is_not_heard_it_is_asked_again() -> None:
    """Of several hub processes one hears it; without -f too."""
    unheard = problem(503, "AgentNotListening", "ask again")
    ran, queries = followed([RUNNING], [unheard, unheard, told(a_line("one"), ENDED)], "logs a/j")
    assert (ran.out, ran.code, len(queries)) == ("p-1 main one\n", 0, 3)


def test_logs_of_several_jobs() -> None:
    """By their labels; what cannot be read of one keeps nobody from the others, and is no success."""
    listed = items(
        *(filled(Job, uid=uid, namespace="a", name=uid, state="Running") for uid in ("u1", "u2"))
    )

    def answer(path: str) -> Answer:
        if "/logs" not in path:
            return listed
        off = problem(409, "LogsOff", "no logs here")
        return off if "/u2/" in path else told(a_line(path.split("/")[3]), ENDED)

    with answering(asked=answer) as script:
        ran = run("--server", script.address, "logs", "-l", "app=x", "-n", "a", "--no-prefix")
        alike = run("--server", script.address, "logs", "-l", "app=x", "-f", "--no-wait")
    assert (ran.out, alike.out, ran.code, alike.code) == ("u1\n", "p-1 main u1\n", 3, 3)
    assert "a/u2: LogsOff: no logs here" in ran.err
    assert "namespace=a" in script.asked[0]
    assert "labelSelector=app%3Dx" in script.asked[0]


def test_too_many_jobs_are_refused() -> None:
    """And so is naming none, or one and several."""
    many = items(*(filled(Job, uid=f"u{n}") for n in range(11)))
    ran = asked("logs -l app=x", many)
    assert (ran.code, "more than 10 jobs" in ran.err) == (2, True)
    assert run("--server", "http://localhost:1", "logs").code == 2
    assert run("--server", "http://localhost:1", "logs", "u", "-l", "a=b").code == 2


def test_a_name_goes_with_its_namespace() -> None:
    """As everywhere: -n for a name without one; a full name and a uid stay."""
    with answering(JOB, told(ENDED), Answer({"cluster": "c"})) as script:
        run("--server", script.address, "logs", "train", "-n", "team-a")
        run("--server", script.address, "jobs", "pods", "train", "-n", "team-a")
    named = "GET /v1/namespaces/team-a/jobs/train"
    assert (script.asked[0], script.asked[2]) == (named, named)


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


def test_what_gets_on_is_never_given_up():
    """Seconds of getting nowhere count, and not those since it began."""
    breaks = iter([BrokeOff("again", got_on=True, pause_s=0.05)] * 8)

    def work():
        if broke := next(breaks, None):
            raise broke
        return "all"

    assert taking_up_again(work, lambda _: None, most_s=0.2) == "all"

"""What others wrote steers no terminal, whatever prints it: their control characters are shown."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from hub.web.job_page.texts import manifest_text
from roadstead.cli.tables import wrapped
from roadstead.cli.visible import visible_page, visible_yaml
from roadstead.models.access import AuditEntry, RoleBinding, WhoAmI
from roadstead.models.clusters import Cluster, Drained, JoinToken
from roadstead.models.hub import (
    Decided,
    DecidedObjects,
    HubCluster,
    Incarnation,
    Overview,
    Person,
    Restored,
)
from roadstead.models.jobs import Event, Job, WholeJob
from roadstead.models.placements import DriftedField, Placement
from roadstead.models.pods import JobPods
from roadstead.models.queues import ClusterQueue
from roadstead.models.record import Record
from shared.manifest_yaml import read_yaml
from tests.cli.build import a_listed_job
from tests.cli.commands import REPOSITORY, run
from tests.cli.filled import filled
from tests.cli.scripted import Answer, answering, items
from tests.cli.terminal import on_terminal

HOSTILE = "\x1b[2J\x1b]0;owned\x07\u009b31m\u202e"
STEERS = ("\x1b[2J", "\x1b]0", "\x07", "\u009b", "\u202e")


def test_a_sentence_of_a_page_steers_nothing():
    """Of whatever page."""
    assert wrapped("a\x1b[31mb\nc", "") == ["a^[[31mb c"]


def test_an_explanation_shows_what_would_steer():
    """Its message, owner and reason, and the log lines that its events hold."""
    event = {"at": "2026-01-01T00:00:00Z", "reason": "PodFailed", "message": f"line\n{HOSTILE}"}
    told = {
        "uid": "u1",
        "namespace": "team-a",
        "name": "big",
        "queue": "main",
        "state": "Pending",
        "epoch": 0,
        "message": HOSTILE,
        "owner": HOSTILE,
        "reason": HOSTILE,
        "timeline": [event],
    }
    with answering(Answer(told)) as script:
        done = run("--server", script.address, "explain", "u1")
    assert done.code == 0, done.err
    assert not [each for each in STEERS if each in done.out]
    assert done.out.count("^[[2J") == 4


@pytest.mark.parametrize("output", ["json", "yaml", "jsonpath={.items[*].message}"])
def test_what_programs_read_steers_no_terminal(output):
    """As JSON or YAML that says the same; of a template on a terminal alone: programs get what there is."""
    listed = items(a_listed_job(message=HOSTILE))
    with answering(listed) as script:
        shown = on_terminal("--server", script.address, "jobs", "ls", "-o", output)
    assert shown.code == 0, shown.err
    assert not [each for each in STEERS if each in shown.terminal]
    with answering(listed) as script:
        done = run("--server", script.address, "jobs", "ls", "-o", output)
    if output == "json":
        assert json.loads(done.out)["items"][0]["message"] == HOSTILE
    elif output == "yaml":
        assert yaml.safe_load(done.out)["items"][0]["message"] == HOSTILE
    else:
        assert "\u009b31m\u202e" in done.out


@pytest.mark.parametrize("value", [
    HOSTILE, {HOSTILE: [HOSTILE, "a\nb", "a\tb", "Größe"]}, {"k" * 200: "word " * 60 + HOSTILE},
    "\u2028\ufeff\x85", "\U000e0001 \U0001f600", "a: b # c",
])  # fmt: skip
def test_yaml_says_the_same_and_steers_nothing(value):
    """Keys, long and folded texts: read again they are what they were; printable ones stay as they are."""
    text = visible_yaml(value)
    assert yaml.safe_load(text) == value
    assert text.replace("\n", "").replace("\t", "").isprintable()
    if "Größe" in str(value):
        assert "Größe" in text


@pytest.mark.parametrize("text", [
    "y", "Y", "n", "N", "yes", "no", "on", "off", "true", "null", "~", "08", "1e3", "0o17", "0x1F",
    "1_000", "+1",
])  # fmt: skip
def test_yaml_quotes_what_kubectl_reads_as_something_else(text):
    """A bool or number of YAML 1.1 or of Go: a manifest that is printed and applied keeps the text."""
    assert read_yaml(visible_yaml({text: text}).encode()) == [{text: text}]
    assert read_yaml(manifest_text({"v": text}).encode()) == [{"v": text}]


@given(st.text("+-._eExXobBnNyY01789afAF", max_size=8))
def test_yaml_of_any_text_like_a_number_is_read_as_that_text(text):
    """By the hub's own reader, which resolves as kubectl does."""
    assert read_yaml(visible_yaml({"v": text}).encode()) == [{"v": text}]


@pytest.mark.parametrize("value", [0, 8, -3, 1.5, 1e20, 1e-7, True, None, "main", "10.0.0.1"])
def test_yaml_of_other_values_has_no_quotes(value):
    """Numbers stay numbers, and plain words plain."""
    assert "'" not in (text := visible_yaml({"v": value}))
    assert read_yaml(text.encode()) == [{"v": value}]


def test_a_page_has_our_colours_and_no_other_style():
    """One that hides text, or changes what is on the screen, is shown."""
    assert visible_page("\x1b[32mok\x1b[0m") == "\x1b[32mok\x1b[0m"
    assert visible_page("\x1b[8mhidden\x1b[1A\x1b[2K") == "^[[8mhidden^[[1A^[[2K"


def test_verbs_print_by_one_function():
    """It escapes control characters; `-o jsonpath` alone gives programs the original text."""
    found = [
        path.name
        for path in sorted((REPOSITORY / "roadstead").rglob("*.py"))
        if "click.echo(" in path.read_text() or "click.secho(" in path.read_text()
    ]
    assert found == ["output.py", "visible.py"]


def hostile(value: Any) -> Any:
    """The same answer with what would steer a terminal in each of its texts, but not in times."""
    if isinstance(value, str):
        return value if value[:4].isdigit() else HOSTILE + value
    if isinstance(value, list):
        return [hostile(each) for each in value]
    if isinstance(value, dict):
        return {key: hostile(each) for key, each in value.items()}
    return value


# What is answered by the last part of the path, of one thing and of a list.
ONE: dict[str, type[Record]] = {
    "pods": JobPods,
    "whoami": WhoAmI,
    "overview": Overview,
    "restored": Restored,
    "restored:accept": Incarnation,
    "restored:remove": DecidedObjects,
    "adopt": Decided,
    "drain": Drained,
    "join-token": JoinToken,
    "resume": HubCluster,
    "stop": ClusterQueue,
    "jobs": WholeJob,
    "clusters": Cluster,
    "queues": ClusterQueue,
}
LISTED: dict[str, type[Record]] = {
    "jobs": Job,
    "events": Event,
    "clusters": Cluster,
    "queues": ClusterQueue,
    "audit": AuditEntry,
    "bindings": RoleBinding,
    "tokens": Person,
    "drift": DriftedField,
    "placements": Placement,
}


def answers(path: str) -> Answer:
    """A hub that was told nothing but what steers terminals."""
    parts = path.partition("?")[0].strip("/").split("/")
    if parts[-1] in LISTED:
        return Answer({"items": [hostile(filled(LISTED[parts[-1]]))]})
    kind = ONE.get(parts[-1]) or next(ONE[each] for each in reversed(parts) if each in ONE)
    return Answer(hostile(filled(kind)))


@pytest.mark.parametrize(
    "line",
    [
        *("jobs ls -o wide", "jobs show a/b", "jobs pods a/b --events", "jobs cancel a/b"),
        *("events", "whoami", "top --once", "audit ls", "access ls", "tokens ls", "drift ls"),
        *("clusters ls -o wide", "clusters show c", "queues ls -o wide", "queues show q"),
        *(
            "placements ls -o wide",
            "restored",
            "restored --accept",
            "admin remove m",
            "admin adopt u",
        ),
        *("clusters drain c", "clusters token c", "hub-cluster resume r", "queues stop q"),
    ],
)
def test_no_text_of_any_answer_steers(line):
    """Names, owners, reasons, messages, pods: each text of what the hub answers, in each table and page."""
    with answering(asked=answers) as script:
        done = run("--server", script.address, *line.split(), columns=500)
        shown = on_terminal("--server", script.address, *line.split())
    assert done.code in (0, 1, 3), done.err
    for told in (done.out + done.err, shown.terminal):
        assert not [each for each in STEERS if each in told], line
    assert "[2J" in done.out, "what is hostile was left out"

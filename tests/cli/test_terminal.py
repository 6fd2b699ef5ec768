"""Colour, live lists and progress: on a terminal, and nowhere else."""

import json
from typing import Any

import pytest

from tests.cli.build import a_job, a_listed_job, text
from tests.cli.commands import spawn
from tests.cli.scripted import Answer, answering, items
from tests.cli.terminal import on_terminal, plain

ESCAPE = "\x1b["
LONG = a_listed_job("n" * 63, namespace="m" * 63)


def test_states_are_coloured_on_a_terminal():
    """A job that runs is green there; the table keeps to the width and cuts with a sign."""
    with answering(items(LONG)) as script:
        done = on_terminal("--server", script.address, "jobs", "ls")
    assert "\x1b[32mRunning\x1b[0m" in done.terminal
    shown = plain(done.terminal)
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" in shown


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_nobody_is_coloured_who_does_not_want_it(environment):
    """NO_COLOR, and a terminal that has none: the same table without escapes."""
    with answering(items(LONG)) as script:
        done = on_terminal("--server", script.address, "jobs", "ls", **environment)
    assert ESCAPE not in done.terminal
    assert "Running" in done.terminal


@pytest.mark.parametrize("form", ["table", "wide", "json", "yaml"])
def test_a_pipe_is_never_coloured(form):
    """What scripts read has no escapes and is whole, whatever the environment forces on others."""
    with answering(items(LONG)) as script:
        done = spawn(
            *("--server", script.address, "jobs", "ls", "-o", form),
            FORCE_COLOR="1",
            CLICOLOR_FORCE="1",
            TERM="xterm-256color",
        )
    assert ESCAPE not in done.out + done.err
    assert "n" * 63 in done.out


def test_a_watched_list_is_brought_up_to_date_in_its_place():
    """Each time the lines are written over; Ctrl-C ends it with 0, and the list stays."""
    answers = [items(a_listed_job("one")), items(a_listed_job("two"))]
    with answering(*answers) as script:
        done = on_terminal(
            *("--server", script.address, "jobs", "ls", "--watch"),
            until=lambda seen: "two" in seen,
        )
    assert done.code == 0
    between = done.terminal[done.terminal.index("one") : done.terminal.index("two")]
    assert "\x1b[1A" in between
    assert done.terminal.rstrip().endswith("\x1b[?25h")


def test_a_watched_list_outlives_its_hub():
    """While the hub is away the last list stands, with a word below it."""
    away = Answer({"code": "Unavailable", "detail": "starting"}, 503)
    with answering(items(a_listed_job("one")), away) as script:
        done = on_terminal(
            *("--server", script.address, "jobs", "ls", "--watch"),
            until=lambda seen: "retrying" in seen,
        )
    assert done.code == 0
    assert "starting; retrying" in done.terminal
    assert "one" in done.terminal[: done.terminal.index("retrying")]


def _deleting(script_address: str, **where: Any):
    names = [f"01a{number}" for number in range(20)]
    return on_terminal("--server", script_address, "jobs", "delete", *names, **where)


def test_long_work_shows_how_far_it_is():
    """On a terminal's standard error, also where the output goes elsewhere, which stays whole."""
    with answering(Answer(a_listed_job(state="Cancelled"))) as script:
        done = _deleting(script.address, out=False, err=True)
    assert "deleting" in done.terminal
    assert "20/20" in done.terminal
    assert done.out == "team-a/ok is deleted; its name is free\n" * 20


def test_what_is_printed_stands_above_the_progress():
    """Where both go to the same terminal, no line is written into another."""
    with answering(Answer(a_listed_job(state="Cancelled"))) as script:
        done = _deleting(script.address, out=True, err=True)
    shown = plain(done.terminal).replace("\r", "\n")
    told = [
        line for line in shown.splitlines() if line == "team-a/ok is deleted; its name is free"
    ]
    assert len(told) == 20


def test_nobody_is_shown_progress_in_a_pipe(tmp_path):
    """Where standard error is no terminal there is none, for apply, submit and delete alike."""
    (tmp_path / "jobs.yaml").write_text(text(a_job("a"), a_job("b")))
    told = [{"index": i, **a_listed_job(name)} for i, name in enumerate("ab")]
    with answering(Answer({"items": told})) as script:
        done = on_terminal("--server", script.address, "submit", str(tmp_path / "jobs.yaml"))
    assert "submitting" not in done.terminal + done.err
    assert done.terminal.count("submitted") == 2
    assert json.loads(script.bodies[0].split(b"\n")[0])["metadata"]["name"] == "a"

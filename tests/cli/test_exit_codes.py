"""Exit codes, which scripts decide by: 0, 2, 3, 4, 5; those of waiting are in test_submit.py."""

import os
import subprocess
import sys

import pytest

from roadstead import errors
from tests.cli.build import a_job, text
from tests.cli.commands import REPOSITORY, environment_without_ours, run
from tests.cli.scripted import answering, problem

NOBODY = ("--server", "http://127.0.0.1:1", "--token", "x")


@pytest.mark.parametrize("verb", ["jobs", "queues", "clusters", "placements", "drift"])
def test_an_answered_request_is_0(hub, verb):
    """A list that the hub answers ends with 0, full or empty."""
    assert hub.run(verb, "ls").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("bogus",),
        ("jobs", "bogus"),
        ("jobs", "show"),
        ("jobs", "ls", "--bogus"),
        ("jobs", "ls", "-o", "xml"),
        ("jobs", "ls", "--limit", "0"),
        ("events", "a/b", "-n", "c"),
        ("apply",),
        ("apply", "-f", "/nonexistent.yaml"),
        ("apply", "-f", "-", "-f", "-"),
        ("submit",),
        ("submit", "-", "--timeout", "3"),
        ("clusters", "add", "c9", "--label", "region"),
        ("clusters", "add", "c9", "--taint", "gpu"),
        ("up", "--listen", "8080"),
        ("up", "--listen", "127.0.0.1:99999"),
        ("up", "--members", "0"),
        ("up", "--members", "/nonexistent.yaml"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_2(arguments):
    """What the command line alone shows to be wrong ends with 2, before a hub is asked."""
    done = run(*NOBODY, *arguments)
    assert (done.code, done.out) == (2, "")
    assert "Error: " in done.err


@pytest.mark.parametrize("server", ["foo", "ftp://h", "http://", "http://h:port", "http://ü:80"])
def test_a_wrong_address_is_2(server):
    """An address that is none ends with 2 and says what an address looks like."""
    done = run("--server", server, "jobs", "ls")
    assert done.code == 2
    assert "http://HOST:PORT" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("jobs", "show", "no/such"),
        ("jobs", "show", "no-such"),
        ("jobs", "cancel", "no/such"),
        ("explain", "no/such"),
        ("events", "no/such"),
        ("queues", "show", "no-such"),
        ("queues", "show", "no/such"),
        ("clusters", "show", "no-such"),
        ("clusters", "cordon", "no-such"),
        ("clusters", "token", "no-such"),
        ("placements", "show", "no-such"),
        ("jobs", "show", "a/b/c"),
        ("jobs", "show", "../overview"),
        ("clusters", "show", ".."),
        ("clusters", "show", "what? is#this"),
        ("jobs", "show", "ünïcode/näme"),
    ],
    ids=" ".join,
)
def test_what_does_not_exist_is_3(hub, arguments):
    """Asking for what the hub does not have ends with 3, however odd the name."""
    done = hub.run(*arguments)
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("error: ")
    assert "[NotFound]" in done.err


def test_a_refused_manifest_is_3(hub, tmp_path):
    """A manifest that the hub refuses ends with 3."""
    (tmp_path / "job.yaml").write_text(text(a_job("Bad_Name")))
    assert hub.run("apply", "-f", str(tmp_path)).code == 3
    assert hub.run("submit", str(tmp_path / "job.yaml")).code == 3


@pytest.mark.parametrize("token", ["", "wrong", "wrong.wrong", "with blank", "ü"])
def test_a_wrong_credential_is_4(hub, token):
    """No token, or one that is not valid, ends with 4 and says where tokens come from."""
    given = ("--token", token) if token else ()
    done = run("--server", hub.server, *given, "jobs", "ls")
    assert done.code == 4
    assert "ROADSTEAD_TOKEN" in done.err


def test_a_missing_right_is_4():
    """403 ends with 4 in the hub's words; no other token is suggested."""
    with answering(problem(403, "Forbidden", "viewers do not submit")) as script:
        done = run("--server", script.address, "--token", "x", "jobs", "ls")
    assert (done.code, done.err) == (4, "error: viewers do not submit\n")


def test_no_hub_there_is_5():
    """Where nothing listens, the command ends with 5 and says how to start or name a hub."""
    done = run(*NOBODY, "jobs", "ls")
    assert done.code == 5
    assert "http://127.0.0.1:1: Connection refused" in done.err
    assert "roadstead up" in done.err


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_failing_hub_is_5(status):
    """5xx ends with 5, with the id of the request to look for in the hub's log."""
    answer = problem(status, "Internal", "something broke", requestId="r-1")
    with answering(answer) as script:
        done = run("--server", script.address, "jobs", "ls")
    assert done.code == 5
    assert "something broke (request r-1)" in done.err


def test_the_codes_belong_to_the_errors_of_the_sdk():
    """The SDK's errors carry the exit codes, so that a script in Python can end with the same."""
    found = {
        kind.__name__: kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.RoadsteadError)
    }
    assert found == {
        "RoadsteadError": 1,
        "JobFailed": 1,
        "WrongAddress": 2,
        "WrongContext": 2,
        "Rejected": 3,
        "NotFound": 3,
        "SomeRejected": 3,
        "NotAllowed": 4,
        "Unreachable": 5,
        "TimedOut": 6,
    }


def test_a_reader_that_leaves_is_no_failure(hub):
    """Output that nobody reads any more, as in `roadstead … | head`, ends with 0 and no traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "roadstead.cli", "queues", "ls"],
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=REPOSITORY,
        env={**environment_without_ours(), "ROADSTEAD_DATA": str(hub.folder)},
        timeout=60,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")

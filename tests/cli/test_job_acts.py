"""`jobs cancel`, `hold`, `release`, `delete` for all that match: seen first, confirmed, by uid."""

import json
import os
import pty

import pytest

from tests.cli.build import a_listed_job
from tests.cli.commands import Ran, run, spawn
from tests.cli.scripted import Answer, Scripted, answering, items

FOUND = items(
    a_listed_job("one", uid="u-1"),
    a_listed_job("two", uid="u-2", state="Succeeded"),
    a_listed_job("three", uid="u-3", state="Held", cluster=""),
)


def _hub(path: str) -> Answer:
    if path.startswith("/v1/jobs?"):
        return FOUND
    return Answer(a_listed_job(path.split("/")[3], state="Cancelled"))


def acted(*arguments: str) -> tuple[Ran, Scripted]:
    with answering(asked=_hub) as script:
        return run("--server", script.address, "jobs", *arguments), script


@pytest.mark.parametrize(
    ("verb", "concerned"),
    [
        ("cancel", ["u-1", "u-3"]),
        ("hold", ["u-1"]),
        ("release", ["u-3"]),
        ("delete", ["u-1", "u-2", "u-3"]),
    ],
)
def test_all_that_match_and_are_concerned(verb, concerned):
    """Each by its uid, so that no namesake is hit; what the verb would not change is left alone."""
    done, script = acted(verb, "-l", "sweep=7", "--state", "running", "--yes")
    assert done.code == 0, done.err
    changed = [line.split("/")[3] for line in script.asked if not line.startswith("GET")]
    assert sorted(changed) == concerned
    assert "labelSelector=sweep%3D7" in script.asked[0]


def test_who_waits_for_others_is_released_by_name_alone():
    """A release lets it go whomever it waits for: one for all that match leaves it, and says so."""
    waits = a_listed_job("four", uid="u-4", state="Held", reason="WaitsForJobs")
    held = a_listed_job("three", uid="u-3", state="Held")
    with answering(
        asked=lambda path: items(held, waits) if "?" in path else Answer(held)
    ) as script:
        done = run("--server", script.address, "jobs", "release", "-n", "team-a", "--yes")
        named = run("--server", script.address, "jobs", "release", "u-4")
    assert (done.code, named.code) == (0, 0)
    assert done.err.startswith("1 job waits for others: left out")
    changed = [line.split()[1] for line in script.asked if not line.startswith("GET")]
    assert changed == ["/v1/jobs/u-3/release", "/v1/jobs/u-4/release"]


def test_a_dry_run_lists_and_changes_nothing():
    """What would be done with which, and that nothing was."""
    done, script = acted("cancel", "-q", "lq", "--dry-run")
    assert done.out == (
        "team-a/one Running on gpu-1: would cancel\nteam-a/three Held: would cancel\n"
    )
    assert done.err == "2 jobs; nothing was changed.\n"
    assert all(line.startswith("GET") for line in script.asked)
    done, _ = acted("cancel", "-q", "lq", "--dry-run", "-o", "json")
    assert [job["uid"] for job in json.loads(done.out)["items"]] == ["u-1", "u-3"]


def test_names_have_a_dry_run_too():
    """Named one by one, each is looked at and told."""
    done, script = acted("delete", "u-9", "--dry-run")
    assert (done.code, script.asked) == (0, ["GET /v1/jobs/u-9"])


def test_nobody_there_is_not_asked():
    """Without a terminal and without --yes nothing happens: 2, with what to type."""
    with answering(asked=_hub) as script:
        done = spawn("--server", script.address, "jobs", "cancel", "-n", "team-a")
    assert done.code == 2
    assert "2 jobs match" in done.err
    assert "--yes" in done.err
    assert all(line.startswith("GET") for line in script.asked)


@pytest.mark.parametrize(("typed", "changed"), [("2", 2), ("3", 0), ("y", 0)])
def test_the_number_is_typed(typed, changed, monkeypatch):
    """On a terminal the number of jobs must be typed; anything else changes nothing, and ends with 130."""
    ours, theirs = pty.openpty()
    os.write(ours, f"{typed}\n".encode())
    with os.fdopen(theirs) as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        done, script = acted("cancel", "-n", "team-a")
    os.close(ours)
    assert done.code == (0 if changed else 130), done.err
    assert sum(not line.startswith("GET") for line in script.asked) == changed
    assert "team-a/one  Running on gpu-1" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cancel",), "Which jobs?"),
        (("cancel", "a/b", "-l", "x=y"), "not both"),
        (("delete", "a/b", "-A"), "not both"),
    ],
)
def test_what_is_meant_must_be_clear(arguments, said):
    """No names and no filter mean nothing, both of them too much."""
    done, _ = acted(*arguments)
    assert (done.code, said in done.err) == (2, True)


def test_nothing_to_do_is_said():
    """Where all that match have ended there is nothing to cancel: 0."""
    with answering(items(a_listed_job(state="Failed"))) as script:
        done = run("--server", script.address, "jobs", "cancel", "--state", "failed", "--yes")
    assert (done.code, done.out) == (0, "")
    assert "No job that matches is there to cancel" in done.err


def test_a_name_has_the_namespace_that_is_set(monkeypatch):
    """A name alone is looked for where ROADSTEAD_NAMESPACE or -n say; uids and full names stay."""
    monkeypatch.setenv("ROADSTEAD_NAMESPACE", "team-z")
    for given, asked in (
        (("train",), "/v1/namespaces/team-z/jobs/train"),
        (("train", "-n", "b"), "/v1/namespaces/b/jobs/train"),
        (("a/train",), "/v1/namespaces/a/jobs/train"),
        (
            ("01a1feaf-1339-78fd-a076-6ec8b2409717",),
            "/v1/jobs/01a1feaf-1339-78fd-a076-6ec8b2409717",
        ),
    ):
        with answering(Answer(a_listed_job())) as script:
            run("--server", script.address, "jobs", "hold", *given)
        assert script.asked[0].split()[1].startswith(asked)


@pytest.mark.parametrize("nothing", ["", " ", ",", " , ,"])
@pytest.mark.parametrize("empty", ["-l", "-q", "--state", "--cluster", "--user", "-n"])
def test_a_filter_that_is_empty_does_not_mean_all(empty, nothing):
    """Such as a variable of a script that holds nothing, or commas alone; nothing is asked of the hub."""
    given = () if empty == "-l" else ("-l", "sweep=7")
    done, script = acted("cancel", *given, empty, nothing, "--yes")
    refusal = f"Invalid value for '{empty}'" if empty == "--state" and nothing else "is empty"
    assert (done.code, refusal in done.err) == (2, True), done.err
    assert script.asked == []

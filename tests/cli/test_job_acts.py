"""`jobs cancel`, `hold`, `release`, `delete` for all that match: seen first, confirmed, by uid."""

import json
import os
import pty

import pytest

from tests.cli.build import a_listed_job
from tests.cli.commands import Ran, run, spawn
from tests.cli.scripted import Answer, Scripted, answering, items, problem

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


STANDS = {
    "runs": {"state": "Running"},
    "waits": {"state": "Pending", "cluster": ""},
    "held": {"state": "Held", "cluster": ""},
    "ended": {"state": "Succeeded"},
}


def _stands(path: str) -> Answer:
    uid = path.split("/")[3]
    if uid == "gone":
        return problem(404, "NotFound", "there is no job gone")
    return Answer(a_listed_job(uid, **STANDS[uid]))


@pytest.mark.parametrize(
    ("verb", "uid", "line"),
    [
        ("cancel", "runs", "would be withdrawn from gpu-1 (Running), then Cancelled"),
        ("cancel", "waits", "would be Cancelled (Pending)"),
        ("cancel", "ended", "has ended already: Succeeded"),
        ("hold", "runs", "would be withdrawn from gpu-1 (Running), then Held"),
        ("hold", "waits", "would be Held (Pending)"),
        ("hold", "held", "is held already (Held)"),
        ("release", "held", "would be released (Held)"),
        ("release", "waits", "waits already (Pending): it would avoid no cluster any more"),
    ],
)
def test_a_dry_run_asks_the_hub(verb, uid, line):
    """It says what would become of the job, and that nothing was changed."""
    with answering(asked=_stands) as script:
        done = run("--server", script.address, "jobs", verb, uid, "--dry-run")
    assert (done.code, done.lines) == (0, [f"team-a/{uid} {line}"])
    assert done.err == "1 job; nothing was changed.\n"
    assert script.asked == [f"POST /v1/jobs/{uid}/{verb}?dryRun=true"]


def test_a_dry_run_of_hold_says_what_it_stops_and_what_the_return_needs():
    """A service that waits to grow runs on with what it has; once held it returns whole or not at all."""
    pods = {"podSets": [{"name": "leader", "count": 2}, {"name": "worker", "count": 4}]}
    runs = {"state": "Running", "cluster": "gpu-1"}
    jobs = {
        "whole": a_listed_job("whole", **runs, admission=pods),
        "growing": a_listed_job("growing", **runs, admission={**pods, "wanted": {"count": 9}}),
    }
    with answering(asked=lambda path: Answer(jobs[path.split("/")[3]])) as script:
        done = run("--server", script.address, "jobs", "hold", *jobs, "--dry-run")
    stops = "would be withdrawn from gpu-1 (Running), then Held: this stops 6 pods"
    back = "and after a release nothing of it runs before there is quota and room for all 9"
    assert done.lines == [
        f"team-a/whole {stops}",
        f"team-a/growing {stops}, {back}",
    ]


@pytest.mark.parametrize("dry_run", [True, False])
def test_jobs_of_others_are_named_in_errors_and_the_way_to_leave_them_out_once(dry_run):
    """The filters matched them; a uid would not tell whose they are."""

    def hub(path: str) -> Answer:
        return FOUND if "?" in path and "dryRun" not in path else problem(403, "Forbidden", "no")

    with answering(asked=hub) as script:
        place = ("--server", script.address, "jobs", "cancel")
        done = run(*place, "-n", "team-a", "--dry-run" if dry_run else "--yes")
    assert done.code == 4
    assert "error: team-a/one: no" in done.err
    assert "error: team-a/three: no" in done.err
    assert "u-1" not in done.err
    assert done.err.count("--mine") == 1


@pytest.mark.parametrize("verb", ["cancel", "hold", "release"])
def test_a_dry_run_is_refused_as_the_verb_is(verb):
    """The other jobs are told; the exit code is 3."""
    with answering(asked=_stands) as script:
        done = run("--server", script.address, "jobs", verb, "gone", "held", "--dry-run")
    assert (done.code, len(done.lines)) == (3, 1)
    assert "there is no job gone" in done.err


def test_a_dry_run_of_all_that_match_asks_for_each():
    """The hub is asked by uid; the answers are listed as JSON too."""
    done, script = acted("cancel", "-q", "lq", "--dry-run", "-o", "json")
    assert len(json.loads(done.out)["items"]) == 2
    asked = [f"POST /v1/jobs/{uid}/cancel?dryRun=true" for uid in ("u-1", "u-3")]
    assert sorted(script.asked[1:]) == asked


def test_the_dry_run_of_a_deletion_is_the_hubs():
    """It says what would become of each: withdrawn from its cluster, or deleted at once."""

    def told(path: str) -> Answer:
        uid = path.split("/")[3]
        if uid == "gone":
            return problem(404, "NotFound", "there is no job gone")
        return Answer(a_listed_job(uid, state="Running" if uid == "runs" else "Succeeded"))

    with answering(asked=told) as script:
        place = ("--server", script.address, "jobs", "delete")
        done = run(*place, "runs", "ended", "gone", "--dry-run")
        text = run(*place, "runs", "--dry-run", "-o", "json")
    assert done.code == 3
    assert done.lines == [
        "team-a/runs would be withdrawn from gpu-1 (Running), then its name is free",
        "team-a/ended would be deleted (Succeeded); its name is free",
    ]
    assert "there is no job gone" in done.err
    assert done.err.endswith("2 jobs; nothing was changed.\n")
    assert sorted(script.asked[:3]) == [f"DELETE /v1/jobs/{n}" for n in ("ended", "gone", "runs")]
    assert [json.loads(body) for body in script.bodies] == [{"dryRun": True}] * 4
    assert [job["name"] for job in json.loads(text.out)["items"]] == ["runs"]


def test_the_dry_run_of_a_deletion_of_all_that_match():
    """The command asks the hub for each by its uid."""
    done, script = acted("delete", "-q", "lq", "--dry-run")
    assert (done.code, len(done.lines)) == (0, 3)
    assert sorted(line for line in script.asked[1:]) == [
        f"DELETE /v1/jobs/u-{n}" for n in (1, 2, 3)
    ]


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
    assert "No matching job to cancel" in done.err


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

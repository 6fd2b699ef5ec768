"""`--after` and `--retry` as they are typed, and what `jobs show` says of a job in a chain."""

import json
from typing import Any

import pytest
import yaml

from roadstead.cli.chains import lines
from roadstead.models.chains import ChainedJob
from tests.cli.build import a_job, a_listed_job
from tests.cli.commands import run
from tests.cli.scripted import Answer, answering

AFTER = "roadstead.dev/after"


def notes(*arguments: str) -> dict[str, str]:
    """The annotations of the Job that `run --dry-run` prints."""
    done = run("run", "--dry-run", "--name", "train", *arguments, "--", "x")
    assert done.code == 0, done.err
    found: dict[str, str] = yaml.safe_load(done.out)["metadata"].get("annotations", {})
    return found


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["--after", "prepare"], "prepare"),
        (["--after", "a:ok", "--after", "b:any,c:fail"], "a:ok, b:any, c:fail"),
        (["-n", "team-a", "--after", "team-a/prepare:any"], "prepare:any"),
    ],
)
def test_after_becomes_an_annotation(arguments, asked):
    """Names of its own namespace, with or without it."""
    assert notes(*arguments) == {AFTER: asked}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--after", "a:done"], "use JOB, or JOB with :ok, :any or :fail"),
        (["--after", "a:afterok"], "Did you mean 'a:ok'?"),
        (["--after", "afternotok:a"], "Did you mean 'a:fail'?"),
        (["--after", "team-b/a"], "a job waits for jobs of its own namespace"),
        (["--retry-on", "137"], "--retry-on needs --retry"),
    ],
)
def test_what_can_not_be_meant_is_refused_before_anything_is_sent(arguments, words):
    """With what to type instead."""
    done = run("run", "--dry-run", *arguments, "--", "x")
    assert done.code == 2
    assert words in " ".join(done.err.split())


def test_retries_are_annotations():
    """How many attempts in all, and after which failures."""
    asked = notes("--retry", "3", "--retry-on", "137,OOMKilled")
    assert asked == {"roadstead.dev/retry": "3", "roadstead.dev/retry-on": "137,OOMKilled"}


def test_submit_adds_to_what_a_manifest_names(tmp_path):
    """Those of the file are waited for as well."""
    manifest = a_job("train")
    manifest["metadata"]["annotations"] = {AFTER: "fetch:any"}
    file = tmp_path / "job.json"
    file.write_text(json.dumps(manifest))
    with answering(Answer(a_listed_job("train", state="Held", cluster=""), 201)) as script:
        done = run("--server", script.address, "submit", str(file), "--after", "prepare")
    assert done.code == 0, done.err
    sent = json.loads(script.bodies[0])
    assert sent["metadata"]["annotations"] == {AFTER: "fetch:any, prepare"}


def a_link(name: str, **told: Any) -> dict[str, Any]:
    return {"name": name, "uid": "u", "condition": "ok", "state": "Waiting", **told}


def test_a_copy_waits_for_those_that_are_still_waited_for():
    """What has ended is left out and named; --after says whom besides."""
    manifest = a_job("train")
    manifest["metadata"]["annotations"] = {AFTER: "a, b:any"}
    links = [a_link("a", state="NeverSatisfied"), a_link("b", condition="any")]
    job = Answer(a_listed_job("train", state="Held", manifest=manifest, after=links))
    taken = Answer(a_listed_job("new", state="Held"), 201)
    with answering(job, taken) as script:
        asked = ("jobs", "resubmit", "team-a/train", "--after", "a-r2")
        done = run("--server", script.address, *asked)
    assert done.code == 0, done.err
    assert json.loads(script.bodies[1])["metadata"]["annotations"] == {AFTER: "b:any, a-r2"}
    assert "its copy does not wait for a;" in done.err


def test_who_is_named_anew_is_not_said_to_be_left_out():
    """`--after a` waits for a, though the first one does so no more."""
    manifest = a_job("train")
    manifest["metadata"]["annotations"] = {AFTER: "a"}
    links = [a_link("a", state="Satisfied")]
    job = Answer(a_listed_job("train", state="Failed", manifest=manifest, after=links))
    taken = Answer(a_listed_job("new", state="Held"), 201)
    with answering(job, taken) as script:
        asked = ("jobs", "resubmit", "team-a/train", "--after", "team-a/a:any")
        done = run("--server", script.address, *asked)
    assert json.loads(script.bodies[1])["metadata"]["annotations"] == {AFTER: "a:any"}
    assert "does not wait" not in done.err


def test_a_chain_is_told_both_ways():
    """Whom it waits for with how that stands, how those before ended, and who waits for it."""
    standing = {"jobState": "Running", "jobCluster": "north", "since": "2026-05-01T08:00:00Z"}
    after = [
        a_link("a", **standing),
        a_link("b", condition="any", state="Satisfied", ended="Failed"),
        a_link("c", uid=""),
    ]
    told = lines(*([ChainedJob.of(e) for e in some] for some in (after, [a_link("next")])))
    assert told[0].startswith("  after a, which is to succeed: Running in north since 2026-05-01")
    assert told[1:] == [
        "  after b, which is to end: it did (Failed)",
        "  after c, which is to succeed: no job of that name has been submitted yet",
        "  waited for by next",
    ]

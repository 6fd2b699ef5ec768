"""`roadstead jobs hold` and `release`, and what `jobs show` says of evictions."""

import json

from tests.cli.build import a_job, a_listed_job, text
from tests.cli.commands import run
from tests.cli.scripted import Answer, answering, items


def test_a_held_job_waits_until_it_is_released(hub, tmp_path):
    """hold makes a job that runs leave its cluster; release lets it start again; both may be repeated."""
    (tmp_path / "job.yaml").write_text(text(a_job("later")))
    assert hub.run("submit", str(tmp_path / "job.yaml")).code == 0
    for verb in ("hold", "hold"):
        (line,) = hub.run("jobs", verb, "team-a/later").lines
        assert line == "team-a/later Held" or line.endswith(", then Held")
    for verb in ("release", "release"):
        (line,) = hub.run("jobs", verb, "team-a/later").lines
        assert line.split()[0] == "team-a/later"
        assert "Held" not in line


def test_what_has_ended_can_not_be_held(hub, tmp_path):
    """Exit code and words say so."""
    (tmp_path / "job.yaml").write_text(text(a_job("over")))
    hub.run("submit", str(tmp_path / "job.yaml"))
    hub.run("jobs", "cancel", "team-a/over")
    done = hub.run("jobs", "hold", "team-a/over")
    assert done.code != 0
    assert "there is nothing to hold" in done.err


def test_hold_answers_programs_too(hub, tmp_path):
    """-o json lists the jobs as they stand."""
    (tmp_path / "job.yaml").write_text(text(a_job("scripted")))
    hub.run("submit", str(tmp_path / "job.yaml"))
    found = json.loads("\n".join(hub.run("jobs", "hold", "team-a/scripted", "-o", "json").lines))
    assert [job["name"] for job in found["items"]] == ["scripted"]
    shown = hub.run("jobs", "show", "team-a/scripted").lines
    assert shown[0] == "team-a/scripted"


def test_show_counts_evictions_and_says_how_long_one_backs_off():
    """One line with each reason's count, and the time before which it is not considered."""
    evicted = {
        "completions": 1,
        "message": "",
        "evictions": {"Preempted": 1, "PodsReadyTimeout": 2},
        "requeueAt": "2026-03-01T12:05:00Z",
    }
    job = a_listed_job(state="Pending", reason="RequeueBackOff") | evicted
    with answering(Answer(job), items()) as script:
        lines = run("--server", script.address, "jobs", "show", job["uid"]).lines
    assert "  evicted   PodsReadyTimeout 2, Preempted 1" in lines
    assert any("not before 2026-03-01T12:05:00" in line for line in lines)

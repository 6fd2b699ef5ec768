"""`roadstead cronjobs`: what the list shows, and a run by hand."""

import json
from typing import Any

from tests.cli.build import a_listed_job
from tests.cli.commands import run
from tests.cli.scripted import Answer, answering

QUEUE = "kueue.x-k8s.io/queue-name"
TAKEN = Answer(a_listed_job("new", state="Pending"), 201)


def shown(name: str, queue: str, **status: Any) -> dict[str, Any]:
    """A CronJob as the hub shows it; its own label names the queue."""
    labels = {QUEUE: queue} if queue else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name, "namespace": "team-a", "uid": f"u-{name}", "labels": labels},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": {"spec": {}}}}},
        "status": status,
    }


def test_the_list_tells_a_cron_job_without_a_queue_from_the_others():
    """It has no queue, no next time and no result."""
    ran = {"nextScheduleTime": "2999-01-01T00:00:00Z", "lastResult": "Failed"}
    items = [shown("nightly", "q", **ran), shown("placed", "")]
    with answering(Answer({"items": items, "continue": ""})) as script:
        done = run("--server", script.address, "cronjobs", "ls")
    head, nightly, placed = (line.split() for line in done.out.splitlines())
    assert head[:4] == ["NAMESPACE", "NAME", "QUEUE", "SCHEDULE"], done.err
    assert (nightly[2], placed[2]) == ("q", "-")
    assert nightly[7:10] == ["never", "Failed", "in"]
    assert placed[7:10] == ["never", "-", "-"]


def test_the_list_names_why_a_cron_job_creates_no_run():
    """The reason of its condition Held."""
    held = {"type": "Held", "status": "True", "reason": "MayRunInMember", "message": "m1"}
    items = [shown("nightly", "q", conditions=[held]), shown("other", "q")]
    with answering(Answer({"items": items, "continue": ""})) as script:
        done = run("--server", script.address, "cronjobs", "ls")
    head, nightly, other = done.out.splitlines()
    assert head.split()[-2:] == ["HELD", "AGE"]
    assert ("MayRunInMember" in nightly, "MayRunInMember" in other) == (True, False)


def test_a_run_by_hand_is_a_job_of_the_template():
    """In the CronJob's queue, under a name that no scheduled time has, and not as one of its Jobs."""
    with answering(Answer(shown("nightly", "q")), TAKEN) as script:
        done = run("--server", script.address, "cronjobs", "run", "team-a/nightly")
    assert done.code == 0, done.err
    sent = json.loads(script.bodies[1])
    name = sent["metadata"].pop("name")
    assert (name[:-5], name[-5:].isalpha()) == ("nightly-run-", True)
    assert sent["metadata"] == {"namespace": "team-a", "labels": {QUEUE: "q"}}
    assert sent["spec"] == {"template": {"spec": {}}}


def test_a_cron_job_without_a_queue_does_not_run_by_hand():
    """Members run it."""
    with answering(Answer(shown("placed", ""))) as script:
        done = run("--server", script.address, "cronjobs", "run", "team-a/placed")
    assert (done.code, "names no LocalQueue" in done.err) == (3, True)


def test_a_warning_of_times_that_do_not_run_is_told_as_it_is(tmp_path):
    """Not as a field that is stored without effect."""
    file = tmp_path / "cron.yaml"
    file.write_text("kind: CronJob\n")
    item = {"index": 0, "kind": "CronJob", "namespace": "team-a", "name": "nightly"}
    said = "no time runs: LocalQueue team-a/q does not exist"
    answer = {"items": [{**item, "uid": "u", "result": "created", "warnings": [said]}]}
    with answering(Answer(answer)) as script:
        done = run("--server", script.address, "apply", "-f", str(file))
    assert f"warning: {said}" in done.err, done.err


def test_a_dry_run_of_a_deletion_tells_of_the_jobs():
    """Pending and ended ones too."""
    said = "deletes its 2 Jobs too: 1 Pending, 1 Succeeded"
    answer = {"uid": "u", "result": "wouldDelete", "message": said, "members": []}
    with answering(Answer(answer)) as script:
        done = run("--server", script.address, "delete", "cronjob", "nightly", "--dry-run")
    assert said in done.out, done.err

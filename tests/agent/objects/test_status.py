"""What a Job's own status is taken to mean."""

import datetime as dt
from dataclasses import replace

import pytest

from agent.objects.pods import JobPods, view
from agent.objects.status import LONGEST_MESSAGE, job_status, suspender


def condition(kind, **more):
    return {"type": kind, "status": "True", **more}


def a_job(*conditions, suspend=False, entries=(), **status):
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "managedFields": list(entries)},
        "spec": {"suspend": suspend},
        "status": {**status, "conditions": list(conditions)},
    }


def test_only_complete_and_failed_are_results():
    """FailureTarget and SuccessCriteriaMet announce an end; they are none."""
    running = job_status(a_job(condition("FailureTarget"), active=1), None, should_run=True)
    ended = job_status(
        a_job(condition("Failed", reason="BackoffLimitExceeded", message="m")),
        None,
        should_run=True,
    )
    assert running.result is None
    assert (ended.result, ended.reason, ended.message) == ("Failed", "BackoffLimitExceeded", "m")


def test_a_condition_that_is_not_true_is_no_result():
    """Complete=False means nothing."""
    job = a_job({"type": "Complete", "status": "False"})
    assert job_status(job, None, should_run=True).result is None


def test_counts_are_those_of_the_controller():
    """Absent counts are zero."""
    told = job_status(a_job(active=2, ready=1, completedIndexes="0-1"), JobPods(), should_run=True)
    assert (told.active, told.ready, told.succeeded, told.completed_indexes) == (2, 1, 0, "0-1")


def test_who_suspends_a_job_is_the_latest_manager_of_suspend():
    """Only told where the hub wants the Job to run."""
    entries = [
        {"manager": "roadstead", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {}}},
        {
            "manager": "kueue",
            "time": "2026-01-01T00:00:05Z",
            "fieldsV1": {"f:spec": {"f:suspend": {}}},
        },
    ]
    job = a_job(suspend=True, entries=entries)
    assert suspender(job) == "kueue"
    assert job_status(job, None, should_run=True).held_by == "kueue"
    assert job_status(job, None, should_run=False).held_by == ""


@pytest.mark.parametrize(("uncounted", "result"), [(["p-2"], "Succeeded"), ([], None)])
def test_pods_that_are_being_counted_count_for_a_job_that_is_over(uncounted, result):
    """Its controller notes a pod that succeeded before it adds it up, and may not come to that."""
    job = a_job(succeeded=1, uncountedTerminatedPods={"succeeded": uncounted})
    job["spec"]["completions"] = 2
    assert job_status(job, None, should_run=True, over=True).result == result


def test_each_count_and_time_is_told_in_its_own_field():
    """No two of them are alike."""
    status = {
        "active": 1,
        "ready": 2,
        "terminating": 3,
        "succeeded": 4,
        "failed": 5,
        "startTime": "2026-01-01T00:00:01Z",
        "completionTime": "2026-01-01T00:00:02Z",
        "completedIndexes": "0-3",
        "failedIndexes": "4-8",
    }
    told = job_status(a_job(**status), None, should_run=True)
    assert (told.active, told.ready, told.terminating, told.succeeded, told.failed) == (
        1,
        2,
        3,
        4,
        5,
    )
    assert (told.start_time, told.completion_time) == (
        status["startTime"],
        status["completionTime"],
    )
    assert (told.completed_indexes, told.failed_indexes) == ("0-3", "4-8")


@pytest.mark.parametrize(
    ("kind", "at", "result"),
    [
        ("Failed", -1, "Failed"),
        ("Failed", 0, None),
        ("Failed", 1, None),
        ("FailureTarget", -1, "Failed"),
        ("FailureTarget", 0, None),
        ("Complete", 1, "Succeeded"),
        ("SuccessCriteriaMet", 1, "Succeeded"),
    ],
)
def test_a_failure_that_came_with_the_deletion_is_no_result(kind, at, result):
    """In the same second or later; a success stands whenever it came."""
    deleted = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
    when = (deleted + dt.timedelta(seconds=at)).isoformat()
    job = a_job(condition(kind, lastTransitionTime=when))
    job["metadata"]["deletionTimestamp"] = deleted.isoformat()
    assert job_status(job, None, should_run=True, over=True).result == result


@pytest.mark.parametrize(
    ("spec", "succeeded", "result"),
    [
        ({"completions": 2}, 1, None),
        ({"completions": 2}, 2, "Succeeded"),
        ({"completions": 2}, 3, "Succeeded"),
        ({"parallelism": 2}, 1, None),
        ({"parallelism": 2}, 2, "Succeeded"),
        ({}, 0, None),
        ({}, 1, "Succeeded"),
        ({"completions": 0}, 0, None),
    ],
)
def test_a_job_that_is_over_has_succeeded_with_its_last_completion(spec, succeeded, result):
    """Without completions as many as run at a time; none asked for is none reached."""
    job = a_job(succeeded=succeeded)
    job["spec"] |= spec
    assert job_status(job, None, should_run=True, over=True).result == result
    assert job_status(job, None, should_run=True).result is None


@pytest.mark.parametrize(
    ("message", "told"),
    [("limit reached", "limit reached; exit 3"), ("", "exit 3"), (None, "exit 3")],
)
def test_how_a_pod_failed_is_told_after_what_the_controller_says(message, told):
    """Of a failed Job alone: a success is not explained by a pod that failed on the way."""
    job = a_job(condition("Failed", message=message))
    assert job_status(job, None, should_run=True, failure="exit 3").message == told
    done = a_job(condition("Complete", message=message))
    assert job_status(done, None, should_run=True, failure="exit 3").message == (message or "")


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (a_job(), "ErrImagePull"),
        (a_job(suspend=True), ""),
        (a_job(condition("Failed", reason="Deadline")), "Deadline"),
    ],
)
def test_pods_lend_their_reason_to_a_job_that_runs(job, reason):
    """A suspended one has none that matter, an ended one its own."""
    assert job_status(job, stuck_pods(made=True), should_run=True).reason == reason


def stuck_pods(*, made):
    pods = JobPods()
    state = {"waiting": {"reason": "ErrImagePull", "message": "m"}}
    pod = {"metadata": {"uid": "p"}, "status": {"containerStatuses": [{"state": state}]}}
    pods.put(replace(view(pod, None), made=made))
    return pods


def test_pods_of_others_lend_no_reason():
    """They carry the job's labels, and the agent did not make their Job."""
    told = job_status(a_job(), stuck_pods(made=False), should_run=True)
    assert (told.reason, told.message) == ("", "")


@pytest.mark.parametrize(
    ("status", "made", "since"),
    [
        ({}, False, None),
        ({"active": 1}, False, None),
        ({"active": 1, "ready": 1}, False, "2026-01-01T00:00:05Z"),
        ({"succeeded": 1}, False, "2026-01-01T00:00:05Z"),
        ({"failed": 1}, False, "2026-01-01T00:00:05Z"),
        ({"active": 1, "ready": 1}, True, None),  # its pods say it, a moment later
    ],
)
def test_a_restored_job_runs_by_its_own_counts(status, made, since):
    """A backup restored it without managed fields, so its pods say nothing: it has run once one was ready."""
    job = a_job(startTime="2026-01-01T00:00:05Z", **status)
    assert job_status(job, stuck_pods(made=made), should_run=True).running_since == since


def test_an_ended_job_is_held_by_nobody():
    """Suspended or not: it waits for nothing."""
    job = a_job(condition("Failed"), suspend=True, entries=[OWNER])
    assert job_status(job, None, should_run=True).held_by == ""


OWNER = {"manager": "a", "time": "2026-01-01T00:00:05Z", "fieldsV1": {"f:spec": {"f:suspend": {}}}}


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_that_own_suspend_the_later_one_holds_the_job(order):
    """In whichever order the server lists them; where nobody is named it is unknown."""
    earlier = {**OWNER, "manager": "b", "time": "2026-01-01T00:00:04Z"}
    assert suspender(a_job(entries=[earlier, OWNER][::order])) == "a"
    assert suspender(a_job()) == "unknown"


def test_a_message_is_told_up_to_the_length_that_the_hub_keeps():
    """A longer one would be refused with its whole entry."""
    job = a_job(condition("Failed", message="x" * 2000))
    assert len(job_status(job, None, should_run=True).message) == LONGEST_MESSAGE


@pytest.mark.parametrize(
    ("deleted", "over", "result"),
    [(False, False, None), (True, False, "Failed"), (False, True, "Failed")],
)
def test_a_failure_that_is_kept_back_is_told_before_the_job_goes(deleted, over, result):
    """Not all of its pods are known yet; but of one that is deleted or over nothing more comes."""
    failed = condition("Failed", reason="PodFailed", lastTransitionTime="2026-01-01T12:00:00Z")
    job = a_job(failed, failed=1)
    if deleted:
        job["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:05Z"
    told = job_status(job, None, should_run=True, over=over, failures=["137/"], kept_back=True)
    assert (told.result, told.failures) == (result, ["137/"] if result else None)

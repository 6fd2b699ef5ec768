"""The API server's rules for the status of a Job that somebody else manages.

With `managedBy` the Job controller keeps its hands off; the server sees to it that the other writer
keeps the promises of the Job API.
"""

import pytest

from tests.kubesim.server.build import a_condition, a_managed_job

pytestmark = pytest.mark.kube_from("1.32", "the API server knows spec.managedBy")
START = "2026-01-01T00:00:00Z"
END = "2026-01-01T00:01:00Z"
COMPLETE = [a_condition("SuccessCriteriaMet"), a_condition("Complete")]
FAILED = [a_condition("FailureTarget"), a_condition("Failed")]


@pytest.fixture
def job(kube):
    kube.create("jobs", a_managed_job())
    return kube


def write(kube, **status):
    return kube.patch("jobs", "work", {"status": status}, sub="status")


def written(kube, **status):
    reply = write(kube, **status)
    assert reply.status_code == 200, reply.text


def refused(kube, field, words, **status):
    reply = write(kube, **status)
    assert reply.status_code == 422, reply.text
    assert (field, True) in [
        (cause["field"], words in cause["message"]) for cause in reply.json()["details"]["causes"]
    ], reply.text


def test_a_run_is_reported(job):
    """Start, activity and success can be written one after the other."""
    written(job, startTime=START, active=1, ready=1)
    written(job, active=0, ready=0, succeeded=1, conditions=COMPLETE, completionTime=END)


def test_a_failure_is_reported(job):
    """FailureTarget and Failed at once end a Job."""
    written(job, startTime=START, failed=1, conditions=FAILED)


def test_the_start_stays(job):
    """startTime is immutable once set, unless the Job is suspended."""
    written(job, startTime=START)
    refused(job, "status.startTime", "immutable for unsuspended job", startTime=END)
    refused(job, "status.startTime", "immutable for unsuspended job", startTime=None)


def test_a_suspended_job_may_lose_its_start(job):
    """While suspended startTime may be reset."""
    written(job, startTime=START)
    job.patch("jobs", "work", {"spec": {"suspend": True}})
    written(job, startTime=None)


@pytest.mark.parametrize("counter", ["failed", "succeeded"])
def test_counters_never_fall(job, counter):
    """failed and succeeded only grow."""
    written(job, startTime=START, **{counter: 2})
    refused(job, f"status.{counter}", f"cannot decrease the {counter} counter", **{counter: 1})


def test_counters_are_not_negative(job):
    """No count is below zero."""
    refused(job, "status.active", "greater than or equal to 0", active=-1)


def test_complete_needs_its_criteria(job):
    """Complete=True needs SuccessCriteriaMet=True."""
    conditions = [a_condition("Complete")]
    words = "without the SuccessCriteriaMet=true condition"
    refused(
        job, "status.conditions", words, startTime=START, completionTime=END, conditions=conditions
    )


def test_failed_needs_its_target(job):
    """Failed=True needs FailureTarget=True."""
    conditions = [a_condition("Failed")]
    words = "without the FailureTarget=true condition"
    refused(job, "status.conditions", words, startTime=START, conditions=conditions)


def test_complete_needs_a_completion_time(job):
    """A complete Job says when it completed."""
    words = "completionTime is required for Complete jobs"
    refused(job, "status.completionTime", words, startTime=START, conditions=COMPLETE)


def test_only_complete_jobs_have_a_completion_time(job):
    """completionTime without Complete is refused, for failed Jobs too."""
    words = "cannot set completionTime when there is no Complete=True condition"
    refused(job, "status.completionTime", words, startTime=START, completionTime=END)
    refused(
        job,
        "status.completionTime",
        words,
        startTime=START,
        completionTime=END,
        conditions=FAILED,
    )


def test_completion_follows_the_start(job):
    """completionTime is not before startTime."""
    words = "must be equal to or after `startTime`"
    refused(
        job,
        "status.completionTime",
        words,
        startTime=END,
        completionTime=START,
        conditions=COMPLETE,
    )


def test_a_finished_job_has_started(job):
    """A terminal condition needs startTime."""
    words = "startTime is required for finished job"
    refused(job, "status.startTime", words, conditions=FAILED)


def test_a_finished_job_has_no_active_pods(job):
    """active is 0 in a finished Job."""
    words = "active>0 is invalid for finished job"
    refused(job, "status.active", words, startTime=START, active=1, conditions=FAILED)


def test_a_finished_job_has_no_terminating_pods(job):
    """terminating is 0 in a finished Job."""
    words = "terminating>0 is invalid for finished job"
    refused(job, "status.terminating", words, startTime=START, terminating=1, conditions=FAILED)


def test_ready_pods_are_active(job):
    """ready does not exceed active."""
    words = "cannot set more ready pods than active"
    refused(job, "status.ready", words, startTime=START, active=1, ready=2)


def test_an_end_is_final(job):
    """A terminal condition cannot be taken back."""
    written(job, startTime=START, conditions=FAILED)
    words = "cannot disable the terminal Failed=True condition"
    refused(job, "status.conditions", words, conditions=[])


def test_complete_and_failed_exclude_each_other(job):
    """A Job ends one way."""
    refused(
        job,
        "status.conditions",
        "cannot set Complete=True and Failed=true conditions",
        startTime=START,
        completionTime=END,
        conditions=[*COMPLETE, *FAILED],
    )


def test_the_completion_time_stays(job):
    """completionTime is immutable once set."""
    written(job, startTime=START, succeeded=1, conditions=COMPLETE, completionTime=END)
    later = "2026-01-01T00:02:00Z"
    refused(job, "status.completionTime", "field is immutable", completionTime=later)


def test_only_indexed_jobs_have_completed_indexes(job):
    """completedIndexes belong to Indexed Jobs."""
    words = "when non-indexed completion mode"
    refused(job, "status.completedIndexes", words, completedIndexes="0")


@pytest.mark.parametrize("text", ["9", "1,1", "2-1", "a", "1-2-3"])
def test_completed_indexes_follow_their_grammar(kube, text):
    """completedIndexes grow and lie below completions."""
    kube.create("jobs", a_managed_job(completionMode="Indexed", completions=4, parallelism=2))
    refused(kube, "status.completedIndexes", "error parsing", completedIndexes=text)


def test_uncounted_pods_are_none_at_the_end(job):
    """uncountedTerminatedPods is empty in a finished Job."""
    words = "must be empty for finished job"
    refused(
        job,
        "status.uncountedTerminatedPods",
        words,
        startTime=START,
        conditions=FAILED,
        uncountedTerminatedPods={"failed": ["a"]},
    )


def test_the_job_controller_keeps_its_hands_off(job):
    """A Job with managedBy gets no pods and no status."""
    assert job.items("pods") == []
    assert job.get("jobs", "work")["status"] == {}

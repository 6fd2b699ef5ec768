"""What an object's own status is taken to mean."""

import pytest

from agent.objects.pods import JobPods
from agent.objects.status import available, job_status, suspender


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


def an(api_version, kind, spec=None, generation=1, **status):
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "x", "generation": generation},
        "spec": spec or {},
        "status": status,
    }


OBSERVED = {"observedGeneration": 1}
WHOLE = {**OBSERVED, "availableReplicas": 2, "updatedReplicas": 2}
SETS = {**OBSERVED, "availableReplicas": 1, "currentReplicas": 1, "updatedReplicas": 1}
CASES = [
    ("deployment", an("apps/v1", "Deployment", {"replicas": 2}, **WHOLE), True),
    ("deployment short", an("apps/v1", "Deployment", {"replicas": 3}, **WHOLE), False),
    ("deployment stale", an("apps/v1", "Deployment", {"replicas": 2}, 2, **WHOLE), False),
    ("stateful set", an("apps/v1", "StatefulSet", {"replicas": 1}, **SETS), True),
    (
        "stateful set rolling",
        an(
            "apps/v1",
            "StatefulSet",
            {"replicas": 1},
            **SETS,
            currentRevision="a",
            updateRevision="b",
        ),
        False,
    ),
    (
        "daemon set",
        an("apps/v1", "DaemonSet", **OBSERVED, desiredNumberScheduled=1, numberAvailable=0),
        False,
    ),
    ("service", an("v1", "Service", {"clusterIP": "10.0.0.1"}), True),
    ("external name", an("v1", "Service", {"type": "ExternalName"}), None),
    ("load balancer", an("v1", "Service", {"type": "LoadBalancer", "clusterIP": "1"}), False),
    ("config map", an("v1", "ConfigMap"), True),
    ("namespace", an("v1", "Namespace"), True),
    ("custom resource", an("ray.io/v1", "RayCluster"), None),
    ("job waiting", a_job(), False),
    ("job running", a_job(active=1, ready=1), True),
    ("job suspended", a_job(suspend=True), False),
    ("job complete", a_job(condition("Complete")), True),
    ("job failed", a_job(condition("Failed")), False),
]


@pytest.mark.parametrize(("obj", "wanted"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_availability(obj, wanted):
    """True and False by the kind's own rule; None where nobody can tell."""
    assert available(obj) is wanted


@pytest.mark.parametrize(("uncounted", "result"), [(["p-2"], "Succeeded"), ([], None)])
def test_pods_that_are_being_counted_count_for_a_job_that_is_over(uncounted, result):
    """Its controller notes a pod that succeeded before it adds it up, and may not come to that."""
    job = a_job(succeeded=1, uncountedTerminatedPods={"succeeded": uncounted})
    job["spec"]["completions"] = 2
    assert job_status(job, None, should_run=True, over=True).result == result

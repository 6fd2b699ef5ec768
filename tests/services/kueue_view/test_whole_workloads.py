"""The whole Workload of a Job and of a bare one: metadata, spec and status."""

from typing import Any

import pytest

from hub.services.kueue_view.workload import workload_object
from tests.services.kueue_view.rows import A_SHAPE, a_row, an_admitted_row, minutes

JOB: dict[str, Any] = {"spec": {"template": {"spec": {"containers": ["of the job"]}}}}
PARTLY = [A_SHAPE[0] | {"minCount": 1, "count": 2}]


def test_all_of_a_jobs_workload():
    """Metadata, spec and status of a job that is back in line after two evictions."""
    row = a_row(
        priority=3,
        priority_class="high",
        max_runtime_s=60,
        ran_s=20,
        requeues=2,
        requeue_at=minutes(20),
        labels={"own": "l"},
        annotations={"own": "a"},
        evictions={"Preempted/InClusterQueue": 1, "PodsReadyTimeout": 2},
        nomination={"cluster": "north"},
    )
    made = workload_object(row, PARTLY, JOB, now=minutes(10), generation=7)
    assert {each["observedGeneration"] for each in made["status"].pop("conditions")} == {7}
    assert made == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": made["metadata"]["name"],
            "namespace": "team-a",
            "creationTimestamp": "2026-05-01T12:00:00Z",
            "labels": {"kueue.x-k8s.io/job-uid": "u-1"},
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": "train",
                    "uid": "u-1",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "active": True,
            "podSets": [
                {
                    "name": "main",
                    "count": 2,
                    "minCount": 1,
                    "template": JOB["spec"]["template"],
                }
            ],
            "priority": 3,
            "queueName": "gpu",
            "priorityClassRef": {
                "group": "kueue.x-k8s.io",
                "kind": "WorkloadPriorityClass",
                "name": "high",
            },
            "maximumExecutionTimeSeconds": 60,
        },
        "status": {
            "resourceRequests": [{"name": "main", "resources": {"cpu": "2"}}],
            "requeueState": {"count": 2, "requeueAt": "2026-05-01T12:20:00Z"},
            "schedulingStats": {
                "evictions": [
                    {"reason": "PodsReadyTimeout", "underlyingCause": "", "count": 2},
                    {"reason": "Preempted", "underlyingCause": "InClusterQueue", "count": 1},
                ]
            },
            "accumulatedPastExecutionTimeSeconds": 20,
            "nominatedClusterNames": ["north"],
        },
    }


def test_all_of_a_bare_workload():
    """Its own labels and uid, a template for each of its pod sets, pods given back, its checks."""
    sets = [{**A_SHAPE[0], "name": name, "count": count} for name, count in (("a", 2), ("b", 3))]
    manifest = {"spec": {"podSets": [{"name": "b", "template": {"of": "b"}}, {"template": {"of": "a"}},
                                     {"name": "a", "template": {"of": "a"}}]}}  # fmt: skip
    updates = [{"name": "a", "labels": {"x": "y"}}]
    at = minutes(2).isoformat()
    check = {"state": "Retry", "message": "m", "at": at, "retryCount": 3,
             "requeueAfterSeconds": 9, "podSetUpdates": updates}  # fmt: skip
    row = an_admitted_row(
        kind="Workload",
        name="wl",
        cluster="",
        queue="",
        labels={"own": "l"},
        checks={"z": check, "c": {}},
        admission={
            "podSets": [
                {"name": "a", "count": 1, "reclaimed": 1, "flavors": {"cpu": "spot"}, "usage": {"cpu": 500}},
                {"name": "b", "usage": {"cpu": 1000}, "whole": {"cpu": 3000}},
            ]
        },
    )  # fmt: skip
    made = workload_object(row, sets, manifest, now=minutes(10))
    made["status"].pop("conditions")
    assert made == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": "wl",
            "namespace": "team-a",
            "creationTimestamp": "2026-05-01T12:00:00Z",
            "uid": "u-1",
            "labels": {"own": "l"},
        },
        "spec": {
            "active": True,
            "podSets": [
                {"name": "a", "count": 2, "template": {"of": "a"}},
                {"name": "b", "count": 3, "template": {"of": "b"}},
            ],
            "priority": 0,
        },
        "status": {
            "admission": {
                "clusterQueue": "all",
                "podSetAssignments": [
                    {
                        "name": "a",
                        "flavors": {"cpu": "spot"},
                        "resourceUsage": {"cpu": "500m"},
                        "count": 1,
                    },
                    {"name": "b", "flavors": {}, "resourceUsage": {"cpu": "3"}, "count": 3},
                ],
            },
            "admissionChecks": [
                {
                    "name": "c",
                    "state": "Pending",
                    "message": "",
                    "lastTransitionTime": "2026-05-01T12:00:00Z",
                },
                {
                    "name": "z",
                    "state": "Retry",
                    "message": "m",
                    "lastTransitionTime": "2026-05-01T12:02:00Z",
                    "requeueAfterSeconds": 9,
                    "retryCount": 3,
                    "podSetUpdates": updates,
                },
            ],
            "reclaimablePods": [{"name": "a", "count": 1}],
        },
    }


@pytest.mark.parametrize(
    ("columns", "keys"),
    [
        ({"state": "Reserved", "placed_at": None}, {"admission", "nominatedClusterNames"}),
        ({}, {"admission", "clusterName"}),
        ({"state": "Withdrawing"}, {"admission", "clusterName"}),
        ({"state": "Unknown"}, {"admission", "clusterName"}),
        ({"state": "Succeeded"}, {"admission", "clusterName"}),
        ({"state": "Cancelled", "admission": None}, set()),
        ({"state": "Deactivated"}, set()),
        ({"state": "Held"}, {"resourceRequests", "nominatedClusterNames"}),
    ],
)
def test_what_a_status_tells_at_each_stage(columns, keys):
    """What is charged, or what is asked for; where it is, or where it may come to be."""
    status = workload_object(an_admitted_row(**columns), A_SHAPE, now=minutes(10))["status"]
    assert status.keys() - {"conditions"} == keys

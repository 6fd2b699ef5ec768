"""The hub cluster's policies judge the stored Job: nothing that a request brings opens the way for it.

A real API server gets the same requests in `tests/realkube/test_gates.py`.
"""

from typing import Any

from shared.kubesim.server import queue_guard
from tests.deploy.policies import JOB_GUARD, refusals

Json = dict[str, Any]
QUEUED = {"kueue.x-k8s.io/queue-name": "main"}
ENDING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def job(labels: Json | None = None, spec: Json | None = None, **metadata: Any) -> Json:
    template = {"spec": {"containers": [{"name": "main", "image": "example.test/job"}]}}
    return {
        "metadata": {"name": "train", "namespace": "team", "labels": labels or {}, **metadata},
        "spec": {"suspend": True, "template": template, **(spec or {})},
    }


OURS = {"managedBy": "roadstead.dev/hub"}


def test_a_deletion_that_the_request_claims_does_not_free_a_job_of_its_queue() -> None:
    """A server-side apply may bring `deletionTimestamp`; the stored Job decides whether it is being deleted."""
    old = job(QUEUED, OURS)
    claimed = job({}, OURS, **ENDING)
    assert refusals(JOB_GUARD, "roadstead-queues", claimed, old) == [queue_guard.KEEPS]
    deleted = job(QUEUED, OURS, **ENDING)
    assert refusals(JOB_GUARD, "roadstead-queues", claimed, deleted) == []

"""The hub cluster's policies judge the stored Job: nothing that a request brings opens the way for it.

A real API server gets the same requests in `tests/realkube/test_gates.py`.
"""

from typing import Any

import pytest

from shared.kubesim.server import job_guard, mirror_guard, queue_guard
from tests.deploy.policies import HUB_ACCOUNT, JOB_GUARD, MIRROR_GUARD, refusals

Json = dict[str, Any]
QUEUED = {"kueue.x-k8s.io/queue-name": "main"}
ENDING: Json = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def job(labels: Json | None = None, spec: Json | None = None, **metadata: Any) -> Json:
    template = {"spec": {"containers": [{"name": "main", "image": "example.test/job"}]}}
    return {
        "metadata": {"name": "train", "namespace": "team", "labels": labels or {}, **metadata},
        "spec": {"suspend": True, "template": template, **(spec or {})},
    }


OURS = {"managedBy": "roadstead.dev/hub"}


def test_a_deletion_that_the_request_claims_does_not_free_a_job_of_its_queue() -> None:
    """A server-side apply may bring `deletionTimestamp`; the stored Job decides."""
    old = job(QUEUED, OURS)
    claimed = job({}, OURS, **ENDING)
    assert refusals(JOB_GUARD, "roadstead-queues", claimed, old) == [queue_guard.KEEPS]
    deleted = job(QUEUED, OURS, **ENDING)
    assert refusals(JOB_GUARD, "roadstead-queues", claimed, deleted) == []


OWNED: Json = {
    "ownerReferences": [{"kind": "ConfigMap", "name": "c", "uid": "u", "controller": True}]
}
HELD: Json = {"finalizers": ["roadstead.dev/hub"]}
HOSTILE: Json = {"finalizers": ["example.com/never"]}
FLOOD: Json = {"labels": {f"k{number}": "v" for number in range(17_000)}}


def with_template(given: Json, metadata: Json) -> Json:
    """The Job, with that metadata in its pod template."""
    template = {**given["spec"]["template"], "metadata": metadata}
    return {**given, "spec": {**given["spec"], "template": template}}


def test_no_controller_is_written_into_a_job_of_roadstead() -> None:
    """The request after it would find a Job that a controller owns, and start it on the hub cluster."""
    old = job(QUEUED)
    assert refusals(JOB_GUARD, "roadstead-jobs", job(QUEUED, **OWNED), old) == [
        job_guard.NO_CONTROLLER
    ]
    labelled = {"kueue.x-k8s.io/managed-namespace": "true"}
    selected = refusals(
        JOB_GUARD, "roadstead-jobs", job(**OWNED), job(), namespace_labels=labelled
    )
    assert selected == [job_guard.NO_CONTROLLER]
    assert refusals(JOB_GUARD, "roadstead-jobs", job(**OWNED), job()) == []


@pytest.mark.parametrize(
    "stored",
    [
        job(QUEUED, OURS),
        job(QUEUED, {"managedBy": "kueue.x-k8s.io/multikueue"}),
        job(QUEUED),  # where spec.managedBy is not known, once the hub's finalizer was taken off
        job(QUEUED, {"suspend": False}, **HELD),
    ],
)
@pytest.mark.parametrize("annotation", [None, {"kueue.x-k8s.io/queue-name": ""}])
def test_each_job_of_roadstead_keeps_its_queue(stored: Json, annotation: Json | None) -> None:
    """Whatever makes it Roadstead's, and whatever takes the place of the label."""
    metadata = {k: v for k, v in stored["metadata"].items() if k != "labels"}
    changed = {**stored, "metadata": {**metadata, "annotations": annotation or {}}}
    assert refusals(JOB_GUARD, "roadstead-queues", changed, stored) == [queue_guard.KEEPS]


@pytest.mark.parametrize("becomes", [{"labels": QUEUED}, {"annotations": QUEUED}, HELD])
def test_a_job_that_becomes_roadsteads_is_judged_whole(becomes: Json) -> None:
    """A template that one request wrote before the Job had a queue does not pass with the queue."""
    hostile, flooded = with_template(job(), HOSTILE), with_template(job(), FLOOD)
    for policy, stored in (("roadstead-pod-templates", hostile), ("roadstead-labels", flooded)):
        assert refusals(JOB_GUARD, policy, stored) == []
        changed = {**stored, "metadata": {**stored["metadata"], **becomes}}
        assert len(refusals(JOB_GUARD, policy, changed, stored)) == 1
        assert refusals(JOB_GUARD, policy, changed, changed) == []


@pytest.mark.parametrize(
    ("given", "namespace"),
    [
        (job(spec={"managedBy": "kueue.x-k8s.io/multikueue"}), {}),
        (job(), {"kueue.x-k8s.io/managed-namespace": "true"}),
    ],
)
def test_every_job_of_roadstead_is_judged_when_it_is_created(given: Json, namespace: Json) -> None:
    """Also one of MultiKueue's name, and one whose namespace makes it Roadstead's."""
    for policy, metadata in (("roadstead-pod-templates", HOSTILE), ("roadstead-labels", FLOOD)):
        made = with_template(given, metadata)
        assert len(refusals(JOB_GUARD, policy, made, namespace_labels=namespace)) == 1
        owned = {**made, "metadata": {**made["metadata"], **OWNED}}
        judged = refusals(JOB_GUARD, policy, owned, namespace_labels=namespace)
        assert bool(judged) is ("managedBy" in given["spec"])


FOREIGN = job()
SHOWN = job({"roadstead.dev/origin": "rest"})


@pytest.mark.parametrize("changed", [None, job(**HELD), job({"roadstead.dev/origin": "rest"})])
def test_the_hub_leaves_jobs_alone_that_are_not_roadsteads(changed: Json | None) -> None:
    """Neither a mark first nor a deletion at once."""
    found = refusals(MIRROR_GUARD, "roadstead-mirrors", changed, FOREIGN, user=HUB_ACCOUNT)
    assert found == [mirror_guard.NOT_CHANGED]


@pytest.mark.parametrize("stored", [job(QUEUED), job(spec=OURS), job(**HELD), SHOWN])
def test_the_hub_starts_no_job_there(stored: Json) -> None:
    """It changes and deletes Jobs of Roadstead; none of them is started."""

    def asked(changed: Json | None) -> list[str]:
        return refusals(MIRROR_GUARD, "roadstead-mirrors", changed, stored, user=HUB_ACCOUNT)

    started = {**stored, "spec": {**stored["spec"], "suspend": False}}
    assert asked(started) == [mirror_guard.NOT_STARTED]
    assert asked(stored) == []
    assert asked(None) == []

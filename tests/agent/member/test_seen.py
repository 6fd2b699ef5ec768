"""What is kept of a member's objects, and what its refusals and Events are taken to mean."""

import pytest

from agent.member.applier import _last_seen
from agent.member.observer import _queue_state
from agent.member.refusals import conflicting, missing_what, refused
from agent.member.take_over import _has_no_work, stranger
from agent.objects.facts import epoch_of, owner_of
from agent.objects.slim import slim_job
from agent.objects.status import suspender
from shared import labels
from shared.kube import errors
from tests.agent.moments import a_live_job
from tests.agent.scripted_hub import HUB_ID, an_object

OWNER = {"manager": "kueue", "fieldsV1": {"f:spec": {"f:suspend": {}}}}


@pytest.mark.parametrize(("suspend", "holder"), [(True, "kueue"), (False, "unknown")])
def test_of_a_job_is_kept_whose_it_is_and_who_suspends_it(suspend, holder):
    """Its pod template is the larger part of it, and nothing else of that is looked at."""
    job = a_live_job(suspend=suspend)
    job["metadata"]["managedFields"] = [OWNER]
    slim = slim_job(job, None)
    assert (owner_of(slim, HUB_ID), epoch_of(slim)) == ("u-1", 1)
    assert suspender(slim) == holder
    (container,) = slim["spec"]["template"]["spec"]["containers"]
    assert set(container) == {"env"}


@pytest.mark.parametrize(
    ("conditions", "state"),
    [
        ([{"type": "Active", "status": "True"}], "active"),
        ([{"type": "Active", "status": "False", "reason": "Stopped"}], "stopped"),
        ([{"type": "Active", "status": "False", "reason": "ClusterQueueIsInactive"}], "stopped"),
        ([{"type": "Active", "status": "False", "reason": "ClusterQueueDoesNotExist"}], ""),
        ([{"type": "Active", "status": "False"}], ""),
        ([{"type": "Ready", "status": "True"}], ""),
        ([{"type": "Ready", "status": "True"}, {"type": "Active", "status": "True"}], "active"),
        (None, ""),
    ],
)
def test_a_local_queue_is_active_or_stopped_by_its_condition(conditions, state):
    """Condition Active decides, with Kueue's two reasons by which people stop a queue."""
    assert _queue_state({"status": {"conditions": conditions}}, None) == state


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (errors.from_status(429, {"message": "m"}), "Throttled"),
        (errors.from_status(503, {"message": "m"}), "Unavailable"),
        (errors.from_status(401, {"message": "m"}), "Unavailable"),
        (errors.from_status(403, {"message": "m"}), "ApplyFailed"),
        (errors.from_status(422, {"message": "m"}), "ApplyFailed"),
    ],
    ids=["429", "503", "401", "403", "422"],
)
def test_what_passes_by_itself_is_no_refusal_of_the_work(refusal, reason):
    """A token that is being renewed, too, is a matter of moments."""
    trouble = refused(refusal)
    assert (trouble.reason, trouble.message, trouble.final) == (reason, "m", False)


def missing(kind, name):
    body = {"message": "m", "reason": "NotFound", "details": {"kind": kind, "name": name}}
    return errors.from_status(404, body)


def test_what_is_missing_is_told_apart():
    """The namespace, the kind, or the object that was there a moment ago."""
    assert missing_what(missing("namespaces", "team")).reason == "NamespaceMissing"
    assert missing_what(errors.KindNotServed(404, "NotFound", "m")).reason == "KindNotServed"
    assert missing_what(missing("jobs", "job")).reason == "Retrying"


def conflict(*fields):
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{manager}" using v1',
            "field": path,
        }
        for manager, path in fields
    ]
    return errors.from_status(
        409, {"message": "m", "reason": "Conflict", "details": {"causes": causes}}
    )


def test_a_conflict_names_each_manager_once_and_three_fields():
    """Where the server names none, the write was only late."""
    found = conflicting(conflict(("b", ".x"), ("a", ".y"), ("b", ".z"), ("a", ".w")))
    assert found.reason == "NameConflict"
    assert found.message.startswith("a, b manages .x, .y, .z of ")
    assert conflicting(conflict()).reason == "Retrying"


@pytest.mark.parametrize(
    ("event", "at"),
    [
        ({"lastTimestamp": "2", "eventTime": "1"}, "2"),
        ({"eventTime": "1"}, "1"),
        ({"lastTimestamp": None, "eventTime": "1"}, "1"),
        ({"series": {"lastObservedTime": "3"}, "lastTimestamp": "2", "eventTime": "1"}, "3"),
        ({"series": None, "lastTimestamp": "2"}, "2"),
        ({}, ""),
    ],
)
def test_an_event_was_seen_last_when_it_happened_last(event, at):
    """Not when it happened first; of a series that is the time of its newest."""
    assert _last_seen(event) == at


def a_namespace(kind="Namespace", **marks):
    return {"kind": kind, "metadata": {"name": "n", "labels": marks}}


def written(namespace):
    """The same, where the managed fields say that an agent wrote it."""
    entry = {"manager": labels.FIELD_MANAGER, "operation": "Apply", "fieldsV1": {}}
    return {**namespace, "metadata": {**namespace["metadata"], "managedFields": [entry]}}


@pytest.mark.parametrize(
    ("obj", "ours"),
    [
        (written(a_namespace(**{labels.MANAGED_BY: HUB_ID})), True),
        (a_namespace(**{labels.MANAGED_BY: HUB_ID}), False),
        (a_namespace(**{labels.MANAGED_BY: HUB_ID, labels.JOB_UID: "u"}), False),
        (a_namespace(**{labels.MANAGED_BY: "another"}), False),
        (a_namespace(), False),
        (a_namespace("ConfigMap", **{labels.MANAGED_BY: HUB_ID}), False),
    ],
)
def test_a_namespace_that_was_made_for_a_job_is_ours_to_place(obj, ours):
    """One that people labelled, that is a work itself, another hub's, or of another kind is not."""
    work = an_object({"apiVersion": "v1", **a_namespace()}, "id-1")
    assert _has_no_work(obj, work, HUB_ID) is ours


def test_a_stranger_is_named_by_what_the_object_says():
    """Another hub with the epoch, else its first manager, else nobody."""
    theirs = a_namespace(**{labels.MANAGED_BY: "hub-9", labels.EPOCH: "4"})
    assert "another hub (hub-9, epoch 4)" in stranger(theirs, HUB_ID)
    managed = a_namespace()
    managed["metadata"]["managedFields"] = [{"manager": "helm"}, {"manager": "kubectl"}]
    assert ", managed by helm, " in stranger(managed, HUB_ID)
    assert "managed by" not in stranger(a_namespace(), HUB_ID)

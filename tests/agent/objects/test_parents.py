"""Facts of objects whose operator makes the pods: whose they are, held or begun, ended or not."""

import datetime as dt

import pytest

from agent.objects.facts import (
    epoch_of,
    is_child,
    is_of_job,
    is_unstarted,
    makes_pods_of,
    owner_of,
)
from agent.objects.holds import hold_of
from agent.objects.manifests import start_patch
from agent.objects.pods import JobPods, view
from agent.objects.readings import Reading, read
from agent.objects.status import parent_status
from shared import labels
from shared.workkinds.catalog import builtin_catalog
from shared.workkinds.definition import KindName
from shared.workkinds.jq_language import JqLanguage
from tests.agent.parents import (
    HELD_AT,
    KINDS,
    a_parent,
    a_rule,
    a_template,
    created,
    written_by,
)
from tests.agent.scripted_hub import HUB_ID

NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
JOB_SET = builtin_catalog().find(KindName("jobset.x-k8s.io", "v1alpha2", "JobSet"))
RAY_JOB = builtin_catalog().find(KindName("ray.io", "v1", "RayJob"))


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_created_held_and_its_start_names_the_uid(kind):
    """The values of the rule, and nothing else of the spec, change with the start."""
    live = created(kind)
    assert is_unstarted(live)
    assert hold_of(a_parent(kind)).holds(live)
    patch = start_patch(a_parent(kind), live)
    assert patch["metadata"]["uid"] == "m-1"
    assert patch["metadata"]["annotations"] == {labels.NOT_STARTED: None}
    held = patch["spec"]
    for step in HELD_AT[kind].split("/")[2:]:
        held = held[step]
    assert held is False


@pytest.mark.parametrize(
    "spoil",
    [
        lambda live: live["spec"].update(suspend=False),
        lambda live: live["metadata"]["annotations"].update({labels.NOT_STARTED: "true"}),
        lambda live: live["metadata"]["annotations"].update({labels.NOT_STARTED: "[]"}),
        lambda live: live["metadata"].update(managedFields=written_by("people", live["metadata"])),
    ],
    ids=["runs", "no list", "empty list", "of others"],
)
def test_in_doubt_it_has_begun(spoil):
    """A mark that says nothing, that others wrote, or that does not hold is none."""
    live = created()
    spoil(live)
    assert not is_unstarted(live)


def test_without_a_usable_rule_it_can_not_be_held():
    """A hub that tells none, or one that writes outside the spec, has nothing created."""
    rule = a_rule("JobSet")
    rule.run[0].path = "/metadata/labels/x"
    assert hold_of(a_parent(kind_rule=None)) is None
    assert hold_of(a_parent(kind_rule=rule)) is None


def test_the_variables_of_its_templates_say_whose_it_is_whatever_its_labels_say():
    """As long as our finalizer is on it, as it is until its end is stored."""
    live = created("PyTorchJob", epoch=3)
    live["metadata"]["labels"].update({labels.JOB_UID: "other", labels.EPOCH: "1"})
    assert (owner_of(live, HUB_ID), epoch_of(live)) == ("u-1", 3)
    assert is_of_job(live)


def test_a_child_with_our_labels_is_nobodys():
    """What its operator made has a controller, and managed fields of the operator."""
    child = created("RayJob")
    metadata = child["metadata"]
    metadata.update(finalizers=[], ownerReferences=[{"kind": "RayJob", "controller": True}])
    assert is_child(child)
    metadata["managedFields"] = written_by("kuberay", metadata)
    assert owner_of(child, HUB_ID) is None
    assert makes_pods_of(child, "u-1")


def test_a_plain_object_with_an_edited_epoch_is_no_job():
    """The label counts only as the agent wrote it."""
    marks = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: "o-1", labels.EPOCH: "3"}
    ours = written_by(labels.FIELD_MANAGER, {"labels": [labels.MANAGED_BY, labels.JOB_UID]})
    metadata = {"name": "c", "labels": marks, "managedFields": ours}
    assert not is_of_job({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


def told(conditions=(), *, deleted_at=None, definition=JOB_SET, earlier=None, **status):
    live = created()
    live["status"] = {"conditions": list(conditions), **status}
    if deleted_at is not None:
        live["metadata"]["deletionTimestamp"] = deleted_at
    return read(definition, live, JqLanguage(), earlier, NOW)


def a_condition(kind, at="2026-01-01T11:00:00Z"):
    return {
        "type": kind, "status": "True", "reason": f"Is{kind}", "message": "why",
        "lastTransitionTime": at,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("conditions", "result"),
    [
        ([], None),
        ([a_condition("Odd")], None),
        ([a_condition("Completed")], "Succeeded"),
        ([a_condition("Failed")], "Failed"),
        ([a_condition("Completed"), a_condition("Failed")], "Failed"),
    ],
    ids=["none", "unknown", "completed", "failed", "both"],
)
def test_the_definition_says_how_it_ended(conditions, result):
    """No state is unknown: neither ended nor failed. Failed goes before completed."""
    assert told(conditions).result == result


def test_the_condition_that_says_so_gives_reason_message_and_instant():
    """As its operator wrote them."""
    reading = told([a_condition("Completed")])
    assert (reading.reason, reading.message) == ("IsCompleted", "why")
    assert reading.ended_at == dt.datetime(2026, 1, 1, 11, tzinfo=dt.UTC)


def test_a_phase_gives_the_reason_where_there_are_no_conditions():
    """Its end is when the status says, or when it was read so first."""
    reading = told(definition=RAY_JOB, jobDeploymentStatus="Failed")
    assert (reading.result, reading.reason, reading.ended_at) == ("Failed", "Failed", NOW)
    assert told(definition=RAY_JOB, jobDeploymentStatus="Running").result is None


@pytest.mark.parametrize(
    ("at", "result"),
    [("2026-01-01T11:00:00Z", "Failed"), ("2026-01-01T11:30:00Z", None)],
)
def test_a_failure_that_came_with_its_deletion_is_no_result(at, result):
    """One that is older than the deletion is."""
    failed = [a_condition("Failed", at)]
    assert told(failed, deleted_at="2026-01-01T11:30:00Z").result == result


def test_what_was_read_before_the_deletion_stands():
    """A phase has no instant; that it had failed was read before."""
    before = told(definition=RAY_JOB, jobDeploymentStatus="Failed")
    given = {"deleted_at": "2026-01-01T12:30:00Z", "earlier": before}
    assert told(definition=RAY_JOB, jobDeploymentStatus="Failed", **given).result == "Failed"


def test_without_a_definition_nothing_has_ended():
    """The reason says so, and the quota stays."""
    reading = told([a_condition("Completed")], definition=None)
    assert (reading.result, bool(reading.fault)) == (None, True)
    status = parent_status(created(), None, hold_of(a_parent()), reading)
    assert (status.result, status.reason) == (None, "NotRead")


def a_pod(name, phase, *, ready=False, deleted=False):
    template = a_template("u-1", 1, "1")
    metadata = {**template["metadata"], "name": name, "namespace": "team", "uid": name}
    metadata["ownerReferences"] = [{"kind": "PyTorchJob", "controller": True, "uid": "m-1"}]
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T11:30:00Z"
    conditions = [{"type": "Ready", "status": str(ready)}]
    status = {"phase": phase, "conditions": conditions}
    return {"metadata": metadata, "spec": template["spec"], "status": status}


def test_its_counts_are_those_of_its_pods():
    """By phase, readiness and deletion; those of a copy are not counted."""
    pods = JobPods()
    for pod in (
        a_pod("a", "Running", ready=True),
        a_pod("b", "Pending"),
        a_pod("c", "Running", deleted=True),
        a_pod("d", "Succeeded"),
        a_pod("e", "Failed"),
    ):
        pods.found_made(view(pod, None), 1, by_operator=True)
    pods.put(view(a_pod("x", "Running", ready=True), None))
    live = created()
    live["spec"]["suspend"] = False
    status = parent_status(live, pods, hold_of(a_parent()), Reading("m-1", "7"))
    counts = status.active, status.ready, status.terminating, status.succeeded, status.failed
    assert counts == (2, 1, 1, 1, 1)
    assert not status.suspended


def test_a_job_that_an_operator_made_with_our_labels_is_nobodys():
    """Jobs of ours may lack managed fields; one with a controller and without our finalizer is a child."""
    marks = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: "u-1", labels.EPOCH: "1"}
    owner = {"kind": "JobSet", "controller": True, "uid": "m-1"}
    metadata = {"name": "parent-lead-0", "labels": marks, "ownerReferences": [owner]}
    assert (
        owner_of({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}, HUB_ID) is None
    )


def test_a_late_start_raises_no_number_that_was_lowered_since():
    """An object that is held by its size starts in the version that was seen; others start in any."""
    for kind in ("LeaderWorkerSet", "JobSet"):
        live = created(kind)
        live["metadata"]["resourceVersion"] = "7"
        version = start_patch(a_parent(kind), live)["metadata"].get("resourceVersion")
        assert version == ("7" if kind == "LeaderWorkerSet" else None)

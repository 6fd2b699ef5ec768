"""Mirrors of what came by REST, as documents: what they show, and what is written of them."""

from typing import Any

import pytest

from hub.bridge import shown
from hub.store.records.objects import StoredObject
from shared import labels
from tests.store.build import a_workload, an_object

JOB: dict[str, Any] = {
    "metadata": {
        "name": "one",
        "namespace": "team",
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
    },
    "spec": {
        "parallelism": 2,
        "suspend": False,
        "managedBy": "somebody",
        "ttlSecondsAfterFinished": 5,
        "template": {
            "spec": {
                "containers": [{"name": "m", "env": [{"name": "PASSWORD", "value": "hunter2"}]}]
            }
        },
    },
}
SECRET = {"apiVersion": "v1", "kind": "Secret", "data": {"password": "hunter2"}}
LIVE: dict[str, Any] = {
    "kind": "Job",
    "metadata": {
        "name": "one",
        "namespace": "team",
        "uid": "u-live",
        "resourceVersion": "7",
        "labels": {"a": "old", "theirs": "x"},
        "annotations": {"note": "y"},
        "finalizers": ["example.com/theirs", labels.FINALIZER],
        "managedFields": [{"manager": labels.BRIDGE_FIELD_MANAGER}],
    },
    "spec": {},
    "status": {"active": 1},
}


def a_mirror(**spec: Any) -> dict[str, Any]:
    return shown.job_mirror(a_workload("one"), {**JOB, "spec": {**JOB["spec"], **spec}})


def test_a_job_is_shown_so_that_nothing_runs_it():
    """Suspended, managed by the hub, without the fields on which others act; no value of a variable."""
    spec = a_mirror()["spec"]
    assert (spec["suspend"], spec["managedBy"]) == (True, labels.JOB_CONTROLLER)
    assert "ttlSecondsAfterFinished" not in spec
    assert "hunter2" not in str(spec)
    assert "PASSWORD" in str(spec)


def test_a_mirror_says_what_it_is_of_and_keeps_what_its_submitter_wrote():
    """The queue of the row counts where the manifest names none."""
    row = a_workload("one", queue="gpu", annotations={labels.SUBMITTED_BY: "ann"})
    metadata = shown.job_mirror(row, JOB)["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("one", "team")
    assert metadata["labels"] == {"a": "b", labels.ORIGIN: "rest", labels.QUEUE_NAME: "gpu"}
    assert metadata["annotations"] == {
        "c": "d",
        labels.MIRROR_OF: "one",
        labels.SPEC_HASH: shown.version_of(row),
        labels.SUBMITTED_BY: "ann",
    }
    named = {"metadata": {"name": "one", "labels": {labels.QUEUE_NAME: "cpu"}}}
    assert shown.job_mirror(row, named)["metadata"]["labels"][labels.QUEUE_NAME] == "cpu"


@pytest.mark.parametrize(
    ("group", "kind", "manifest"),
    [
        (
            "placement.kubernetes-fleet.io",
            "ResourceEnvelope",
            {"data": {"s.yaml": SECRET}},
        ),
        (
            "placement.kubernetes-fleet.io",
            "ResourceEnvelope",
            {"data": {"p.yaml": {"kind": "Pod", **JOB["spec"]["template"]}}},
        ),
        ("kueue.x-k8s.io", "ClusterQueue", {"status": {"seen": "hunter2"}}),
    ],
    ids=["Secret in an envelope", "environment in an envelope", "status"],
)
def test_a_mirror_of_an_object_shows_nothing_secret(group: str, kind: str, manifest: Any):
    """Readers of mirrors may lack the right to read Secrets and environments in an envelope."""
    whole = {"metadata": {"name": "one", "namespace": "team"}, **manifest}
    made = shown.object_mirror(an_object("u", api_group=group, kind=kind, manifest=whole))
    assert (made["kind"], made["metadata"]["name"]) == (kind, "one")
    assert "hunter2" not in str(made)


@pytest.mark.parametrize(
    "change", [{"generation": 2}, {"queue": "x"}, {"annotations": {labels.SUBMITTED_BY: "ben"}}]
)
def test_what_of_a_job_makes_its_mirror_be_written_anew(change: dict[str, Any]):
    """A change of cluster or epoch writes only the status."""
    row = a_workload("one", generation=1, queue="gpu")
    assert shown.version_of(row._replace(**change)) != shown.version_of(row)
    assert shown.version_of(row._replace(cluster="north", epoch=3)) == shown.version_of(row)


@pytest.mark.parametrize(
    "change",
    [{"hash": "x"}, {"api_version": "v9"}, {"annotations": {labels.SUBMITTED_BY: "ben"}}],
)
def test_what_of_an_object_makes_its_mirror_be_written_anew(change: dict[str, Any]):
    """A new status does not rewrite the mirror."""
    row: StoredObject = an_object("u")
    assert shown.version_of(row._replace(**change)) != shown.version_of(row)
    assert shown.version_of(row._replace(status={"a": 1})) == shown.version_of(row)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("parallelism", 5),
        ("activeDeadlineSeconds", 60),
        ("backoffLimit", 9),
        ("podReplacementPolicy", "Failed"),
    ],
)
def test_each_field_of_a_job_that_can_be_changed_is_changed_in_its_mirror(field: str, value: Any):
    """The patch has no immutable field: the API server would refuse all of it."""
    patch = shown.job_patch(a_mirror(**{field: value}), LIVE)
    assert patch["spec"][field] == value
    assert patch["spec"]["suspend"] is True
    assert not {"template", "managedBy", "completions"} & patch["spec"].keys()


def test_a_patch_is_of_this_very_version_and_takes_away_what_is_not_the_hubs():
    """Labels and notes of others go, others' finalizers stay."""
    metadata = shown.job_patch(a_mirror(), LIVE)["metadata"]
    assert (metadata["uid"], metadata["resourceVersion"]) == ("u-live", "7")
    assert (metadata["labels"]["a"], metadata["labels"]["theirs"]) == ("b", None)
    assert metadata["annotations"]["note"] is None
    assert metadata["finalizers"] == ["example.com/theirs"]


def test_an_object_is_replaced_as_a_whole_in_this_very_version():
    """Its status is its own, and whatever others hold it by."""
    live = {**LIVE, "metadata": {**LIVE["metadata"], "ownerReferences": [{"uid": "o"}]}}
    made = shown.replacement({"kind": "Job", "metadata": {"name": "one"}, "spec": {"x": 1}}, live)
    assert made == {
        "kind": "Job",
        "metadata": {
            "name": "one",
            "uid": "u-live",
            "resourceVersion": "7",
            "ownerReferences": [{"uid": "o"}],
            "finalizers": ["example.com/theirs"],
        },
        "spec": {"x": 1},
        "status": {"active": 1},
    }


@pytest.mark.parametrize("finalized", [True, False])
def test_what_is_handed_over_bears_no_mark_of_a_mirror(finalized: bool):
    """It is the hub cluster's own from then on; our finalizer is on what the hub takes back itself."""
    marks = {labels.MIRROR_OF: "u", labels.SPEC_HASH: "h", "note": "y"}
    given = {"labels": {"a": "b", labels.ORIGIN: "rest"}, "annotations": marks}
    live = {
        **LIVE,
        "metadata": {**LIVE["metadata"], **given, "finalizers": ["example.com/theirs"]},
    }
    metadata = shown.own_object(live, finalized=finalized)["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"a": "b"}, {"note": "y"})
    assert (labels.FINALIZER in metadata["finalizers"]) is finalized
    assert "managedFields" not in metadata
    assert (metadata["uid"], metadata["resourceVersion"]) == ("u-live", "7")


@pytest.mark.parametrize(
    ("entry", "touched"),
    [
        ({"manager": labels.BRIDGE_FIELD_MANAGER}, False),
        ({"manager": "kubectl"}, True),
        ({"manager": "kubectl", "subresource": "status"}, False),
    ],
)
def test_who_wrote_more_than_the_status_of_a_mirror_has_touched_it(entry: Any, touched: bool):
    """By the managed fields: the first look after a restart has nothing else to go by."""
    assert shown.is_touched({"metadata": {"managedFields": [entry]}}) is touched


@pytest.mark.parametrize(
    "part", ["generation", "labels", "annotations", "finalizers", "ownerReferences"]
)
def test_what_somebody_changes_of_a_mirror_is_seen(part: str):
    """A change of status does not count as an edit."""
    changed = {"metadata": {**LIVE["metadata"], part: ["x"]}}
    assert shown.look(changed) != shown.look(LIVE)
    assert shown.look({**LIVE, "status": {}}) == shown.look(LIVE)

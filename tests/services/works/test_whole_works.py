"""A work as its member gets it, whole: every field of the message, and of the manifest in it."""

from typing import Any

import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.works.compose import Stamp, compose_job, compose_object
from hub.services.works.offer import PreparedOffer, work_of
from hub.store.records.works import Composable
from shared import labels as keys

STAMP = Stamp("hub-1", "inc", "uid-1", 3, 2, "hash", "LocalQueue/q")
OURS = {keys.MANAGED_BY: "hub-1", keys.JOB_UID: "uid-1", keys.EPOCH: "3"}
NOTED = {
    keys.GENERATION: "2",
    keys.INCARNATION: "inc",
    keys.SPEC_HASH: "hash",
    keys.PLACED_BY: "LocalQueue/q",
}
FENCE = [
    {"name": keys.JOB_UID_VARIABLE, "value": "uid-1"},
    {"name": keys.EPOCH_VARIABLE, "value": "3"},
]


def _job() -> dict[str, Any]:
    """A Job as it stands on a hub cluster, with everything that must not go along."""
    generated = {
        "controller-uid": "x",
        "batch.kubernetes.io/job-name": "j",
        "batch.kubernetes.io/job-completion-index": "0",
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "j",
            "namespace": "n",
            "uid": "hub-uid",
            "resourceVersion": "7",
            "finalizers": ["x/y"],
            "labels": {"app": "a", keys.QUEUE_NAME: "q", **generated},
            "annotations": {
                "note": "n",
                keys.KUEUE_PREFIX + "x": "y",
                "batch.kubernetes.io/job-tracking": "",
            },
        },
        "spec": {
            "managedBy": "roadstead.dev/hub",
            "ttlSecondsAfterFinished": 5,
            "manualSelector": False,
            "selector": {"matchLabels": generated},
            "suspend": True,
            "parallelism": 4,
            "template": {
                "metadata": {
                    "creationTimestamp": None,
                    "labels": {"app": "a", **generated},
                    "annotations": {
                        "a": "b",
                        keys.KUEUE_PREFIX + "podset": "main",
                        "batch.kubernetes.io/job-completion-index": "0",
                    },
                },
                "spec": {
                    "nodeSelector": {"disk": "ssd"},
                    "tolerations": [{"key": "own"}, {"key": "both"}],
                    "initContainers": [{"name": "init"}],
                    "containers": [{"name": "main", "env": [{"name": "A", "value": "1"}]}],
                },
            },
        },
        "status": {"active": 1},
    }


def test_a_job_carries_what_its_user_wrote_and_what_was_decided() -> None:
    """Nothing of the hub cluster's own goes along; all of the options joins what is there."""
    options = ApplyOptions(
        parallelism=2,
        node_selector={"pool": "gold"},
        tolerations=({"key": "both"}, {"key": "flavor"}),
        pod_labels={"cost": "7"},
        pod_annotations={"check": "ok"},
    )
    assert compose_job(_job(), options, STAMP) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "j",
            "namespace": "n",
            "labels": {"app": "a", **OURS},
            "annotations": {"note": "n", **NOTED},
        },
        "spec": {
            "suspend": False,
            "parallelism": 2,
            "template": {
                "metadata": {
                    "labels": {"app": "a", "cost": "7", **OURS},
                    "annotations": {"a": "b", "check": "ok"},
                },
                "spec": {
                    "nodeSelector": {"disk": "ssd", "pool": "gold"},
                    "tolerations": [{"key": "own"}, {"key": "both"}, {"key": "flavor"}],
                    "initContainers": [{"name": "init", "env": FENCE}],
                    "containers": [{"name": "main", "env": [*FENCE, {"name": "A", "value": "1"}]}],
                },
            },
        },
    }


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (
            {"kind": "Namespace", "spec": {"finalizers": ["kubernetes"]}},
            {"kind": "Namespace"},
        ),
        (
            {
                "kind": "Service",
                "spec": {
                    "clusterIP": "10.0.0.1",
                    "clusterIPs": ["10.0.0.1"],
                    "healthCheckNodePort": 30001,
                    "ports": [{"port": 80}],
                },
            },
            {"kind": "Service", "spec": {"ports": [{"port": 80}]}},
        ),
        (
            {"kind": "Service", "spec": {"clusterIP": "None", "clusterIPs": ["None"]}},
            {"kind": "Service", "spec": {"clusterIP": "None", "clusterIPs": ["None"]}},
        ),
        (
            {"kind": "PersistentVolumeClaim", "spec": {"volumeName": "pv-1", "accessModes": []}},
            {"kind": "PersistentVolumeClaim", "spec": {"accessModes": []}},
        ),
        (
            {"kind": "ServiceAccount", "secrets": [{"name": "token"}], "imagePullSecrets": []},
            {"kind": "ServiceAccount", "imagePullSecrets": []},
        ),
        (
            {"kind": "ConfigMap", "data": {"a": "b"}, "secrets": "s"},
            {"kind": "ConfigMap", "data": {"a": "b"}, "secrets": "s"},
        ),
    ],
)
def test_an_object_goes_without_what_its_own_api_server_gave_it(
    given: dict[str, Any], kept: dict[str, Any]
) -> None:
    """Labels of the user's stay, Kueue's among them; of a Namespace the label of its name does not."""
    marks = {keys.QUEUE_NAME: "q"}
    if given["kind"] == "Namespace":
        marks["kubernetes.io/metadata.name"] = "o"
    metadata = {"name": "o", "labels": marks, "uid": "hub-uid"}
    found = compose_object({"metadata": metadata, "status": {"a": 1}, **given}, STAMP)
    expected = {
        "name": "o",
        "labels": {keys.QUEUE_NAME: "q", **OURS},
        "annotations": NOTED,
    }
    assert found == {"metadata": expected, **kept}


def _offered(**columns: Any) -> dict[str, Any]:
    """What is sent of an object's work, but for its manifest."""
    manifest = {"apiVersion": "v2", "kind": "Widget", "metadata": {"name": "o"}}
    row = Composable(
        "north", "uid-1", 0, 4, "v1", "Widget", "n", "o", "Apply", "", ApplyOptions(), "p-uid",
        True, True, None, None, None, None, None, None,
        manifest, "m", {keys.PREFIX + "ignore-drift": "/spec/a, spec/b /c"},
    )._replace(**columns)  # fmt: skip
    options = ApplyOptions(
        when_to_apply="IfNotDrifted", when_to_take_over="Always", placed_by="RP/web", ttl_s=9
    )
    work = work_of(PreparedOffer(row, options, "new-hash", "n-id"), "hub-1", "inc", "session-1")
    work.pop("manifest", None)
    return work


def test_the_work_of_an_object_says_how_it_is_to_be_applied() -> None:
    """By the options of its placement, in the version in which it was edited last."""
    assert _offered() == {
        "uid": "uid-1",
        "epoch": 0,
        "generation": 4,
        "action": "Apply",
        "api_version": "v2",
        "kind": "Widget",
        "namespace": "n",
        "namespace_id": "n-id",
        "name": "o",
        "hash": "new-hash",
        "seen": True,
        "fresh": False,
        "ttl_s": 9,
        "when_to_apply": "IfNotDrifted",
        "when_to_take_over": "Always",
        "placed_by": "RP/web",
        "ignore_drift": ["/spec/a", "/c"],
        "force": None,
        "co_ownership": False,
        "compare_all": False,
        "restore": False,
    }


def test_a_work_that_is_taken_back_says_only_which_it_is() -> None:
    """No hash, for there is nothing that it should be like."""
    work = _offered(action="Withdraw")
    assert (work["hash"], work["action"], work["api_version"]) == ("", "Withdraw", "v1")
    assert not work.keys() & {"when_to_apply", "when_to_take_over", "placed_by", "ignore_drift"}

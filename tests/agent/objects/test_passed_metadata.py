"""Of a manifest's metadata the agent writes name, namespace, labels and annotations."""

from typing import Any

from agent.objects.manifests import stamped, unstarted
from shared import labels
from tests.agent.build import a_config_map
from tests.agent.scripted_hub import HUB_ID, a_job, an_object

OTHER: dict[str, Any] = {
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "u"}],
    "finalizers": ["example.com/keep"],
    "deletionTimestamp": "2026-01-01T00:00:00Z",
    "deletionGracePeriodSeconds": 1,
    "managedFields": [],
    "generateName": "x-",
    "selfLink": "/api/v1",
    "uid": "u",
    "resourceVersion": "1",
}


def test_nothing_else_of_an_object_is_applied():
    """A comparison applies the manifest as a dry run, and no policy judged it before."""
    work = an_object(a_config_map(), "o-1")
    work.manifest["metadata"] |= OTHER
    written = stamped(work, HUB_ID)["metadata"]
    assert written.keys() == {"name", "namespace", "labels", "annotations"}


def test_a_job_is_created_with_our_finalizer_alone():
    """The agent removes it once the hub has the result; it would not remove any other."""
    work = a_job()
    work.manifest["metadata"] |= OTHER
    written = unstarted(work, HUB_ID)["metadata"]
    assert written.keys() == {"name", "namespace", "labels", "annotations", "finalizers"}
    assert written["finalizers"] == [labels.MEMBER_FINALIZER]

"""The lists of field names are complete: held against the published client of Kubernetes."""

import kubernetes_asyncio.client as published
import pytest

from shared.errors import Rejected
from shared.kinds import batch_v1, containers, metadata, parse, pod


def names_of(model):
    return set(model.attribute_map.values())


def test_every_field_of_kubernetes_is_known():
    """Job, pod, container and metadata fields are those of the Kubernetes release we build on."""
    assert names_of(published.V1Job) == batch_v1.JOB_FIELDS
    assert names_of(published.V1JobSpec) == batch_v1.SPEC_FIELDS
    assert names_of(published.V1PodSpec) == pod.POD_FIELDS
    assert names_of(published.V1Container) == containers.CONTAINER_FIELDS
    assert names_of(published.V1ObjectMeta) == metadata.METADATA_FIELDS


def faults_of(manifest):
    """Field → message."""
    with pytest.raises(Rejected) as refused:
        parse({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", **manifest})
    return {each.field: each.message for each in refused.value.errors}


def test_faults_are_told_in_the_words_of_manifests():
    """Not in those of the language and the libraries that this is written in."""
    quota = {"name": "cpu", "nominalQuota": True}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [quota]}]}
    spec = {"queueingStrategy": "x", "cohortName": [1], "stopPolicy": 3, "resourceGroups": [group]}
    found = faults_of({"metadata": {"name": False}, "spec": spec})
    assert found["spec.queueingStrategy"] == "must be StrictFIFO or BestEffortFIFO"
    assert found["spec.stopPolicy"] == "must be None, Hold or HoldAndDrain"
    assert found["spec.cohortName"] == "must be a string"
    assert found["metadata.name"].startswith("false: must consist of")
    quota_field = "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota"
    assert found[quota_field] == "true: a quantity is a string or a number"


def test_metadata_that_is_no_object_is_one_fault():
    """That a name is missing in it follows."""
    found = faults_of({"metadata": [], "spec": {}})
    assert found == {"metadata": "must be an object, not a list"}

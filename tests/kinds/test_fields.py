"""The lists of field names are complete: held against the published client of Kubernetes."""

import kubernetes_asyncio.client as published

from shared.kinds import batch_v1, containers, metadata, pod


def names_of(model):
    return set(model.attribute_map.values())


def test_every_field_of_kubernetes_is_known():
    """Job, pod, container and metadata fields are those of the Kubernetes release we build on."""
    assert names_of(published.V1Job) == batch_v1.JOB_FIELDS
    assert names_of(published.V1JobSpec) == batch_v1.SPEC_FIELDS
    assert names_of(published.V1PodSpec) == pod.POD_FIELDS
    assert names_of(published.V1Container) == containers.CONTAINER_FIELDS
    assert names_of(published.V1ObjectMeta) == metadata.METADATA_FIELDS

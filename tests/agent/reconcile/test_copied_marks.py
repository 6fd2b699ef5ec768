"""A copy that people make of a placed object carries its labels, and is no work of the hub."""

import pytest

from shared import labels
from tests.agent.build import a_config_map, a_namespace
from tests.agent.placed import applied, is_there, settings_of, withdrawn
from tests.agent.scripted_hub import HUB_ID, an_object, eventually

pytestmark = pytest.mark.anyio


async def copy_settings(member, namespace: str = "team") -> None:
    """People copy the placed ConfigMap under another name, labels included, as `kubectl create` does."""
    live = await settings_of(member, namespace)
    metadata = {"name": "copy", "namespace": namespace, "labels": live["metadata"]["labels"]}
    await member.kube.create(
        {**a_config_map(), "metadata": metadata}, field_manager="kubectl-create"
    )


async def test_a_copy_of_a_created_object_is_never_deleted(member):
    """The hub drops the work; the managed fields say that no agent wrote the copy: it stays as it is."""
    member.start()
    await applied(member, a_config_map())
    await copy_settings(member)
    copied = member.cluster.store.get("configmaps", "team", "copy")
    await member.stop()
    await member.kube.delete("v1", "ConfigMap", "team", "settings")
    member.hub.drop("o-1")
    member.hub.put(an_object(a_config_map("other"), "o-3"))
    member.start()
    await member.hub.seen("o-3", "Applied")
    assert "o-1" not in member.hub.observed
    assert member.cluster.store.get("configmaps", "team", "copy") == copied


async def test_a_copy_in_a_namespace_is_of_others(member):
    """The namespace is kept for it; the withdrawal of the placement does not wait for it."""
    inside = a_config_map(namespace="fresh")
    member.start()
    await applied(member, a_namespace("fresh"), "o-1")
    await applied(member, inside, "o-2")
    await copy_settings(member, "fresh")
    member.hub.put(
        an_object(a_namespace("fresh"), "o-1", action="Withdraw"),
        an_object(inside, "o-2", action="Withdraw"),
    )
    entry = await member.hub.seen("o-1", "Gone", "NamespaceKept")
    assert "ConfigMap/copy" in entry.message
    assert is_there(member, "configmaps", "fresh", "copy")


async def test_an_ended_job_of_people_keeps_its_namespace_whatever_its_labels(member):
    """Only managed fields make a Job one of the hub's: a `managed-by` label that people wrote does not."""
    member.start()
    await applied(member, a_namespace("fresh"), "o-1")
    await member.kube.create(an_ended_job_of_people("fresh"), field_manager="someone")
    await eventually(lambda: has_ended(member.cluster.store.get("jobs.batch", "fresh", "mine")))
    entry = await withdrawn(member, a_namespace("fresh"))
    assert entry.reason == "NamespaceKept"
    assert "Job/mine" in entry.message
    assert is_there(member, "jobs.batch", "fresh", "mine")


async def test_a_namespace_of_people_needs_consent_whatever_its_labels(member):
    """Only managed fields make a namespace the hub's: it is not taken over for a `managed-by` label."""
    await member.kube.create(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "theirs", "labels": {labels.MANAGED_BY: HUB_ID}},
        },
        field_manager="someone",
    )
    member.start()
    member.hub.put(an_object(a_namespace("theirs"), "o-1", when_to_take_over="Never"))
    await member.hub.seen("o-1", "Failed", "NameConflict")


def an_ended_job_of_people(namespace):
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "mine",
            "namespace": namespace,
            "labels": {labels.MANAGED_BY: HUB_ID},
        },
        "spec": {
            "template": {
                "metadata": {"annotations": {"sim.roadstead.dev/run-seconds": "0.1"}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "m", "image": "i"}]},
            }
        },
    }


def has_ended(job):
    found = (job.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Complete" for each in found)

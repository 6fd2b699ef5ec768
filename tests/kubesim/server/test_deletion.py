"""Deletion: preconditions, finalizers, propagation, collections, namespaces."""

import pytest

from tests.kubesim.server.build import a_config_map, a_job
from tests.kubesim.server.kube import eventually

OTHER = "00000000-0000-0000-0000-000000000000"


def owned_by(owner, name, *, block=False):
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": block,
    }
    return a_config_map(name, ownerReferences=[reference])


def test_a_deleted_object_is_gone(kube):
    """DELETE answers with a Status that names the object, and it is gone."""
    made = kube.create("configmaps", a_config_map())
    status = kube.delete("configmaps", "settings").json()
    assert status["status"] == "Success"
    assert status["details"]["uid"] == made["metadata"]["uid"]
    assert not kube.exists("configmaps", "settings")


def test_a_delete_can_name_the_uid(kube):
    """preconditions.uid protects an object of the same name."""
    kube.create("configmaps", a_config_map())
    reply = kube.delete("configmaps", "settings", {"preconditions": {"uid": OTHER}})
    assert reply.status_code == 409
    assert kube.exists("configmaps", "settings")


def test_a_delete_can_name_the_version(kube):
    """preconditions.resourceVersion protects a changed object."""
    made = kube.create("configmaps", a_config_map())
    kube.patch("configmaps", "settings", {"data": {"a": "1"}})
    version = made["metadata"]["resourceVersion"]
    reply = kube.delete("configmaps", "settings", {"preconditions": {"resourceVersion": version}})
    assert reply.status_code == 409


def test_finalizers_hold_an_object(kube):
    """With a finalizer a delete only sets deletionTimestamp; the last finalizer's end removes it."""
    kube.create("configmaps", a_config_map(finalizers=["example.com/hold"]))
    kube.delete("configmaps", "settings")
    held = kube.get("configmaps", "settings")
    assert held["metadata"]["deletionTimestamp"]
    kube.patch("configmaps", "settings", {"metadata": {"finalizers": None}})
    assert not kube.exists("configmaps", "settings")


def test_a_dying_object_takes_no_new_finalizers(kube):
    """While terminating no finalizer can be added."""
    kube.create("configmaps", a_config_map(finalizers=["example.com/hold"]))
    kube.delete("configmaps", "settings")
    more = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    assert kube.patch("configmaps", "settings", more).status_code == 422
    kube.patch("configmaps", "settings", {"metadata": {"finalizers": None}})


def test_a_second_delete_changes_nothing(kube):
    """Deleting what is terminating keeps its deletionTimestamp."""
    kube.create("configmaps", a_config_map(finalizers=["example.com/hold"]))
    kube.delete("configmaps", "settings")
    first = kube.get("configmaps", "settings")["metadata"]["deletionTimestamp"]
    assert kube.delete("configmaps", "settings").status_code == 200
    assert kube.get("configmaps", "settings")["metadata"]["deletionTimestamp"] == first
    kube.patch("configmaps", "settings", {"metadata": {"finalizers": None}})


def test_dependents_go_with_their_owner(kube):
    """Background deletion collects what the owner leaves behind."""
    owner = kube.create("configmaps", a_config_map("owner"))
    kube.create("configmaps", owned_by(owner, "child"))
    kube.delete("configmaps", "owner", {"propagationPolicy": "Background"})
    eventually(lambda: not kube.exists("configmaps", "child"), "the child's end")


def test_orphans_stay(kube):
    """Orphan deletion leaves dependents, without the reference."""
    owner = kube.create("configmaps", a_config_map("owner"))
    kube.create("configmaps", owned_by(owner, "child"))
    kube.delete("configmaps", "owner", {"propagationPolicy": "Orphan"})
    eventually(lambda: not kube.exists("configmaps", "owner"), "the owner's end")
    assert "ownerReferences" not in kube.get("configmaps", "child")["metadata"]


def test_foreground_deletion_waits_for_dependents(kube):
    """With Foreground the owner stays until dependents that block it are gone."""
    owner = kube.create("configmaps", a_config_map("owner"))
    child = owned_by(owner, "child", block=True)
    child["metadata"]["finalizers"] = ["example.com/hold"]
    kube.create("configmaps", child)
    kube.delete("configmaps", "owner", {"propagationPolicy": "Foreground"})
    held = eventually(lambda: kube.get("configmaps", "child")["metadata"].get("deletionTimestamp"))
    assert held
    assert "foregroundDeletion" in kube.get("configmaps", "owner")["metadata"]["finalizers"]
    kube.patch("configmaps", "child", {"metadata": {"finalizers": None}})
    eventually(lambda: not kube.exists("configmaps", "owner"), "the owner's end")


def test_an_owner_that_never_was_is_no_owner(kube):
    """A dependent of a uid that does not exist is collected."""
    ghost = {"metadata": {"name": "ghost", "uid": OTHER}}
    kube.create("configmaps", owned_by(ghost, "child"))
    eventually(lambda: not kube.exists("configmaps", "child"), "the child's end")


def test_a_second_owner_keeps_a_dependent(kube):
    """A dependent lives while one of its owners does."""
    first = kube.create("configmaps", a_config_map("first"))
    second = kube.create("configmaps", a_config_map("second"))
    child = owned_by(first, "child")
    child["metadata"]["ownerReferences"] += owned_by(second, "x")["metadata"]["ownerReferences"]
    kube.create("configmaps", child)
    kube.delete("configmaps", "first")
    eventually(
        lambda: len(kube.get("configmaps", "child")["metadata"]["ownerReferences"]) == 1,
        "the first reference's end",
    )


def test_jobs_leave_their_pods_by_default(kube):
    """A Job deleted over HTTP without a policy orphans what it owns, for old clients' sake."""
    job = kube.create("jobs", a_job())
    reference = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "work",
        "uid": job["metadata"]["uid"],
    }
    kube.create("configmaps", a_config_map("child", ownerReferences=[reference]))
    kube.delete("jobs", "work")
    eventually(lambda: not kube.exists("jobs", "work"), "the Job's end")
    assert kube.exists("configmaps", "child")


def test_an_unknown_policy_is_refused(kube):
    """propagationPolicy has three values."""
    kube.create("configmaps", a_config_map())
    reply = kube.delete("configmaps", "settings", {"propagationPolicy": "Sideways"})
    assert reply.status_code in (400, 422)


def test_a_collection_is_deleted_by_selector(kube):
    """DELETE on a collection removes what the selector matches."""
    kube.create("configmaps", a_config_map("a", labels={"x": "1"}))
    kube.create("configmaps", a_config_map("b", labels={"x": "2"}))
    reply = kube.http.delete(kube.url("configmaps", labelSelector="x=1"))
    assert reply.status_code == 200
    assert kube.names("configmaps", labelSelector="x") == ["b"]


# --- namespaces ----------------------------------------------------------------------------------


@pytest.fixture
def space(kube):
    name = f"{kube.namespace}-b"
    assert (
        kube.http.post("/api/v1/namespaces", json={"metadata": {"name": name}}).status_code == 201
    )
    yield name
    kube.http.delete(f"/api/v1/namespaces/{name}")


def test_a_new_namespace_is_furnished(kube):
    """A namespace gets its name as a label, a default ServiceAccount and the CA bundle."""
    namespace = kube.get("namespaces", kube.namespace)
    assert namespace["metadata"]["labels"]["kubernetes.io/metadata.name"] == kube.namespace
    assert namespace["status"]["phase"] == "Active"
    assert namespace["spec"]["finalizers"] == ["kubernetes"]
    eventually(lambda: kube.exists("configmaps", "kube-root-ca.crt"), "the CA bundle")


def test_nothing_is_made_in_a_missing_namespace(kube):
    """Creating in a namespace that does not exist is 404 of the namespace."""
    reply = kube.http.post("/api/v1/namespaces/nowhere/configmaps", json=a_config_map())
    assert reply.status_code == 404
    assert reply.json()["message"] == 'namespaces "nowhere" not found'


def test_a_deleted_namespace_empties_and_goes(kube, space):
    """Deleting a namespace deletes what is in it."""
    kube.http.post(f"/api/v1/namespaces/{space}/configmaps", json=a_config_map())
    kube.http.delete(f"/api/v1/namespaces/{space}")
    eventually(lambda: not kube.exists("namespaces", space), "the namespace's end")


def test_nothing_is_made_in_a_dying_namespace(kube, space):
    """While a namespace terminates, creating in it is Forbidden."""
    held = a_config_map("held", finalizers=["example.com/hold"])
    kube.http.post(f"/api/v1/namespaces/{space}/configmaps", json=held)
    kube.http.delete(f"/api/v1/namespaces/{space}")
    eventually(lambda: kube.get("namespaces", space)["status"]["phase"] == "Terminating")
    reply = kube.http.post(f"/api/v1/namespaces/{space}/configmaps", json=a_config_map())
    assert reply.status_code == 403
    assert "because it is being terminated" in reply.json()["message"]
    free = {"metadata": {"finalizers": None}}
    url = f"/api/v1/namespaces/{space}/configmaps/held"
    kube.http.patch(url, json=free, headers={"content-type": "application/merge-patch+json"})
    eventually(lambda: not kube.exists("namespaces", space), "the namespace's end")


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_system_namespaces_stay(kube, name):
    """Namespaces that a cluster cannot do without may not be deleted."""
    assert kube.http.delete(f"/api/v1/namespaces/{name}").status_code == 403

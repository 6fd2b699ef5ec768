"""The three patches: JSON, merge, strategic merge."""

import json

from tests.kubesim.server.build import a_config_map, a_deployment
from tests.kubesim.server.kube import JSON_PATCH, MERGE, STRATEGIC


def containers(deployment):
    return deployment["spec"]["template"]["spec"]["containers"]


def in_pod(**spec):
    return {"spec": {"template": {"spec": spec}}}


def test_merge_patch_merges_and_removes(kube):
    """A merge patch sets fields; null removes one."""
    kube.create("configmaps", a_config_map(data={"a": "1", "b": "2"}))
    patched = kube.patch("configmaps", "settings", {"data": {"a": None, "c": "3"}}, MERGE)
    assert patched.json()["data"] == {"b": "2", "c": "3"}


def test_merge_patch_replaces_lists(kube):
    """A merge patch replaces a list as a whole."""
    kube.create("configmaps", a_config_map(finalizers=["a.b/c"]))
    patched = kube.patch("configmaps", "settings", {"metadata": {"finalizers": ["a.b/d"]}})
    assert patched.json()["metadata"]["finalizers"] == ["a.b/d"]
    kube.patch("configmaps", "settings", {"metadata": {"finalizers": None}})


def test_json_patch_operates(kube):
    """A JSON patch adds, replaces and removes by path."""
    kube.create("configmaps", a_config_map(data={"a": "1", "b": "2"}))
    operations = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "9"},
        {"op": "remove", "path": "/data/b"},
        {"op": "add", "path": "/data/c", "value": "3"},
    ]
    patched = kube.patch("configmaps", "settings", operations, JSON_PATCH)
    assert patched.json()["data"] == {"a": "9", "c": "3"}


def test_a_failed_test_refuses_the_json_patch(kube):
    """If a test does not hold nothing is changed."""
    kube.create("configmaps", a_config_map())
    operations = [{"op": "test", "path": "/data/colour", "value": "no"}]
    assert kube.patch("configmaps", "settings", operations, JSON_PATCH).status_code == 422


def test_a_patch_with_a_stale_version_conflicts(kube):
    """A patch that names a resourceVersion is optimistic."""
    made = kube.create("configmaps", a_config_map())
    kube.patch("configmaps", "settings", {"data": {"a": "1"}})
    version = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}}
    assert kube.patch("configmaps", "settings", {**version, "data": {"a": "2"}}).status_code == 409


def test_a_patch_with_another_uid_is_refused(kube):
    """A patch that names another uid is 422: the uid is immutable."""
    kube.create("configmaps", a_config_map())
    body = {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}, "data": {"a": "2"}}
    assert kube.patch("configmaps", "settings", body).status_code == 422


def test_a_patch_of_a_missing_object_is_not_found(kube):
    """Only server-side apply creates."""
    assert kube.patch("configmaps", "nothing", {"data": {}}).status_code == 404


def test_an_unknown_patch_type_is_refused(kube):
    """415 names what is accepted."""
    kube.create("configmaps", a_config_map())
    reply = kube.patch("configmaps", "settings", {}, "application/json")
    assert reply.status_code == 415


def test_strategic_merge_finds_list_items_by_key(kube):
    """Containers merge by name; fields that the patch does not name stay."""
    kube.create("deployments", a_deployment(args=["x"]))
    body = in_pod(containers=[{"name": "main", "image": "nginx:2"}])
    patched = kube.patch("deployments", "web", body, STRATEGIC).json()
    assert containers(patched)[0]["image"] == "nginx:2"
    assert containers(patched)[0]["args"] == ["x"]


def test_strategic_merge_adds_list_items(kube):
    """An item with a new key is added."""
    kube.create("deployments", a_deployment())
    body = in_pod(containers=[{"name": "side", "image": "side:1"}])
    patched = kube.patch("deployments", "web", body, STRATEGIC).json()
    assert {one["name"] for one in containers(patched)} == {"main", "side"}


def test_strategic_merge_deletes_list_items(kube):
    """$patch: delete removes the item with that key."""
    kube.create(
        "deployments", a_deployment(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])
    )
    env = [{"name": "A", "$patch": "delete"}]
    body = in_pod(containers=[{"name": "main", "env": env}])
    patched = kube.patch("deployments", "web", body, STRATEGIC).json()
    assert containers(patched)[0]["env"] == [{"name": "B", "value": "2"}]


def test_strategic_merge_replaces_on_demand(kube):
    """$patch: replace takes the list as given."""
    kube.create("deployments", a_deployment(env=[{"name": "A", "value": "1"}]))
    env = [{"$patch": "replace"}, {"name": "C", "value": "3"}]
    body = in_pod(containers=[{"name": "main", "env": env}])
    patched = kube.patch("deployments", "web", body, STRATEGIC).json()
    assert containers(patched)[0]["env"] == [{"name": "C", "value": "3"}]


def test_strategic_merge_orders_list_items(kube):
    """$setElementOrder puts items in the order of the patch."""
    kube.create(
        "deployments", a_deployment(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])
    )
    container = {
        "name": "main",
        "$setElementOrder/env": [{"name": "B"}, {"name": "A"}],
        "env": [{"name": "B", "value": "9"}],
    }
    patched = kube.patch("deployments", "web", in_pod(containers=[container]), STRATEGIC).json()
    assert [one["name"] for one in containers(patched)[0]["env"]] == ["B", "A"]


def test_strategic_merge_edits_primitive_lists(kube):
    """Finalizers are a set: the patch adds, $deleteFromPrimitiveList removes."""
    kube.create("configmaps", a_config_map(finalizers=["a.b/1", "a.b/2"]))
    meta = {"$deleteFromPrimitiveList/finalizers": ["a.b/1"], "finalizers": ["a.b/3"]}
    patched = kube.patch("configmaps", "settings", {"metadata": meta}, STRATEGIC).json()
    assert sorted(patched["metadata"]["finalizers"]) == ["a.b/2", "a.b/3"]
    kube.patch("configmaps", "settings", {"metadata": {"finalizers": None}})


def test_strategic_merge_replaces_atomic_lists(kube):
    """Tolerations have no key: they are replaced."""
    deployment = a_deployment()
    deployment["spec"]["template"]["spec"]["tolerations"] = [{"key": "a", "operator": "Exists"}]
    kube.create("deployments", deployment)
    body = in_pod(tolerations=[{"key": "b", "operator": "Exists"}])
    patched = kube.patch("deployments", "web", body, STRATEGIC).json()
    assert [one["key"] for one in patched["spec"]["template"]["spec"]["tolerations"]] == ["b"]


def test_strategic_merge_retains_keys(kube):
    """$retainKeys drops the fields that it does not name."""
    kube.create("deployments", a_deployment())
    strategy = {"$retainKeys": ["type"], "type": "Recreate"}
    patched = kube.patch("deployments", "web", {"spec": {"strategy": strategy}}, STRATEGIC).json()
    assert patched["spec"]["strategy"] == {"type": "Recreate"}


def test_a_patch_that_is_no_json_is_refused(kube):
    """An unreadable patch is 400."""
    kube.create("configmaps", a_config_map())
    url = kube.url("configmaps", "settings")
    reply = kube.http.patch(url, content=b"{", headers={"content-type": MERGE})
    assert reply.status_code == 400


def test_a_patch_cannot_rename(kube):
    """metadata.name in a patch must be the object's."""
    kube.create("configmaps", a_config_map())
    body = json.loads('{"metadata": {"name": "other"}}')
    assert kube.patch("configmaps", "settings", body).status_code in (400, 422)

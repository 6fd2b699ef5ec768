"""Server-side apply: ownership, conflicts, force, transfer, removal."""

import pytest

from tests.kubesim.server.build import a_config_map, a_deployment, a_managed_job
from tests.kubesim.server.kube import eventually


def entries(obj):
    """managedFields by (manager, operation, subresource)."""
    return {
        (row["manager"], row["operation"], row.get("subresource", "")): row["fieldsV1"]
        for row in obj["metadata"].get("managedFields", ())
    }


def settings(**data):
    return a_config_map(data=data)


def test_apply_creates(kube):
    """Applying what is not there creates it: 201."""
    reply = kube.apply("configmaps", settings(a="1"), "one")
    assert reply.status_code == 201
    assert entries(reply.json()) == {("one", "Apply", ""): {"f:data": {"f:a": {}}}}


def test_apply_needs_a_manager(kube):
    """fieldManager is required."""
    name = kube.url("configmaps", "settings")
    headers = {"content-type": "application/apply-patch+yaml"}
    reply = kube.http.patch(name, json=settings(a="1"), headers=headers)
    assert reply.status_code in (400, 422)
    assert "fieldManager" in reply.text


def test_applying_again_changes_nothing(kube):
    """The same apply keeps the resourceVersion."""
    first = kube.apply("configmaps", settings(a="1"), "one").json()
    second = kube.apply("configmaps", settings(a="1"), "one").json()
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


def test_a_field_no_longer_applied_goes(kube):
    """What a manager applied last time and does not now is removed, if nobody else owns it."""
    kube.apply("configmaps", settings(a="1", b="2"), "one")
    assert kube.apply("configmaps", settings(a="1"), "one").json()["data"] == {"a": "1"}


def test_a_shared_field_stays(kube):
    """A field that another manager owns too outlives the first one's interest."""
    kube.apply("configmaps", settings(a="1", b="2"), "one")
    kube.apply("configmaps", settings(b="2"), "two")
    left = kube.apply("configmaps", settings(a="1"), "one").json()
    assert left["data"] == {"a": "1", "b": "2"}


def test_another_value_conflicts(kube):
    """Applying another value to a field that somebody owns is 409 and names the owner."""
    kube.apply("configmaps", settings(a="1"), "one")
    reply = kube.apply("configmaps", settings(a="2"), "two")
    status = reply.json()
    assert reply.status_code == 409
    cause = status["details"]["causes"][0]
    assert cause["reason"] == "FieldManagerConflict"
    assert cause["field"] == ".data.a"
    assert 'conflict with "one"' in cause["message"]


def test_the_same_value_is_shared(kube):
    """Applying the value that is there makes the manager a co-owner."""
    kube.apply("configmaps", settings(a="1"), "one")
    shared = kube.apply("configmaps", settings(a="1"), "two").json()
    assert set(entries(shared)) == {("one", "Apply", ""), ("two", "Apply", "")}


def test_force_takes_ownership(kube):
    """force=true wins, and the other manager loses the field."""
    kube.apply("configmaps", settings(a="1", b="2"), "one")
    forced = kube.apply("configmaps", settings(a="9"), "two", force="true").json()
    assert forced["data"] == {"a": "9", "b": "2"}
    assert entries(forced)["one", "Apply", ""] == {"f:data": {"f:b": {}}}
    assert entries(forced)["two", "Apply", ""] == {"f:data": {"f:a": {}}}


def test_an_update_takes_what_it_changed(kube):
    """An ordinary write takes the changed field from its applier, and only that one."""
    kube.apply("configmaps", settings(a="1", b="2"), "one")
    kube.patch("configmaps", "settings", {"data": {"a": "9", "b": "2"}}, fieldManager="hand")
    rows = entries(kube.get("configmaps", "settings"))
    assert rows["one", "Apply", ""] == {"f:data": {"f:b": {}}}
    assert rows["hand", "Update", ""] == {"f:data": {"f:a": {}}}


def test_an_update_that_changes_nothing_owns_nothing(kube):
    """Writing the value that is there leaves ownership alone."""
    kube.apply("configmaps", settings(a="1"), "one")
    kube.patch("configmaps", "settings", {"data": {"a": "1"}}, fieldManager="hand")
    assert set(entries(kube.get("configmaps", "settings"))) == {("one", "Apply", "")}


def test_apply_conflicts_with_an_update(kube):
    """A field that an updater changed conflicts with the applier's value."""
    kube.apply("configmaps", settings(a="1"), "one")
    kube.patch("configmaps", "settings", {"data": {"a": "9"}}, fieldManager="hand")
    reply = kube.apply("configmaps", settings(a="1"), "one")
    assert reply.status_code == 409
    assert '"hand" using v1' in reply.json()["message"]


def test_a_removed_field_is_owned_by_nobody(kube):
    """Who removes a field does not own it; an applier gets it back without conflict."""
    kube.apply("configmaps", settings(a="1", b="2"), "one")
    kube.patch("configmaps", "settings", {"data": {"a": None}}, fieldManager="hand")
    again = kube.apply("configmaps", settings(a="1", b="2"), "one")
    assert again.status_code == 200
    assert again.json()["data"] == {"a": "1", "b": "2"}


def test_a_creator_owns_what_it_sent(kube):
    """POST is an Update of everything in the object."""
    made = kube.create("configmaps", settings(a="1"), fieldManager="maker")
    assert entries(made) == {("maker", "Update", ""): {"f:data": {".": {}, "f:a": {}}}}


def test_the_user_agent_names_the_manager(kube):
    """Without fieldManager the first part of the user agent stands for it."""
    made = kube.create("configmaps", settings(a="1"))
    assert made["metadata"]["managedFields"][0]["manager"] == "specification"


def test_another_uid_in_an_apply_is_refused(kube):
    """An apply that names the uid of an object that is gone is refused: the uid is immutable."""
    made = kube.apply("configmaps", settings(a="1"), "one").json()
    other = "00000000-0000-0000-0000-000000000000"
    body = a_config_map(data={"a": "2"}, uid=other)
    refused = kube.apply("configmaps", body, "one")
    assert refused.status_code == 422
    assert refused.json()["details"]["causes"][0]["field"] == "metadata.uid"
    right = a_config_map(data={"a": "2"}, uid=made["metadata"]["uid"])
    assert kube.apply("configmaps", right, "one").status_code == 200


def test_a_uid_never_creates(kube):
    """An apply that names a uid does not create the object anew."""
    body = a_config_map(data={"a": "1"}, uid="00000000-0000-0000-0000-000000000000")
    assert kube.apply("configmaps", body, "one").status_code == 409


def test_list_items_are_owned_by_key(kube):
    """Two appliers can each own a container of one pod template."""
    kube.apply("deployments", a_deployment(), "one")
    side = a_deployment()
    side["spec"] = {"template": {"spec": {"containers": [{"name": "side", "image": "side:1"}]}}}
    both = kube.apply("deployments", side, "two")
    assert both.status_code == 200, both.text
    names = [one["name"] for one in both.json()["spec"]["template"]["spec"]["containers"]]
    assert sorted(names) == ["main", "side"]


def test_a_list_item_no_longer_applied_goes(kube):
    """A container that its only applier drops is removed, with its defaults."""
    deployment = a_deployment()
    kube.apply("deployments", deployment, "one")
    side = a_deployment()
    side["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "side:1"})
    kube.apply("deployments", side, "one")
    left = kube.apply("deployments", deployment, "one").json()
    assert [one["name"] for one in left["spec"]["template"]["spec"]["containers"]] == ["main"]


def test_defaults_belong_to_nobody(kube):
    """An applier owns what it applied, not the defaults around it."""
    made = kube.apply("deployments", a_deployment(), "one").json()
    spec = entries(made)["one", "Apply", ""]["f:spec"]
    assert set(spec) == {"f:replicas", "f:selector", "f:template"}


def test_a_scaled_deployment_belongs_to_the_scaler(kube):
    """`kubectl scale` takes spec.replicas from the applier."""
    kube.apply("deployments", a_deployment(replicas=1), "one")
    kube.patch("deployments", "web", {"spec": {"replicas": 2}}, sub="scale", fieldManager="hand")
    rows = entries(kube.get("deployments", "web"))
    assert rows["hand", "Update", "scale"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in rows["one", "Apply", ""]["f:spec"]


@pytest.mark.kube_from("1.32", "the API server knows spec.managedBy")
def test_status_ownership_is_kept_apart(kube):
    """A writer of the status has an entry of its own, with the subresource."""
    kube.create("jobs", a_managed_job())
    body = {"status": {"active": 1, "startTime": "2026-01-01T00:00:00Z"}}
    kube.patch("jobs", "work", body, sub="status", fieldManager="outsider")
    rows = entries(kube.get("jobs", "work"))
    assert rows["outsider", "Update", "status"]["f:status"] == {"f:active": {}, "f:startTime": {}}


@pytest.mark.kube_from("1.32", "the API server knows spec.managedBy")
def test_apply_can_write_a_status(kube):
    """Apply to /status writes the status alone."""
    kube.create("jobs", a_managed_job())
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work"},
        "status": {"active": 2, "startTime": "2026-01-01T00:00:00Z"},
    }
    applied = kube.apply("jobs", body, "outsider", "status")
    assert applied.status_code == 200, applied.text
    assert applied.json()["status"]["active"] == 2


def test_apply_without_kind_is_refused(kube):
    """The body of an apply is a whole object."""
    body = {"metadata": {"name": "settings"}, "data": {}}
    assert kube.apply("configmaps", body, "one").status_code == 400


def test_emptied_managed_fields_are_wiped(kube):
    """Setting managedFields to one empty entry forgets all owners."""
    kube.apply("configmaps", settings(a="1"), "one")
    kube.patch("configmaps", "settings", {"metadata": {"managedFields": [{}]}})
    assert not kube.get("configmaps", "settings")["metadata"].get("managedFields")


def test_a_version_in_an_apply_is_a_precondition(kube):
    """As in an update: over a later version it is a conflict that names no field, forced or not."""
    kube.apply("configmaps", settings(a="1"), "one")
    version = kube.get("configmaps", "settings")["metadata"]["resourceVersion"]
    body = settings(a="2")
    body["metadata"]["resourceVersion"] = version
    assert kube.apply("configmaps", body, "one", force="true").status_code == 200
    body["data"]["a"] = "3"
    refused = kube.apply("configmaps", body, "one", force="true")
    assert refused.status_code == 409
    assert "FieldManagerConflict" not in refused.text


def test_one_manager_is_taken_out_of_the_rows(kube):
    """A patch that leaves a manager's rows out ends its ownership; values, and others' rows, stay."""
    kube.apply("configmaps", settings(a="1"), "one")
    kube.apply("configmaps", settings(b="2"), "two")
    live = kube.get("configmaps", "settings")["metadata"]
    kept = [row for row in live["managedFields"] if row["manager"] == "two"]
    patch = {"uid": live["uid"], "resourceVersion": live["resourceVersion"], "managedFields": kept}
    kube.patch("configmaps", "settings", {"metadata": patch}, fieldManager="one")
    after = kube.get("configmaps", "settings")
    assert after["data"] == {"a": "1", "b": "2"}
    assert after["metadata"]["managedFields"] == kept
    assert kube.apply("configmaps", settings(a="3"), "three").status_code == 200


def test_before_the_first_apply_fields_have_an_owner(kube):
    """Fields whose writers are forgotten belong to `before-first-apply`, so that a change conflicts."""
    kube.create("configmaps", settings(a="1"))
    kube.patch("configmaps", "settings", {"metadata": {"managedFields": [{}]}})
    reply = kube.apply("configmaps", settings(a="2"), "one")
    assert reply.status_code == 409
    assert "before-first-apply" in reply.text


def test_kubectl_applies_server_side(kube):
    """kubectl apply --server-side works, and a conflict is shown with its manager."""
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: '1'}\n"
    kube.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    kube.patch("configmaps", "settings", {"data": {"a": "9"}}, fieldManager="hand")
    refused = kube.run_kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    assert refused.returncode != 0
    assert 'conflict with "hand"' in refused.stderr
    kube.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifest)
    assert eventually(lambda: kube.get("configmaps", "settings")["data"]) == {"a": "1"}

"""Objects: what the server adds, what a write may change, and how writers do not overrun each other."""

import re

from tests.kubesim.server.build import a_config_map, a_deployment, a_job


def test_a_new_object_gets_uid_time_and_version(kube):
    """The server fills in uid, creationTimestamp and resourceVersion."""
    meta = kube.create("configmaps", a_config_map())["metadata"]
    assert re.fullmatch(r"[0-9a-f-]{36}", meta["uid"])
    assert meta["creationTimestamp"].endswith("Z")
    assert int(meta["resourceVersion"]) > 0


def test_a_name_is_taken_once(kube):
    """Creating a second object of the same name is AlreadyExists."""
    kube.create("configmaps", a_config_map())
    status = kube.refused("configmaps", a_config_map(), 409)
    assert status["reason"] == "AlreadyExists"
    assert status["message"] == 'configmaps "settings" already exists'


def test_names_are_generated(kube):
    """generateName becomes a name with five random characters."""
    made = kube.create("configmaps", {"metadata": {"generateName": "run-"}})
    assert re.fullmatch(r"run-[a-z0-9]{5}", made["metadata"]["name"])


def test_a_missing_object_is_not_found(kube):
    """GET of a missing object is 404 with a Status that names it."""
    reply = kube.http.get(kube.url("configmaps", "nothing"))
    status = reply.json()
    assert reply.status_code == 404
    assert status["kind"] == "Status"
    assert status["reason"] == "NotFound"
    assert status["details"] == {"name": "nothing", "kind": "configmaps"}


def test_an_unknown_resource_is_not_found(kube):
    """A path of an unknown resource is 404."""
    assert kube.http.get("/apis/batch/v1/namespaces/default/toys").status_code == 404


def test_a_bad_name_is_invalid(kube):
    """Names are DNS subdomains: capitals are refused with the field and the rule."""
    status = kube.refused("configmaps", a_config_map("Bad_Name"), 422)
    assert status["reason"] == "Invalid"
    assert status["details"]["causes"][0]["field"] == "metadata.name"
    assert "RFC 1123 subdomain" in status["message"]


def test_a_nameless_object_is_invalid(kube):
    """An object without name and generateName is refused."""
    status = kube.refused("configmaps", {"metadata": {}}, 422)
    assert "name or generateName is required" in status["message"]


def test_a_bad_label_is_invalid(kube):
    """Label values follow their grammar."""
    status = kube.refused("configmaps", a_config_map(labels={"a": "not ok!"}), 422)
    assert status["details"]["causes"][0]["field"] == "metadata.labels"


def test_another_namespace_in_the_body_is_refused(kube):
    """The namespace of the object must be that of the path."""
    status = kube.refused("configmaps", a_config_map(namespace="other"), 400)
    assert "does not match the namespace" in status["message"]


def test_a_body_of_another_kind_is_refused(kube):
    """A Job cannot be posted to config maps."""
    assert kube.refused("configmaps", a_job(), 400)["reason"] == "BadRequest"


def test_a_body_that_is_no_json_is_refused(kube):
    """An unreadable body is 400."""
    headers = {"content-type": "application/json"}
    reply = kube.http.post(kube.url("configmaps"), content=b"{", headers=headers)
    assert reply.status_code == 400


def test_yaml_is_read(kube):
    """A body may be YAML."""
    body = "metadata:\n  name: from-yaml\ndata:\n  a: b\n"
    headers = {"content-type": "application/yaml"}
    reply = kube.http.post(kube.url("configmaps"), content=body, headers=headers)
    assert reply.status_code == 201
    assert reply.json()["data"] == {"a": "b"}


def test_an_update_takes_a_new_version(kube):
    """PUT replaces the object and gives it a new resourceVersion."""
    made = kube.create("configmaps", a_config_map())
    reply = kube.put("configmaps", {**made, "data": {"colour": "red"}})
    assert reply.status_code == 200
    assert reply.json()["data"] == {"colour": "red"}
    assert int(reply.json()["metadata"]["resourceVersion"]) > int(
        made["metadata"]["resourceVersion"]
    )


def test_a_stale_update_conflicts(kube):
    """PUT with an old resourceVersion is 409 Conflict."""
    made = kube.create("configmaps", a_config_map())
    kube.put("configmaps", {**made, "data": {"a": "1"}})
    reply = kube.put("configmaps", {**made, "data": {"a": "2"}})
    assert reply.status_code == 409
    assert "the object has been modified" in reply.json()["message"]


def test_an_update_without_a_version_is_unconditional(kube):
    """PUT without resourceVersion overwrites."""
    made = kube.create("configmaps", a_config_map())
    kube.put("configmaps", {**made, "data": {"a": "1"}})
    assert kube.put("configmaps", a_config_map(data={"a": "2"})).status_code == 200


def test_an_update_with_another_uid_conflicts(kube):
    """PUT that names another uid is refused: it means another object."""
    made = kube.create("configmaps", a_config_map())
    meta = {**made["metadata"], "uid": "00000000-0000-0000-0000-000000000000"}
    reply = kube.put("configmaps", {**made, "metadata": meta})
    assert reply.status_code == 409
    assert "Precondition failed: UID in precondition" in reply.json()["message"]


def test_writing_what_is_there_changes_nothing(kube):
    """A write without a difference keeps the resourceVersion."""
    made = kube.create("configmaps", a_config_map())
    assert (
        kube.put("configmaps", made).json()["metadata"]["resourceVersion"]
        == (made["metadata"]["resourceVersion"])
    )


def test_a_write_cannot_change_identity(kube):
    """creationTimestamp survives whatever an update says."""
    made = kube.create("configmaps", a_config_map())
    meta = {**made["metadata"], "creationTimestamp": "2001-01-01T00:00:00Z"}
    kept = kube.put("configmaps", {**made, "metadata": meta, "data": {"n": "1"}}).json()
    assert kept["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]


def test_the_generation_counts_changes_of_the_spec(kube):
    """metadata.generation starts at 1 and grows with the spec, not with labels."""
    made = kube.create("deployments", a_deployment())
    assert made["metadata"]["generation"] == 1
    labelled = kube.patch("deployments", "web", {"metadata": {"labels": {"a": "b"}}}).json()
    assert labelled["metadata"]["generation"] == 1
    scaled = kube.patch("deployments", "web", {"spec": {"minReadySeconds": 3}}).json()
    assert scaled["metadata"]["generation"] == 2


def test_the_status_has_its_own_endpoint(kube):
    """A write to the object leaves its status alone, one to /status its spec."""
    made = kube.create("jobs", a_job())
    patched = kube.patch("jobs", "work", {"status": {"active": 7}}).json()
    assert patched["status"].get("active") != 7
    through = kube.patch("jobs", "work", {"spec": {"backoffLimit": 1}}, sub="status").json()
    assert through["spec"]["backoffLimit"] == made["spec"]["backoffLimit"]


def test_unknown_fields_are_refused_when_strict(kube):
    """fieldValidation=Strict refuses unknown fields by name."""
    body = {**a_config_map(), "dat": {}}
    status = kube.refused("configmaps", body, 400, fieldValidation="Strict")
    assert 'unknown field "dat"' in status["message"]


def test_unknown_fields_are_warned_of_by_default(kube):
    """Without fieldValidation an unknown field is dropped, with a warning."""
    reply = kube.http.post(kube.url("configmaps"), json={**a_config_map(), "dat": {}})
    assert reply.status_code == 201
    assert 'unknown field \\"dat\\"' in reply.headers["warning"]
    assert "dat" not in reply.json()


def test_a_value_of_the_wrong_type_is_refused(kube):
    """A string where a number belongs is 400."""
    status = kube.refused("jobs", a_job(parallelism="three"), 400)
    assert "parallelism" in status["message"]


def test_quantities_come_back_canonical(kube):
    """Amounts are written in canonical form."""
    limits = {"cpu": "1000m", "memory": "1024Mi"}
    container = {"name": "main", "image": "x", "resources": {"requests": limits}}
    job = kube.create("jobs", a_job(pod={"containers": [container]}))
    shown = job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
    assert shown == {"cpu": "1", "memory": "1Gi"}


def test_a_secret_takes_plain_strings(kube):
    """stringData of a Secret becomes data in base64."""
    secret = kube.create("secrets", {"metadata": {"name": "s"}, "stringData": {"word": "open"}})
    assert secret["data"] == {"word": "b3Blbg=="}
    assert secret["type"] == "Opaque"
    assert "stringData" not in secret


def test_a_key_of_data_is_a_file_name(kube):
    """A leading dot is, two are not."""
    kube.create("configmaps", a_config_map(data={".env": "a", "_example": "b", "x-": "c"}))
    for key in (".", "..", "..data", "a/b"):
        status = kube.refused("configmaps", a_config_map("other", data={key: "a"}), 422)
        assert status["details"]["causes"][0]["field"] == f"data[{key}]"


def test_a_secret_of_a_type_has_its_keys(kube):
    """Certificate and key of kubernetes.io/tls; the registry's file of a pull secret."""
    tls = {"metadata": {"name": "tls"}, "type": "kubernetes.io/tls", "data": {"tls.crt": "eA=="}}
    causes = kube.refused("secrets", tls, 422)["details"]["causes"]
    assert [each["field"] for each in causes] == ["data[tls.key]"]
    pull = {"metadata": {"name": "pull"}, "type": "kubernetes.io/dockerconfigjson", "data": {}}
    causes = kube.refused("secrets", pull, 422)["details"]["causes"]
    assert [each["field"] for each in causes] == ["data[.dockerconfigjson]"]


def test_a_probe_has_one_handler_with_a_port(kube):
    """None, two, and a port beyond the last are refused."""
    for probe, field in (
        ({}, "livenessProbe"),
        ({"tcpSocket": {"port": 1}, "httpGet": {"port": 1}}, "livenessProbe.tcpSocket"),
        ({"tcpSocket": {"port": 70_000}}, "livenessProbe.tcpSocket.port"),
    ):
        made = a_deployment()
        made["spec"]["template"]["spec"]["containers"][0]["livenessProbe"] = probe
        causes = kube.refused("deployments", made, 422)["details"]["causes"]
        where = "spec.template.spec.containers[0]"
        assert f"{where}.{field}" in [each["field"] for each in causes]


def test_pods_of_a_stateful_set_mount_the_claims_of_its_templates(kube):
    """They are volumes, though no volume of the template is called so."""
    made = {**a_deployment(), "kind": "StatefulSet"}
    made["spec"] |= {
        "serviceName": "web",
        "volumeClaimTemplates": [
            {
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        ],
    }
    made["spec"].pop("strategy", None)
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    kube.create("statefulsets", made)
    made["metadata"]["name"] = "other"
    container["volumeMounts"] = [{"name": "missing", "mountPath": "/data"}]
    status = kube.refused("statefulsets", made, 422)
    assert status["details"]["causes"][0]["message"] == 'Not found: "missing"'


def test_the_schedule_of_a_cron_job_has_five_fields(kube):
    """Or it is a word such as @daily."""
    template = {"spec": a_job()["spec"]}
    for schedule, taken in (("0 3 * *", False), ("@daily", True), ("*/5 * * * *", True)):
        name = f"cron-{len(schedule)}"
        made = {
            "metadata": {"name": name},
            "spec": {"schedule": schedule, "jobTemplate": template},
        }
        if taken:
            kube.create("cronjobs", made)
        else:
            causes = kube.refused("cronjobs", made, 422)["details"]["causes"]
            assert [each["field"] for each in causes] == ["spec.schedule"]

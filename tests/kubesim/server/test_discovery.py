"""What the server says about itself."""

import ssl

import httpx
import pytest


def test_the_version_is_told(kube):
    """/version names a Kubernetes version."""
    assert kube.http.get("/version").json()["gitVersion"].startswith("v1.")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_health_needs_no_identity(kube, path):
    """Health is told to anybody."""
    context = ssl._create_unverified_context()  # the certificate is not what is tested here
    reply = httpx.get(kube.server + path, verify=context)
    assert (reply.status_code, reply.text) == (200, "ok")


def test_a_bad_token_is_unauthorized(kube):
    """An unknown token is 401, on health paths too."""
    headers = {"authorization": "Bearer nonsense"}
    context = ssl._create_unverified_context()  # the certificate is not what is tested here
    reply = httpx.get(kube.server + "/api/v1/pods", verify=context, headers=headers)
    assert reply.status_code == 401
    assert reply.json()["reason"] == "Unauthorized"


def test_core_resources_are_listed(kube):
    """/api/v1 lists resources with names, kinds and verbs."""
    rows = {row["name"]: row for row in kube.http.get("/api/v1").json()["resources"]}
    assert rows["pods"]["kind"] == "Pod"
    assert rows["pods"]["shortNames"] == ["po"]
    assert {"create", "delete", "get", "list", "patch", "update", "watch"} <= set(
        rows["pods"]["verbs"]
    )
    assert "pods/status" in rows
    assert rows["namespaces"]["namespaced"] is False


def test_groups_are_listed(kube):
    """/apis lists groups with their preferred version."""
    groups = {group["name"]: group for group in kube.http.get("/apis").json()["groups"]}
    assert groups["batch"]["preferredVersion"]["groupVersion"] == "batch/v1"
    assert groups["apps"]["versions"][0]["version"] == "v1"


def test_discovery_can_be_aggregated(kube):
    """Clients that ask for it get all resources in one answer."""
    accept = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    reply = kube.http.get("/apis", headers=accept)
    assert "as=APIGroupDiscoveryList" in reply.headers["content-type"]
    batch = next(item for item in reply.json()["items"] if item["metadata"]["name"] == "batch")
    resources = {row["resource"]: row for row in batch["versions"][0]["resources"]}
    assert resources["jobs"]["scope"] == "Namespaced"
    assert resources["jobs"]["subresources"][0]["subresource"] == "status"


def test_open_api_is_served_per_group(kube):
    """/openapi/v3 indexes one document per group and version."""
    index = kube.http.get("/openapi/v3").json()["paths"]
    document = kube.http.get(index["apis/batch/v1"]["serverRelativeURL"]).json()
    job = document["components"]["schemas"]["io.k8s.api.batch.v1.Job"]
    kinds = [row["kind"] for row in job["x-kubernetes-group-version-kind"]]
    assert kinds == ["Job"]


def test_open_api_says_that_fields_are_validated(kube):
    """PATCH has the parameter fieldValidation: so kubectl leaves validation to the server."""
    document = kube.http.get("/openapi/v3/apis/batch/v1").json()
    path = document["paths"]["/apis/batch/v1/namespaces/{namespace}/jobs/{name}"]
    assert "fieldValidation" in [row["name"] for row in path["patch"]["parameters"]]


def test_open_api_knows_keyed_lists(kube):
    """Lists say how they merge."""
    document = kube.http.get("/openapi/v3/api/v1").json()
    ports = document["components"]["schemas"]["io.k8s.api.core.v1.Container"]["properties"][
        "ports"
    ]
    assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
    assert ports["x-kubernetes-patch-merge-key"] == "containerPort"


def test_open_api_two_is_a_document(kube):
    """Clients that know no third version find a second, whatever it names."""
    assert kube.http.get("/openapi/v2").json()["swagger"] == "2.0"

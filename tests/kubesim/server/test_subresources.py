"""Subresources and questions: scale, log, binding, eviction, reviews, tokens."""

from tests.kubesim.server.build import a_deployment, a_job
from tests.kubesim.server.kube import MERGE, eventually


def a_pod(name="lone", **spec):
    container = {"name": "main", "image": "busybox:1.36"}
    return {
        "metadata": {"name": name, "annotations": {"sim.roadstead.dev/run-seconds": "600"}},
        "spec": {"containers": [container], **spec},
    }


def test_scale_shows_replicas_and_selector(kube):
    """/scale of a Deployment is an autoscaling/v1 Scale."""
    kube.create("deployments", a_deployment())
    scale = kube.get("deployments", "web", "scale")
    assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
    assert scale["spec"].get("replicas", 0) == 0
    assert scale["status"]["selector"] == "app=web"


def test_scale_writes_replicas(kube):
    """PUT to /scale changes spec.replicas and counts a generation."""
    kube.create("deployments", a_deployment())

    def scaled():  # its controller may write between reading and writing
        scale = kube.get("deployments", "web", "scale")
        reply = kube.put("deployments", {**scale, "spec": {"replicas": 1}}, "scale")
        assert reply.status_code in {200, 409}, reply.text
        return reply.status_code == 200

    eventually(scaled)
    live = kube.get("deployments", "web")
    assert live["spec"]["replicas"] == 1
    assert live["metadata"]["generation"] == 2


def test_negative_scale_is_refused(kube):
    """Replicas are not negative."""
    kube.create("deployments", a_deployment())
    reply = kube.patch("deployments", "web", {"spec": {"replicas": -1}}, MERGE, "scale")
    assert reply.status_code == 422


def test_what_has_no_scale_says_so(kube):
    """A Job has no /scale."""
    kube.create("jobs", a_job())
    assert kube.http.get(kube.url("jobs", "work", "scale")).status_code == 404


def test_a_pod_is_bound_once(kube):
    """POST to /binding puts an unscheduled pod on a node; a second time conflicts."""
    node = kube.http.get("/api/v1/nodes").json()["items"][0]["metadata"]["name"]
    kube.create("pods", a_pod(schedulerName="nobody"))
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "lone"},
        "target": {"kind": "Node", "name": node},
    }
    url = kube.url("pods", "lone", "binding")
    assert kube.http.post(url, json=binding).status_code == 201
    pod = kube.get("pods", "lone")
    assert pod["spec"]["nodeName"] == node
    scheduled = next(c for c in pod["status"]["conditions"] if c["type"] == "PodScheduled")
    assert scheduled["status"] == "True"
    assert kube.http.post(url, json=binding).status_code == 409


def test_an_unscheduled_pod_goes_at_once(kube):
    """A pod that no node has is deleted without grace."""
    kube.create("pods", a_pod(schedulerName="nobody"))
    kube.delete("pods", "lone")
    assert not kube.exists("pods", "lone")


def test_a_running_pod_is_given_grace(kube):
    """A pod on a node terminates first: deletionTimestamp lies its grace period ahead."""
    kube.create("pods", a_pod(terminationGracePeriodSeconds=7))
    eventually(lambda: kube.get("pods", "lone")["spec"].get("nodeName"), "a node")
    deleted = kube.delete("pods", "lone").json()
    assert deleted["metadata"]["deletionGracePeriodSeconds"] == 7
    eventually(lambda: not kube.exists("pods", "lone"), "the pod's end")


def test_an_evicted_pod_goes(kube):
    """POST to /eviction deletes the pod."""
    kube.create("pods", a_pod(schedulerName="nobody"))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "lone"}}
    reply = kube.http.post(kube.url("pods", "lone", "eviction"), json=eviction)
    assert reply.status_code == 201, reply.text
    eventually(lambda: not kube.exists("pods", "lone"), "the pod's end")


def test_most_of_a_pod_is_fixed(kube):
    """A pod's spec may not change but for a few fields."""
    kube.create("pods", a_pod(schedulerName="nobody"))
    refused = kube.patch("pods", "lone", {"spec": {"hostNetwork": True}})
    assert refused.status_code == 422
    assert "pod updates may not change fields other than" in refused.json()["message"]


def test_pods_start_pending(kube):
    """A new pod is Pending, with the quality of service of its resources."""
    pod = kube.create("pods", a_pod(schedulerName="nobody"))
    assert pod["status"]["phase"] == "Pending"
    assert pod["status"]["qosClass"] == "BestEffort"


def test_who_am_i(kube):
    """SelfSubjectReview names the caller."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    reply = kube.http.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json=body)
    assert reply.status_code == 201
    assert "system:masters" in reply.json()["status"]["userInfo"]["groups"]


def test_may_i(kube):
    """SelfSubjectAccessReview says whether a verb is allowed; kubectl asks with protobuf."""
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}},
    }
    reply = kube.http.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json=body)
    assert reply.json()["status"]["allowed"] is True
    assert kube.kubectl("auth", "can-i", "create", "pods").strip() == "yes"


def test_service_account_tokens_are_accepted(kube):
    """A token that the server issues for a ServiceAccount is that account's."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    reply = kube.http.post(kube.url("serviceaccounts", "default", "token"), json=body)
    token = reply.json()["status"]["token"]
    review = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": token},
    }
    status = kube.http.post("/apis/authentication.k8s.io/v1/tokenreviews", json=review).json()[
        "status"
    ]
    assert status["authenticated"] is True
    assert status["user"]["username"] == f"system:serviceaccount:{kube.namespace}:default"

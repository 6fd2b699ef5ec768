"""Pod Security through REST: levels by namespace, settings, and every door by which pods come in."""

import pytest

from hub.services.context.settings import Pods, Settings
from tests.api.serving import a_job, served
from tests.bad_inputs.cases import labelled_namespace

pytestmark = pytest.mark.anyio
FIELD = "spec.template.spec"


def a_hostile_job(name="bad", namespace="team-a", **pod):
    job = a_job(name, namespace)
    job["spec"]["template"]["spec"] |= pod or {"hostNetwork": True}
    return job


def a_deployment(**pod):
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [], **pod}}
    template["spec"]["containers"] = [{"name": "web", "image": "nginx:1.27"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "team-a"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
    }


async def test_a_refusal_names_the_field_the_rule_and_the_level(tmp_path):
    """422 PolicyViolation: path, level and rule, and the level of the namespace."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/jobs", json=a_hostile_job())
        (error,) = reply.json()["errors"]
        assert (reply.status_code, error["field"]) == (422, f"{FIELD}.hostNetwork")
        assert error["message"].startswith("baseline/hostNamespaces: ")
        assert "namespace team-a is baseline" in reply.json()["detail"]


@pytest.mark.parametrize(("level", "status"), [("privileged", 201), ("baseline", 422)])
async def test_the_namespaces_label_says_the_level(tmp_path, level, status):
    """Label pod-security.kubernetes.io/enforce of the hub's Namespace, as in Kubernetes."""
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/apply", json=labelled_namespace(level))
        assert (await hub.admin.post("/v1/jobs", json=a_hostile_job())).status_code == status
        other = await hub.admin.post("/v1/jobs", json=a_hostile_job(namespace="team-b"))
        assert other.status_code == 422


async def test_pods_of_every_kind_are_refused_labels_of_roadstead(tmp_path):
    """Its pods would count as that job's, and keep it from being withdrawn."""
    deployment = a_deployment()
    deployment["spec"]["template"]["metadata"]["labels"]["roadstead.dev/job-uid"] = "u-1"
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/apply", json=deployment)
        assert (reply.status_code, "ReservedLabel" in reply.text) == (422, True)
        assert "spec.template.metadata.labels[roadstead.dev/job-uid]" in reply.text


async def test_a_changed_label_counts_for_what_comes_after(tmp_path):
    """Jobs that were taken stay; the next one is judged by the new level."""
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/apply", json=labelled_namespace("privileged"))
        first = await hub.admin.post("/v1/jobs", json=a_hostile_job("first"))
        await hub.admin.post("/v1/apply", json=labelled_namespace("restricted"))
        second = await hub.admin.post("/v1/jobs", json=a_job("second"))
        assert (first.status_code, second.status_code) == (201, 422)
        assert (await hub.admin.get(f"/v1/jobs/{first.json()['uid']}")).json()[
            "state"
        ] == "Pending"


async def test_a_level_that_does_not_exist_is_refused(tmp_path):
    """A misspelt label of a Namespace is a mistake to be told, as Kubernetes does."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/apply", json=labelled_namespace("strict"))
        assert (reply.status_code, reply.json()["code"]) == (422, "UnsupportedValue")


async def test_the_default_level_is_a_setting(tmp_path):
    """Namespaces without label have the hub's own level."""
    limits = Settings(pods=Pods(security="restricted"))
    async with served(tmp_path, limits) as hub:
        assert (await hub.admin.post("/v1/jobs", json=a_job())).status_code == 422


async def test_service_accounts_are_allowed_by_namespace(tmp_path):
    """An entry NAMESPACE/NAME opens an account in that namespace alone."""
    limits = Settings(pods=Pods(service_accounts="default,team-a/trainer"))
    async with served(tmp_path, limits) as hub:
        asked = {"serviceAccountName": "trainer"}
        here = await hub.admin.post("/v1/jobs", json=a_hostile_job("a", "team-a", **asked))
        there = await hub.admin.post("/v1/jobs", json=a_hostile_job("a", "team-b", **asked))
        assert (here.status_code, there.json()["code"]) == (201, "ServiceAccountNotAllowed")


async def test_a_batch_refuses_only_what_breaks_a_rule(tmp_path):
    """Each Job of a batch is judged for itself."""
    async with served(tmp_path) as hub:
        jobs = [a_job("a"), a_hostile_job("b"), a_job("c")]
        reply = (await hub.admin.post("/v1/jobs:batch", json=jobs)).json()
        assert (reply["accepted"], reply["rejected"]) == (2, 1)
        assert reply["items"][1]["code"] == "PolicyViolation"


@pytest.mark.parametrize(
    "manifest", [a_hostile_job(), a_deployment(hostPID=True)], ids=["Job", "Deployment"]
)
async def test_apply_judges_every_kind_that_has_pods(tmp_path, manifest):
    """Pod templates of other kinds are held to the same level: their pods would be refused later."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/apply", json=manifest)
        assert (reply.status_code, reply.json()["code"]) == (422, "PolicyViolation")
        kinds = (await hub.admin.get("/v1/objects")).json()["items"]
        assert "Deployment" not in [each["kind"] for each in kinds]


async def test_what_stands_may_be_applied_again(tmp_path):
    """An object that is unchanged is not judged again: a stricter level takes nothing away."""
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/apply", json=labelled_namespace("privileged"))
        await hub.admin.post("/v1/apply", json=a_deployment(hostPID=True))
        await hub.admin.post("/v1/apply", json=labelled_namespace("baseline"))
        again = await hub.admin.post("/v1/apply", json=a_deployment(hostPID=True))
        assert again.json()["items"][0]["result"] == "unchanged"
        changed = await hub.admin.post("/v1/apply", json=a_deployment(hostPID=True, hostIPC=True))
        assert changed.json()["code"] == "PolicyViolation"


@pytest.mark.parametrize("namespace", ["kube-system", "kube-flannel", "roadstead"])
async def test_nothing_is_placed_in_a_clusters_own_namespaces(tmp_path, namespace):
    """Jobs, batches and objects alike: 422 NamespaceNotAllowed."""
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "q", "namespace": namespace},
        "spec": {"clusterQueue": "c"},
    }
    async with served(tmp_path) as hub:
        job = await hub.admin.post("/v1/jobs", json=a_job(namespace=namespace))
        batch = await hub.admin.post("/v1/jobs:batch", json=[a_job(namespace=namespace)])
        applied = await hub.admin.post("/v1/apply", json=queue)
        assert job.json()["code"] == "NamespaceNotAllowed"
        assert batch.json()["items"][0]["code"] == "NamespaceNotAllowed"
        assert applied.json()["code"] == "NamespaceNotAllowed"


async def test_pods_of_a_workload_are_its_executors(tmp_path):
    """A bare Workload asks for quota; whoever runs its pods is bound by the cluster they run in."""
    template = a_hostile_job()["spec"]["template"]
    workload = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "team-a"},
        "spec": {
            "queueName": "default",
            "podSets": [{"name": "main", "count": 1, "template": template}],
        },
    }
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/jobs", json=a_job("first"))  # provides the queue
        assert (await hub.admin.post("/v1/apply", json=workload)).status_code == 200

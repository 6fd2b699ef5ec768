"""What is stored and not acted on says so at once: in the answer, in a condition and in an Event."""

import pytest

from tests.api.serving import a_job, served

RACK = "kueue.x-k8s.io/podset-preferred-topology"
pytestmark = pytest.mark.anyio
TOPOLOGY = {
    "apiVersion": "kueue.x-k8s.io/v1beta1",
    "kind": "Topology",
    "metadata": {"name": "racks"},
    "spec": {"levels": [{"nodeLabel": "rack"}]},
}


async def test_a_stored_kind_warns_in_answer_condition_and_event(tmp_path):
    """`created` alone would promise an effect."""
    async with served(tmp_path) as hub:
        answer = await hub.admin.post("/v1/apply", json=TOPOLOGY)
        (item,) = answer.json()["items"]
        assert item["result"] == "created"
        assert item["warnings"][0].startswith("stored without effect: Topology")
        shown = (await hub.admin.get("/v1/objects/kueue.x-k8s.io/Topology/racks")).json()
        (condition,) = shown["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("NotActedOn", "True")
        events = (await hub.admin.get("/v1/events")).json()["items"]
        assert "NotActedOn" in [each["reason"] for each in events]


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs:batch"])
async def test_a_submitted_job_warns_of_what_it_asks_in_vain(tmp_path, path):
    """Alone and in a batch; the job is taken all the same."""
    async with served(tmp_path) as hub:
        job = a_job()
        job["spec"]["template"]["metadata"] = {"annotations": {RACK: "rack"}}
        answer = (await hub.admin.post(path, json=job)).json()
        told = answer if path == "/v1/jobs" else answer["items"][0]
        assert told["warnings"][0].startswith(
            f"stored without effect: spec.template.metadata.annotations[{RACK}]"
        )
        events = (await hub.admin.get("/v1/events", params={"uid": told["uid"]})).json()["items"]
        assert "NotActedOn" in [each["reason"] for each in events]


async def test_a_kind_without_adapter_is_refused_with_what_to_do(tmp_path):
    """A Notebook with a queue name would wait for ever."""
    async with served(tmp_path) as hub:
        pods = {"template": {"spec": {"containers": [{"name": "m", "image": "i"}]}}}
        answer = await hub.admin.post(
            "/v1/apply",
            json={
                "apiVersion": "kubeflow.org/v1",
                "kind": "Notebook",
                "metadata": {"name": "s", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
                "spec": pods,
            },
        )
        told = answer.json()
        assert (answer.status_code, told["code"]) == (422, "NoAdapter")
        assert "Take the label off" in told["detail"]


async def test_a_mistyped_kind_warns_and_is_kept(tmp_path):
    """`created` alone would be believed; a refusal would shut out kinds of newer members."""
    async with served(tmp_path) as hub:
        document = {"apiVersion": "apps/v1", "kind": "Deploymnt", "metadata": {"name": "web"}}
        (item,) = (await hub.admin.post("/v1/apply", json=document)).json()["items"]
        assert item["result"] == "created"
        (said,) = item["warnings"]
        assert said.startswith("kind: ")
        assert "did you mean Deployment?" in said
        again = (await hub.admin.post("/v1/apply", json=document)).json()["items"][0]
        assert (again["result"], again["warnings"]) == ("unchanged", [said])


async def test_a_topology_warns_that_it_is_not_acted_on(tmp_path):
    """It is taken, as Kueue's manifests are, and changes nothing."""
    async with served(tmp_path) as hub:
        document = {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": "Topology",
            "metadata": {"name": "more"},
            "spec": {"levels": [{"nodeLabel": "rack"}]},
        }
        (item,) = (await hub.admin.post("/v1/apply", json=document)).json()["items"]
        assert item["result"] == "created"
        assert "the hub does nothing by them" in item["warnings"][0]

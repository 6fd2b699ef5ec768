"""By REST: no update takes a job out of its queue's quota."""

from typing import Any

import orjson
import pytest

from hub.services.context.settings import Settings
from tests.api.serving import a_job, served
from tests.services.build import a_workload, in_cohort

pytestmark = pytest.mark.anyio
QUEUE = "kueue.x-k8s.io/queue-name"
FIELD = f"metadata.labels[{QUEUE}]"
MERGE = {"content-type": "application/merge-patch+json"}


def job(name: str, queue: str) -> dict[str, Any]:
    """A Job of that queue in team-a; "": of none."""
    made = a_job(name, namespace="team-a")
    made["metadata"]["labels"] = {QUEUE: queue} if queue else {}
    return made


@pytest.mark.parametrize("queue", ["", "default"])
async def test_a_job_does_not_leave_its_queue_for_one_without_limits(tmp_path, queue):
    """To no queue, or to the LocalQueue `default` that the hub provides."""
    async with served(tmp_path) as hub:
        for each in (*in_cohort("a", "0"), job("other", ""), job("j", "a")):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        (item,) = (await hub.admin.post("/v1/apply", json=job("j", queue))).json()["items"]
        assert (item["result"], item["code"]) == ("rejected", "Immutable")
        assert FIELD in item["detail"]
        (row,) = (await hub.admin.get("/v1/jobs?queue=a")).json()["items"]
        assert row["name"] == "j"


async def test_a_job_moves_to_another_queue_that_somebody_made(tmp_path):
    """A LocalQueue `default` of an administrator is one of those."""
    async with served(tmp_path) as hub:
        made = {
            "metadata": {"name": "default", "namespace": "team-a"},
            "spec": {"clusterQueue": "b"},
        }
        default = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", **made}
        for each in (*in_cohort("a", "0"), *in_cohort("b", "4"), default, job("j", "a")):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        for queue in ("b", "default"):
            (item,) = (await hub.admin.post("/v1/apply", json=job("j", queue))).json()["items"]
            assert item["result"] == "configured"


async def test_a_workload_does_not_move_to_the_hubs_own_queue(tmp_path):
    """By a patch of its queueName."""
    async with served(tmp_path) as hub:
        for each in (*in_cohort("a", "0"), job("other", ""), a_workload("w")):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        content = orjson.dumps({"spec": {"queueName": "default"}})
        path = "/v1/workloads/team-a/w"
        reply = await hub.admin.patch(path, content=content, headers=MERGE)
        assert (reply.status_code, reply.json()["code"]) == (422, "Immutable")


async def test_a_queue_in_the_annotation_is_kept_too(tmp_path):
    """The manifests of the guide name it there."""
    async with served(tmp_path) as hub:
        given = job("j", "")
        given["metadata"]["annotations"] = {QUEUE: "a"}
        for each in (*in_cohort("a", "0"), given):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        (item,) = (await hub.admin.post("/v1/apply", json=job("j", ""))).json()["items"]
        assert (item["result"], item["code"]) == ("rejected", "Immutable")


async def test_a_workload_does_not_lose_its_queue(tmp_path):
    """By a patch that removes queueName, with the default settings of a hub."""
    async with served(tmp_path, Settings()) as hub:
        for each in (*in_cohort("a", "0"), a_workload("w")):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        content = orjson.dumps({"spec": {"queueName": None}})
        reply = await hub.admin.patch("/v1/workloads/team-a/w", content=content, headers=MERGE)
        assert reply.status_code == 422, reply.text
        (row,) = (await hub.admin.get("/v1/jobs?queue=a")).json()["items"]
        assert row["name"] == "w"

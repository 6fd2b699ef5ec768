"""Queues and quotas that can not be, through `POST /v1/apply`, and what happens to those in use."""

from typing import Any

import pytest

from tests.api.queues import FLAVOR, codes, move, only_job, with_a_running_job
from tests.api.serving import a_job, served
from tests.bad_inputs.objects import KUEUE, a_queue

pytestmark = pytest.mark.anyio

MOST = str(2**63 - 1)


def a_cohort(name: str, parent: str) -> dict[str, Any]:
    return {
        "apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": name},
        "spec": {"parentName": parent},
    }  # fmt: skip


async def test_a_cycle_of_cohorts_is_refused_with_its_path(tmp_path):
    """The document that would close it is refused, the others stay."""
    async with served(tmp_path) as hub:
        answered = await codes(hub, a_cohort("a", "b"), a_cohort("b", "c"), a_cohort("c", "a"))
        assert answered == [None, None, "CohortCycle"]
        reply = await hub.admin.post("/v1/apply", json=a_cohort("b", "a"))
        assert "b -> a -> b" in reply.json()["items"][0]["detail"]


async def test_a_quota_of_63_bits_is_no_limit(tmp_path):
    """The largest amount there is means unlimited, whatever is charged."""
    async with served(tmp_path) as hub:
        assert (await codes(hub, FLAVOR, a_queue("memory", nominalQuota=MOST)))[1] is None
        reply = await hub.admin.get("/v1/objects/kueue.x-k8s.io/ClusterQueue/q")
        assert reply.status_code == 200


@pytest.mark.parametrize("least", ["abc", "0", "1", "2"])
async def test_a_least_parallelism_that_can_not_be_is_refused(tmp_path, least):
    """Kueue's annotation on a Job of one pod: 422 by its field on every way in, and nothing waits."""
    async with served(tmp_path) as hub:
        job = a_job("j")
        key = "kueue.x-k8s.io/job-min-parallelism"
        job["metadata"]["annotations"] = {key: least}
        for path, place in (("/v1/jobs", ""), ("/v1/apply", "[0].")):
            reply = await hub.admin.post(path, json=job)
            assert (reply.status_code, reply.json()["code"]) == (422, "InvalidAnnotation")
            assert reply.json()["errors"][0]["field"] == f"{place}metadata.annotations[{key}]"
        batch = (await hub.admin.post("/v1/jobs:batch", json=[job])).json()
        assert batch["items"][0]["code"] == "InvalidAnnotation"
        assert (await hub.admin.get("/v1/jobs")).json()["items"] == []


async def test_a_queue_in_use_is_not_deleted(tmp_path):
    """409 while jobs are charged to it; once they are gone, it goes."""
    async with served(tmp_path) as hub:
        await with_a_running_job(hub)
        path = "/v1/objects/kueue.x-k8s.io/ClusterQueue/q"
        refused = await hub.admin.delete(path)
        assert (refused.status_code, refused.json()["code"]) == (409, "QueueNotEmpty")
        for name in ("apply", "start", "succeed"):
            await move(hub, name, await only_job(hub))
        assert (await hub.admin.delete(path)).status_code == 200


async def test_a_queue_in_use_may_be_drained_and_deleted(tmp_path):
    """With `drain=true` what it runs is taken back, and it goes at once."""
    async with served(tmp_path) as hub:
        await with_a_running_job(hub)
        path = "/v1/objects/kueue.x-k8s.io/ClusterQueue/q"
        assert (await hub.admin.delete(f"{path}?drain=perhaps")).status_code == 422
        assert (await hub.admin.delete(f"{path}?drain=true")).status_code == 200
        row = await only_job(hub)
        assert (row.state, row.withdraw_to) == ("Withdrawing", "Pending")
        assert row.reason == "ClusterQueueStopped"


async def test_a_quota_below_what_is_used_is_taken_and_said(tmp_path):
    """The queue is OverQuota; what runs stays."""
    async with served(tmp_path) as hub:
        await with_a_running_job(hub)
        assert (await hub.admin.get("/v1/queues/q")).json()["state"] == "Ready"
        smaller = a_queue(nominalQuota="500m", borrowingLimit="0")
        assert await codes(hub, smaller) == [None]
        assert (await hub.admin.get("/v1/queues/q")).json()["state"] == "OverQuota"
        assert (await only_job(hub)).state == "Offered"

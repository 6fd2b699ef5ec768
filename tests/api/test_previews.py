"""`dryRun=true` where queues are stopped and members cordoned: told, refused alike, and nothing changed."""

from typing import Any

import pytest
from sqlalchemy import text

from hub.store import objects
from tests.api.queues import move, only_job, with_a_running_job
from tests.api.serving import Served, served

pytestmark = pytest.mark.anyio
LOOK = {"dryRun": "true"}


async def look(hub: Served, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    reply = await hub.admin.post(path, params=LOOK, json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


@pytest.mark.parametrize("place", ["q", "team-a/lq"])
async def test_a_stop_is_previewed(tmp_path, place):
    """It names the jobs that would run on, or that a drain would evict; the queue stays as it is."""
    async with served(tmp_path) as hub:
        await with_a_running_job(hub)
        job = await only_job(hub)
        shown = {
            "namespace": "team-a",
            "name": job.name,
            "state": "Offered",
            "cluster": job.cluster,
        }
        told = await look(hub, f"/v1/queues/{place}/stop")
        assert (told["stopPolicy"], told["wouldBe"], told["carriedOut"]) == ("None", "Hold", False)
        assert (told["pending"], told["evicted"], told["left"]) == (0, 0, 1)
        assert told["jobs"] == [shown]
        told = await look(hub, f"/v1/queues/{place}/stop", {"drain": True})
        assert (told["wouldBe"], told["evicted"], told["left"]) == ("HoldAndDrain", 1, 0)
        assert (await hub.admin.get("/v1/queues/q")).json()["stopPolicy"] == "None"
        assert (await only_job(hub)).state == "Offered"
        audit = (await hub.admin.get("/v1/audit")).json()["items"]
        assert not [row for row in audit if row["verb"] == "stop"]


@pytest.mark.parametrize("place", ["q", "team-a/lq"])
async def test_a_job_that_leaves_already_is_not_evicted(tmp_path, place):
    """It holds quota until its member lets it go: a stop neither evicts it nor lets it run on."""
    async with served(tmp_path) as hub:
        await with_a_running_job(hub)
        job = await only_job(hub)
        assert (await hub.admin.post(f"/v1/jobs/{job.uid}/cancel")).status_code == 200
        assert (await only_job(hub)).state == "Withdrawing"
        for body in ({}, {"drain": True}):
            told = await look(hub, f"/v1/queues/{place}/stop", body)
            assert (told["evicted"], told["left"], told["jobs"]) == (0, 0, [])


@pytest.mark.parametrize("verb", ["cancel", "hold", "release"])
async def test_a_verb_for_a_job_is_previewed(tmp_path, verb):
    """The job is answered as it is, or the refusal of the verb; nothing is changed or in the audit."""
    async with served(tmp_path) as hub:
        await with_a_running_job(hub)
        job = await only_job(hub)
        told = await look(hub, f"/v1/jobs/{job.uid}/{verb}")
        assert (told["uid"], told["state"]) == (job.uid, "Offered")
        assert (await only_job(hub)).state == "Offered"
        audit = (await hub.admin.get("/v1/audit")).json()["items"]
        assert not [row for row in audit if row["verb"] == verb]
        viewed = await hub.viewer.post(f"/v1/jobs/{job.uid}/{verb}", params=LOOK)
        assert viewed.status_code == 403
        assert (await hub.admin.post(f"/v1/jobs/none/{verb}", params=LOOK)).status_code == 404


@pytest.mark.parametrize("verb", ["hold", "release"])
async def test_a_preview_of_an_ended_job_is_refused_as_the_verb_is(tmp_path, verb):
    """Both answers have the same code and words."""
    async with served(tmp_path) as hub:
        await with_a_running_job(hub)
        job = await only_job(hub)
        await move(hub, "start", job)
        await move(hub, "succeed", await only_job(hub))
        said = [
            (await hub.admin.post(f"/v1/jobs/{job.uid}/{verb}", params=params)).json()
            for params in (LOOK, {})
        ]
        assert [each["code"] for each in said] == ["AlreadyEnded"] * 2
        assert said[0]["detail"] == said[1]["detail"]


async def test_a_preview_is_refused_as_the_stop_would_be(tmp_path):
    """404 of a queue that is not there, 403 of who may not stop it."""
    async with served(tmp_path) as hub:
        await with_a_running_job(hub)
        for verb in ("stop", "resume"):
            absent = await hub.admin.post(f"/v1/queues/none/{verb}", params=LOOK)
            assert (absent.status_code, absent.json()["code"]) == (404, "NotFound")
            viewed = await hub.viewer.post(f"/v1/queues/q/{verb}", params=LOOK)
            assert (viewed.status_code, viewed.json()["code"]) == (403, "Forbidden")


async def test_a_queue_of_the_hub_cluster_is_stopped_there(tmp_path):
    """409 for the stop and for its preview, with the command that works."""
    async with served(tmp_path) as hub:
        await with_a_running_job(hub)

        def comes_from_there(tx):
            row = objects.find(tx, "kueue.x-k8s.io", "ClusterQueue", "", "q")
            tx.conn.execute(
                text(f"update objects set origin = 'hub-cluster' where uid = '{row.uid}'")
            )

        await hub.db.write(comes_from_there)
        for params in ({}, LOOK):
            reply = await hub.admin.post("/v1/queues/q/stop", params=params, json={"drain": True})
            assert (reply.status_code, reply.json()["code"]) == (409, "OwnedElsewhere")
            change = """--type merge -p '{"spec": {"stopPolicy": "HoldAndDrain"}}'"""
            assert reply.json()["detail"].endswith(f"kubectl patch clusterqueue q {change}")


async def test_a_cordon_is_previewed(tmp_path):
    """It says if anything would change, and how many jobs would run on."""
    async with served(tmp_path) as hub:
        assert (await hub.admin.post("/v1/clusters", json={"name": "c"})).status_code == 201
        told = await look(hub, "/v1/clusters/c/cordon")
        expected = {"name": "c", "carriedOut": False, "cordoned": False, "wouldBe": True}
        assert told == expected | {"jobs": 0}
        assert (await hub.admin.get("/v1/clusters/c")).json()["cordoned"] is False
        assert (await hub.admin.post("/v1/clusters/c/cordon")).json()["cordoned"] is True
        told = await look(hub, "/v1/clusters/c/uncordon")
        assert (told["cordoned"], told["wouldBe"]) == (True, False)
        assert (await hub.admin.get("/v1/clusters/c")).json()["cordoned"] is True
        absent = await hub.admin.post("/v1/clusters/d/cordon", params=LOOK)
        assert absent.status_code == 404

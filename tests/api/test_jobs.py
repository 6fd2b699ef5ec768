"""`/v1/jobs` over its HTTP surface."""

import asyncio

import pytest

from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio


async def test_a_submitted_job_is_answered_as_it_waits(tmp_path):
    """201 with the job: uid, state and the default queue that it was given."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/jobs", json=a_job())
        assert reply.status_code == 201
        job = reply.json()
        assert (job["state"], job["queue"], job["namespace"]) == ("Pending", "default", "team-a")
        assert (await hub.admin.get(f"/v1/jobs/{job['uid']}")).json()["manifest"]["kind"] == "Job"


async def test_yaml_is_taken_as_well(tmp_path):
    """A Job may be sent as YAML."""
    text = """
apiVersion: batch/v1
kind: Job
metadata: {name: from-yaml}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: busybox}]
"""
    async with served(tmp_path) as hub:
        headers = {"Content-Type": "application/yaml"}
        reply = await hub.admin.post("/v1/jobs", content=text, headers=headers)
        assert reply.status_code == 201, reply.text
        assert reply.json()["namespace"] == "default"


async def test_a_name_is_given_once(tmp_path):
    """A second job of a live name is refused with the uid of the first."""
    async with served(tmp_path) as hub:
        first = (await hub.admin.post("/v1/jobs", json=a_job())).json()
        second = await hub.admin.post("/v1/jobs", json=a_job())
        assert (second.status_code, second.json()["code"]) == (409, "AlreadyExists")
        assert second.json()["uid"] == first["uid"]


async def test_a_queue_must_exist(tmp_path):
    """Submitting to a queue that does not exist is refused."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/jobs", json=a_job(queue="nope"))
        assert (reply.status_code, reply.json()["code"]) == (422, "QueueNotFound")


async def test_pages_follow_each_other(tmp_path):
    """Every job is on exactly one page, newest first."""
    async with served(tmp_path) as hub:
        for i in range(7):
            await hub.admin.post("/v1/jobs", json=a_job(f"j{i}"))
            hub.clock.advance(1)
        seen, token = [], ""
        while True:
            page = (await hub.admin.get("/v1/jobs", params={"limit": 3, "continue": token})).json()
            seen += [job["name"] for job in page["items"]]
            token = page["continue"]
            if not token:
                break
        assert seen == [f"j{i}" for i in reversed(range(7))]


async def test_lists_are_filtered(tmp_path):
    """By namespace, name prefix, state and label."""
    async with served(tmp_path) as hub:
        labelled = a_job("b1", "team-b")
        labelled["metadata"]["labels"] = {"tier": "gold"}
        for manifest in (a_job("a1"), a_job("a2"), labelled):
            assert (await hub.admin.post("/v1/jobs", json=manifest)).status_code == 201

        async def names(**params):
            reply = await hub.viewer.get("/v1/jobs", params=params)
            return sorted(job["name"] for job in reply.json()["items"])

        assert await names(namespace="team-b") == ["b1"]
        assert await names(name="a") == ["a1", "a2"]
        assert await names(state="Running") == []
        assert await names(labelSelector="tier in (gold,silver)") == ["b1"]
        assert await names(labelSelector="!tier") == ["a1", "a2"]


async def test_cancel_is_idempotent(tmp_path):
    """Cancelling twice gives the same state twice."""
    async with served(tmp_path) as hub:
        job = (await hub.admin.post("/v1/jobs", json=a_job())).json()
        for _ in range(2):
            reply = await hub.admin.post(f"/v1/jobs/{job['uid']}/cancel")
            assert (reply.status_code, reply.json()["state"]) == (200, "Cancelled")


async def test_delete_gives_the_name_back(tmp_path):
    """A deleted job that never ran is gone at once; a wrong precondition deletes nothing."""
    async with served(tmp_path) as hub:
        job = (await hub.admin.post("/v1/jobs", json=a_job())).json()
        wrong = {"preconditions": {"uid": "00000000-0000-0000-0000-000000000001"}}
        path = f"/v1/jobs/{job['uid']}"
        assert (await hub.admin.request("DELETE", path, json=wrong)).status_code == 409
        assert (await hub.admin.delete(path)).status_code == 200
        assert (await hub.admin.delete(path)).status_code == 404
        assert (await hub.admin.post("/v1/jobs", json=a_job())).status_code == 201


async def test_one_key_makes_one_job(tmp_path):
    """50 equal requests at once under one key: one job, 50 equal replies."""
    async with served(tmp_path) as hub:
        manifest = a_job()
        del manifest["metadata"]["name"]
        manifest["metadata"]["generateName"] = "gen-"
        headers = {"Idempotency-Key": "k-1"}
        replies = await asyncio.gather(
            *(hub.admin.post("/v1/jobs", json=manifest, headers=headers) for _ in range(50))
        )
        assert {reply.status_code for reply in replies} == {201}
        assert len({reply.content for reply in replies}) == 1
        assert len((await hub.admin.get("/v1/jobs")).json()["items"]) == 1
        other = await hub.admin.post("/v1/jobs", json=a_job("x"), headers=headers)
        assert (other.status_code, other.json()["code"]) == (422, "IdempotencyMismatch")


async def test_a_key_of_a_batch_stands_for_all_that_was_sent(tmp_path):
    """Jobs whose names are made up are the same by what they run, not by how their names begin."""
    async with served(tmp_path) as hub:
        headers = {"Idempotency-Key": "k-1"}
        codes = []
        for cpu in ("1", "1", "2"):
            manifest = a_job()
            manifest["metadata"] |= {"generateName": "gen-"}
            del manifest["metadata"]["name"]
            container = manifest["spec"]["template"]["spec"]["containers"][0]
            container["resources"] = {"requests": {"cpu": cpu}}
            reply = await hub.admin.post("/v1/jobs:batch", json=[manifest], headers=headers)
            codes.append(reply.json().get("code", "taken"))
        assert codes == ["taken", "taken", "IdempotencyMismatch"]
        assert len((await hub.admin.get("/v1/jobs")).json()["items"]) == 1


async def test_a_batch_answers_each_job_in_order(tmp_path):
    """One bad line refuses itself alone."""
    import json

    async with served(tmp_path) as hub:
        lines = [json.dumps(a_job(f"j{i}")) for i in range(3)]
        lines.insert(1, "{not json")
        headers = {"Content-Type": "application/x-ndjson"}
        reply = await hub.admin.post("/v1/jobs:batch", content="\n".join(lines), headers=headers)
        answer = reply.json()
        assert (reply.status_code, answer["accepted"], answer["rejected"]) == (200, 3, 1)
        assert [item.get("code", item.get("name")) for item in answer["items"]] == [
            "j0",
            "MalformedJson",
            "j1",
            "j2",
        ]


async def test_a_repeated_batch_submits_once(tmp_path):
    """The same key and body: the same results, no second job."""
    async with served(tmp_path) as hub:
        jobs = [a_job(f"j{i}") for i in range(1200)]
        headers = {"Idempotency-Key": "b"}
        first = await hub.admin.post("/v1/jobs:batch", json=jobs, headers=headers)
        again = await hub.admin.post("/v1/jobs:batch", json=jobs, headers=headers)
        assert first.json()["accepted"] == 1200
        assert first.content == again.content


async def test_a_batch_is_a_replay_only_as_a_whole(tmp_path):
    """What was taken before is answered again; `Idempotent-Replay` says that nothing was new."""
    async with served(tmp_path) as hub:
        headers = {"Idempotency-Key": "b"}
        jobs = [a_job(f"j{i}") for i in range(501)]  # more than share a transaction
        replayed = []
        for some in (jobs[:500], jobs, jobs):
            reply = await hub.admin.post("/v1/jobs:batch", json=some, headers=headers)
            assert reply.json()["accepted"] == len(some)
            replayed.append(reply.headers.get("idempotent-replay"))
        assert replayed == [None, None, "true"]


async def test_no_more_events_of_a_job_are_told_than_were_asked_for(tmp_path):
    """Its submission is the oldest of them, and is told where there is room for it."""
    async with served(tmp_path) as hub:
        uid = (await hub.admin.post("/v1/jobs", json=a_job())).json()["uid"]
        await hub.admin.post(f"/v1/jobs/{uid}/hold")
        told, held = {}, "HeldByUser"
        for limit in (1, 2, 3):
            reply = await hub.admin.get(f"/v1/jobs/{uid}/events?limit={limit}")
            told[limit] = [each["reason"] for each in reply.json()["items"]]
        assert told == {1: [held], 2: ["Submitted", held], 3: ["Submitted", held]}

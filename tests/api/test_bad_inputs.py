"""Bad jobs through REST: each with the stated status and code, and no job after it is any later."""

import logging

import pytest

from tests.api.serving import Served, a_job, served
from tests.bad_inputs.cases import Case, job_cases, labelled_namespace, valid_job

pytestmark = pytest.mark.anyio


async def _send(hub: Served, case: Case):
    if case.stream is None:
        return await hub.admin.post("/v1/jobs", content=case.body, headers=dict(case.headers))

    async def chunks():
        for chunk in case.stream():
            yield chunk

    return await hub.admin.post("/v1/jobs", content=chunks(), headers=dict(case.headers))


@pytest.mark.parametrize("case", job_cases(), ids=lambda case: case.id)
async def test_a_bad_job_is_answered_as_stated(tmp_path, case):
    """Status and code of the list; a problem body with request id; the next job is taken."""
    async with served(tmp_path) as hub:
        if case.namespace_level:
            await hub.admin.post("/v1/apply", json=labelled_namespace(case.namespace_level))
        for _ in range(case.times):
            reply = await _send(hub, case)
        assert reply.status_code == case.status, reply.text
        if case.status >= 400:
            problem = reply.json()
            assert reply.headers["content-type"] == "application/problem+json"
            assert {"type", "status", "code", "detail", "errors", "requestId"} <= set(problem)
            assert problem["requestId"] == reply.headers["x-request-id"]
            assert "Traceback" not in reply.text
            if case.code is not None:
                assert problem["code"] == case.code
        elif case.state == "Pending":
            assert reply.json()["state"] == "Pending"
        following = await hub.admin.post("/v1/jobs", json=a_job("next", namespace="team-b"))
        assert following.status_code == 201


async def test_a_name_that_is_taken_is_answered_with_its_uid(tmp_path):
    """Case 17: with its uid."""
    async with served(tmp_path) as hub:
        first = await hub.admin.post("/v1/jobs", json=valid_job())
        second = await hub.admin.post("/v1/jobs", json=valid_job())
        assert second.json()["uid"] == first.json()["uid"]
        assert first.json()["uid"] in second.json()["detail"]


async def test_a_refusal_shows_markup_as_text_only(tmp_path):
    """Case 16: what was sent is echoed within a JSON string, never as a page."""
    async with served(tmp_path) as hub:
        manifest = valid_job()
        manifest["metadata"]["name"] = "<script>alert(1)</script>"
        reply = await hub.admin.post("/v1/jobs", json=manifest)
        assert reply.headers["content-type"] == "application/problem+json"


async def test_an_environment_value_is_in_no_log_and_no_event(tmp_path, caplog):
    """Case 45: a secret-looking value is shown to who may see the job, and nowhere else."""
    caplog.set_level(logging.DEBUG)
    async with served(tmp_path) as hub:
        manifest = valid_job()
        container = manifest["spec"]["template"]["spec"]["containers"][0]
        container["env"] = [{"name": "TOKEN", "value": "canary-3f1c-not-a-real-secret"}]
        job = (await hub.admin.post("/v1/jobs", json=manifest)).json()
        await hub.admin.post("/v1/jobs", json=manifest)  # a refusal
        await hub.admin.post(f"/v1/jobs/{job['uid']}/cancel")
        events = (await hub.admin.get("/v1/events")).text
        events += (await hub.admin.get(f"/v1/jobs/{job['uid']}/events")).text
        assert "canary" not in events + caplog.text


async def test_an_announced_length_is_refused_before_reading(tmp_path):
    """Case 6: a body that is announced too large is not read at all."""

    async def never():
        raise AssertionError("the body was read")
        yield b""

    async with served(tmp_path) as hub:
        headers = {"Content-Length": "1048577", "Content-Type": "application/json"}
        reply = await hub.admin.post("/v1/jobs", content=never(), headers=headers)
        assert (reply.status_code, reply.json()["code"]) == (413, "BodyTooLarge")

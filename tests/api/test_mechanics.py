"""How the API behaves whatever the route: methods, types, paging, cursors."""

import pytest

from hub.services.context.settings import Api, Settings
from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("method", ["TRACE", "PUT"])
async def test_other_methods_are_named(tmp_path, method):
    """405 with every method that the path serves."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.request(method, "/v1/jobs")
        assert (reply.status_code, reply.headers["allow"]) == (405, "GET, POST")
        assert reply.json()["detail"].split(";")[1] == " GET, POST are"
        assert reply.json()["code"] == "MethodNotAllowed"


@pytest.mark.parametrize("content_type", ["text/plain", None, "multipart/form-data; boundary=x"])
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs:batch", "/v1/apply"])
async def test_other_types_are_not_taken(tmp_path, content_type, path):
    """415 for bodies that are neither JSON nor YAML."""
    async with served(tmp_path) as hub:
        headers = {"Content-Type": content_type} if content_type else {}
        reply = await hub.admin.post(path, content=b"{}", headers=headers)
        assert (reply.status_code, reply.json()["code"]) == (415, "UnsupportedMediaType")


async def test_what_is_not_served_is_not_acceptable(tmp_path):
    """406 for an image."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.get("/v1/jobs", headers={"Accept": "image/png"})
        assert (reply.status_code, reply.json()["code"]) == (406, "NotAcceptable")


@pytest.mark.parametrize("limit", ["0", "-1", "1000000000", "abc", "501", "", "1e2"])
async def test_limits_are_bounded(tmp_path, limit):
    """A page has 1 to 500 entries."""
    async with served(tmp_path) as hub:
        for path in ("/v1/jobs", "/v1/events", "/v1/objects/core/Namespace"):
            reply = await hub.admin.get(f"{path}?limit={limit}")
            assert (reply.status_code, reply.json()["code"]) == (422, "InvalidLimit")


@pytest.mark.parametrize("query", ["sort=token_hash", "sort=';drop table", "state=Nowhere", "x=1"])
async def test_unknown_parameters_are_refused(tmp_path, query):
    """A misspelt filter must not be ignored."""
    async with served(tmp_path) as hub:
        assert (await hub.admin.get(f"/v1/jobs?{query}")).status_code == 422


@pytest.mark.parametrize("kind", ["[]", "Config%20Map", "-", "x" * 64])
async def test_what_can_be_no_kind_is_refused(tmp_path, kind):
    """A list that can only be empty would hide a slip of the pen."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.get(f"/v1/objects/core/{kind}")
        assert (reply.status_code, reply.json()["code"]) == (422, "InvalidName")
        assert "such as ConfigMap" in reply.json()["detail"]


@pytest.mark.parametrize("uid", ["not-a-uuid", "x" * 10240, "%00", "..%2f", "%ff%fe"])
async def test_strange_ids_are_absent(tmp_path, uid):
    """404 or 422, never an error of the hub."""
    async with served(tmp_path) as hub:
        for path in (f"/v1/jobs/{uid}", f"/v1/clusters/{uid}", f"/v1/namespaces/a/jobs/{uid}"):
            assert (await hub.admin.get(path)).status_code in {404, 422}


async def test_pages_of_events_overlap_nowhere(tmp_path):
    """Going back in time page by page tells every event, and each of them once."""
    async with served(tmp_path) as hub:
        for name in ("a", "b", "c"):
            uid = (await hub.admin.post("/v1/jobs", json=a_job(name))).json()["uid"]
            await hub.admin.post(f"/v1/jobs/{uid}/hold")
        every = [each["id"] for each in (await hub.admin.get("/v1/events")).json()["items"]]
        told: list[int] = []
        query = {"limit": "2"}
        for _ in range(len(every)):
            page = (await hub.admin.get("/v1/events", params=query)).json()
            told = [each["id"] for each in page["items"]] + told
            if not page["continue"]:
                break
            query["continue"] = page["continue"]
        assert told == every


async def test_continue_tokens_are_the_callers_own_and_short_lived(tmp_path):
    """Forged, another's, of another question: 400; too old: 410."""
    async with served(tmp_path) as hub:
        for name in ("a", "b"):
            await hub.admin.post("/v1/jobs", json=a_job(name))
        token = (await hub.admin.get("/v1/jobs?limit=1")).json()["continue"]

        async def code(client, query):
            reply = await client.get(f"/v1/jobs?{query}")
            return reply.status_code, reply.json().get("code")

        assert await code(hub.admin, "continue=forged") == (400, "BadContinue")
        assert await code(hub.viewer, f"limit=1&continue={token}") == (400, "BadContinue")
        other = f"limit=1&namespace=team-a&continue={token}"
        assert await code(hub.admin, other) == (400, "BadContinue")
        assert await code(hub.admin, f"limit=1&continue={token}") == (200, None)
        hub.clock.advance(16 * 60)
        assert await code(hub.admin, f"limit=1&continue={token}") == (410, "Expired")


@pytest.mark.parametrize("key", ["", "k" * 201, "k" * (1 << 16)])
async def test_idempotency_keys_are_bounded(tmp_path, key):
    """1 to 200 characters."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/jobs", json=a_job(), headers={"Idempotency-Key": key})
        assert (reply.status_code, reply.json()["code"]) == (422, "InvalidIdempotencyKey")


async def test_an_idempotency_key_is_its_principals_own(tmp_path):
    """Another principal's equal key makes an independent job."""
    from hub.services.access import credentials

    async with served(tmp_path) as hub:
        headers = {"Idempotency-Key": "k"}
        assert (
            await hub.admin.post("/v1/jobs", json=a_job("a"), headers=headers)
        ).status_code == 201
        token = await hub.db.write(lambda u: credentials.issue_bearer(u, "administrator", "other"))
        headers["Authorization"] = f"Bearer {token}"
        reply = await hub.nobody.post("/v1/jobs", json=a_job("b"), headers=headers)
        assert (reply.status_code, reply.json()["name"]) == (201, "b")


async def test_an_old_cursor_is_gone(tmp_path):
    """410 with a hint for a revision beyond what is kept."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.get("/v1/changes?revision=999999")
        assert (reply.status_code, reply.json()["code"]) == (410, "Expired")
        assert "list again" in reply.json()["detail"]


async def test_streams_are_counted(tmp_path):
    """429 for a stream more than a principal may hold."""
    async with served(tmp_path, Settings(api=Api(streams_per_principal=0))) as hub:
        reply = await hub.admin.get("/v1/changes")
        assert (reply.status_code, reply.json()["code"]) == (429, "TooManyStreams")
        assert "retry-after" in reply.headers


async def test_a_store_that_does_not_answer_is_503(tmp_path):
    """Nothing is acknowledged; alive, but not ready."""
    async with served(tmp_path) as hub:
        await hub.admin.get("/v1/jobs")  # the credential is known
        await hub.db.close()
        reply = await hub.admin.post("/v1/jobs", json=a_job())
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
        assert (await hub.nobody.get("/readyz")).status_code == 503
        assert (await hub.nobody.get("/livez")).status_code == 200


async def test_the_description_names_every_route(tmp_path):
    """`/openapi.json` is served and holds the jobs' routes."""
    async with served(tmp_path) as hub:
        paths = (await hub.nobody.get("/openapi.json")).json()["paths"]
        assert {"/v1/jobs", "/v1/apply", "/v1/jobs/{uid}/explain"} <= set(paths)


async def test_measures_are_served(tmp_path):
    """`/metrics` in Prometheus' text format."""
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/jobs", json=a_job())
        text = (await hub.viewer.get("/metrics")).text
        assert 'roadstead_jobs{state="Pending"} 1.0' in text
        counted = (
            'roadstead_http_request_seconds_count{method="POST",route="/v1/jobs",status="201"}'
        )
        assert counted in text

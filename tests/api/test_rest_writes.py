"""Bad requests to the real server, where something is changed: keys, patches, conditions."""

import asyncio
import json

import pytest

from hub.services.access import credentials
from hub.services.context.settings import Api, Settings
from tests.api.listening import a_submitted, listening, send
from tests.api.serving import a_job

pytestmark = pytest.mark.anyio
JSON = "Content-Type: application/json"
PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs:batch"])
async def test_row_78_one_key_many_times_at_once(tmp_path, path):
    """Fifty at once with one key and body: the same answer to all, one job, and all but one a replay."""
    body = a_job() if path == "/v1/jobs" else [a_job("a"), a_job("b")]
    async with listening(tmp_path) as hub:
        answers = await asyncio.gather(
            *(send(hub, "POST", path, "Idempotency-Key: k-1", body=body) for _ in range(50))
        )
        assert {heard.status for heard in answers} == {201 if path == "/v1/jobs" else 200}
        assert len({heard.body for heard in answers}) == 1
        replays = [heard.headers.get("idempotent-replay") for heard in answers]
        assert replays.count("true") == 49
        jobs = json.loads((await send(hub, "GET", "/v1/jobs")).body)["items"]
        assert len(jobs) == (1 if path == "/v1/jobs" else 2)


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs:batch"])
async def test_row_79_one_key_for_two_bodies(tmp_path, path):
    """422, and nothing of the second body is submitted."""
    async with listening(tmp_path) as hub:
        for name, status in (("a", {200, 201}), ("b", {422})):
            body = a_job(name) if path == "/v1/jobs" else [a_job(name)]
            heard = await send(hub, "POST", path, "Idempotency-Key: k-1", body=body)
            assert heard.status in status
        assert heard.problem["code"] == "IdempotencyMismatch"
        jobs = json.loads((await send(hub, "GET", "/v1/jobs")).body)["items"]
        assert [job["name"] for job in jobs] == ["a"]


async def test_row_80_keys(tmp_path):
    """Empty or too long: 422; of a megabyte: 431 like any header; another's own: an independent job."""
    async with listening(tmp_path) as hub:
        for key in ("", "k" * 201):
            heard = await send(hub, "POST", "/v1/jobs", f"Idempotency-Key: {key}", body=a_job())
            assert (heard.status, heard.problem["code"]) == (422, "InvalidIdempotencyKey")
        heard = await send(hub, "POST", "/v1/jobs", "Idempotency-Key: " + "k" * (1 << 20))
        assert (heard.status, heard.problem["code"]) == (431, "HeaderTooLarge")
        other = await hub.db.write(lambda u: credentials.issue_bearer(u, "administrator", "other"))
        theirs = (f"Authorization: Bearer {other}", "Idempotency-Key: k", JSON)
        content = json.dumps(a_job("theirs")).encode()
        assert (
            await send(hub, "POST", "/v1/jobs", "Idempotency-Key: k", body=a_job("mine"))
        ).status == 201
        text = hub.head(
            "POST", "/v1/jobs", *theirs, f"Content-Length: {len(content)}", token=False
        )
        heard = await hub.ask(text + content)
        assert (heard.status, json.loads(heard.body)["name"]) == (201, "theirs")


WORKLOAD = "/v1/workloads/team-a/none"


@pytest.mark.parametrize("kind", ["json", "strategic"])
async def test_row_81_patches_that_are_not_taken(tmp_path, kind):
    """Only merge patches are taken, so operations of JSON patch, one or 10,001, are 415."""
    async with listening(tmp_path) as hub:
        for operations in (
            [{"op": "test", "path": "/metadata/name", "value": "other"}],
            [{"op": "replace", "path": "/metadata/uid", "value": "x"}],
            [{"op": "remove", "path": "/a"}] * 10_001,
        ):
            about = f"Content-Type: {PATCHES[kind]}"
            heard = await send(hub, "PATCH", WORKLOAD, about, body=operations)
            assert (heard.status, heard.problem["code"]) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
async def test_rows_66_and_81_objects_are_changed_by_applying_them(tmp_path, method):
    """405 for a job or a queue, whatever the patch, with the methods and the way to change it."""
    async with listening(tmp_path) as hub:
        uid = await a_submitted(hub)
        for path in (f"/v1/jobs/{uid}", "/v1/objects/kueue.x-k8s.io/ClusterQueue/q"):
            body = [{"op": "replace", "path": "/metadata/uid", "value": "x"}]
            heard = await send(hub, method, path, f"Content-Type: {PATCHES['json']}", body=body)
            assert (heard.status, heard.problem["code"]) == (405, "MethodNotAllowed")
            assert heard.headers["allow"].upper() == "DELETE, GET"
            assert heard.problem["detail"].endswith(
                "to change an object, apply it: POST /v1/apply"
            )


@pytest.mark.parametrize(
    ("patch", "status", "code"),
    [
        ([], 422, "ExpectedObject"),
        ({"metadata": {"uid": "x"}}, 404, "NotFound"),
        ({"a": {f"k{i}": i for i in range(100_001)}}, 413, "BodyTooLarge"),
        ({"a": [1] * 100_001}, 413, "TooManyValues"),
    ],
)
async def test_row_81_merge_patches(tmp_path, patch, status, code):
    """A patch is an object of bounded size; whose it is, is looked at before what it changes."""
    async with listening(tmp_path) as hub:
        about = f"Content-Type: {PATCHES['merge']}"
        heard = await send(hub, "PATCH", WORKLOAD, about, body=patch)
        assert (heard.status, heard.problem["code"]) == (status, code)


async def test_row_82_cancelling_again(tmp_path):
    """Twice, or after its end: 200, and the same state."""
    async with listening(tmp_path) as hub:
        uid = await a_submitted(hub)
        answers = [await send(hub, "POST", f"/v1/jobs/{uid}/cancel") for _ in range(3)]
        assert {heard.status for heard in answers} == {200}
        assert {json.loads(heard.body)["state"] for heard in answers} == {"Cancelled"}


async def test_a_dry_run_in_kubernetes_form_deletes_nothing(tmp_path):
    """Of a job it is a boolean; a list is refused, on every route."""
    async with listening(tmp_path) as hub:
        uid = await a_submitted(hub)
        for path, code in (
            (f"/v1/jobs/{uid}", "InvalidType"),
            ("/v1/objects/core/Namespace/team-a", "UnknownField"),
        ):
            heard = await send(hub, "DELETE", path, body={"dryRun": ["All"]})
            assert (heard.status, heard.problem["code"]) == (422, code), path
            assert heard.problem["errors"][0]["field"] == "dryRun"
        assert json.loads((await send(hub, "GET", f"/v1/jobs/{uid}")).body)["state"] == "Pending"


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({"preconditions": {"uid": "x"}}, 409, "PreconditionFailed", "preconditions.uid"),
        (
            {"preconditions": {"resourceVersion": "1"}},
            422,
            "UnknownField",
            "preconditions.resourceVersion",
        ),
        ({"preconditions": {"uid": 5}}, 422, "InvalidType", "preconditions.uid"),
        ({"preconditions": {"uid": ""}}, 422, "InvalidType", "preconditions.uid"),
        ({"preconditions": ["uid"]}, 422, "InvalidType", "preconditions"),
        ({"propagationPolicy": "Orphan"}, 422, "UnknownField", "propagationPolicy"),
        ({"gracePeriodSeconds": 0}, 422, "UnknownField", "gracePeriodSeconds"),
    ],
)
async def test_row_83_preconditions(tmp_path, body, status, code, field):
    """Another's uid: 409. A condition that is not known is refused; nothing is deleted on any route."""
    async with listening(tmp_path) as hub:
        uid = await a_submitted(hub)
        assert (await send(hub, "POST", "/v1/clusters", body={"name": "c1"})).status == 201
        for path in (
            f"/v1/jobs/{uid}",
            "/v1/namespaces/team-a/jobs/ok",
            "/v1/clusters/c1",
            "/v1/objects/core/Namespace/team-a",
            "/v1/objects/kueue.x-k8s.io/LocalQueue/namespaces/team-a/default",
        ):
            heard = await send(hub, "DELETE", path, body=body)
            assert (heard.status, heard.problem["code"]) == (status, code), path
            assert heard.problem["errors"][0]["field"] == field
        assert (await send(hub, "GET", "/v1/clusters/c1")).status == 200
        assert json.loads((await send(hub, "GET", f"/v1/jobs/{uid}")).body)["state"] == "Pending"
        right = {"preconditions": {"uid": uid}}
        assert (await send(hub, "DELETE", f"/v1/jobs/{uid}", body=right)).status == 200


async def test_row_84_a_cursor_that_is_too_old(tmp_path):
    """410 with the hint to list again."""
    async with listening(tmp_path) as hub:
        for path in ("/v1/changes", "/v1/workloads:watch"):
            heard = await send(hub, "GET", f"{path}?revision=999999")
            assert (heard.status, heard.problem["code"]) == (410, "Expired")
            assert "list again" in heard.problem["detail"]


async def test_row_85_streams(tmp_path):
    """One stream more than a principal may hold: 429; once one ends there is room again."""
    async with listening(tmp_path, Settings(api=Api(streams_per_principal=2))) as hub:
        for _ in range(2):
            line = await hub.line()
            await line.say(hub.head("GET", "/v1/changes"))
            assert (await line.hear()).status == 200
        heard = await send(hub, "GET", "/v1/changes")
        assert (heard.status, heard.problem["code"]) == (429, "TooManyStreams")
        assert heard.headers["retry-after"] == "1"


@pytest.mark.parametrize("path", ["/v1/changes", "/v1/workloads:watch"])
async def test_a_stream_ends_with_its_credential(tmp_path, path):
    """Whoever's token was replaced is told of nothing that happens from then on."""
    async with listening(tmp_path) as hub:
        token = await hub.db.write(lambda tx: credentials.issue_bearer(tx, "viewer", "ana"))
        line = await hub.line()
        headers = (f"Authorization: Bearer {token}", "Connection: close")
        await line.say(hub.head("GET", path, *headers, token=False))
        assert (await line.hear()).status == 200
        await hub.db.write(lambda tx: credentials.replace_bearer(tx, "viewer", "ana"))
        uid = await a_submitted(hub)
        assert uid.encode() not in await line.hear_out()


async def test_row_90_a_store_that_does_not_answer(tmp_path):
    """503 with Retry-After, nothing acknowledged; alive, but not ready."""
    async with listening(tmp_path) as hub:
        await a_submitted(hub)  # the credential is known
        await hub.db.close()
        heard = await send(hub, "POST", "/v1/jobs", body=a_job("b"))
        assert (heard.status, heard.problem["code"]) == (503, "Unavailable")
        assert heard.headers["retry-after"] == "1"
        assert (await send(hub, "GET", "/readyz")).status == 503
        assert (await send(hub, "GET", "/livez")).status == 200


@pytest.mark.parametrize("text", ["abc", "-1", "0", "1.5", "", "9" * 30, "1 ", "٣"])
async def test_a_retry_that_is_no_number_is_refused(tmp_path, text):
    """The annotation says how many epochs a job may have; what is no such number is refused at once."""
    async with listening(tmp_path) as hub:
        job = a_job()
        job["metadata"]["annotations"] = {"roadstead.dev/retry": text}
        heard = await send(hub, "POST", "/v1/jobs", body=job)
        assert (heard.status, heard.problem["code"]) == (422, "InvalidAnnotation")


@pytest.mark.parametrize(
    ("selector", "code"), [("a in (", "InvalidSelector"), ("a," * 200, "TooManyTerms")]
)
async def test_a_selector_that_can_not_be_read_is_refused(tmp_path, selector, code):
    """A Job's own selector of clusters is read when it is submitted, not when it waits."""
    async with listening(tmp_path) as hub:
        job = a_job()
        job["metadata"]["annotations"] = {"roadstead.dev/cluster-selector": selector}
        for path in ("/v1/jobs", "/v1/apply"):
            heard = await send(hub, "POST", path, body=job)
            assert (heard.status, heard.problem["code"]) == (422, code)
            assert "cluster-selector" in heard.problem["errors"][0]["field"]

"""Bad requests to the real server: who asks, for what, and how much.

Those that would change something are in `test_rest_writes`; slow headers and bodies, large headers and
addresses, smuggling, Host and X-Forwarded-* in `test_connections`.
"""

import datetime as dt
import hashlib
import json

import pytest

from hub.services.access import credentials
from hub.store import tokens as stored
from tests.api.listening import Heard, Listening, a_submitted, listening, send
from tests.api.serving import START, a_job

pytestmark = pytest.mark.anyio


def without_id(heard: Heard):
    return {name: value for name, value in heard.problem.items() if name != "requestId"}


async def _expired(hub: Listening) -> str:
    principal = await hub.db.write(
        lambda unit: (
            credentials.redeem_join(
                unit, credentials.issue_join(unit, "c9", dt.timedelta(hours=1))[0]
            ).id
        )
    )

    def add(unit):
        stored.add(
            unit,
            id="old",
            principal=principal,
            purpose="bearer",
            secret_hash=hashlib.sha256(b"secret").hexdigest(),
            expires_at=START - dt.timedelta(hours=1),
        )

    await hub.db.write(add)
    return "old.secret"


async def test_row_68_no_valid_credential(tmp_path):
    """None, malformed, of another scheme, without algorithm, expired, an agent's: 401, all alike."""
    async with listening(tmp_path) as hub:
        agent = await hub.db.write(
            lambda unit: credentials.issue_bearer(unit, "agent", "c1", "c1")
        )
        revoked = await hub.db.write(lambda unit: credentials.issue_bearer(unit, "viewer", "v"))
        await hub.db.write(lambda unit: credentials.replace_bearer(unit, "viewer", "v"))
        given = (
            (),
            ("Authorization: Bearer not-a-token",),
            ("Authorization: Basic dXNlcjpwYXNz",),
            ("Authorization: Bearer eyJhbGciOiJub25lIn0.e30.",),
            (f"Authorization: Bearer {await _expired(hub)}",),
            (f"Authorization: Bearer {agent}",),
            (f"Authorization: Bearer {revoked}",),
            ("Authorization: Bearer \xff.\xfe",),
        )
        answers = [
            await hub.ask(hub.head("GET", "/v1/jobs", *each, token=False)) for each in given
        ]
        assert {heard.status for heard in answers} == {401}
        assert all("www-authenticate" in heard.headers for heard in answers)
        first, *others = map(without_id, answers)
        assert all(other == first for other in others)


async def test_row_69_no_right(tmp_path):
    """A viewer may not submit: 403."""
    async with listening(tmp_path) as hub:
        viewer = await hub.db.write(lambda unit: credentials.issue_bearer(unit, "viewer", "v"))
        text = hub.head("POST", "/v1/jobs", f"Authorization: Bearer {viewer}", token=False)
        heard = await hub.ask(text)
        assert (heard.status, heard.problem["code"]) == (403, "Forbidden")


async def test_row_70_what_is_absent_is_answered_alike(tmp_path):
    """There are no tenants: who may look sees every job. What is not there is 404, whatever its id."""
    async with listening(tmp_path) as hub:
        uid = await a_submitted(hub)
        absent = uid[:-4] + "0000"
        for path in ("", "/events", "/explain", "/checks"):
            heard = await send(hub, "GET", f"/v1/jobs/{absent}{path}")
            assert (heard.status, heard.problem["code"]) == (404, "NotFound"), path


@pytest.mark.parametrize("uid", ["not-a-uuid", "x" * 10_240, "%00", "..%2f", "%ff%fe", "%"])
async def test_row_71_strange_ids(tmp_path, uid):
    """404 or 422 for every route of one thing, never an error of the hub."""
    async with listening(tmp_path) as hub:
        for method, path in (
            ("GET", "/v1/jobs/{}"),
            ("DELETE", "/v1/jobs/{}"),
            ("POST", "/v1/jobs/{}/cancel"),
            ("GET", "/v1/namespaces/a/jobs/{}"),
            ("GET", "/v1/queues/{}"),
            ("GET", "/v1/clusters/{}"),
            ("DELETE", "/v1/clusters/{}"),
            ("GET", "/v1/objects/core/ConfigMap/{}"),
            ("GET", "/v1/workloads/a/{}"),
            ("GET", "/v1/placements/{}"),
        ):
            heard = await send(hub, method, path.format(uid))
            assert heard.status in {404, 405, 422}, (method, path)
            assert heard.status != 405 or "%2f" in uid, (method, path)


@pytest.mark.parametrize("method", ["TRACE", "PUT", "PATCH", "OPTIONS"])
async def test_row_72_methods_that_are_not_served(tmp_path, method):
    """405 with those that are."""
    async with listening(tmp_path) as hub:
        heard = await send(hub, method, "/v1/jobs")
        assert (heard.status, heard.headers["allow"]) == (405, "get, post")


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "", "multipart/form-data; boundary=x", "application/json; charset=utf-16"],
)
async def test_row_73_types_that_are_not_read(tmp_path, content_type):
    """415 for another type, for none, and for another character set than is read."""
    async with listening(tmp_path) as hub:
        for path in ("/v1/jobs", "/v1/jobs:batch", "/v1/apply", "/v1/workloads", "/v1/clusters"):
            heard = await send(hub, "POST", path, f"Content-Type: {content_type}", body=a_job())
            assert (heard.status, heard.problem["code"]) == (415, "UnsupportedMediaType"), path


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("media_type", ["application/json", "application/yaml"])
async def test_row_73_encodings_that_are_not_read(tmp_path, encoding, media_type):
    """400 InvalidEncoding for a body that is not UTF-8, with or without a byte order mark."""
    async with listening(tmp_path) as hub:
        content = json.dumps(a_job()).encode(encoding)
        about = (f"Content-Type: {media_type}", f"Content-Length: {len(content)}")
        heard = await hub.ask(hub.head("POST", "/v1/jobs", *about) + content)
        assert (heard.status, heard.problem["code"]) == (400, "InvalidEncoding")


async def test_row_74_a_type_that_is_not_served(tmp_path):
    """406."""
    async with listening(tmp_path) as hub:
        heard = await send(hub, "GET", "/v1/jobs", "Accept: image/png")
        assert (heard.status, heard.problem["code"]) == (406, "NotAcceptable")


@pytest.mark.parametrize("limit", ["0", "-1", "1000000000", "abc", "", "1e2", "%31%30%30%30"])
async def test_row_75_limits(tmp_path, limit):
    """A page has 1 to 500 entries, whatever is listed."""
    async with listening(tmp_path) as hub:
        for path in (
            "/v1/jobs",
            "/v1/workloads",
            "/v1/events",
            "/v1/audit",
            "/v1/drift",
            "/v1/checks",
            "/v1/objects/core/Namespace",
        ):
            heard = await send(hub, "GET", f"{path}?limit={limit}")
            assert (heard.status, heard.problem["code"]) == (422, "InvalidLimit"), path


async def test_row_76_continue_tokens(tmp_path):
    """Forged, or another's: 400; too old: 410."""
    async with listening(tmp_path) as hub:
        for name in ("a", "b"):
            await a_submitted(hub, name)
        page = json.loads((await send(hub, "GET", "/v1/jobs?limit=1")).body)
        again = f"/v1/jobs?limit=1&continue={page['continue']}"
        for forged in ("forged", "x" * 8000, "%00", page["continue"][:-2] + "xx"):
            heard = await send(hub, "GET", f"/v1/jobs?continue={forged}")
            assert (heard.status, heard.problem["code"]) == (400, "BadContinue"), forged
        other = await hub.db.write(lambda unit: credentials.issue_bearer(unit, "viewer", "v"))
        heard = await hub.ask(
            hub.head("GET", again, f"Authorization: Bearer {other}", token=False)
        )
        assert (heard.status, heard.problem["code"]) == (400, "BadContinue")
        assert (await send(hub, "GET", again)).status == 200
        hub.clock.advance(16 * 60)
        heard = await send(hub, "GET", again)
        assert (heard.status, heard.problem["code"]) == (410, "Expired")


@pytest.mark.parametrize(
    "query", ["sort=no_such", "sort=token_hash", "sort=%27%3B%20drop%20table"]
)
async def test_row_77_sorting_by_what_is_not_there(tmp_path, query):
    """422: no list is sorted by what a caller names."""
    async with listening(tmp_path) as hub:
        for path in ("/v1/jobs", "/v1/tokens", "/v1/clusters", "/v1/overview"):
            heard = await send(hub, "GET", f"{path}?{query}")
            assert (heard.status, heard.problem["code"]) == (422, "UnknownParameter"), path


async def test_row_77_no_route_ignores_a_parameter(tmp_path):
    """`?dryRun=All` and its like are refused by every route that changes something."""
    async with listening(tmp_path) as hub:
        uid = await a_submitted(hub)
        for method, path in (
            ("DELETE", f"/v1/jobs/{uid}"),
            ("POST", f"/v1/jobs/{uid}/cancel"),
            ("POST", f"/v1/jobs/{uid}/hold"),
            ("DELETE", "/v1/namespaces/team-a/jobs/ok"),
            ("DELETE", "/v1/objects/core/ConfigMap/namespaces/a/b"),
            ("DELETE", "/v1/clusters/c1"),
            ("POST", "/v1/clusters"),
            ("DELETE", "/v1/tokens/viewer/v"),
        ):
            heard = await send(hub, method, f"{path}?dryRun=All")
            # Deletions of objects, and acts on jobs, know `dryRun=true`, and no other value.
            known = path.startswith(("/v1/objects", "/v1/clusters/")) or path.endswith(
                ("/cancel", "/hold")
            )
            code = "InvalidValue" if known else "UnknownParameter"
            assert (heard.status, heard.problem["code"]) == (422, code), path
        heard = await send(hub, "GET", f"/v1/jobs/{uid}")
        assert json.loads(heard.body)["state"] == "Pending"

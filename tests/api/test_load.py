"""What many, large or slow requests cost the others: what is bounded, and what is done beside the loop."""

import asyncio
import json
import threading

import pytest

from hub.services.access import credentials
from hub.services.context.settings import Api, Settings
from tests.api.listening import listening, until
from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio
JSON, YAML, NDJSON = "application/json", "application/yaml", "application/x-ndjson"


def a_map(name, **more):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "x"},
        **more,
    }


@pytest.mark.parametrize("path", ["/v1/apply", "/v1/jobs:batch"])
@pytest.mark.parametrize(
    ("body", "content_type", "code"),
    [
        (b"[" + b"1," * 1_000_000 + b"{}]", JSON, "TooManyValues"),
        (b"[" + b"{}," * 20_000 + b"{}]", JSON, "TooManyDocuments"),
        (b'[{"a":"' + b"x" * (3 << 20) + b'"}]', JSON, "BodyTooLarge"),
        (b"{}\n" * 20_001, NDJSON, "TooManyDocuments"),
        (b"-\n" * 300_001, YAML, "TooManyValues"),
        (b"---\na: 1\n" * 20_001, YAML, "TooManyDocuments"),
    ],
)
async def test_a_body_is_bounded_before_it_is_built(tmp_path, path, body, content_type, code):
    """413 for more documents, larger ones, or more values than one request may hold."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post(path, content=body, headers={"Content-Type": content_type})
        assert (reply.status_code, reply.json()["code"]) == (413, code)


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/workloads"])
@pytest.mark.parametrize(
    ("body", "content_type"), [(b"[" + b"1," * 100_000 + b"{}]", JSON), (b"- 1\n" * 100_001, YAML)]
)
async def test_one_document_is_bounded(tmp_path, path, body, content_type):
    """413 for a manifest of more values than one may have."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post(path, content=body, headers={"Content-Type": content_type})
        assert (reply.status_code, reply.json()["code"]) == (413, "TooManyValues")


async def test_the_bounds_are_settings(tmp_path):
    """An administrator may allow less."""
    limits = Settings(api=Api(bulk_documents=2, document_values=30, bulk_document_values=30))
    async with served(tmp_path, limits) as hub:
        maps = [a_map(f"m{i}") for i in range(3)]
        assert (await hub.admin.post("/v1/apply", json=maps)).json()["code"] == "TooManyDocuments"
        assert (await hub.admin.post("/v1/apply", json=maps[:2])).status_code == 200
        wide = a_map("wide", data={f"k{i}": "v" for i in range(40)})
        assert (await hub.admin.post("/v1/jobs", json=wide)).json()["code"] == "TooManyValues"
        yaml = {"Content-Type": YAML}
        reply = await hub.admin.post("/v1/apply", content=json.dumps(wide), headers=yaml)
        assert reply.json()["code"] == "TooManyValues"


@pytest.mark.parametrize(
    ("path", "body", "content_type"),
    [
        ("/v1/jobs", json.dumps({**a_job(), "x": "y" * 20_000}), JSON),
        ("/v1/jobs", "- a\n" * 1500, YAML),
        ("/v1/workloads", json.dumps({"x": "y" * 20_000}), JSON),
        (
            "/v1/apply",
            json.dumps([a_map(f"m{i}", data={"a": "b" * 200}) for i in range(80)]),
            JSON,
        ),
        ("/v1/jobs:batch", "\n".join([json.dumps(a_job(f"j{i}")) for i in range(80)]), NDJSON),
        ("/v1/clusters", json.dumps({"name": "x" * 20_000}), JSON),
    ],
)
async def test_large_bodies_are_read_beside_the_loop(tmp_path, path, body, content_type):
    """While the readers are busy a large body waits for them, and everything small is answered."""
    free = threading.Event()
    async with served(tmp_path) as hub:
        busy = [asyncio.ensure_future(hub.hub.beside(free.wait, 20)) for _ in range(2)]
        headers = {"Content-Type": content_type}
        large = asyncio.ensure_future(hub.admin.post(path, content=body, headers=headers))
        for _ in range(20):
            assert (await hub.nobody.get("/healthz")).status_code == 200
        assert (await hub.admin.post("/v1/jobs", json=a_job("small"))).status_code == 201
        assert not large.done()
        free.set()
        assert (await large).status_code < 500
        assert all(await asyncio.gather(*busy))


async def test_a_large_report_is_read_beside_the_loop(tmp_path):
    """What an agent reports may be long too; meanwhile health is answered."""
    free = threading.Event()
    content = b'{"observed":"' + b"x" * 300_000 + b'"}'
    async with listening(tmp_path) as hub:
        agent = await hub.db.write(
            lambda unit: credentials.issue_bearer(unit, "agent", "c1", "c1")
        )
        busy = [asyncio.ensure_future(hub.hub.beside(free.wait, 20)) for _ in range(2)]
        about = (f"Authorization: Bearer {agent}", f"Content-Length: {len(content)}")
        line = await hub.line()
        await line.say(hub.head("POST", "/agent/v1/sync", *about, token=False) + content)
        report = asyncio.ensure_future(line.hear())
        assert (await hub.ask(hub.head("GET", "/healthz"))).status == 200
        assert not report.done()
        free.set()
        assert (await report).status == 422
        assert all(await asyncio.gather(*busy))


async def test_a_long_apply_is_written_in_parts(tmp_path):
    """450 objects are three transactions, so that others who write have their turn in between."""
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/apply", json=a_map("first"))
        before = hub.db.revision
        reply = await hub.admin.post("/v1/apply", json=[a_map(f"m{i}") for i in range(450)])
        assert [item["index"] for item in reply.json()["items"]] == list(range(450))
        assert {item["result"] for item in reply.json()["items"]} == {"created"}
        assert hub.db.revision - before == 3


async def test_parts_of_an_apply_are_told_as_one(tmp_path):
    """What is refused in any part is told at its place; if all is, the answer is a problem."""
    async with served(tmp_path) as hub:
        maps = [a_map(f"m{i}") for i in range(300)]
        maps[250]["metadata"]["name"] = "UP"
        reply = await hub.admin.post("/v1/apply", json=maps)
        assert reply.status_code == 207
        wrong = [i["index"] for i in reply.json()["items"] if i["result"] == "rejected"]
        assert wrong == [250]
        reply = await hub.admin.post("/v1/apply", json=[{"kind": "Job"}] * 300)
        problem = reply.json()
        assert (reply.status_code, problem["code"]) == (422, "Required")
        assert reply.headers["content-type"] == "application/problem+json"
        assert len(problem["items"]) == 300
        assert problem["errors"][299]["field"].startswith("[299].")


async def test_what_an_answer_says_of_faults_is_bounded(tmp_path):
    """Beyond a thousand faults only code and detail of each document are told."""
    async with served(tmp_path) as hub:
        bad = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}
        bad["spec"] = {f"f{i}": 1 for i in range(60)}
        reply = (await hub.admin.post("/v1/apply", json=[bad] * 100)).json()
        assert len(reply["errors"]) == 1000
        assert sum(len(item["errors"]) for item in reply["items"]) <= 1050
        assert all(item["detail"] for item in reply["items"])


async def test_a_page_of_large_objects_is_short(tmp_path):
    """A page holds as many objects as fit in, however many were asked for; the next goes on there."""
    async with served(tmp_path) as hub:
        for part in range(3):
            maps = [a_map(f"m{part}{i}", data={"a": "x" * 900_000}) for i in range(3)]
            assert (await hub.admin.post("/v1/apply", json=maps)).status_code == 200
        names, token, pages = [], "", 0
        while token or not pages:
            page = await hub.admin.get(
                "/v1/objects/core/ConfigMap", params={"limit": 500, "continue": token}
            )
            assert len(page.content) < 6 << 20
            names += [item["metadata"]["name"] for item in page.json()["items"]]
            token, pages = page.json()["continue"], pages + 1
        assert names == sorted(f"m{part}{i}" for part in range(3) for i in range(3))
        assert pages > 1


async def test_writes_that_wait_are_bounded(tmp_path):
    """A write more than may wait for the store is asked to come again; reading goes on."""
    free, held = threading.Event(), threading.Event()

    def hold(unit):
        held.set()
        return free.wait(20)

    async with served(tmp_path, Settings(api=Api(queued_writes=2))) as hub:
        await hub.admin.get("/v1/jobs")  # the credential is known
        waiting = [asyncio.ensure_future(hub.hub.write(hold)) for _ in range(2)]
        await until(held.is_set)
        reply = await hub.admin.post("/v1/jobs", json=a_job())
        assert (reply.status_code, reply.json()["code"]) == (429, "TooManyRequests")
        assert reply.headers["retry-after"] == "1"
        assert (await hub.admin.get("/v1/jobs")).status_code == 200
        free.set()
        await asyncio.gather(*waiting)
        assert (await hub.admin.post("/v1/jobs", json=a_job())).status_code == 201


async def test_bodies_that_are_held_are_bounded(tmp_path):
    """While other bodies fill what may be held, one more is asked to come again; afterwards it is taken."""
    text = json.dumps(a_job()).encode()
    async with listening(tmp_path, Settings(api=Api(held_bytes=60_000))) as hub:
        line = await hub.line()
        headers = ("Content-Type: application/json", "Content-Length: 59901")
        await line.say(hub.head("POST", "/v1/apply", *headers) + b" " * 59_900)
        await until(lambda: hub.door.connections)
        (first,) = hub.door.connections
        await until(lambda: first._body_bytes == 59_900 and not first.cycle.body)
        again = ("Content-Type: application/json", f"Content-Length: {len(text)}")
        heard = await hub.ask(hub.head("POST", "/v1/jobs", *again) + text)
        assert (heard.status, heard.problem["code"]) == (429, "TooManyRequests")
        await line.say(b" ")
        assert (await line.hear()).problem["code"] == "EmptyBody"
        heard = await hub.ask(hub.head("POST", "/v1/jobs", *again) + text)
        assert heard.status == 201

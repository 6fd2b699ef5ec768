"""Clients that leave before they are answered: the hub goes on, and its log is none the worse."""

import json
import logging

import pytest
from structlog.testing import capture_logs

from tests.api.listening import Listening, listening, until
from tests.api.serving import a_job

pytestmark = pytest.mark.anyio
LINES = b"\n".join(json.dumps(a_job(f"j{i}")).encode() for i in range(200))
ONE = json.dumps(a_job()).encode()
SENT = {
    "/v1/jobs:batch": ("application/x-ndjson", LINES),
    "/v1/apply": ("application/json", ONE),
    "/v1/jobs": ("application/json", ONE),
    "/v1/clusters": ("application/json", b'{"name": "c1"}'),
}


async def leave(hub: Listening, head: bytes, said: bytes, phase: str = "BODY") -> None:
    """Say so much on a new connection and cut it, once the hub has come so far."""
    line = await hub.line()
    await line.say(head + said)
    await until(lambda: any(each._phase.name == phase for each in hub.door.connections))
    line.cut()
    await until(lambda: not hub.door.connections and not hub.served)


@pytest.mark.parametrize("part", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("path", SENT)
async def test_whoever_leaves_in_the_middle_leaves_no_trace(tmp_path, caplog, path, part):
    """Nothing is submitted, and not a line is logged."""
    caplog.set_level(logging.INFO)
    async with listening(tmp_path) as hub:
        kind, body = SENT[path]
        head = hub.head("POST", path, f"Content-Type: {kind}", f"Content-Length: {len(body)}")
        with capture_logs() as told:
            await leave(hub, head, body[: int(part * len(body))])
            assert (await hub.ask(hub.head("GET", "/healthz"))).status == 200
        assert [each for each in told if each["log_level"] != "info"] == []
        assert caplog.records == []
        for listed in ("/v1/jobs", "/v1/clusters"):
            assert json.loads((await hub.ask(hub.head("GET", listed))).body)["items"] == []


async def test_a_batch_whose_client_leaves_before_the_answer_is_taken_whole_or_not_at_all(
    tmp_path, caplog
):
    """Whether the hub began before the client left is a race; nothing is said of the answer either way."""
    caplog.set_level(logging.INFO)
    async with listening(tmp_path) as hub:
        kind, body = SENT["/v1/jobs:batch"]
        about = (f"Content-Type: {kind}", f"Content-Length: {len(body)}")
        with capture_logs() as told:
            await leave(hub, hub.head("POST", "/v1/jobs:batch", *about), body, "SERVED")
            heard = await hub.ask(hub.head("GET", "/v1/jobs?limit=500"))
        assert [each for each in told if each["log_level"] != "info"] == []
        assert caplog.records == []
        assert len(json.loads(heard.body)["items"]) in {0, 200}

"""Every list is read in turn, and what may be large is encoded beside the event loop."""

import threading
from typing import Any

import orjson
import pytest
from fastapi.routing import APIRoute

from hub.api.policy import PUBLIC, policy_of
from hub.services.access.turns import FairTurns
from hub.services.context import hub as context_hub
from tests.api.listening import listening, until
from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio
# Settings, counts, and streams with bounds elsewhere: none grows with the fleet's jobs and objects.
SMALL = {
    "/v1/retention",
    "/v1/sign-in",
    "/v1/availability-rules",
    "/v1/jobs/{uid}/pods",
    "/v1/kinds",
}


def lists(app: Any) -> list[str]:
    """Paths of GET routes that answer with items, with names filled in."""
    found = []
    for route in app.routes:
        fields = getattr(getattr(route, "response_model", None), "model_fields", {})
        if not isinstance(route, APIRoute) or "GET" not in (route.methods or ()):
            continue
        is_public = PUBLIC in (policy_of(route.endpoint) or ())
        if "items" in fields and not is_public and route.path not in SMALL:
            found.append(route.path)
    return found


async def test_every_list_waits_for_its_turn(tmp_path):
    """With no turns and no room to wait, each list is refused: TooManyRequests."""
    async with served(tmp_path) as it:
        it.hub.lists = FairTurns(0, 0, waiting=0)
        paths = lists(it.app)
        assert {"/v1/jobs", "/v1/workloads", "/v1/events", "/v1/works"} <= set(paths)
        passed = []
        for path in paths:
            filled = path.replace("{group}", "core").replace("{kind}", "ConfigMap")
            filled = (
                filled.replace("{uid}", "u").replace("{name}", "n").replace("{namespace}", "x")
            )
            asked = filled + ("?placement=p" if path == "/v1/revisions" else "")
            answer = await it.admin.get(asked)
            if (answer.status_code, answer.json().get("code")) != (429, "TooManyRequests"):
                passed.append((path, answer.status_code))
        assert passed == []


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/workloads", "/v1/jobs/{uid}"])
async def test_what_may_be_large_is_encoded_beside_the_loop(tmp_path, monkeypatch, path):
    """By a thread that reads the store."""
    threads: list[threading.Thread] = []

    class Noted:
        """orjson, and which thread encoded."""

        @staticmethod
        def dumps(value: object) -> bytes:
            """As orjson does."""
            threads.append(threading.current_thread())
            return orjson.dumps(value)

    async with served(tmp_path) as it:
        uid = (await it.admin.post("/v1/jobs", json=a_job())).json()["uid"]
        monkeypatch.setattr(context_hub, "orjson", Noted)
        assert (await it.admin.get(path.replace("{uid}", uid))).status_code == 200
    assert [each is threading.main_thread() for each in threads] == [False]


@pytest.mark.parametrize("path", ["/v1/jobs?limit=500", "/v1/workloads?limit=500"])
async def test_a_list_whose_client_hung_up_is_not_worked_out(tmp_path, path):
    """While others read, its client closes the connection: its place in the line is free at once."""
    many = 30
    async with listening(tmp_path) as hub:
        lists = hub.hub.lists = FairTurns(1, 1, waiting=many)
        async with lists.turn("somebody"):
            lines = [await hub.line() for _ in range(many)]
            for line in lines:
                await line.say(hub.head("GET", path))
            await until(lambda: lists.waiting == many)
            refused = await hub.ask(hub.head("GET", path))
            assert (refused.status, refused.problem["code"]) == (429, "TooManyRequests")
            assert int(refused.headers["retry-after"]) > 0
            for line in lines:
                line.cut()
            await until(lambda: not hub.served)
            next_one = await hub.line()
            await next_one.say(hub.head("GET", path))
            await until(lambda: lists.waiting == 1)
        assert (await next_one.hear()).status == 200


async def test_a_large_body_whose_client_hung_up_is_not_parsed(tmp_path):
    """Bodies are parsed in turn, too: nothing is submitted for a client that left while it waited."""
    body = orjson.dumps(a_job() | {"padding": "x" * (32 << 10)})
    head = ("Content-Type: application/json", f"Content-Length: {len(body)}")
    async with listening(tmp_path) as hub:
        bodies = hub.hub.bodies = FairTurns(1, 1, waiting=1)
        async with bodies.turn("somebody"):
            line = await hub.line()
            await line.say(hub.head("POST", "/v1/jobs", *head) + body)
            await until(lambda: bodies.waiting == 1)
            line.cut()
            await until(lambda: not hub.served)
            assert bodies.waiting == 0

"""A request that is answered before its body is here in full: the hub reads little more of it, and closes."""

import functools
import json
from typing import Any

import pytest

from hub.api.connections import _DRAINED_BYTES
from tests.api.listening import Line, Listening, listening, until
from tests.api.serving import a_job

pytestmark = pytest.mark.anyio
CHUNKED = ("Transfer-Encoding: chunked", "Content-Type: application/json")
LONG = {True: "Content-Length: 16000000", False: "Content-Length: 1000000"}
PIECE = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
EARLY = {  # request, and the status of the answer that comes before the body ends
    "no credential": ("POST", "/v1/jobs", False, 401),
    "an unknown path": ("POST", "/v1/nothing", True, 404),
    "a method that is not served": ("PUT", "/v1/jobs", True, 405),
    "a body that is too large": ("POST", "/v1/jobs", True, 413),
    "an unknown parameter": ("POST", "/v1/tokens?colour=red", True, 422),
}


def the_connection(hub: Listening):
    """The one open connection."""
    (found,) = hub.door.connections
    return found


async def pour(hub: Listening, line: Line, most: int) -> int:
    """Send pieces of a body while the hub takes them, at most `most` bytes; how many were sent."""
    connection, sent = the_connection(hub), 0
    while sent < most and hub.door.connections and not connection.flow.read_paused:
        await line.say(PIECE)
        sent += len(PIECE)
        await until(functools.partial(_went_on, hub, connection, connection._drained))
    return sent


def _went_on(hub: Listening, connection: Any, drained: int) -> bool:
    """Whether the hub drained more than `drained` bytes, or takes no more."""
    stopped = connection.flow.read_paused or not hub.door.connections
    return bool(connection._drained > drained or stopped)


async def closes_within_a_second(hub: Listening, line: Line) -> None:
    """The hub looks at its connections a second after the answer, and closes this one."""
    hub.clock.advance(1.1)
    hub.door.look()
    await until(lambda: not hub.door.connections)
    await line.hear_out()


@pytest.mark.parametrize("case", EARLY)
async def test_an_endless_chunked_body_is_closed_after_the_answer(tmp_path, case):
    """The answer says `connection: close`; the hub drains one megabyte at most, then closes."""
    method, path, token, status = EARLY[case]
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(hub.head(method, path, *CHUNKED, token=token))
        if status == 413:
            for _ in range(17):
                await line.say(PIECE)
        else:
            await line.say(PIECE)
        heard = await line.hear()
        assert (heard.status, heard.headers["connection"]) == (status, "close")
        await pour(hub, line, 4 * _DRAINED_BYTES)
        assert the_connection(hub)._drained < 2 * _DRAINED_BYTES
        assert the_connection(hub).flow.read_paused
        await closes_within_a_second(hub, line)


@pytest.mark.parametrize("case", EARLY)
async def test_a_long_announced_body_is_closed_after_the_answer(tmp_path, case):
    """The same for a Content-Length of more than the rest that is worth reading."""
    method, path, token, status = EARLY[case]
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(hub.head(method, path, LONG[status == 413], token=token))
        heard = await line.hear()
        assert (heard.status, heard.headers["connection"]) == (status, "close")
        await closes_within_a_second(hub, line)


async def test_nothing_that_follows_on_the_connection_is_served(tmp_path):
    """A second request inside the rest of a refused body gets no answer."""
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(hub.head("POST", "/v1/jobs", *CHUNKED, token=False) + PIECE)
        assert (await line.hear()).status == 401
        await line.say(b"0\r\n\r\n" + hub.head("GET", "/healthz"))
        hub.clock.advance(1.1)
        await until(lambda: the_connection(hub)._drained)
        hub.door.look()
        assert await line.hear_out() == b""


async def test_a_short_announced_body_keeps_its_connection(tmp_path):
    """A client that is refused between header and body uses the same connection again."""
    content = json.dumps(a_job()).encode()
    about = (f"Content-Length: {len(content)}", "Content-Type: application/json")
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(hub.head("POST", "/v1/jobs", *about, token=False))
        heard = await line.hear()
        assert heard.status == 401
        assert "connection" not in heard.headers
        await line.say(content + hub.head("POST", "/v1/jobs", *about) + content)
        assert (await line.hear()).status == 201


async def test_a_short_body_that_never_comes_is_closed_in_time(tmp_path):
    """The rest of a short body has the time of any body."""
    about = ("Content-Length: 1000", "Content-Type: application/json")
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(hub.head("POST", "/v1/jobs", *about, token=False))
        assert (await line.hear()).status == 401
        hub.clock.advance(hub.door.limits.receive_s + 1)
        hub.door.look()
        assert await line.is_hung_up()


async def test_a_client_that_expects_100_is_told_that_the_connection_closes(tmp_path):
    """Refused instead of continued, it does not send its body: the connection could not go on."""
    about = ("Content-Length: 1000", "Expect: 100-continue")
    async with listening(tmp_path) as hub:
        heard = await hub.ask(hub.head("POST", "/v1/jobs", *about, token=False))
        assert (heard.status, heard.headers["connection"]) == (401, "close")


async def test_a_chunked_body_that_is_served_keeps_its_connection(tmp_path):
    """Two chunked submissions on one connection."""
    async with listening(tmp_path) as hub:
        line = await hub.line()
        for name in ("a", "b"):
            content = json.dumps(a_job(name)).encode()
            chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content)
            await line.say(hub.head("POST", "/v1/jobs", *CHUNKED) + chunked)
            heard = await line.hear()
            assert heard.status == 201
            assert "connection" not in heard.headers

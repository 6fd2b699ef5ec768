"""Connections are bounded before anyone looks at a request: in number, in size, and in time."""

import asyncio
import json
import threading

import pytest

from hub.services.context.settings import Api, Settings
from tests.api.listening import Listening, listening, until
from tests.api.serving import a_job

pytestmark = pytest.mark.anyio
JOB = json.dumps(a_job()).encode()
AS_JSON = "Content-Type: application/json"


def reading(hub: Listening):
    """How many requests have begun and are not here as a whole."""
    return [each for each in hub.door.connections if each._phase.name in {"HEAD", "BODY"}]


@pytest.mark.parametrize("header", ["X: " + "x" * (64 << 10), "\r\n".join(["X: x"] * 8000)])
async def test_a_header_is_bounded(tmp_path, header):
    """One long line, or many short ones: 431, and the connection ends."""
    async with listening(tmp_path) as hub:
        heard = await hub.ask(hub.head("GET", "/healthz", header))
        assert (heard.status, heard.problem["code"]) == (431, "HeaderTooLarge")
        assert heard.headers["connection"] == "close"
        assert heard.problem["requestId"] == heard.headers["x-request-id"]


async def test_a_header_that_never_ends_is_cut_off(tmp_path):
    """A header is refused once it is too large, not when it is whole."""
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(b"GET /healthz HTTP/1.1\r\nX: ")
        await line.say(b"x" * (64 << 10))
        assert (await line.hear()).problem["code"] == "HeaderTooLarge"
        assert await line.is_hung_up()


@pytest.mark.parametrize("whole", [True, False])
async def test_an_address_is_bounded(tmp_path, whole):
    """414 for path and query of 32 KiB, whether or not the line ever ends."""
    async with listening(tmp_path) as hub:
        text = hub.head("GET", "/v1/jobs?name=" + "x" * (32 << 10))
        heard = await hub.ask(text if whole else text[: 24 << 10])
        if not whole:
            assert heard.status in {414, 431}
            return
        assert (heard.status, heard.problem["code"]) == (414, "UrlTooLong")


async def test_parameters_are_bounded(tmp_path):
    """400 for one parameter more than a query may have; as many as it may have are looked at."""
    async with listening(tmp_path, Settings(api=Api(query_parameters=3))) as hub:
        heard = await hub.ask(hub.head("GET", "/v1/jobs?limit=1&name=a&queue=b"))
        assert heard.status == 200
        heard = await hub.ask(hub.head("GET", "/v1/jobs?limit=1&name=a&queue=b&state=Held"))
        assert (heard.status, heard.problem["code"]) == (400, "TooManyParameters")


async def test_within_the_bounds_a_request_is_served(tmp_path):
    """A header of 16 KiB, a path of 10 KiB and fifty parameters are looked at."""
    async with listening(tmp_path) as hub:
        large = "X: " + "x" * (16 << 10)
        assert (await hub.ask(hub.head("GET", "/healthz", large))).status == 200
        assert (await hub.ask(hub.head("GET", "/v1/jobs/" + "x" * 10_240))).status == 404
        assert (await hub.ask(hub.head("GET", "/v1/jobs?" + "a=1&" * 50))).status == 422


async def test_each_request_of_a_kept_connection_has_its_own_bounds(tmp_path):
    """Headers that were served count no more, though the next one comes in pieces."""
    async with listening(tmp_path) as hub:
        line = await hub.line()
        text = hub.head("GET", "/healthz", "X: " + "x" * (16 << 10))
        for _ in range(3):
            await line.say(text)
            assert (await line.hear()).status == 200
        await line.say(text[:-2])
        await until(lambda: reading(hub))
        await line.say(text[-2:])
        assert (await line.hear()).status == 200


async def test_a_slow_header_is_answered_408(tmp_path):
    """A header that is not whole within the time allowed ends its connection."""
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(b"GET /healthz HTTP/1.1\r\nX: y")
        await until(lambda: reading(hub))
        hub.clock.advance(9.9)
        hub.door.look()
        await line.say(b"y")
        hub.clock.advance(0.2)
        hub.door.look()
        heard = await line.hear()
        assert (heard.status, heard.problem["code"]) == (408, "RequestTimeout")
        assert await line.is_hung_up()


async def test_a_slow_body_is_answered_408(tmp_path):
    """A body that comes byte by byte ends its connection, and nothing is submitted."""
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(hub.head("POST", "/v1/jobs", AS_JSON, f"Content-Length: {len(JOB)}"))
        for byte in JOB[:20]:
            await line.say(bytes([byte]))
        await until(lambda: any(each._body_bytes == 20 for each in hub.door.connections))
        hub.clock.advance(10.5)
        hub.door.look()
        assert (await line.hear()).problem["code"] == "RequestTimeout"
        heard = await hub.ask(hub.head("GET", "/v1/jobs"))
        assert json.loads(heard.body)["items"] == []


async def test_a_large_body_has_longer(tmp_path):
    """A body that keeps coming has a second more for every 64 KiB."""
    body = json.dumps({**a_job(), "metadata": {"name": "x" * 200_000}}).encode()
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(hub.head("POST", "/v1/jobs", AS_JSON, f"Content-Length: {len(body)}"))
        await line.say(body[:190_000])
        await until(lambda: any(each._body_bytes == 190_000 for each in hub.door.connections))
        hub.clock.advance(12)
        hub.door.look()
        await line.say(body[190_000:])
        assert (await line.hear()).problem["code"] == "InvalidName"


async def test_a_body_that_the_hub_does_not_read_is_not_late(tmp_path):
    """While the hub itself is slow to take a body, the time of whoever sends it does not run."""
    body = json.dumps({**a_job(), "metadata": {"name": "x" * 200_000}}).encode()
    async with listening(tmp_path) as hub:
        gate = threading.Event()
        hub.stack.callback(gate.set)  # whatever happens, before the store is closed
        busy = [asyncio.ensure_future(hub.db.read(lambda _: gate.wait(20))) for _ in range(64)]
        line = await hub.line()
        await line.say(hub.head("POST", "/v1/jobs", AS_JSON, f"Content-Length: {len(body)}"))
        await line.say(body[:190_000])
        await until(lambda: any(each.flow.read_paused for each in hub.door.connections))
        hub.clock.advance(60)
        hub.door.look()
        gate.set()
        await asyncio.gather(*busy)
        await until(lambda: any(each._body_bytes == 190_000 for each in hub.door.connections))
        hub.door.look()
        await line.say(body[190_000:])
        assert (await line.hear()).problem["code"] == "InvalidName"


async def test_whoever_says_nothing_is_let_go(tmp_path):
    """A connection on which no request begins is closed without an answer."""
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await until(lambda: hub.door.connections)
        hub.clock.advance(11)
        hub.door.look()
        assert await line.is_hung_up()


async def test_an_open_stream_is_not_late(tmp_path):
    """Streams and kept connections go on however long they are silent."""
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(hub.head("GET", "/v1/changes", "Accept: text/event-stream"))
        assert (await line.hear()).status == 200
        kept = await hub.line()
        await kept.say(hub.head("GET", "/healthz"))
        assert (await kept.hear()).status == 200
        hub.clock.advance(3600)
        hub.door.look()
        await kept.say(hub.head("GET", "/healthz"))
        assert (await kept.hear()).status == 200
        assert len(hub.door.connections) == 2


async def test_connections_are_bounded(tmp_path):
    """One more than are allowed is told to come again, and those that are there are served."""
    async with listening(tmp_path, Settings(api=Api(connections=2))) as hub:
        first, _second = await hub.line(), await hub.line()
        await until(lambda: len(hub.door.connections) == 2)
        third = await hub.line()
        heard = await third.hear()
        assert (heard.status, heard.problem["code"]) == (503, "TooManyConnections")
        assert heard.headers["retry-after"] == "1"
        await first.say(hub.head("GET", "/healthz"))
        assert (await first.hear()).status == 200


async def test_one_address_does_not_take_all_connections(tmp_path):
    """Beyond its own bound it is told to come again, and another address is served."""
    limits = Settings(api=Api(connections=10, connections_per_address=2))
    async with listening(tmp_path, limits) as hub:
        lines = [await hub.line() for _ in range(2)]
        await until(lambda: len(hub.door.connections) == 2)
        heard = await (await hub.line()).hear()
        assert (heard.status, heard.problem["code"]) == (503, "TooManyConnections")
        reader, writer = await asyncio.open_connection(*hub.address, local_addr=("127.0.0.2", 0))
        writer.write(hub.head("GET", "/healthz"))
        assert b"200 OK" in await reader.readline()
        writer.close()
        lines[0].cut()
        await until(lambda: len(hub.door.connections) <= 1)
        assert (await hub.ask(hub.head("GET", "/healthz"))).status == 200


async def test_the_last_connections_are_for_those_who_have_few(tmp_path):
    """Whoever has ten gets none of the last tenth, which another address is still served by."""
    async with listening(tmp_path, Settings(api=Api(connections=20))) as hub:
        for _ in range(18):
            await hub.line()
        await until(lambda: len(hub.door.connections) == 18)
        heard = await (await hub.line()).hear()
        assert (heard.status, heard.problem["code"]) == (503, "TooManyConnections")
        reader, writer = await asyncio.open_connection(*hub.address, local_addr=("127.0.0.2", 0))
        writer.write(hub.head("GET", "/healthz"))
        assert b"200 OK" in await reader.readline()
        writer.close()


async def test_who_does_not_read_is_cut_off(tmp_path):
    """An answer of which nothing is taken any more ends its connection; one that is read slowly goes on."""
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(hub.head("GET", "/healthz"))
        assert (await line.hear()).status == 200
        (connection,) = hub.door.connections
        connection.pause_writing()
        hub.clock.advance(29)
        hub.door.look()
        connection.resume_writing()
        connection.pause_writing()
        hub.clock.advance(29)
        hub.door.look()
        assert hub.door.connections == {connection}
        hub.clock.advance(2)
        hub.door.look()
        await until(lambda: not hub.door.connections)
        assert await line.is_hung_up()


async def test_who_reads_again_is_not_cut_off(tmp_path):
    """What was taken counts no more, however long there is nothing else to take."""
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(hub.head("GET", "/healthz"))
        assert (await line.hear()).status == 200
        (connection,) = hub.door.connections
        connection.pause_writing()
        connection.resume_writing()
        hub.clock.advance(60)
        hub.door.look()
        assert hub.door.connections == {connection}
        await line.say(hub.head("GET", "/healthz"))
        assert (await line.hear()).status == 200


LIST = "POST /v1/jobs HTTP/1.1\r\nHost: hub\r\n"


@pytest.mark.parametrize(
    "text",
    [
        LIST + "Content-Length: 4\r\nContent-Length: 5\r\n\r\n{}  ",
        LIST + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        LIST + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
        LIST + "Content-Length: +4\r\n\r\n{}  ",
        LIST + "Content-Length: 4, 4\r\n\r\n{}  ",
        LIST + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        LIST + "Content-Length : 4\r\n\r\n{}  ",
        LIST.replace("\r\n", "\n") + "X\0: 1\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "nonsense\r\n\r\n",
    ],
)
async def test_what_could_be_read_in_two_ways_is_not_read(tmp_path, text):
    """Conflicting lengths, and whatever else is no clean HTTP/1.1: 400, and the connection ends."""
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(text.encode())
        heard = await line.hear()
        assert (heard.status, heard.problem["code"]) == (400, "BadRequest")
        assert await line.is_hung_up()


@pytest.mark.parametrize("host", ["[", "[::1", "evil.example", "a:b:c", "hub:999999", "", "\xff"])
@pytest.mark.parametrize("origin", ["http://[", "null", "http://hub:x", "://", "\xff"])
async def test_a_malformed_host_or_origin_is_no_fault_of_the_hub(tmp_path, host, origin):
    """What a client says of itself is compared, never trusted: no route answers 500."""
    async with listening(tmp_path) as hub:
        for method, path in (
            ("POST", "/login"),
            ("POST", "/logout"),
            ("GET", "/"),
            ("GET", "/v1/jobs?limit=1"),
            ("GET", "/static/page.css"),
        ):
            text = hub.head(method, path, f"Origin: {origin}", "Content-Length: 0")
            text = text.replace(b"Host: hub", b"Host: " + host.encode("latin-1"))
            assert (await hub.ask(text)).status < 500, path


async def test_a_forwarded_address_is_ignored(tmp_path):
    """Neither Host nor X-Forwarded-* shows in an answer."""
    async with listening(tmp_path) as hub:
        more = ("X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: evil.example")
        text = hub.head("POST", "/login", *more, "X-Forwarded-Proto: https", "Content-Length: 0")
        heard = await hub.ask(text.replace(b"Host: hub", b"Host: evil.example"))
        assert (heard.status, heard.headers["location"]) == (303, "/?wrong")
        assert "evil" not in str(heard)


async def test_the_join_token_is_looked_at_before_the_body(tmp_path):
    """Without a valid token not a byte of an agent's registration is read."""
    async with listening(tmp_path) as hub:
        text = hub.head("POST", "/agent/v1/register", "Content-Length: 60000", token=False)
        heard = await hub.ask(text)
        assert (heard.status, heard.problem["code"]) == (401, "Unauthenticated")


async def test_a_registration_is_small(tmp_path):
    """What anyone may send is bounded far below what agents may."""
    async with listening(tmp_path) as hub:
        for path in ("/agent/v1/register", "/login"):
            heard = await hub.ask(hub.head("POST", path, "Content-Length: 100000", token=False))
            assert (heard.status, heard.problem["code"]) == (413, "BodyTooLarge"), path

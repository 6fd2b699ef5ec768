"""A hub process under floods of connections: bounded while they last, and as before once they are over.

Bounds are those of a machine that others use too: a healthy answer within a second at p99, and 200 MiB more
memory than before. Where the host allows fewer files than a flood has connections, it is scaled down
and the test says to how many.
"""

import asyncio
import contextlib
import gzip
from urllib.parse import urlsplit

import pytest

from tests import waiting
from tests.api.process import admin, running
from tests.api.serving import a_job
from tests.attack.flood import (
    Caller,
    Pulse,
    leave_all,
    many,
    memory_mib,
    most_connections,
    open_files,
)

pytestmark = [pytest.mark.slow, pytest.mark.anyio, pytest.mark.timeout(240)]
MOST_MIB, MOST_S = 200.0, 1.0
HEAD = b"POST /v1/jobs HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\n"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """The process, its address and its administrator's token; slow ones are let go sooner than by default."""
    monkeypatch.setenv("ROADSTEAD_API_RECEIVE_S", "3")
    monkeypatch.setenv("ROADSTEAD_API_SEND_S", "3")
    most_connections(0)  # what a process of ours may have, the hub may have too
    with running(tmp_path) as (process, server):
        parts = urlsplit(server)
        yield Hub(process.pid, (parts.hostname, parts.port), tmp_path, server)
        leave_all()


class Hub:
    def __init__(self, pid, address, folder, server):
        self.pid, self.address, self.folder, self.server = pid, address, folder, server
        self.token = (folder / "admin.token").read_text().strip()
        self.before_mib = memory_mib(pid)

    def head(self, method, path, *more):
        lines = [f"{method} {path} HTTP/1.1", "Host: hub", f"Authorization: Bearer {self.token}"]
        return ("\r\n".join([*lines, *more]) + "\r\n\r\n").encode()

    def is_within_memory(self, beside=0.0):
        """`beside`: what the flood's own jobs take, MiB."""
        grown = memory_mib(self.pid) - self.before_mib - beside
        assert grown < MOST_MIB, f"{grown:.0f} MiB more"


async def dripped(caller, text):
    """A byte at a time until the hub hangs up; what it said."""
    for place in range(len(text)):
        if not await caller.say(text[place : place + 1]):
            break
        with contextlib.suppress(TimeoutError):
            return await caller.hear(within_s=0.3)
    return await caller.hear()


@pytest.mark.parametrize("what", ["header", "body"])
async def test_a_byte_at_a_time(hub, what):
    """200 requests whose header, or body, never ends: each is answered 408, others are served."""
    pulse = Pulse(hub.address)
    whole = HEAD + b"X-Long: " + b"x" * 400
    started = b""
    if what == "body":
        started = hub.head(
            "POST", "/v1/jobs", "Content-Type: application/json", "Content-Length: 900"
        )
        whole = b'{"kind":"' + b"x" * 400
    async with pulse.beating():
        callers = await many(200, lambda _: Caller.dial(hub.address))
        for caller in callers:
            await caller.say(started)
        told = await asyncio.gather(*(dripped(caller, whole) for caller in callers))
    assert {each.split(b"\r\n")[0] for each in told} == {b"HTTP/1.1 408 Request Timeout"}
    assert (pulse.failed, pulse.p99_s < MOST_S) == (0, True), pulse.p99_s
    hub.is_within_memory()


async def test_connections_that_say_nothing(hub, record_property):
    """10,000 at once, from two addresses: others are served meanwhile, and all of them are let go."""
    count = most_connections(10_000)
    record_property("connections", count)
    pulse = Pulse(hub.address)
    async with pulse.beating():
        callers = await many(
            count, lambda number: Caller.dial(hub.address, f"127.0.0.{2 + number % 2}")
        )
        hub.is_within_memory()
        most_open = open_files(hub.pid)
        await waiting.span(6, why="whoever says nothing is let go after 3 s")
    assert open_files(hub.pid) < 300, "all of them are let go"
    assert (pulse.failed, pulse.p99_s < 2 * MOST_S) == (0, True), pulse.p99_s
    for caller in callers:
        caller.leave()
    assert await pulse.ask() < MOST_S
    print(f"{count} connections, {most_open} open, p99 {pulse.p99_s * 1000:.0f} ms")


async def test_one_address_can_not_keep_others_out(hub):
    """5,000 of one address are its share: more of it are refused, and from elsewhere the hub is reached."""
    count = min(most_connections(10_000), 5_500)
    if count < 5_100:
        pytest.skip(f"this host allows {count} files a process")
    callers = await many(count, lambda _: Caller.dial(hub.address, "127.0.0.2"))
    last = await callers[-1].hear()
    assert b"TooManyConnections" in last
    assert await Pulse(hub.address).ask() < 2 * MOST_S
    for caller in callers:
        caller.leave()


async def test_watchers_that_never_read(hub, record_property):
    """1,000 streams that take no byte while jobs come in: they are cut off, and their places are free."""
    count = most_connections(1_000)
    record_property("watchers", count)
    pulse, ask = Pulse(hub.address), hub.head("GET", "/v1/changes?revision=0")
    watchers = await many(count, lambda _: Caller.dial(hub.address, window=4096))
    for watcher in watchers:
        await watcher.say(ask)
    async with pulse.beating():
        with admin(hub.folder, hub.server) as client:
            for batch in range(12):
                jobs = [a_job(f"b{batch}-{number}") for number in range(1000)]
                sent = await asyncio.to_thread(
                    client.post, "/v1/jobs:batch", json=jobs, timeout=60
                )
                assert (sent.status_code, sent.json()["rejected"]) == (200, 0)
        hub.is_within_memory(beside=50)
        await waiting.span(8, why="who has taken nothing for 3 s is cut off")
    assert (pulse.failed, pulse.p99_s < 2 * MOST_S) == (0, True), pulse.p99_s
    fresh = await Caller.dial(hub.address)
    await fresh.say(hub.head("GET", "/v1/changes"))
    heard = await fresh.hear()
    assert heard.startswith(b"HTTP/1.1 200"), "their places are free again"
    with admin(hub.folder, hub.server) as client:
        assert client.post("/v1/jobs", json=a_job("after")).status_code == 201
    for watcher in [*watchers, fresh]:
        watcher.leave()
    print(f"{count} watchers, p99 {pulse.p99_s * 1000:.0f} ms")


def aliases():
    """A document of 300 bytes that would be of nine billion values."""
    lines = [b"a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [b"%c: &%c [%s]" % (n, n, b", ".join([b"*%c" % (n - 1)] * 10)) for n in b"bcdefghij"]
    return b"\n".join(lines) + b"\n"


def oversized():
    """Bodies that would cost much: large, deep, packed, wide, of many aliases."""
    plain = ("Content-Type: application/json",)
    packed = gzip.compress(b" " * (64 << 20))
    return {
        "announced": (413, (*plain, f"Content-Length: {1 << 30}"), b""),
        "chunked": (
            413,
            (*plain, "Transfer-Encoding: chunked"),
            b"10000\r\n" + b" " * 65536 + b"\r\n",
        ),
        "deep": (400, plain, b"[" * 10_000 + b"]" * 10_000),
        "packed": (415, (*plain, "Content-Encoding: gzip"), packed),
        "wide": (413, plain, b"[" + b"{}," * 300_000 + b"{}]"),
        "aliases": (400, ("Content-Type: application/yaml",), aliases()),
    }


@pytest.mark.parametrize("name", oversized())
async def test_bodies_that_would_cost_much(hub, name):
    """100 of a kind at once: each is refused by its code, others are served, memory stays."""
    status, headers, body = oversized()[name]
    pulse = Pulse(hub.address)

    async def one():
        caller = await Caller.dial(hub.address)
        length = (
            ()
            if any("ength" in h or "chunked" in h for h in headers)
            else (f"Content-Length: {len(body)}",)
        )
        await caller.say(hub.head("POST", "/v1/jobs", *headers, *length))
        sending = asyncio.create_task(_poured(caller, body, endless=name == "chunked"))
        heard = await caller.hear()
        sending.cancel()
        caller.leave()
        return int(heard.split()[1]) if heard else 0

    async with pulse.beating():
        told = await asyncio.gather(*(one() for _ in range(100)))
    assert set(told) <= {status, 429, 503}, told
    assert told.count(status) > 0
    assert (pulse.failed, pulse.p99_s < 2 * MOST_S) == (0, True), pulse.p99_s
    hub.is_within_memory()


async def _poured(caller, body, *, endless):
    while await caller.say(body) and endless:
        continue

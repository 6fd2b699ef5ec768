"""Bounds of requests at the bound itself: what is just allowed is served, one more is refused."""

import json
from typing import Any

import pytest

from hub.api.advice import warning_header
from hub.api.agents import MAX_ENTRIES, read_sync
from hub.api.errors import refused
from hub.services.context.settings import Api, Settings
from hub.services.reading.draft import queue_name
from shared.errors import Rejected
from shared.kinds.registry import parse
from shared.reject_codes import RejectCode
from tests.api.listening import listening, send, until
from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio
JOB = json.dumps(a_job()).encode()
AS_JSON = {"Content-Type": "application/json"}


def padded(size: int) -> bytes:
    """A Job as JSON of so many bytes."""
    return JOB.ljust(size)


@pytest.mark.parametrize(("more", "code"), [(0, None), (1, "BodyTooLarge")])
@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_may_be_as_large_as_the_limit(tmp_path, announced, more, code):
    """By the length that is announced, and by what comes where none is."""
    async with served(tmp_path, Settings(api=Api(body_bytes=2000))) as hub:

        async def in_pieces():
            for start in range(0, 2000 + more, 500):
                yield padded(2000 + more)[start : start + 500]

        content = padded(2000 + more) if announced else in_pieces()
        reply = await hub.admin.post("/v1/jobs", content=content, headers=AS_JSON)
        assert (reply.status_code, reply.json().get("code")) == (413 if code else 201, code)


@pytest.mark.parametrize(("more", "code"), [(0, None), (-1, "TooManyRequests")])
async def test_bodies_may_fill_what_is_held(tmp_path, more, code):
    """As many bytes as may be held are; those of a request that was answered are held no longer."""
    room = Settings(api=Api(held_bytes=len(JOB) + more))
    async with served(tmp_path, room) as hub:
        for number in range(3):
            job = json.dumps(a_job(f"o{number}")).encode()
            assert len(job) == len(JOB)
            reply = await hub.admin.post("/v1/jobs", content=job, headers=AS_JSON)
            assert (reply.status_code, reply.json().get("code")) == (429 if code else 201, code)


@pytest.mark.parametrize(("size", "too_large"), [(4 << 10, False), ((4 << 10) + 1, True)])
async def test_a_sign_in_is_small(tmp_path, size, too_large):
    """Nobody is known yet, so no more than 4 KiB are read."""
    async with listening(tmp_path) as hub:
        head = hub.head("POST", "/login", f"Content-Length: {size}", token=False)
        heard = await hub.ask(head + b"x" * size)
        assert (heard.status == 413) is too_large


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 431)])
async def test_a_header_may_be_as_large_as_the_limit(tmp_path, more, status):
    """Each line counts with its end; the address has a bound of its own and counts besides."""
    async with listening(tmp_path, Settings(api=Api(header_bytes=1000))) as hub:
        others = len("Host: hub\r\n") + len("X: \r\n")
        text = "X: " + "x" * (1000 + len("/healthz") - others + more)
        heard = await hub.ask(hub.head("GET", "/healthz", text, token=False))
        assert heard.status == status


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 414)])
async def test_an_address_may_be_as_long_as_the_limit(tmp_path, more, status):
    """Path and query together."""
    async with listening(tmp_path, Settings(api=Api(url_bytes=100))) as hub:
        path = "/v1/jobs?name=".ljust(100 + more, "x")
        assert (await hub.ask(hub.head("GET", path))).status == status


@pytest.mark.parametrize(("after_s", "is_late"), [(9.5, False), (10, True)])
async def test_a_header_is_late_once_its_time_is_over(tmp_path, after_s, is_late):
    """At the last instant of it already."""
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(b"GET /healthz HTTP/1.1\r\n")
        await until(lambda: [c for c in hub.door.connections if c._phase.name == "HEAD"])
        hub.clock.advance(after_s)
        hub.door.look()
        await line.say(b"Host: hub\r\n\r\n")
        assert (await line.hear()).status == (408 if is_late else 200)


async def test_who_is_refused_may_go_on_for_a_second(tmp_path):
    """What it still sends is thrown away, so that it reads the answer; then the connection is closed."""
    async with listening(tmp_path) as hub:
        line = await hub.line()
        await line.say(b"GET /healthz HTTP/1.1\r\n")
        await until(lambda: [c for c in hub.door.connections if c._phase.name == "HEAD"])
        hub.clock.advance(10)
        hub.door.look()
        for _ in range(20):
            await line.say(b"X-More: of it\r\n")
        assert (await line.hear()).status == 408
        hub.clock.advance(0.9)
        hub.door.look()
        assert hub.door.connections
        hub.clock.advance(0.1)
        hub.door.look()
        await until(lambda: not hub.door.connections)


async def test_a_kept_connection_gives_no_body_the_time_of_the_one_before(tmp_path):
    """After a large body a small one has its own few seconds."""
    async with listening(tmp_path) as hub:
        line = await hub.line()
        large = padded(4 << 16)
        length = f"Content-Length: {len(large)}"
        json_type = "Content-Type: application/json"
        await line.say(hub.head("POST", "/v1/jobs", json_type, length) + large)
        assert (await line.hear()).status == 201
        await line.say(hub.head("POST", "/v1/jobs", json_type, "Content-Length: 9") + b"{")
        await until(lambda: [c for c in hub.door.connections if c._phase.name == "BODY"])
        hub.clock.advance(10.5)
        hub.door.look()
        assert (await line.hear()).problem["code"] == "RequestTimeout"


@pytest.mark.parametrize(("length", "status"), [(1, 201), (200, 201), (201, 422)])
async def test_an_idempotency_key_has_up_to_200_characters(tmp_path, length, status):
    """Both ends of what it may be are taken."""
    async with served(tmp_path) as hub:
        headers = {"Idempotency-Key": "k" * length}
        assert (
            await hub.admin.post("/v1/jobs", json=a_job(), headers=headers)
        ).status_code == status


PENDING = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/none/pendingworkloads"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (f"{PENDING}?offset={'9' * 18}", "NotFound"),
        (f"{PENDING}?offset={'9' * 19}", "InvalidNumber"),
        (f"{PENDING}?limit=4000", "NotFound"),
        (f"{PENDING}?limit=4001", "InvalidLimit"),
        (f"{PENDING}?limit=1", "NotFound"),
        (f"{PENDING}?limit=0", "InvalidLimit"),
        ("/v1/events?limit=500", None),
        ("/v1/events?limit=501", "InvalidLimit"),
        ("/v1/objects/core/" + "K" * 63, None),
        ("/v1/objects/core/" + "K" * 64, "InvalidName"),
        ("/v1/objects/" + "g" * 253 + "/Widget", None),
        ("/v1/objects/" + "g" * 254 + "/Widget", "InvalidName"),
        ("/v1/objects/example.com/Widget", None),
        ("/v1/objects/example..com/Widget", "InvalidName"),
        ("/v1/objects/Example.com/Widget", "InvalidName"),
    ],
)
async def test_numbers_and_names_are_taken_up_to_their_bounds(tmp_path, path, code):
    """Eighteen digits are a number, 63 letters a kind, a DNS subdomain a group; a list has its most."""
    async with served(tmp_path) as hub:
        assert (await hub.admin.get(path)).json().get("code") == code


@pytest.mark.parametrize(("digits", "code"), [(18, "NotFound"), (19, "InvalidNumber")])
async def test_an_epoch_has_up_to_eighteen_digits(tmp_path, digits, code):
    """As any number of the query, though this route reads its own."""
    async with served(tmp_path) as hub:
        path = f"/v1/workloads/team-a/none/status?epoch={'9' * digits}"
        reply = await hub.admin.patch(path, json={"status": {}})
        assert reply.json()["code"] == code


@pytest.mark.parametrize(("wrong", "told"), [(1, 1), (20, 20), (21, 20)])
async def test_a_refusal_names_twenty_faults(tmp_path, wrong, told):
    """The first ones; what a client sends does not make the answer grow without end."""
    async with served(tmp_path) as hub:
        body = {"name": "c9", **{f"x{number}": 1 for number in range(wrong)}}
        reply = await hub.admin.post("/v1/clusters", json=body)
        assert (reply.status_code, len(reply.json()["errors"])) == (422, told)


def a_report(entries: int, **more: Any) -> bytes:
    entry = {"epoch": 0, "generation": 1, "seq": 1, "phase": "Applied"}
    observed = {"full": True, "entries": [entry | {"uid": f"u{n}"} for n in range(entries)]}
    said = {"session": "a-session", "seq": 1, "cluster_uid": "c-uid", "observed": observed}
    return json.dumps(said | more).encode()


@pytest.mark.parametrize("more", [0, 1])
def test_an_inventory_may_have_as_many_entries_as_the_limit(more):
    """One more was not cut into pages, and is refused as a whole."""
    body = a_report(MAX_ENTRIES + more)
    if not more:
        message, refused_ones = read_sync(body, "c1")
        assert (len(message.observed.entries), refused_ones) == (MAX_ENTRIES, [])
        return
    with pytest.raises(Rejected) as refusal:
        read_sync(body, "c1")
    assert refusal.value.code == "BodyTooLarge"


@pytest.mark.parametrize(("wrong", "told"), [(2, 2), (20, 20), (21, 20)])
def test_a_message_that_can_not_be_read_names_twenty_faults(wrong, told):
    """Each with its place."""
    observed = {"full": "?", "entries": []}
    body = a_report(0, observed=observed, marks=list(range(wrong - 1)))
    with pytest.raises(Rejected) as refusal:
        read_sync(body, "c1")
    assert len(refusal.value.errors) == told


class _Later(Rejected):
    """A refusal that knows when to come again."""

    def __init__(self, code: RejectCode, seconds: float) -> None:
        super().__init__(code, "later")
        self.retry_after_s = seconds


@pytest.mark.parametrize(
    ("code", "seconds", "expected"),
    [
        (RejectCode.TOO_MANY_REQUESTS, 0.1, "1"),
        (RejectCode.TOO_MANY_REQUESTS, 7.0, "7"),
        (RejectCode.TOO_MANY_REQUESTS, 7.2, "8"),
        (RejectCode.UNAVAILABLE, 30.0, "30"),
        (RejectCode.TOO_MANY_REQUESTS, None, "1"),
        (RejectCode.UNAVAILABLE, None, "1"),
        (RejectCode.NOT_FOUND, None, None),
    ],
)
def test_retry_after_is_what_the_refusal_knows_rounded_up(code, seconds, expected):
    """Whole seconds, never too early; a second where it knows nothing."""
    refusal = Rejected(code, "later") if seconds is None else _Later(code, seconds)
    assert refused(refusal, "r-1").headers.get("retry-after") == expected


@pytest.mark.parametrize(("length", "told"), [(999, 999), (1000, 1000), (1001, 1000)])
def test_a_warning_in_a_header_is_bounded(length, told):
    """The first of them, in printable ASCII, at most a thousand characters."""
    header = warning_header(["x" * length, "second"])["Warning"]
    assert header == f'299 - "{"x" * told}"'
    assert warning_header([]) == {}
    assert warning_header(['a "b" \\ é'])["Warning"] == "299 - \"a 'b'  ?\""


async def test_a_page_of_one_list_does_not_go_on_in_another(tmp_path):
    """A continue token belongs to the path it was given on, though the filters are the same."""
    maps = [
        {"apiVersion": "v1", "kind": kind, "metadata": {"name": f"m{n}", "namespace": "team-a"}}
        for kind in ("ConfigMap", "Secret") for n in range(2)
    ]  # fmt: skip
    async with served(tmp_path) as hub:
        assert (await hub.admin.post("/v1/apply", json=maps)).status_code == 200
        one = "/v1/objects/core/ConfigMap"
        token = (await hub.admin.get(one, params={"limit": 1})).json()["continue"]
        asked = {"limit": 1, "continue": token}
        other = await hub.admin.get("/v1/objects/core/Secret", params=asked)
        assert (other.status_code, other.json()["code"]) == (400, "BadContinue")
        assert (await hub.admin.get(one, params=asked)).status_code == 200


async def test_a_stream_that_has_ended_makes_room(tmp_path):
    """One more than a principal may hold is refused; once one was left there is room again."""
    async with listening(tmp_path, Settings(api=Api(streams_per_principal=1))) as hub:
        for path in ("/v1/changes", "/v1/workloads:watch", "/v1/changes"):
            line = await hub.line()
            await line.say(hub.head("GET", path))
            assert (await line.hear()).status == 200
            for full in ("/v1/changes", "/v1/workloads:watch"):
                assert (await send(hub, "GET", full)).problem["code"] == "TooManyStreams"
            line.cut()
            await until(lambda: not hub.served)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("limit=1&name=a", None),
        ("limit=1&limit=1", "RepeatedParameter"),
        ("name=&name=a", "RepeatedParameter"),
        ("limit=1&limits=1", "UnknownParameter"),
    ],
)
async def test_a_parameter_is_given_once(tmp_path, query, code):
    """Which of two were meant nobody knows, though they be equal, or one empty."""
    async with served(tmp_path) as hub:
        assert (await hub.admin.get(f"/v1/jobs?{query}")).json().get("code") == code


@pytest.mark.parametrize(
    ("label", "annotation", "queue"),
    [("blue", "red", "blue"), ("blue", None, "blue"), (None, "red", "red"), (None, None, "")],
)
def test_the_label_names_the_queue_before_the_annotation_does(label, annotation, queue):
    """Both under Kueue's key: older clients write the annotation."""
    key = "kueue.x-k8s.io/queue-name"
    job = a_job()
    job["metadata"] |= {
        "labels": {} if label is None else {key: label},
        "annotations": {} if annotation is None else {key: annotation},
    }
    assert queue_name(parse(job)) == queue

"""The steps of calls at their edges, without a hub: pages, chunks, halves, waits and repetitions."""

import json
import time
from collections.abc import Generator, Iterable, Iterator
from typing import Any

import pytest

from roadstead import Rejected
from roadstead.calls import checks, jobs, waiting
from roadstead.errors import SomeRejected, TimedOut
from roadstead.models.jobs import Job
from roadstead.responses import (
    Address,
    ConnectionLost,
    EventDecoder,
    Response,
    may_repeat,
    pause_s,
)
from roadstead.retries import send
from roadstead.steps import PAGE, Found, Pause, Request, pages
from roadstead.transport import request_arguments
from tests.cli.build import a_job, a_listed_job


class Played:
    """A call carried out with answers that are given: what it asked, found, waited, and returned."""

    def __init__(self, steps: Generator[Any, Any, Any], answers: Iterable[Any]) -> None:
        self.asked: list[Request] = []
        self.found: list[Any] = []
        self.pauses: list[float] = []
        self.result: Any = None
        coming = iter(answers)
        move: Any = None
        try:
            step = steps.send(None)
            while True:
                if isinstance(step, Request):
                    self.asked.append(step)
                    move = next(coming)
                elif isinstance(step, Pause):
                    self.pauses.append(step.seconds)
                    move = None
                elif isinstance(step, Found):
                    self.found.append(step.item)
                    move = None
                refused = isinstance(move, Rejected)
                step = steps.throw(move) if refused else steps.send(move)
        except StopIteration as end:
            self.result = end.value


def a_page(first: int, count: int, token: str = "") -> dict[str, Any]:
    return {"items": [a_listed_job(f"j{first + n}") for n in range(count)], "continue": token}


@pytest.mark.parametrize(
    ("limit", "answers", "asked"),
    [
        (None, [a_page(0, 2)], [PAGE]),
        (2, [a_page(0, 2, "t")], [2]),  # there is more, and it is not wanted
        (2, [a_page(0, 2)], [2]),
        (3, [a_page(0, 2, "t"), a_page(2, 1, "u")], [3, 1]),
        (PAGE, [a_page(0, PAGE, "t")], [PAGE]),
        (PAGE + 1, [a_page(0, PAGE, "t"), a_page(PAGE, 1, "u")], [PAGE, 1]),
        (3, [a_page(0, 1, "t"), a_page(1, 0, "u"), a_page(1, 2, "v")], [3, 2, 2]),
        (0, [], []),
    ],
)
def test_no_page_asks_for_more_than_is_wanted(
    limit: int | None, answers: list[Any], asked: list[int]
) -> None:
    """At most 500 at a time, and of the last page what is left; a short page may be followed by others."""
    played = Played(pages("/v1/jobs", {}, Job, limit), answers)
    assert [each.query["limit"] for each in played.asked] == asked
    names = [job.name for job in played.found]
    assert names == [f"j{n}" for n in range(len(names))]
    assert len(names) == sum(len(each["items"]) for each in answers)


def taken(count: int) -> dict[str, Any]:
    return {"items": [{"index": n, **a_listed_job(f"j{n}")} for n in range(count)]}


@pytest.mark.parametrize(
    ("count", "sizes"),
    [
        (1, [1]),
        (jobs.MOST_JOBS, [jobs.MOST_JOBS]),
        (jobs.MOST_JOBS + 1, [jobs.MOST_JOBS, 1]),
        (2 * jobs.MOST_JOBS, [jobs.MOST_JOBS] * 2),
    ],
)
def test_a_request_has_up_to_a_thousand_jobs(count: int, sizes: list[int]) -> None:
    """Its key says which part of the whole it is; places go on from one to the next."""
    steps = jobs.submit_many((b"{}" for _ in range(count)), key="k")
    played = Played(steps, [taken(size) for size in sizes])
    assert [(each.body or b"").count(b"\n") + 1 for each in played.asked] == sizes
    keys = [each.headers["Idempotency-Key"] for each in played.asked]
    assert keys == ["k", *(f"k/{n}" for n in range(1, len(sizes)))]
    assert [each.index for each in played.result] == list(range(count))


@pytest.mark.parametrize(("more", "sizes"), [(-1, [2]), (0, [2]), (1, [1, 1])])
def test_a_request_has_up_to_four_mebibytes(more: int, sizes: list[int]) -> None:
    """With the ends of its lines: one byte more goes into the next."""
    first = b"1" * (jobs.MOST_BYTES // 2)
    second = b"2" * (jobs.MOST_BYTES - len(first) - 1 + more)
    played = Played(jobs.submit_many([first, second]), [taken(size) for size in sizes])
    assert [(each.body or b"").count(b"\n") + 1 for each in played.asked] == sizes
    assert all(len(each.body or b"") <= jobs.MOST_BYTES for each in played.asked)


def refusal(code: str) -> Rejected:
    return Rejected(413, {"code": code, "detail": code})


def test_places_and_keys_stay_when_a_request_is_halved() -> None:
    """What is too much is sent as two with keys of their own; outcomes keep their places in the whole."""
    too_much = refusal("BodyTooLarge")
    played = Played(
        jobs.submit_many([b"{}"] * 5, key="k", check=False),
        [too_much, taken(2), too_much, too_much, taken(2)],
    )
    assert [each.headers["Idempotency-Key"] for each in played.asked] == [
        "k", "k/head", "k/tail", "k/tail/head", "k/tail/tail",
    ]  # fmt: skip
    assert [each.index for each in played.result] == [0, 1, 2, 3, 4]
    assert [bool(each.refusal) for each in played.result] == [False, False, True, False, False]


def test_the_error_of_many_is_the_first_refusal() -> None:
    """Though others were refused after it for something else."""
    told = taken(3)
    told["items"][1] = {"index": 1, "code": "First", "detail": "one"}
    told["items"][2] = {"index": 2, "code": "Second", "detail": "two"}
    with pytest.raises(SomeRejected, match="2 of 3 jobs were refused; the first, number 1") as no:
        Played(jobs.submit_many([a_job()] * 3), [told])
    assert (no.value.code, no.value.detail) == ("First", "one")


def test_a_wait_without_time_looks_once() -> None:
    """What has ended is given even then; of what has not it is said at once, and nothing is paused."""
    ended = Played(waiting.wait("u", timeout_s=0), [a_listed_job(state="Succeeded")])
    assert ended.result.state == "Succeeded"
    with pytest.raises(TimedOut, match="is Running after 0 s"):
        Played(waiting.wait("u", timeout_s=0), [a_listed_job(state="Running")])


def test_the_last_look_of_a_wait_has_time_for_an_answer() -> None:
    """A request has as long as is left, and at least a few seconds; no pause goes beyond the end."""
    running, ended = a_listed_job(state="Running"), a_listed_job(state="Succeeded")
    short = Played(waiting.wait("u", timeout_s=1, every_s=60), [running, ended])
    assert [each.timeout_s for each in short.asked] == [5.0, 5.0]
    assert 0 < short.pauses[0] <= 1
    long = Played(waiting.wait("u", timeout_s=100, every_s=0.5), [running, ended])
    assert all(99 < (each.timeout_s or 0) <= 100 for each in long.asked)
    assert long.pauses == [0.5]
    endless = Played(waiting.wait("u"), [running, ended])
    assert [each.timeout_s for each in endless.asked] == [None, None]


@pytest.mark.parametrize(
    ("own", "expected"), [(None, 30.0), (5.0, 5.0), (30.0, 30.0), (100.0, 30.0)]
)
def test_a_request_never_waits_longer_than_its_client(own: float | None, expected: float) -> None:
    """Its own time counts where that is shorter."""
    address = Address("http://hub", "t")
    ask = Request("GET", "/v1/jobs", timeout_s=own)
    assert request_arguments(address, ask, 30.0)["timeout"] == expected


BUSY = Response(429, {"retry-after": "0"}, b"")
TAKEN = Response(200, {}, b"{}")


@pytest.mark.parametrize(
    ("ask", "answers", "sent"),
    [
        (Request("GET", "/"), [TAKEN], 1),
        (Request("GET", "/"), [BUSY, BUSY, TAKEN], 3),
        (Request("GET", "/"), [BUSY, BUSY, BUSY, TAKEN], 3),
        (Request("POST", "/"), [BUSY, BUSY, TAKEN], 3),
        (Request("GET", "/"), [None, TAKEN], 2),
        (Request("GET", "/"), [None, None, TAKEN], 2),
        (Request("POST", "/"), [None, TAKEN], 1),
        (Request("POST", "/", repeatable=True), [None, TAKEN], 2),
        (Request("POST", "/", headers={"Idempotency-Key": "k"}), [None, TAKEN], 2),
        (Request("PATCH", "/"), [None, TAKEN], 1),
    ],
)
def test_a_request_is_sent_three_times_at_most(
    ask: Request, answers: list[Any], sent: int
) -> None:
    """Twice more where the hub is busy, once more where what may be repeated was cut off (None)."""
    count = 0

    def once(_: Request) -> Response:
        nonlocal count
        count += 1
        if answers[count - 1] is None:
            raise ConnectionLost("cut")
        found = answers[count - 1]
        assert isinstance(found, Response)
        return found

    if answers[sent - 1] is None:
        with pytest.raises(ConnectionLost):
            send(ask, once)
    else:
        assert send(ask, once) is answers[sent - 1]
    assert count == sent


@pytest.mark.parametrize(
    ("status", "said", "expected"),
    [
        (429, "0", 0.0),
        (429, "5", 5.0),
        (429, "5.1", None),
        (429, "-1", None),
        (429, "soon", None),
        (429, None, 1.0),
        (503, "1", None),
        (200, "1", None),
    ],
)
def test_a_busy_hub_is_waited_for_up_to_five_seconds(
    status: int, said: str | None, expected: float | None
) -> None:
    """Longer, or where it does not say it, its answer stands; a hub that fails is not waited for."""
    headers = {} if said is None else {"retry-after": said}
    assert pause_s(Response(status, headers, b"")) == expected


@pytest.mark.parametrize(
    ("method", "expected"),
    [("GET", True), ("HEAD", True), ("PUT", True), ("DELETE", True), ("POST", False)],
)
def test_what_is_done_twice_as_if_once_may_be_repeated(method: str, expected: bool) -> None:
    """By its method alone."""
    assert may_repeat(Request(method, "/")) is expected


def test_a_release_is_not_repeated() -> None:
    """Twice is more than once: who waits for other jobs besides would go regardless of them."""
    asked = [next(act("0" * 32)) for act in (jobs.hold, jobs.release)]
    assert [isinstance(ask, Request) and may_repeat(ask) for ask in asked] == [True, False]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_events_are_read_however_they_are_cut(size: int) -> None:
    """Each once, when it is whole; comments and ids are none."""
    text = b': beat\n\nid: 1\ndata: {"a": 1}\n\nid: 2\ndata: {"a": 2}\n\ndata: {"a"'
    decoder = EventDecoder()
    found = [
        event["a"]
        for start in range(0, len(text), size)
        for event in decoder.feed(text[start : start + size])
    ]
    assert found == [1, 2]
    assert decoder.feed(b": 3}\n") == [{"a": 3}]


def test_an_answer_to_a_check_says_what_was_given_and_nothing_else() -> None:
    """Zero, an empty text and an empty list are said; what was not given is not mentioned."""
    answer = {"uid": "u", "state": "Reserved", "cluster": "", "items": []}

    def said(**given: Any) -> Any:
        (ask,) = Played(checks.set_check("u", "c", "Ready", **given), [answer]).asked
        return json.loads(ask.body or b"")

    assert said() == {"state": "Ready"}
    assert said(message="", retry_count=0, requeue_after_s=0, pod_set_updates=[]) == {
        "state": "Ready", "message": "", "retryCount": 0,
        "requeueAfterSeconds": 0, "podSetUpdates": [],
    }  # fmt: skip


def test_what_the_first_takes_is_not_left_for_the_second() -> None:
    """One span for all: a job that ends when it is over leaves those after it nothing to wait for."""

    def late() -> Iterator[Any]:
        over = time.monotonic() + 0.02
        while time.monotonic() < over:
            pass
        yield a_listed_job(state="Succeeded")
        yield a_listed_job(state="Running")

    with pytest.raises(TimedOut, match=r"Running after 0\.02 s"):
        Played(waiting.wait_all(["u", "v"], timeout_s=0.02), late())

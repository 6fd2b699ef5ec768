"""Following what happens, and the client on an event loop: the same calls, the same answers."""

import asyncio
import inspect
import json
from typing import Any

import pytest

from roadstead import AsyncClient, Client, JobFailed, NotAllowed, Rejected, Unreachable
from roadstead.calls.table import Calls
from tests.cli.build import a_job, a_listed_cluster, a_listed_job
from tests.cli.records import Seen
from tests.cli.scripted import Answer, answering, items, problem

CHANGE = {"revision": 7, "kind": "jobs", "keys": ["01a1"], "at": "2026-03-01T12:00:00Z"}
STATE = {"uid": "01a1", "namespace": "a", "name": "w", "state": "Placed", "epoch": 2}


def _events(*told: dict[str, Any]) -> Answer:
    return Answer(b"".join(b"id: 7\ndata: " + json.dumps(e).encode() + b"\n\n" for e in told))


def test_the_stream_of_changes_gives_records():
    """changes() decodes the data of each server-sent event, until the hub ends the stream."""
    with answering(_events(CHANGE)) as script, Client(script.address) as hub:
        (change,) = hub.changes(6)
    assert (change.revision, change.keys) == (7, ("01a1",))
    assert script.asked == ["GET /v1/changes?revision=6"]


def test_a_stream_can_be_followed_from_the_very_first_revision():
    """0 is a revision: it is asked for, unlike none."""
    with answering(_events(CHANGE)) as script, Client(script.address) as hub:
        hub.changes(0).close()
    assert script.asked == ["GET /v1/changes?revision=0"]


def test_a_stream_is_open_when_the_call_returns():
    """So what happens after the call is in it, however late the iteration begins."""
    with answering(_events(CHANGE)) as script, Client(script.address) as hub, hub.changes():
        assert script.asked == ["GET /v1/changes"]


def test_a_refused_stream_is_refused_by_the_call():
    """A revision that is no longer kept is raised at once, as the hub puts it."""
    with (
        answering(problem(410, "Expired", "list again")) as script,
        Client(script.address) as hub,
        pytest.raises(Rejected, match="Expired"),
    ):
        hub.changes(1)


@pytest.mark.parametrize("data", [b"data: {\n\n", b"data: [1]\n\n", b'data: {"a": 1}\n\n'])
def test_a_stream_of_something_else_is_no_hubs(data):
    """What is no JSON object, or none of its records, is Unreachable."""
    with (
        answering(Answer(data)) as script,
        Client(script.address) as hub,
        pytest.raises(Unreachable),
    ):
        list(hub.changes())


def test_lines_of_a_stream_end_where_the_hub_ends_them():
    """A separator of lines within a text of JSON is no end of an event."""
    told = {**CHANGE, "keys": ["a\u2028b\x85c"]}
    line = b"data: " + json.dumps(told, ensure_ascii=False).encode() + b"\n\n"
    with answering(Answer(line)) as script, Client(script.address) as hub:
        assert next(hub.changes()).keys == ("a\u2028b\x85c",)


def test_an_executor_follows_workloads_and_reports():
    """watch_workloads() gives each state by itself; report_workload() names the run that is meant."""
    told = _events({"revision": 7, "items": [STATE, STATE]})
    with answering(told, Answer(STATE)) as script, Client(script.address) as hub:
        seen = list(hub.watch_workloads(6, kind="Workload", state="Placed"))
        assert [(each.full_name, each.epoch) for each in seen] == [("a/w", 2)] * 2
        hub.report_workload("a/w", {"conditions": []}, epoch=2)
    assert script.asked == [
        "GET /v1/workloads:watch?revision=6&kind=Workload&state=Placed",
        "PATCH /v1/workloads/a/w/status?epoch=2",
    ]


def test_both_clients_have_the_same_calls():
    """What one has the other has, with the same arguments."""
    calls = [name for name in vars(Calls) if not name.startswith("_")]
    assert len(calls) > 40
    with answering(items()) as script, Client(script.address) as hub:
        awaited = AsyncClient(script.address)
        for name in calls:
            here, there = getattr(hub, name), getattr(awaited, name)
            first, second = inspect.signature(here), inspect.signature(there)
            assert first.parameters == second.parameters, name


def test_the_calls_are_awaited_on_a_loop(hub):
    """Submit, list, look at, cancel and wait: as the blocking client does, with many at a time."""

    async def story() -> tuple[list[str], list[str], list[str]]:
        async with AsyncClient(hub.server, hub.token) as client:
            taken = await client.submit_many(a_job(f"a{i}", "loop") for i in range(20))
            listed = [job.name async for job in client.jobs(namespace="loop")]
            found = await asyncio.gather(*(client.cancel(job.uid) for job in taken.jobs))
            ended = await client.wait_all([job.uid for job in found], check=False)
            return [job.name for job in taken.jobs], listed, [job.state for job in ended]

    taken, listed, states = asyncio.run(story())
    assert sorted(taken) == sorted(listed)
    assert states == ["Cancelled"] * 20


def test_the_loop_hears_the_same_errors():
    """Refusals, failed jobs and a hub that is none are raised by the awaiting."""

    async def story(address: str) -> None:
        async with AsyncClient(address) as hub:
            with pytest.raises(NotAllowed):
                await hub.queues()
            with pytest.raises(JobFailed):
                await hub.wait("01a1")
            with pytest.raises(Unreachable, match="is not a hub"):
                await hub.overview()
            with pytest.raises(TypeError, match="unexpected keyword"):
                hub.jobs(labelSelector="a=b")  # type: ignore[call-arg]  # as is tested

    answers = [problem(401, "Unauthenticated", "no"), Answer(a_listed_job(state="Failed"))]
    with answering(*answers, Answer([1])) as script:
        asyncio.run(story(script.address))


def test_the_loop_repeats_as_threads_do():
    """A connection that died, and a hub that is busy, are met by the same rule."""
    busy = problem(429, "TooManyRequests", "later")
    busy.headers["Retry-After"] = "0"

    async def story(address: str) -> str:
        async with AsyncClient(address) as hub:
            return (await hub.cluster("gpu-1")).name

    answer = Answer(a_listed_cluster())
    for first in (Answer(cut=True), busy):
        with answering(first, answer) as script:
            assert asyncio.run(story(script.address)) == "gpu-1"
        assert len(script.asked) == 2


def test_the_loop_follows():
    """A stream is opened by `async with`, and gives the same records."""

    async def story(address: str) -> list[int]:
        async with AsyncClient(address) as hub, hub.changes(6) as changes:
            return [change.revision async for change in changes]

    with answering(_events(CHANGE, CHANGE)) as script:
        assert asyncio.run(story(script.address)) == [7, 7]


def test_what_streams_and_loops_say_is_what_the_records_say(hub):
    """Changes, states of workloads and placements of a real hub, held to their records."""
    seen = Seen()
    with hub.client() as client, client.changes() as changes, client.watch_workloads() as states:
        client.submit(a_job("streamed", "streams"))
        for each in (next(changes), next(states), *client.placements()):
            seen.hold(type(each), each.raw)
    assert seen.faults == []
    assert {kind.__name__ for kind in seen.kinds} >= {"Change", "WorkloadState", "Placement"}

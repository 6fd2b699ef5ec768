"""An agent that means no good, on the streams that it answers."""

import asyncio

import pytest

from hub.services.live.stream import MOST_PUTS, Stream
from shared.clock import ManualClock
from shared.wire.streams_v1 import StreamPart, StreamRequest
from tests import waiting
from tests.api.serving import START
from tests.api.streaming import STREAMS, a_line, records, running_world

pytestmark = pytest.mark.anyio


async def test_parts_do_not_pile_up_before_a_slow_reader():
    """While some wait for room, others are turned away at once: none of them is held in memory."""
    asked = StreamRequest(id="s", what="logs", uid="u", namespace="n", name="j")
    stream = Stream("c1", "ana", asked, ManualClock(START), 100)
    assert await stream.put(StreamPart(seq=1), 100) == 1
    hanging = [asyncio.create_task(stream.put(StreamPart(seq=2), 100)) for _ in range(50)]
    await waiting.turns(5)
    assert sum(not each.done() for each in hanging) == MOST_PUTS
    assert await stream.get(1) is not None
    assert {1, 2} >= set(await asyncio.gather(*hanging))
    assert stream.seq == 2
    assert await stream.put(StreamPart(seq=3), 0) == 3


async def test_what_comes_after_the_end_is_told_to_nobody(tmp_path):
    """Lines after the last part, and parts of numbers that are not next."""
    async with running_world(tmp_path) as w:
        reading = w.ask(follow="true")
        asked = await w.question()
        await w.bring(asked, 1, lines=[a_line("one")], end={"code": "Ended"})
        await w.bring(asked, 2, lines=[a_line("late")])
        assert [each.get("line") for each in records(await reading)] == ["one", None]
        reading = w.ask(follow="true")
        asked = await w.question()
        await w.bring(asked, 1, lines=[a_line("one")])
        await w.bring(asked, 9, lines=[a_line("nine")])
        *lines, last = records(await reading)
        assert [each["line"] for each in lines] == ["one"]
        assert last["end"]["code"] == "OutOfOrder"


@pytest.mark.parametrize(
    "part",
    [
        {"lines": [a_line("x")] * 2001},
        {"lines": [a_line("x" * 16_385)]},
        {"pods": [{"name": "p"}] * 201},
        {"lines": [{"pod": "p" * 254, "container": "c", "line": ""}]},
        {"end": {"code": "E" * 65}},
        {"left_out": 1 << 40},
        {"lines": [a_line("x") | {"note": 0}]},  # a number is no truth value
    ],
)
async def test_parts_beyond_bounds_are_refused(tmp_path, part):
    """None of them is taken, and the stream goes on."""
    async with running_world(tmp_path) as w:
        reading = w.ask()
        asked = await w.question()
        reply = await w.http["agent"].post(f"{STREAMS}/{asked['id']}", json={"seq": 1, **part})
        assert reply.status_code == 422, reply.text
        await w.bring(asked, 1, lines=[a_line("well")], end={"code": "Ended"})
        assert records(await reading)[0]["line"] == "well"

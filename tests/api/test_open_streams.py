"""Where questions wait for agents, and answers for readers: who is woken, who is silent, who has a place."""

import asyncio

import pytest

from hub.services.context.settings import Logs
from hub.services.live.open_streams import OpenStreams
from hub.services.live.stream import Stream
from shared.clock import ManualClock
from shared.wire.streams_v1 import StreamPart, StreamRequest
from tests import waiting

pytestmark = pytest.mark.anyio
ASKED = StreamRequest(id="s", what="pods", uid="u", namespace="team-a", name="talk")


async def gone():
    return False


async def there():
    return True


def streams(**limits):
    return OpenStreams(ManualClock(), Logs(**limits), asyncio.Event())


async def test_a_request_that_is_gone_takes_no_question_with_it():
    """Woken first, it leaves the question to the next of its agent's that hangs."""
    found = streams()
    first = asyncio.create_task(found.next_for("c1", gone))
    await waiting.turns(5)
    second = asyncio.create_task(found.next_for("c1", there))
    await waiting.turns(5)
    found.ask("ana", "c1", ASKED)
    await waiting.eventually(second.done)
    assert (await second).what == "pods"
    assert await first is None


async def test_a_question_that_nobody_waits_for_is_handed_to_no_agent():
    """Who asked has gone before an agent came."""
    found = streams()
    found.leave(found.ask("ana", "c1", ASKED), "ReaderGone")
    assert await found.next_for("c1", there, wait_s=0) is None
    assert found.open == 0


async def test_a_question_waits_for_an_agent_that_answers_such():
    """An agent of an earlier release answers questions about pods, and is handed no other."""
    found = streams()
    other = ASKED.model_copy(update={"what": "namespace"})
    found.ask("ana", "c1", other)
    found.ask("ana", "c1", ASKED)
    assert (await found.next_for("c1", there, wait_s=0)).what == "pods"
    assert await found.next_for("c1", there, wait_s=0) is None
    answers = frozenset({"pods", "namespace"})
    assert (await found.next_for("c1", there, wait_s=0, answers=answers)).what == "namespace"


async def test_the_one_place_of_a_cluster_may_be_taken():
    """Half of one is one: whoever asks first has it."""
    found = streams(per_cluster=1)
    assert found.ask("ana", "c1", ASKED).end is None


async def test_an_agent_whose_part_waits_for_room_is_not_silent():
    """It is its reader that is slow; without such a part it is, after a while."""
    clock = ManualClock()
    stream = Stream("c1", "ana", ASKED, clock, most_bytes=1)
    assert await stream.put(StreamPart(seq=1), 10) == 1
    waits = asyncio.create_task(stream.put(StreamPart(seq=2), 10))
    await waiting.turns(5)
    clock.advance(60)
    assert not stream.is_silent(15)
    assert await stream.get(0) is not None
    assert await waits == 2
    clock.advance(16)
    assert stream.is_silent(15)

"""Where questions wait for agents, and answers for readers: who is woken, who is silent, who has a place."""

import asyncio

import pytest

from hub.services.context.settings import Logs
from hub.services.live.open_streams import MOST_POLLS, OpenStreams
from hub.services.live.stream import Stream
from shared.clock import ManualClock
from shared.errors import Rejected
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


async def test_a_question_that_nobody_waits_for_is_brought_from_no_other_process():
    """The relay ends with its reader: its connection, and the place at the other process, are free."""
    found = streams()
    stream = found.ask("ana", "c1", ASKED)
    stream.relay = asyncio.create_task(asyncio.Event().wait())
    found.leave(stream, "ReaderGone")
    await waiting.eventually(stream.relay.done)
    assert stream.relay.cancelled()


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


@pytest.mark.parametrize(
    ("limits", "who", "cluster"),
    [
        ({"per_principal": 1}, "ana", "c2"),
        ({"per_cluster": 2}, "ana", "c1"),
        ({"per_cluster": 1}, "ben", "c1"),
        ({"streams": 1}, "ben", "c2"),
    ],
    ids=["of the reader", "of the reader in the cluster", "of the cluster", "of the hub"],
)
async def test_the_place_of_a_question_is_free_once_its_reader_has_left(limits, who, cluster):
    """Every count in which it stood; that it is left twice frees no second place."""
    found = streams(**limits)
    for _ in range(3):
        first = found.ask("ana", "c1", ASKED)
        with pytest.raises(Rejected):
            found.ask(who, cluster, ASKED)
        for _ in range(2):
            found.leave(first, "ReaderGone")
        second = found.ask(who, cluster, ASKED)
        found.leave(second, "ReaderGone")
    assert found.open == 0


async def test_a_stream_lasts_so_long_however_often_its_agent_is_heard():
    """Then it ends, and says how to go on."""
    clock = ManualClock()
    found = OpenStreams(clock, Logs(longest_s=60), asyncio.Event())
    stream = found.ask("ana", "c1", ASKED)
    for seq in range(1, 8):
        assert await stream.put(StreamPart(seq=seq), 0) == seq
        found.why_ended(stream)
        assert stream.end is None
        clock.advance(10)
    found.why_ended(stream)
    assert stream.end is not None
    assert stream.end.code == "LongestReached"


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


async def test_one_request_more_of_an_agent_takes_the_place_of_the_oldest():
    """The oldest is answered with nothing, a fifth of a second after it came at the soonest."""
    clock = ManualClock()
    found = OpenStreams(clock, Logs(), asyncio.Event())
    polls = [asyncio.create_task(found.next_for("c1", there)) for _ in range(MOST_POLLS)]
    await waiting.turns(5)
    polls.append(asyncio.create_task(found.next_for("c1", there)))
    await waiting.turns(5)
    assert not any(each.done() for each in polls)
    clock.advance(0.2)
    await waiting.eventually(polls[0].done)
    assert await polls[0] is None
    assert not any(each.done() for each in polls[1:])
    found.ask("ana", "c1", ASKED)
    await waiting.eventually(polls[1].done)
    assert await polls[1] is not None
    for each in polls[2:]:
        each.cancel()


async def test_a_question_goes_to_the_agent_of_its_cluster_alone():
    """Neither does another agent find its stream by the id."""
    found = streams()
    stream = found.ask("ana", "c1", ASKED)
    assert await found.next_for("c2", there, wait_s=0) is None
    assert found.find("c2", stream.request.id) is None
    assert found.find("c1", stream.request.id) is stream


async def test_the_oldest_question_is_handed_out_first():
    """Each once."""
    found = streams()
    ids = [found.ask("ana", "c1", ASKED).request.id for _ in range(3)]
    assert len({*ids, ASKED.id}) == 4
    for each in ids:
        assert (await found.next_for("c1", there, wait_s=0)).id == each
    assert await found.next_for("c1", there, wait_s=0) is None


async def test_a_question_that_an_agent_has_taken_is_withdrawn_no_more():
    """Until then it is open here, and may be brought to another process."""
    found = streams()
    first, second = (found.ask("ana", "c1", ASKED) for _ in range(2))
    assert found.is_open_here(first)
    assert await found.next_for("c1", there, wait_s=0) is not None
    assert not found.is_open_here(first)
    assert not found.withdraw(first)
    assert found.withdraw(second)
    assert not found.is_open_here(second)
    assert await found.next_for("c1", there, wait_s=0) is None


async def test_each_agent_may_report_failed_pods_once_a_second():
    """Whatever the others report; a refused report delays no later one."""
    clock = ManualClock()
    found = OpenStreams(clock, Logs(), asyncio.Event())
    assert found.may_tell("c1")
    assert found.may_tell("c2")
    clock.advance(0.9)
    assert not found.may_tell("c1")
    clock.advance(0.1)
    assert found.may_tell("c1")


async def test_an_agent_listens_as_long_as_a_request_of_its_hangs():
    """The hub asks at once where an agent listens, and refuses soon where none does."""
    clock = ManualClock()
    found = OpenStreams(clock, Logs(), asyncio.Event())
    two = [asyncio.create_task(found.next_for("c1", there)) for _ in range(2)]
    await waiting.turns(5)
    assert found.listening == {"c1"}
    assert (found.is_listening("c1"), found.is_listening("c2")) == (True, False)
    for each, left in zip(two, [True, False], strict=True):
        each.cancel()
        await asyncio.wait({each})
        assert found.is_listening("c1") is left
    assert found.listening == set()


async def test_a_stream_that_was_never_answered_is_not_silent():
    """Its reader waits for an agent to come; how long is the reader's affair."""
    clock = ManualClock()
    stream = Stream("c1", "ana", ASKED, clock, most_bytes=1)
    clock.advance(60)
    assert not stream.is_silent(15)
    assert await stream.put(StreamPart(seq=1), 1) == 1
    clock.advance(16)
    assert stream.is_silent(15)


async def test_a_part_for_which_there_is_no_room_is_not_taken():
    """Its agent sends it again; a larger part than the whole buffer has room where none waits."""
    stream = Stream("c1", "ana", ASKED, ManualClock(), most_bytes=10)
    assert await stream.put(StreamPart(seq=1), 50) == 1
    assert await stream.put(StreamPart(seq=2), 1, room_s=0) == 1
    assert (await stream.get(0)).seq == 1
    assert stream.waiting_bytes == 0
    assert await stream.put(StreamPart(seq=2), 6, room_s=0) == 2
    assert await stream.put(StreamPart(seq=3), 4, room_s=0) == 3
    assert await stream.put(StreamPart(seq=4), 1, room_s=0) == 3
    assert stream.waiting_bytes == 10


async def test_of_the_parts_that_wait_for_room_two_are_held():
    """A third is answered at once: the bodies of those that wait are in memory."""
    stream = Stream("c1", "ana", ASKED, ManualClock(), most_bytes=1)
    assert await stream.put(StreamPart(seq=1), 1) == 1
    held = [asyncio.create_task(stream.put(StreamPart(seq=2), 1)) for _ in range(2)]
    await waiting.turns(5)
    assert await stream.put(StreamPart(seq=2), 1) == 1
    assert not any(each.done() for each in held)
    assert (await stream.get(0)).seq == 1
    assert [await each for each in held] == [2, 2]
    assert (await stream.get(0)).seq == 2
    assert await stream.get(0) is None


async def test_what_has_arrived_is_read_though_the_stream_has_ended():
    """The first reason for the end counts, and no later part is taken."""
    stream = Stream("c1", "ana", ASKED, ManualClock(), most_bytes=100)
    await stream.put(StreamPart(seq=1), 1)
    stream.finish("Ended", "all is told")
    stream.finish("AgentSilent", "it is not heard")
    assert await stream.put(StreamPart(seq=2), 1) == 1
    assert (await stream.get(0)).seq == 1
    assert await stream.get(0) is None
    assert (stream.end.code, stream.end.message) == ("Ended", "all is told")

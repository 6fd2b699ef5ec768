"""Two hub processes of one store: what the agent of one is asked by way of the other."""

import asyncio
from collections import deque

import httpx
import pytest

from hub.api.peers import PATH, PeerQuestion, Peers
from hub.services.access.peer_seal import PeerSeal
from hub.services.live import peers
from hub.services.live.open_streams import CLOSING, OpenStreams
from shared.errors import Rejected
from shared.wire.streams_v1 import StreamEnd, StreamPart, StreamRequest
from tests import waiting
from tests.api.streaming import STREAMS, a_line, running_world

pytestmark = pytest.mark.anyio
URL = "http://hub"


def a_question(w):
    return StreamRequest(id="", what="logs", uid=w.uid, namespace="team-a", name="talk")


def another_process(w):
    """It has the store in common with the first, and questions of its own."""
    streams = OpenStreams(w.hub.clock, w.hub.hub.settings.logs, asyncio.Event())
    found = Peers(w.hub.hub, streams)
    found.transport = httpx.ASGITransport(w.app)
    return streams, found


async def listening(w):
    """The agent asks at the first process."""
    hanging = asyncio.create_task(w.http["agent"].get(STREAMS))
    await waiting.eventually(lambda: w.app.state.open_streams.is_listening("c1"))
    return hanging


async def test_a_question_is_answered_by_way_of_the_process_that_the_agent_asks_at(tmp_path):
    """Parts come in order, the agent's end too; afterwards nothing is left open at either."""
    async with running_world(tmp_path) as w:
        streams, mine = another_process(w)
        await w.hub.hub.write(peers.tell, w.app.state.peers.name, URL)
        await w.hub.hub.write(peers.tell, mine.name, "http://never-asked")
        hanging = await listening(w)
        stream = streams.ask("reader", "c1", a_question(w))
        relaying = asyncio.create_task(mine.relay(stream))
        (asked,) = (await hanging).json()["requests"]
        await w.bring(asked, 1, lines=[a_line("one")], beat_s=1.5)
        await w.bring(asked, 2, lines=[a_line("two")], end={"code": "Ended"})
        await relaying
        told = [await stream.get(0), await stream.get(0)]
        assert [line.line for part in told for line in part.lines] == ["one", "two"]
        assert stream.end is not None
        assert stream.end.code == "Ended"
        streams.leave(stream, "Ended")
        assert (w.open, streams.open) == (0, 0)


async def test_a_process_that_no_agent_asks_at_refuses_at_once(tmp_path):
    """And the question stays where it is, for an agent that comes there after all."""
    async with running_world(tmp_path) as w:
        streams, mine = another_process(w)
        await w.hub.hub.write(peers.tell, w.app.state.peers.name, URL)
        stream = streams.ask("reader", "c1", a_question(w))
        relaying = asyncio.create_task(mine.relay(stream))
        await waiting.turns(50)
        assert streams.is_open_here(stream)
        streams.leave(stream, "ReaderGone")
        w.hub.clock.advance(1)
        await relaying


async def test_nobody_else_asks_as_a_hub_does(tmp_path):
    """No seal, another store's, of another receiver or body, an old one, one that was seen: 401."""
    async with running_world(tmp_path) as w:
        body = (
            PeerQuestion(who="x", cluster="c1", request=a_question(w)).model_dump_json().encode()
        )
        now = w.hub.clock.now().timestamp()
        seal = PeerSeal(w.hub.hub.page_key)
        first = w.app.state.peers.name
        good, _ = seal.authorization(first, body, now)
        await w.http["other"].post(PATH, content=body, headers={"Authorization": good})
        for header in (
            "",
            "Roadstead-Peer ",
            "Roadstead-Peer nan.x.é".encode("latin-1"),
            good,
            PeerSeal(b"another store's").authorization(first, body, now)[0],
            seal.authorization("second", body, now)[0],
            seal.authorization("", body, now)[0],
            seal.authorization(first, body + b" ", now)[0],
            seal.authorization(first, body, now - 31)[0],
            seal.authorization(first, body, now + 31)[0],
        ):
            reply = await w.http["other"].post(
                PATH, content=body, headers={"Authorization": header}
            )
            assert reply.status_code == 401
        assert w.open == 0


def test_a_seal_is_good_once():
    """Whoever sees it can not use it again."""
    seal = PeerSeal(b"key")
    header, _ = PeerSeal(b"key").authorization("first", b"body", 100.0)
    seal.check(header, "first", b"body", 101.0)
    with pytest.raises(Rejected):
        seal.check(header, "first", b"body", 101.0)


def test_a_seal_is_good_for_one_receiver():
    """A seal that is read on its way to one process is refused by another."""
    header, _ = PeerSeal(b"key").authorization("first", b"body", 100.0)
    with pytest.raises(Rejected):
        PeerSeal(b"key").check(header, "second", b"body", 100.0)
    PeerSeal(b"key").check(header, "first", b"body", 100.0)


def answering():
    """The two ends of one answer."""
    header, opens = PeerSeal(b"key").authorization("first", b"body", 100.0)
    return PeerSeal(b"key").check(header, "first", b"body", 100.0), opens


def test_an_answer_is_opened_by_who_asked():
    """Line by line, in order; a line may contain anything."""
    seals, opens = answering()
    lines = [b"{}", b"", b"a b"]
    assert [opens.open(seals.seal(each)) for each in lines] == lines


CHANGES = {
    "changed": lambda lines: [lines[0], lines[1] + b" "],
    "unsealed": lambda lines: [lines[0], b"{}"],
    "left out": lambda lines: [lines[1]],
    "twice": lambda lines: [lines[0], lines[0]],
    "of another answer": lambda lines: [lines[0], answering()[0].seal(b"one")],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_answer_that_somebody_changed_is_refused(change):
    """The line at which it differs is not opened."""
    seals, opens = answering()
    sent = change([seals.seal(b"one"), seals.seal(b"two")])
    with pytest.raises(Rejected):
        deque(map(opens.open, sent), maxlen=0)


async def test_a_reader_gets_no_line_that_another_process_did_not_seal(tmp_path):
    """The stream ends with the parts that were sealed before, and says that the process does not answer."""
    async with running_world(tmp_path) as w:
        streams, mine = another_process(w)

        def impostor(request):
            part = StreamPart(seq=1, lines=[a_line("forged")], end=StreamEnd(code="Ended"))
            return httpx.Response(200, content=part.model_dump_json().encode() + b"\n")

        mine.transport = httpx.MockTransport(impostor)
        await w.hub.hub.write(peers.tell, "first", URL)
        stream = streams.ask("reader", "c1", a_question(w))
        await mine.relay(stream)
        assert await stream.get(0) is None
        assert stream.end is not None
        assert stream.end.code == CLOSING


async def test_processes_that_have_gone_are_forgotten(tmp_path):
    """Those that said so at once, the others after half a minute."""
    async with running_world(tmp_path) as w:
        hub = w.hub.hub
        for name in ("a", "b", "c"):
            await hub.write(peers.tell, name, f"http://{name}")
        assert await hub.read(peers.others, "a") == [("b", "http://b"), ("c", "http://c")]
        await hub.write(peers.go, "b")
        assert await hub.read(peers.others, "a") == [("c", "http://c")]
        w.hub.clock.advance(36)
        await hub.write(peers.tell, "a", "http://a")
        assert await hub.read(peers.others, "b") == [("a", "http://a")]

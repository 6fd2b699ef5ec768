"""Logs and pods by REST: a hub with its real routes, and an agent that a test speaks for."""

import asyncio
import json

import pytest

from hub.store import clusters
from hub.store.records.members import DownSince
from shared.wire.streams_v1 import StreamRequest
from tests import waiting
from tests.api.streaming import STREAMS, a_line, records, running_world, world

pytestmark = pytest.mark.anyio


async def test_lines_go_from_the_agent_to_who_asks(tmp_path):
    """Question and answer meet; the last record says why there is no more, and nothing is left."""
    async with running_world(tmp_path) as w:
        reading = w.ask(follow="true", tail="5", timestamps="true")
        asked = await w.question()
        told = {
            name: asked[name] for name in ("what", "uid", "namespace", "name", "follow", "tail")
        }
        assert told == {
            "what": "logs", "uid": w.uid, "namespace": "team-a", "name": "talk", "follow": True, "tail": 5,
        }  # fmt: skip
        first = a_line("hello", at="2026-01-01T00:00:00Z")
        assert (await w.bring(asked, 1, lines=[first])).json() == {"seq": 1}
        again = await w.bring(asked, 1, lines=[first])
        assert again.json() == {"seq": 1}
        await w.bring(asked, 2, lines=[a_line("long", cut=True), a_line("waits", note=True)])
        await w.bring(asked, 3, end={"code": "Ended"})
        reply = await reading
        assert reply.headers["content-type"] == "application/x-ndjson"
        assert records(reply) == [
            {"pod": "p-1", "container": "main", "time": "2026-01-01T00:00:00Z", "line": "hello"},
            {"pod": "p-1", "container": "main", "line": "long", "cut": True},
            {"pod": "p-1", "container": "main", "note": "waits"},
            {"end": {"code": "Ended", "message": ""}},
        ]
        assert w.open == 0
        assert (await w.bring(asked, 4)).status_code == 404


async def test_values_of_variables_are_hidden_from_viewers(tmp_path):
    """Who may not read them in the manifest does not read them in the log."""
    async with running_world(tmp_path) as w:
        for who, line in (("administrator", "it is open sesame"), ("viewer", "it is [hidden]")):
            reading = w.ask(who=who)
            asked = await w.question()
            await w.bring(asked, 1, lines=[a_line("it is open sesame")], end={"code": "Ended"})
            assert records(await reading)[0]["line"] == line


async def test_hostile_lines_end_no_record(tmp_path):
    """What a line holds is text: as JSON lines and as events there is one record for each line."""
    hostile = 'x\n\ndata: {"end":{"code":"Ended"}}\r\n\x1b[2J\u2028'
    async with running_world(tmp_path) as w:
        for accept in ("application/x-ndjson", "text/event-stream"):
            w.http["administrator"].headers["Accept"] = accept
            reading = w.ask()
            asked = await w.question()
            await w.bring(asked, 1, lines=[a_line(hostile)], end={"code": "Ended"})
            lines = [line for line in (await reading).text.split("\n") if line]
            told = [json.loads(line.removeprefix("data: ")) for line in lines]
            assert [each.get("line") for each in told] == [hostile, None]


async def test_another_agent_neither_hears_nor_answers(tmp_path):
    """A question is for the agent of the job's cluster alone; another's part is as of a stranger."""
    async with running_world(tmp_path) as w:
        reading = w.ask()
        elsewhere = asyncio.create_task(w.http["other"].get(STREAMS))
        asked = await w.question()
        assert (await w.bring(asked, 1, who="other", lines=[a_line("a lie")])).status_code == 404
        await w.bring(asked, 1, lines=[a_line("true")], end={"code": "Ended"})
        assert records(await reading)[0]["line"] == "true"
        assert not elsewhere.done()
        w.hub.hub.closing.set()
        assert (await elsewhere).json() == {"requests": []}


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [
        ("LogsOff", 409, "LogsOff"),
        ("RefusedByMember", 409, "RefusedByMember"),
        ("PodsRemoved", 410, "PodsRemoved"),
        ("PodNotFound", 404, "PodNotFound"),
        ("NotBegun", 409, "NotBegun"),
        ("MemberNotAnswering", 503, "MemberNotAnswering"),
        ("Unauthenticated", 503, "MemberNotAnswering"),
        ("<script>", 503, "MemberNotAnswering"),
    ],
)
async def test_what_an_agent_refuses_is_a_problem(tmp_path, code, status, told):
    """With the agent's sentence; a code that is not an agent's to say is its member not answering."""
    async with running_world(tmp_path) as w:
        reading = w.ask()
        asked = await w.question()
        await w.bring(asked, 1, end={"code": code, "message": "because"})
        reply = await reading
        assert (reply.status_code, reply.json()["code"]) == (status, told)
        assert reply.json()["detail"] == "because"


async def test_a_job_that_waits_has_no_logs(tmp_path):
    """Nobody is asked: no cluster holds pods of it."""
    async with world(tmp_path) as w:
        await w.http["administrator"].post(f"/v1/jobs/{w.uid}/hold")
        for what in ("logs", "pods"):
            reply = await w.ask(what)
            assert (reply.status_code, reply.json()["code"]) == (409, "JobWaits")
        assert w.open == 0


async def test_a_silent_cluster_is_not_asked(tmp_path):
    """Its agent has not been heard for longer than a cluster may be silent."""
    async with running_world(tmp_path) as w:
        w.hub.clock.advance(3600)
        reply = await w.ask()
        assert (reply.status_code, reply.json()["code"]) == (503, "ClusterSilent")


@pytest.mark.parametrize("joined", [True, False])
async def test_a_cluster_that_was_never_heard_is_not_asked(tmp_path, joined):
    """No agent would answer: the hub refuses at once and says when it last heard the agent."""
    async with running_world(tmp_path) as w:
        never = {"heartbeat_at": None} | ({} if joined else {"joined_at": None})
        await w.hub.hub.write(lambda tx: clusters.change(tx, "c1", **never))
        reply = await w.ask()
        assert (reply.status_code, reply.json()["code"]) == (503, "ClusterSilent")
        assert "(last heard: never)" in reply.json()["detail"]


async def test_an_unhealthy_member_is_named_as_the_cause(tmp_path):
    """Its agent answers and can read no pods: the answer says since when, nothing of releases."""
    async with running_world(tmp_path) as w:
        down: DownSince = {
            "reason": "no answer",
            "since": "2026-05-01T00:00:00Z",
            "cause": "NoAnswer",
        }
        await w.hub.hub.write(lambda tx: clusters.set_capacity(tx, "c1", b"{}", down))
        reading = w.ask("pods")
        await waiting.eventually(lambda: w.open)
        w.hub.clock.advance(20)
        reply = await reading
        assert (reply.status_code, reply.json()["code"]) == (503, "MemberNotAnswering")
        assert (
            "its API server has not answered since 2026-05-01T00:00:00Z" in reply.json()["detail"]
        )


async def test_who_is_not_answered_is_told_so(tmp_path):
    """No agent comes: after some seconds the question is withdrawn."""
    async with running_world(tmp_path) as w:
        reading = w.ask()
        await waiting.eventually(lambda: w.open)
        w.hub.clock.advance(20)
        reply = await reading
        assert (reply.status_code, reply.json()["code"]) == (503, "AgentNotListening")
        assert w.open == 0


async def test_an_agent_that_falls_silent_ends_the_stream(tmp_path):
    """The last record names it."""
    async with running_world(tmp_path) as w:
        reading = w.ask(follow="true")
        asked = await w.question()
        await w.bring(asked, 1, lines=[a_line("one")])
        await waiting.turns(50)
        w.hub.clock.advance(16)
        assert records(await reading)[-1]["end"]["code"] == "AgentSilent"


async def test_a_hub_that_stops_ends_streams_and_questions(tmp_path):
    """Readers are told; agents' requests that hang are answered."""
    async with running_world(tmp_path) as w:
        reading = w.ask(follow="true")
        asked = await w.question()
        await w.bring(asked, 1)
        hanging = asyncio.create_task(w.http["agent"].get(STREAMS))
        await waiting.turns(50)
        w.hub.hub.closing.set()
        assert records(await reading)[-1]["end"]["code"] == "HubStopped"
        assert (await hanging).json() == {"requests": []}


async def test_a_missing_part_ends_the_stream(tmp_path):
    """Lines are complete and in order, or the stream says that they are not."""
    async with running_world(tmp_path) as w:
        reading = w.ask()
        asked = await w.question()
        await w.bring(asked, 1, lines=[a_line("one")])
        await w.bring(asked, 3, lines=[a_line("three")])
        told = records(await reading)
        assert [each.get("line") for each in told] == ["one", None]
        assert told[-1]["end"]["code"] == "OutOfOrder"


async def test_streams_are_bounded(tmp_path):
    """By principal; another principal is not kept out, until the cluster has its own number."""
    async with running_world(tmp_path, per_principal=1, per_cluster=2) as w:
        mine = w.ask()
        await waiting.eventually(lambda: w.open == 1)
        reply = await w.ask()
        assert (reply.status_code, reply.json()["code"]) == (429, "TooManyStreams")
        theirs = w.ask(who="viewer")
        await waiting.eventually(lambda: w.open == 2)
        for reading in (mine, theirs):
            await w.bring(await w.question(), 1, end={"code": "Ended"})
            assert (await reading).status_code == 200
        assert w.open == 0


async def test_pods_are_told_as_the_member_has_them(tmp_path):
    """Pods with containers and events; counts of restarts are summed."""
    async with running_world(tmp_path) as w:
        reading = w.ask("pods")
        asked = await w.question()
        assert asked["what"] == "pods"
        container = {"name": "main", "state": "terminated", "exit_code": 137, "restarts": 2}
        pod = {"name": "p", "phase": "Failed", "reason": "OOMKilled", "containers": [container]}
        event = {"reason": "Killing", "about": "Pod/p"}
        await w.bring(asked, 1, pods=[pod], events=[event], left_out=3, end={"code": "Ended"})
        told = (await reading).json()
        (shown,) = told["items"]
        assert (shown["reason"], shown["restarts"]) == ("OOMKilled", 2)
        assert shown["containers"][0]["exitCode"] == 137
        assert (told["cluster"], told["leftOut"], told["events"][0]["object"]) == (
            "c1",
            3,
            "Pod/p",
        )


@pytest.mark.parametrize(
    ("part", "status"),
    [
        ({"seq": 0}, 422),
        ({"seq": 1, "lines": [a_line("x" * 20000)]}, 422),
        ({"seq": 1, "lines": [a_line("x")] * 2001}, 422),
        ({"seq": 1, "lines": [{"line": "x"}]}, 422),
        ({"seq": 1, "pods": [{"name": "p", "reason": "x" * 3000}]}, 422),
    ],
)
async def test_what_is_no_part_is_refused(tmp_path, part, status):
    """Bounds of lines and texts hold for agents too; the stream stays as it was."""
    async with running_world(tmp_path) as w:
        reading = w.ask()
        asked = await w.question()
        reply = await w.http["agent"].post(f"{STREAMS}/{asked['id']}", json=part)
        assert reply.status_code == status
        await w.bring(asked, 1, end={"code": "Ended"})
        assert (await reading).status_code == 200


async def test_where_a_log_broke_off_is_told_to_the_agent(tmp_path):
    """By container; what is no such place is refused, and nobody is asked."""
    async with running_world(tmp_path) as w:
        reading = w.ask(after="p-1/main=2026-01-01T00:00:00.5Z,p-2/side=2026-01-01T00:00:01Z")
        asked = await w.question()
        assert asked["after"] == {
            "p-1/main": "2026-01-01T00:00:00.5Z", "p-2/side": "2026-01-01T00:00:01Z",
        }  # fmt: skip
        await w.bring(asked, 1, end={"code": "Ended"})
        assert (await reading).status_code == 200
        for wrong in ("p-1", "p-1/main=yesterday", "p-1/main=2026-01-01T00:00:00Z;", ","):
            reply = await w.ask(after=wrong)
            assert (reply.status_code, reply.json()["code"]) == (422, "InvalidValue")


async def test_an_agent_that_says_how_often_it_is_heard_is_missed_soon(tmp_path):
    """Within five seconds; while a part of its waits for room it is there."""
    async with running_world(tmp_path, buffer_bytes=1) as w:
        reading = w.ask(follow="true")
        asked = await w.question()
        await w.bring(asked, 1, beat_s=1.5)
        await waiting.turns(50)
        w.hub.clock.advance(4)
        assert records(await reading)[-1]["end"]["code"] == "AgentSilent"


async def test_who_has_no_stream_of_a_cluster_finds_a_place(tmp_path):
    """Nobody has more than half of its places, and the last of them are for those who have none."""
    async with running_world(tmp_path, per_principal=20, per_cluster=10) as w:
        mine = [w.ask() for _ in range(5)]
        await waiting.eventually(lambda: w.open == 5)
        reply = await w.ask()
        assert (reply.status_code, "of yours of cluster c1" in reply.json()["detail"]) == (
            429,
            True,
        )
        theirs = [w.ask(who="viewer") for _ in range(3)]
        await waiting.eventually(lambda: w.open == 8)
        assert (await w.ask(who="viewer")).status_code == 429
        streams = w.app.state.open_streams
        newcomer = StreamRequest(id="", what="pods", uid=w.uid, namespace="team-a", name="talk")
        for name in ("third", "fourth"):
            streams.leave(streams.ask(name, "c1", newcomer), "Ended")
        for _ in (*mine, *theirs):
            await w.bring(await w.question(), 1, end={"code": "Ended"})
        await asyncio.gather(*mine, *theirs)

"""Hub and agent one release apart understand each other, both ways; further apart they say who is behind."""

import asyncio
from typing import Any

import httpx
import orjson
import pytest

from agent.main import EXIT_REFUSED, Agent
from shared.wire import agent_v1, versions
from shared.wire.agent_v1 import CA_PATH, REGISTER_PATH, SyncReply, SyncRequest
from shared.wire.streams_v1 import STREAMS_PATH
from shared.wire.versions import NEWEST, OLDEST, NotSpoken
from tests.agent.scripted_hub import ScriptedHub, a_job
from tests.services.members import earlier_wire

pytestmark = pytest.mark.anyio


class EarlierHub(ScriptedHub):
    """A hub of the release before: it refuses every field that it does not know, and says no protocol."""

    def __init__(self) -> None:
        super().__init__()
        self.strict_replies: list[earlier_wire.SyncReply] = []
        self.refused = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        path = request.url.path
        if path.startswith(STREAMS_PATH):  # it has no such route
            return httpx.Response(404, json={"code": "NotFound"}, request=request)
        if path != CA_PATH:
            kind = earlier_wire.Register if path == REGISTER_PATH else earlier_wire.SyncRequest
            try:
                message = kind.model_validate_json(body)
            except ValueError:
                self.refused += 1
                return httpx.Response(422, json={"code": "InvalidMessage"}, request=request)
            if getattr(message, "proto", OLDEST) != OLDEST:
                self.refused += 1
                told = {"code": "UpgradeRequired", "detail": "the hub speaks protocol 1"}
                return httpx.Response(426, json=told, request=request)
        answer = await super().handle_async_request(request)
        if answer.status_code != 200 or path == REGISTER_PATH:
            return self._of_its_day(answer, request)
        fields = earlier_wire.SyncReply.model_fields
        reply: dict[str, Any] = orjson.loads(answer.content)
        said = {k: v for k, v in reply.items() if k in fields}
        known = earlier_wire.Work.model_fields
        for work in said["desired"]["works"]:  # as one of its day composes them
            for name in work.keys() - known.keys():
                del work[name]
        self.strict_replies.append(earlier_wire.SyncReply.model_validate(said))
        return httpx.Response(200, json=said, request=request)

    def _of_its_day(self, answer: httpx.Response, request: httpx.Request) -> httpx.Response:
        if answer.status_code != 200:
            return answer
        told = orjson.loads(answer.content)
        told.pop("credential_id", None)
        earlier_wire.Registered.model_validate(told)
        return httpx.Response(200, json=told, request=request)


class LaterHub(ScriptedHub):
    """A hub of the release after: its answers have fields that nobody here knows."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await super().handle_async_request(request)
        if answer.status_code != 200:
            return answer
        told = _with_more(orjson.loads(answer.content))
        return httpx.Response(200, json=told, request=request)


def _with_more(value: object) -> object:
    """The same with a field more in each object but manifests."""
    if isinstance(value, dict):
        kept = {k: v if k == "manifest" else _with_more(v) for k, v in value.items()}
        return kept | {"of_a_later_release": {"a": 1}}
    return [_with_more(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", [EarlierHub, LaterHub])
async def test_a_job_runs_with_a_hub_one_release_apart(member, kind):
    """Joining, reporting, running to the end: no message is refused."""
    member.hub = kind()
    member.hub.put(a_job())
    member.start()
    await member.hub.finished("u-1")
    await member.hub.until(lambda hub: hub.capacity is not None)
    assert getattr(member.hub, "refused", 0) == 0


async def test_a_hub_that_is_set_back_is_met_half_way(member):
    """It takes the place of a newer one in the middle of a session: the next word is one that it knows."""
    member.hub = EarlierHub()
    member.start()
    await member.hub.until(lambda hub: hub.requests)
    client = member.agent.exchange._hub
    client.protocol = NEWEST
    told = len(member.hub.requests)
    member.agent.exchange.news()
    await member.hub.until(lambda hub: len(hub.requests) > told)
    assert member.hub.refused == 1
    assert client.protocol == OLDEST


async def test_a_hub_that_speaks_nothing_of_ours_refuses_us_for_good(member):
    """While joining: the agent ends, with the hub's word on which side is to be upgraded."""
    told = {"code": "UpgradeRequired", "detail": "the hub speaks protocol 7: upgrade the agent"}

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(426, json=told)

    agent = Agent(member.settings(), transport=httpx.MockTransport(answer))
    assert await asyncio.wait_for(agent.run(), 30) == EXIT_REFUSED


def test_the_least_that_a_message_can_say_is_enough():
    """What a release before did not know has a default in every message."""
    whole = {"session": "session-1", "seq": 1, "cluster_uid": "uid"}
    assert SyncRequest.model_validate(whole).proto == OLDEST
    reply = {
        "hub_id": "h",
        "incarnation": "i",
        "term": 1,
        "session": "session-1",
        "seq": 1,
        "desired": {},
        "pool_keys": {"revision": 0, "keys": []},
    }
    earlier_wire.SyncReply.model_validate(reply)
    assert SyncReply.model_validate(reply).rotate is None


def test_nothing_is_required_that_the_release_before_did_not_say():
    """For every message of both: fields that have come since are optional."""
    for name, earlier in vars(earlier_wire).items():
        if not (isinstance(earlier, type) and issubclass(earlier, earlier_wire.Message)):
            continue
        now = getattr(agent_v1, name, None)
        if now is None or not earlier.model_fields:
            continue
        added = set(now.model_fields) - set(earlier.model_fields)
        assert not [each for each in added if now.model_fields[each].is_required()], name
        gone = set(earlier.model_fields) - set(now.model_fields)
        assert not [each for each in gone if earlier.model_fields[each].is_required()], name


@pytest.mark.parametrize(
    ("offered", "spoken", "oldest", "chosen"),
    [
        ("", 1, 1, 1),
        ("1-2", 1, 1, 2),
        ("1-9", 1, 1, NEWEST),
        ("2-5", 2, 1, NEWEST),
        ("1-2", 1, 2, 2),
        ("nonsense", 1, 1, 1),
        ("2-1", 1, 1, 1),
        ("1-99999999", 1, 1, 1),
    ],
)
def test_the_newest_that_both_speak_is_chosen(offered, spoken, oldest, chosen):
    """Of what the agent offers; one that offers nothing speaks what its message is of."""
    assert versions.choose(offered, spoken, oldest) == chosen


@pytest.mark.parametrize(
    ("offered", "spoken", "oldest", "who"),
    [("6-7", 6, 1, "hub"), ("", 6, 1, "hub"), ("", 1, 2, "agent"), ("0-0", 1, 1, "agent")],
)
def test_where_nothing_is_in_common_it_is_said_who_is_behind(offered, spoken, oldest, who):
    """With what both speak, so that nobody has to guess."""
    with pytest.raises(NotSpoken, match=f"upgrade the {who}$"):
        versions.choose(offered, spoken, oldest)


@pytest.mark.parametrize(
    ("answered", "chosen"), [(None, 1), ("", 1), ("2", 2), ("9", 1), ("x", 1)]
)
def test_a_hub_that_says_nothing_speaks_the_first(answered, chosen):
    """Nothing newer is said to it; nor to one whose choice was never offered."""
    assert versions.chosen(answered) == chosen


@pytest.mark.parametrize(
    ("given", "version"),
    [
        ("roadstead-agent/0.2.0", "0.2.0"),
        ("python-httpx/0.28", ""),
        ("roadstead-agent/" + "9" * 99, "9" * 64),
        ("roadstead-agent/\x1b[2J", ""),
    ],
)
def test_the_agents_version_is_what_it_calls_itself(given, version):
    """Bounded, and nothing that a terminal would obey."""
    assert versions.version_of(given) == version

"""Hub and agent one release apart understand each other, both ways; further apart they say who is behind."""

import asyncio
from typing import Any

import httpx
import orjson
import pytest

from agent.hub.client import HubClient, HubError
from agent.hub.link import Link
from agent.main import EXIT_REFUSED, Agent
from agent.member.rights import unread_kinds
from shared.kubesim.operators.definitions import operator_crds
from shared.wire import agent_v1, versions
from shared.wire.agent_v1 import CA_PATH, REGISTER_PATH, SyncReply, SyncRequest
from shared.wire.left_objects import LeftObject
from shared.wire.streams_v1 import STREAMS_PATH
from shared.wire.versions import KINDS, NEWEST, OBJECT_UIDS, OLDEST, POD_NODES, NotSpoken
from tests.agent.scripted_hub import ScriptedHub, a_job, eventually
from tests.agent.versioned_hub import HubOfProtocol
from tests.services.members import earlier_wire

pytestmark = pytest.mark.anyio
JOB_SET = "jobset.x-k8s.io/v1alpha2/JobSet"


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


@pytest.mark.parametrize(("protocol", "told"), [(POD_NODES - 1, False), (POD_NODES, True)])
async def test_on_which_nodes_pods_are_is_told_to_a_hub_that_knows_it(member, protocol, told):
    """Others get the report without it."""
    member.hub = HubOfProtocol(protocol)
    member.hub.put(a_job(run_seconds=60))
    member.start()
    found = await member.hub.until(
        lambda hub: hub.capacity and [b for b in hub.capacity.bound if b.bound]
    )
    assert (found[0].nodes is not None) is told


@pytest.mark.parametrize(("protocol", "told"), [(KINDS - 1, []), (KINDS, [JOB_SET])])
async def test_kinds_that_may_not_be_listed_are_told_to_a_hub_that_knows_them(
    member, protocol, told
):
    """Others get the report without them; all lists of the kind are refused."""
    for crd in operator_crds():
        member.cluster.store.create("customresourcedefinitions.apiextensions.k8s.io", crd)
    member.cluster.faults.add("forbid", resource="jobsets", count=0)
    member.hub = HubOfProtocol(protocol)
    member.start()
    await member.hub.until(lambda hub: hub.capacity and JOB_SET in (hub.capacity.kinds or ()))
    await eventually(lambda: unread_kinds(member.agent.reconciler.observer) == [JOB_SET])
    await member.hub.until(lambda hub: hub.capacity.unread_kinds == told)


@pytest.mark.parametrize(("protocol", "told"), [(KINDS - 1, False), (KINDS, True)])
async def test_kinds_that_are_not_read_are_told_to_a_hub_that_knows_them(tmp_path, protocol, told):
    """Others are told whether all are, and no more."""
    bodies: list[dict[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(orjson.loads(request.content))
        return httpx.Response(503)

    transport = httpx.MockTransport(answer)
    client = HubClient(Link("http://hub.test", tmp_path / "ca", transport=transport))
    client.protocol = protocol
    said = SyncRequest(session="session-1", seq=1, cluster_uid="u", jobs_read=True)
    said.kinds_unread = []
    with pytest.raises(HubError):
        await client.sync("secret", said)
    assert bodies[0]["jobs_read"] is True
    assert ("kinds_unread" in bodies[0]) is told
    await client.close()


def a_left_object():
    named = {"api_version": "v1", "kind": "ConfigMap", "namespace": "team-a", "name": "settings"}
    return LeftObject.model_validate({**named, "placed_by": "ResourcePlacement/web"})


@pytest.mark.parametrize("protocol", [OBJECT_UIDS - 1, OBJECT_UIDS])
async def test_the_placement_of_an_undesired_object_is_told_to_a_hub_that_knows_it(
    tmp_path, protocol
):
    """Others get the object without it."""
    bodies: list[dict[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(orjson.loads(request.content))
        return httpx.Response(503)

    client = HubClient(
        Link("http://hub.test", tmp_path / "ca", transport=httpx.MockTransport(answer))
    )
    client.protocol = protocol
    entry = agent_v1.Observed(
        uid="u", epoch=0, generation=1, seq=1, phase="Applied", left=a_left_object()
    )
    said = agent_v1.ObservedSet(entries=[entry])
    with pytest.raises(HubError):
        await client.sync(
            "secret", SyncRequest(session="session-1", seq=1, cluster_uid="u", observed=said)
        )
    told = bodies[0]["observed"]["entries"][0]["left"]
    assert told["name"] == "settings"
    assert ("placed_by" in told) is (protocol >= OBJECT_UIDS)
    await client.close()


async def test_a_hub_that_is_set_back_gets_the_same_report_as_it_knows_it(tmp_path):
    """Without nodes of pods and objects that nothing desires: the report was composed for the newer hub."""
    bodies: list[dict[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(orjson.loads(request.content))
        return httpx.Response(426 if len(bodies) == 1 else 503, json={"code": "UpgradeRequired"})

    transport = httpx.MockTransport(answer)
    client = HubClient(Link("http://hub.test", tmp_path / "ca", transport=transport))
    client.protocol = NEWEST
    bound = [agent_v1.Bound(uid="u", epoch=1, bound=1, succeeded=0, nodes=[0, 1])]
    capacity = agent_v1.Capacity(pools_revision=0, pools=[], bound=bound)
    left = a_left_object()
    entry = agent_v1.Observed(uid="u", epoch=1, generation=1, seq=1, phase="Applied", left=left)
    request = SyncRequest(
        session="session-1", seq=1, cluster_uid="uid", capacity=capacity,
        observed=agent_v1.ObservedSet(entries=[entry]),
    )  # fmt: skip
    with pytest.raises(HubError):
        await client.sync("secret", request)
    first, second = bodies
    assert first["capacity"]["bound"][0]["nodes"] == [0, 1]
    assert first["observed"]["entries"][0]["left"]["name"] == "settings"
    assert "nodes" not in second["capacity"]["bound"][0]
    assert "left" not in second["observed"]["entries"][0]
    await client.close()


async def test_a_hub_that_speaks_nothing_of_ours_refuses_us_for_good(member):
    """While joining: the agent ends, with the hub's word on which side is to be upgraded."""
    told = {"code": "UpgradeRequired", "detail": "the hub speaks protocol 8: upgrade the agent"}

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
        ("2-5", 2, 1, 5),
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
    [("8-9", 8, 1, "hub"), ("", 8, 1, "hub"), ("", 1, 2, "agent"), ("0-0", 1, 1, "agent")],
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

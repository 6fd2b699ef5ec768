"""What a reply says beside the works, and what of a session and of a report outlives its request."""

import asyncio
import datetime as dt
from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.services.consent import namespaces
from hub.services.consent.placed import name_placed
from hub.services.index import pool_keys
from hub.services.members.liveness import Heartbeats
from hub.services.members.sessions import ObservedDigest
from hub.services.works import declared_rules
from hub.store import clusters
from shared.wire.agent_v1 import ObservedSet
from shared.wire.set_digest import SetDigest
from shared.wire.versions import OLDEST
from tests import waiting
from tests.services.members.hubs import Agent, Running, a_stray, ran, running_hub, seen
from tests.store.build import START

pytestmark = pytest.mark.anyio
ROOM: dict[str, Any] = {"pools_revision": 0, "pools": [], "bound": []}


async def keys_are(hub: Running, *names: str) -> dict[str, Any]:
    """The scheduler asks agents to group nodes by these; as they are told."""
    made = await hub.write(pool_keys.require, pool_keys.PoolKeys(), names)
    return {"revision": made.revision, "keys": sorted(names)}


async def test_a_reply_is_of_its_request_and_its_hub(tmp_path: Path):
    """Every field: of which request, who answers, what was refused and ordered, when to ask again."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        first = (await agent.post(agent.request())).json()
        assert first["mark"]["run"].startswith(f"{hub.sync.incarnation}.")
        assert first["mark"]["revision"] == hub.hub.db.revision
        number = first["desired"]["revision"]  # hubs that share a store count from anywhere
        assert number == 1 or (hub.hub.db.shared and number > 1)
        assert {name: value for name, value in first.items() if name != "mark"} == {
            "proto": OLDEST,
            "hub_id": "hub-1",
            "incarnation": hub.sync.incarnation,
            "term": 1,
            "session": "session-north-1",
            "seq": 1,
            "desired": {
                "full": True, "revision": number, "digest": SetDigest().hex(),
                "works": [], "removed": [], "more": False,
            },
            "pool_keys": {"revision": 0, "keys": []},
            "refused": [],
            "orders": [],
            "need_full": False,
            "next_s": 10.0,
        }  # fmt: skip
        agent.take(first)
        second = await agent.sync(a_stray(hub, "x"), seen("y", "Applied"))
        assert (second["seq"], second["need_full"], second["next_s"]) == (2, False, 10.0)
        assert [each["uid"] for each in second["refused"]] == ["x", "y"]
        assert second["orders"] == [{"uid": "x", "object_uid": "m-1", "action": "Remove"}]
        agent.request(seen("z", "Applied"))  # never sent
        third = await agent.sync()
        assert (third["need_full"], third["next_s"]) == (True, 0.0)


async def test_more_to_come_is_asked_for_at_once(tmp_path: Path):
    """While pages follow; with the last one the usual pause."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await hub.place_many("north", 1001)
        assert [(await agent.sync())["next_s"] for _ in range(2)] == [0.0, 10.0]


async def test_new_pool_keys_are_told_at_once_and_ever_after(tmp_path: Path):
    """Who hangs is answered with them; the next hub knows them from its start."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        hangs = asyncio.create_task(agent.sync(wait_s=20))
        await waiting.eventually(lambda: hub.sync._sets.of("north")._waiters)
        keys = await keys_are(hub, "zone", "arch")
        assert (await asyncio.wait_for(hangs, 5))["pool_keys"] == keys
        assert (await agent.sync())["pool_keys"] == keys
    async with running_hub(tmp_path) as hub:
        agent.running = hub
        assert (await agent.sync())["pool_keys"] == keys


async def names_are(hub: Running, *names: str) -> dict[str, Any]:
    """Have the scheduler name these namespaces; returns once replies carry them."""
    made = await hub.write(namespaces.require, frozenset(names))
    await waiting.eventually(lambda: hub.sync._for_all.namespaces["revision"] == made.revision)
    return hub.sync._for_all.namespaces


async def test_pool_keys_that_changed_between_two_requests_are_told_at_once(tmp_path: Path):
    """The next request of an agent does not wait for other news, though none of it hung at the change."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        keys = await keys_are(hub, "zone")
        await waiting.eventually(lambda: hub.sync._for_all.pool_keys == keys)
        told = await asyncio.wait_for(agent.sync(wait_s=20), 5)
        assert told["pool_keys"] == keys


async def test_names_that_changed_between_two_requests_are_told_at_once(tmp_path: Path):
    """The next request of an agent is answered with the namespaces that it has yet to report."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync(namespaces_held=0)
        names = await names_are(hub, "team-a")
        told = await asyncio.wait_for(agent.sync(wait_s=20, namespaces_held=0), 5)
        assert told["namespaces"] == names


async def test_names_in_a_lost_reply_are_told_again_at_once(tmp_path: Path):
    """An agent that does not hold what its last reply had does not wait for it."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync(namespaces_held=0)
        names = await names_are(hub, "team-a")
        lost = (await agent.post(agent.request(namespaces_held=0))).json()
        assert lost["namespaces"] == names
        told = await asyncio.wait_for(agent.sync(wait_s=20, namespaces_held=0), 5)
        assert told["namespaces"] == names


async def test_an_agent_that_holds_all_that_is_told_waits(tmp_path: Path):
    """Its request hangs until there is other news."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        names = await names_are(hub, "team-a")
        await agent.sync(namespaces_held=0)
        hangs = asyncio.create_task(
            agent.sync(wait_s=20, namespaces_held=names["revision"], availability=0)
        )
        await waiting.eventually(lambda: hub.sync._sets.of("north")._waiters)
        assert not hangs.done()
        keys = await keys_are(hub, "zone")
        assert (await asyncio.wait_for(hangs, 5))["pool_keys"] == keys


async def test_rules_of_availability_are_told_to_agents_that_go_by_others(tmp_path: Path):
    """At once to one that hangs, until it holds them; never to one of a release that knows of none."""
    rule = {"group": "ray.io", "kind": "RayCluster", "available": "true", "message": ""}
    async with running_hub(tmp_path) as hub:
        agent, older = await hub.join("north"), await hub.join("south")
        assert "availability" not in await agent.sync(availability=0)
        hangs = asyncio.create_task(agent.sync(wait_s=20, availability=0))
        await waiting.eventually(lambda: hub.sync._sets.of("north")._waiters)
        made = await hub.write(declared_rules.declare, [rule], "ana")
        told = (await asyncio.wait_for(hangs, 5))["availability"]
        assert told == {"revision": made["revision"], "rules": [rule]}
        assert (await agent.sync(availability=0))["availability"] == told
        assert "availability" not in await agent.sync(availability=told["revision"])
        assert "availability" not in await older.sync()
    async with running_hub(tmp_path) as hub:
        agent.running = hub
        assert (await agent.sync(availability=7))["availability"] == told


async def test_a_change_for_all_agents_between_two_requests_is_told_at_once(tmp_path: Path):
    """An agent asks with what it held before: the hub does not hold that request."""
    rule = {"group": "ray.io", "kind": "RayCluster", "available": "true", "message": ""}
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        await hub.write(declared_rules.declare, [rule], "ana")
        await hub.write(name_placed, frozenset({"shop"}))
        await waiting.eventually(lambda: hub.sync._for_all.namespaces["revision"] == 1)
        rules = await asyncio.wait_for(agent.sync(wait_s=20, availability=0), 5)
        assert rules["availability"]["rules"] == [rule]
        names = await asyncio.wait_for(agent.sync(wait_s=20, namespaces_held=0), 5)
        assert names["namespaces"] == {"revision": 1, "names": ["shop"], "ids": {}}


async def test_a_session_is_written_down_whole(tmp_path: Path):
    """Which one, since when, which are over; that is a sign of life, and it has joined since it did."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        joined = hub.clock.now()
        hub.clock.advance(5)
        await agent.sync()
        hub.clock.advance(5)
        agent.restart("session-north-2")
        await agent.sync()
        (member,) = await hub.hub.read(clusters.list_all)
        now = hub.clock.now()
        assert (
            member.session,
            member.session_at,
            member.retired_sessions,
            member.heartbeat_at,
            member.joined_at,
            member.cluster_uid,
        ) == ("session-north-2", now, ["session-north-1"], now, joined, "uid-north")


async def test_a_new_session_says_everything_anew(tmp_path: Path):
    """What the one before it had said counts no more; its numbers begin again."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync(ran(uid))
        said = agent.observed
        agent.restart("session-north-2")
        agent.full, agent.observed = False, said
        reply = await agent.sync()
        assert (reply["need_full"], reply["seq"], reply["desired"]["full"]) == (True, 1, True)
        assert list(agent.works) == [uid]
        agent.observed = SetDigest()
        assert (await agent.sync(ran(uid)))["need_full"] is False


async def stored(hub: Running) -> dict[str, Any]:
    """The report of room that is kept."""
    return orjson.loads((await hub.hub.read(clusters.get_capacities, ["north"]))["north"][0])


async def test_kinds_that_a_report_leaves_out_stay_as_they_were(tmp_path: Path):
    """Everything else is as it was said last; none is a word of its own."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        told = []
        reports: tuple[dict[str, Any], ...] = (
            {"kinds": ["example.com/v1/Sim"], "node_count": 1, "properties": {"a": "1"}},
            {"node_count": 2},
            {"kinds": []},
            {},
        )
        for more in reports:
            reply = await agent.sync(capacity=ROOM | more)
            assert reply["refused"] == []
            kept = await stored(hub)
            told.append((len(kept["kinds"]), kept["node_count"], kept["properties"]))
        assert told == [(1, 1, {"a": "1"}), (1, 2, {}), (0, 0, {}), (0, 0, {})]


async def test_jobs_are_left_to_the_queue_managers_that_are_there_now(tmp_path: Path):
    """As the member reported last, in this session or before the hub was started."""
    suspended = {}

    async def offer(hub: Running, agent: Agent, name: str) -> None:
        uid = await hub.placed("north", name)
        await agent.sync()
        suspended[name] = agent.works[uid]["manifest"]["spec"]["suspend"]

    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await offer(hub, agent, "a")
        for name, managers in (("b", ["team-a/default"]), ("c", ["team-b/default"]), ("d", [])):
            await agent.sync(capacity=ROOM | {"queue_managers": managers})
            await offer(hub, agent, name)
        await agent.sync(capacity=ROOM | {"queue_managers": ["team-a/default"]})
    async with running_hub(tmp_path) as hub:
        agent.running = hub
        await agent.sync()
        await offer(hub, agent, "e")
    assert suspended == {"a": False, "b": True, "c": False, "d": False, "e": True}


async def test_a_job_is_not_started_around_a_stopped_queue(tmp_path: Path):
    """It is given suspended and with the queue's label: the member's queue manager starts it."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        stopped = ["team-a/default"]
        await agent.sync(capacity=ROOM | {"queue_managers": stopped, "stopped_queues": stopped})
        uid = await hub.placed("north")
        await agent.sync()
        manifest = agent.works[uid]["manifest"]
        assert manifest["spec"]["suspend"] is True
        assert manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default"


async def test_what_is_removed_is_no_longer_expected_to_be_seen(tmp_path: Path):
    """Both sides forget it together: nothing has to be said anew."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uids = await hub.place_many("north", 2)
        await agent.sync()
        await agent.sync(*(ran(uid) for uid in uids))
        reply = await agent.sync(seen(uids[0], "Gone"))
        await hub.settled()
        for _ in range(2):
            reply = await agent.sync()
            assert reply["need_full"] is False
        assert (list(agent.works), list(agent.entries)) == ([uids[1]], [uids[1]])


async def test_what_is_refused_while_nothing_else_is_said_is_answered_at_once(tmp_path: Path):
    """An entry that could not be read is told, though the agent would wait."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        body = agent.request(wait_s=20)
        body["observed"]["entries"].append({"uid": "odd"})
        reply = await asyncio.wait_for(agent.post(body), 5)
        assert [each["code"] for each in reply.json()["refused"]] == ["InvalidEntry"]


def test_what_is_said_again_replaces_what_was_said():
    """One entry for each uid; what is forgotten counts no more; a full set begins anew."""

    def page(*entries: tuple[str, int], of: tuple[tuple[str, int], ...], **more: bool):
        digest = SetDigest()
        for uid, number in of:
            digest.add(f"{uid}:1:{number}")
        listed = [seen(uid, "Applied").model_copy(update={"seq": n}) for uid, n in entries]
        return ObservedSet(digest=digest.hex(), entries=listed, **more)

    known = ObservedDigest()
    first = (("a", 1), ("b", 2))
    assert not known.take(page(("a", 1), of=(("a", 1),))), "nothing is complete before a full set"
    assert known.take(page(*first, of=first, full=True))
    assert known.take(page(("a", 3), of=(("a", 3), ("b", 2))))
    assert known.take(page(("a", 3), of=(("a", 3), ("b", 2)))), "the same line twice"
    known.forget(["b", "never"])
    assert known.take(page(of=(("a", 3),)))
    assert known.take(page(("c", 4), of=(("c", 4),), full=True))
    assert not known.take(page(of=first))


def test_heartbeats_are_handed_over_once_and_the_newest_counts():
    """What could not be written comes back beneath what was heard since."""
    heard = Heartbeats()
    at = [START + n * dt.timedelta(seconds=1) for n in range(5)]
    for name, number in (("a", 1), ("b", 2), ("a", 3)):
        heard.hear(name, at[number])
    taken = heard.take()
    assert (taken, heard.take()) == ({"a": at[3], "b": at[2]}, {})
    heard.hear("a", at[4])
    heard.put_back(taken)
    assert heard.take() == {"a": at[4], "b": at[2]}


async def test_ids_of_namespaces_are_told_to_an_agent_that_a_hub_of_before_told_names(
    tmp_path: Path,
):
    """The revision is the same; an agent that knows of no ids is told nothing again."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        await hub.write(name_placed, frozenset({"shop"}))
        await waiting.eventually(lambda: hub.sync._for_all.namespaces["revision"] == 1)
        lacks = await agent.sync(namespaces_held=1, namespace_ids_held=False)
        assert lacks["namespaces"]["ids"] == {}
        for holds in ({"namespace_ids_held": True}, {}):
            told = await agent.sync(namespaces_held=1, **holds)
            assert told.get("namespaces") is None

"""Agents of other releases: what they say is understood, and they are told nothing that they do not know."""

from typing import Any

import pytest

from hub.services.context.settings import Api, Settings
from hub.services.questions.clusters import get_cluster, list_clusters
from shared.wire.versions import LINK_HEADER, NEWEST, PLAIN_HTTP, PROTOCOL_HEADER
from tests.services.members import earlier_wire
from tests.services.members.hubs import Agent, Running, ran, running_hub

pytestmark = pytest.mark.anyio
DAYS_S = 40 * 3600.0


async def said(agent: Agent, **headers: str):
    """One exchange with these headers; the reply as it came."""
    return await agent.running.http.post(
        "/agent/v1/sync",
        json=agent.request(),
        headers={"Authorization": f"Bearer {agent.credential}", **headers},
    )


async def seen_as(hub: Running, name: str = "north") -> dict[str, Any]:
    return await hub.hub.read(get_cluster, name, Settings())


async def test_an_agent_of_the_release_before_is_understood(tmp_path):
    """All that it says is taken; all that it is told, it knows, however old its credential."""
    async with running_hub(tmp_path) as hub:
        token = await hub.add_cluster("north")
        message = earlier_wire.Register(cluster_uid="uid-north", agent_version="0.1.0")
        reply = await hub.http.post(
            "/agent/v1/register",
            json=message.model_dump(),
            headers={"Authorization": f"Bearer {token}"},
        )
        joined = earlier_wire.Registered.model_validate_json(reply.content)
        agent = Agent(hub, "north", "uid-north", joined.credential)
        uid = await hub.placed("north")
        for _ in range(3):
            request = agent.request(ran(uid, active=1, running_since="2026-05-01T00:00:00Z"))
            del request["jobs_read"]  # later releases alone say so
            earlier_wire.SyncRequest.model_validate(request)
            reply = await agent.post(request)
            told = earlier_wire.SyncReply.model_validate_json(reply.content)
            assert told.proto == 1
            hub.clock.advance(DAYS_S)
        assert (await seen_as(hub))["agentProtocol"] == 1


async def test_what_a_later_release_says_besides_is_ignored(tmp_path):
    """In the request, in an entry, in the capacity: the rest is taken."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        request = agent.request(ran(uid, active=1), capacity={**CAPACITY, "later": 1}, later=[1])
        request["observed"]["entries"][0]["later"] = {"a": 1}
        request["desired"]["later"] = True
        reply = (await agent.post(request)).json()
        assert reply["refused"] == []
        assert (await hub.job(uid)).state == "Applied"


@pytest.mark.parametrize("created", [True, False, None])
async def test_whether_an_object_was_created_is_kept_as_the_agent_reports_it(tmp_path, created):
    """Agents of earlier releases do not report it, and nothing is assumed for them."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        request = agent.request(ran(uid, active=1))
        if created is not None:
            request["observed"]["entries"][0]["created"] = created
        assert (await agent.post(request)).json()["refused"] == []
        work = await hub.work(uid)
        assert work is not None
        assert (work.observed or {}).get("created") is created


CAPACITY = {"pools_revision": 0, "pools": [], "bound": []}


async def test_an_agent_that_offers_more_gets_the_newest_and_a_credential(tmp_path):
    """It is told what was chosen, and given a credential that ends in place of one without end."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        offers = {PROTOCOL_HEADER: "1-9", "User-Agent": "roadstead-agent/9.9.9"}
        reply = await said(agent, **offers)
        assert reply.headers[PROTOCOL_HEADER] == str(NEWEST)
        assert reply.json()["proto"] == NEWEST
        agent.credential = reply.json()["rotate"]["credential"]
        agent.restart("session-north-2")
        reply = await said(agent, **offers)
        assert "rotate" not in reply.json()
        shown = await seen_as(hub)
        assert (shown["agentVersion"], shown["agentProtocol"]) == ("9.9.9", NEWEST)
        assert shown["credentialExpiresAt"] is not None
        assert shown["plainHttp"] is False
        listed = await hub.hub.read(list_clusters, Settings())
        assert listed["items"][0]["agentVersion"] == "9.9.9"
        assert listed["hubVersion"] == shown["hubVersion"]


async def test_the_insecure_way_is_shown(tmp_path):
    """An agent that speaks in clear from another machine says so, and people see it."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await said(agent, **{LINK_HEADER: PLAIN_HTTP})
        assert (await seen_as(hub))["plainHttp"] is True


async def test_an_agent_that_is_too_old_can_be_shut_out(tmp_path):
    """By setting: neither joins nor goes on, and no token is spent on it."""
    limits = Settings(api=Api(oldest_agent_protocol=2))
    async with running_hub(tmp_path, limits=limits) as hub:
        token = await hub.add_cluster("north")
        reply = await hub.register(token, "uid-north")
        assert (reply.status_code, reply.json()["code"]) == (426, "UpgradeRequired")
        assert reply.json()["detail"].endswith("upgrade the agent")
        reply = await hub.http.post(
            "/agent/v1/register",
            json={"cluster_uid": "uid-north", "secret_hash": "0" * 64},
            headers={"Authorization": f"Bearer {token}", PROTOCOL_HEADER: "1-2"},
        )
        assert reply.status_code == 200

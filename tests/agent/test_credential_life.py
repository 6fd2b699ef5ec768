"""An agent and a real hub over a credential's life: replaced, lost, expired, restored. Jobs run on."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import orjson
import pytest
from sqlalchemy import delete, update

from agent.hub import credential as identity
from agent.main import EXIT_REFUSED, Agent
from hub.services.access.authority import Authority
from hub.services.objects.clusters import renew_join_token
from hub.store import clusters, tables, tokens
from shared.wire.agent_v1 import REGISTER_PATH, SYNC_PATH
from tests.certificates import CA
from tests.services.members.hubs import Running, running_hub
from tests.waiting import eventually

pytestmark = pytest.mark.anyio
DUE_S, LIFE_S, OVERLAP_S = 16 * 3600.0, 24 * 3600.0, 600.0


class Way(httpx.AsyncBaseTransport):
    """The way to the hub; `loses` says of an answer whether it is lost."""

    def __init__(self, hub: Running) -> None:
        self.inner = hub.http._transport
        self.loses: Any = lambda path, body: False
        self.lost = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self.inner.handle_async_request(request)
        body = await answer.aread()
        if answer.status_code == 200 and self.loses(request.url.path, orjson.loads(body)):
            self.lost += 1
            raise httpx.ReadError("the answer is lost", request=request)
        return httpx.Response(
            answer.status_code, headers=answer.headers, content=body, request=request
        )


class Pair:
    """A hub, a member's agent, and the way between them."""

    def __init__(self, hub: Running, member: Any) -> None:
        self.hub, self.member, self.way = hub, member, Way(hub)
        self.settings = member.settings()
        self.agents: list[asyncio.Task[int]] = []

    async def new_token(self) -> None:
        hub = self.hub.hub
        made = await hub.write(renew_join_token, "east", hub.settings, "admin")
        self.settings.join_token.write_text(made["joinToken"])

    def start(self) -> "asyncio.Task[int]":
        agent = Agent(self.settings, transport=self.way)
        self.agents.append(asyncio.create_task(agent.run()))
        return self.agents[-1]

    async def stop(self) -> None:
        for agent in self.agents:
            agent.cancel()
        await asyncio.gather(*self.agents, return_exceptions=True)
        self.agents.clear()

    @property
    def secret(self) -> str:
        kept = identity.load(self.settings.credential)
        return "" if kept is None else kept.secret

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait while the hub's time passes too: it hears an agent five times a second of its own."""

        def look() -> object:
            self.hub.clock.advance(0.02)
            return holds()

        await eventually(look)

    async def heard(self) -> None:
        """Wait for the agent's next word."""
        self.hub.sync.heartbeats.take()
        await self.until(self.hub.sync.heartbeats.take)

    async def session(self) -> str:
        return (await self.hub.hub.read(clusters.get, "east")).session


@contextlib.asynccontextmanager
async def pair(folder: Any, member: Any) -> AsyncIterator[Pair]:
    """A hub that has declared member east, and its agent with a join token, not started yet."""
    async with running_hub(folder) as hub:
        both = Pair(hub, member)
        both.settings.join_token.write_text(await hub.add_cluster("east"))
        try:
            yield both
        finally:
            await both.stop()


async def replaced(both: Pair, before: str) -> str:
    await both.until(lambda: both.secret not in {"", before})
    return both.secret


async def test_a_credential_is_replaced_while_the_agent_goes_on(member, tmp_path):
    """In one session: the new one is kept first, then used, and the old one ends."""
    async with pair(tmp_path / "hub", member) as both:
        both.start()
        await both.heard()
        first, session = both.secret, await both.session()
        both.hub.clock.advance(DUE_S)
        second = await replaced(both, first)
        await both.heard()
        assert both.settings.credential.stat().st_mode & 0o777 == 0o600
        row = await both.hub.hub.read(tokens.get, first.partition(".")[0])
        assert row.superseded_at is not None
        assert second != first
        both.hub.clock.advance(OVERLAP_S + 60)
        await both.heard()
        assert await both.session() == session
        assert not (await both.hub.hub.read(clusters.get, "east")).cordoned


async def test_answers_with_a_new_credential_may_be_lost(member, tmp_path):
    """Another one comes with a later answer, and nobody is locked out."""
    async with pair(tmp_path / "hub", member) as both:
        both.start()
        await both.heard()
        first = both.secret
        both.way.loses = lambda path, body: "rotate" in body and both.way.lost < 2
        both.hub.clock.advance(DUE_S)
        for count in (1, 2):
            await eventually(lambda: both.way.lost == count)  # noqa: B023 - at once
            both.hub.clock.advance(11)
        await replaced(both, first)
        await both.heard()


async def test_a_lost_answer_to_the_registration_spends_nothing(member, tmp_path):
    """The agent asks again, also as another process, and becomes what it already is."""
    async with pair(tmp_path / "hub", member) as both:
        both.way.loses = lambda path, body: path == REGISTER_PATH and both.way.lost < 2
        both.start()
        await eventually(lambda: both.way.lost == 1)
        await both.stop()
        joining = both.settings.credential.with_name("credential.json.joining")
        assert joining.stat().st_mode & 0o777 == 0o600
        both.start()
        await both.heard()
        assert not joining.exists()
        assert both.way.lost == 2


def test_each_join_token_has_a_secret_of_its_own(tmp_path):
    """The same one until it is joined with; another token is another joining, and so another secret."""
    path = tmp_path / "credential.json"
    first = identity.begin_joining(path, "one.secret")
    assert identity.begin_joining(path, "one.secret") == first
    second = identity.begin_joining(path, "two.secret")
    assert second.token_id == "two"
    assert second.secret != first.secret


async def test_the_secret_is_the_agents_own(member, tmp_path):
    """What the hub is told of it is its hash, and the answer has no secret at all."""
    told = []

    async with pair(tmp_path / "hub", member) as both:

        def remember(path: str, body: dict[str, Any]) -> bool:
            told.append((path, body))
            return False

        both.way.loses = remember
        both.start()
        await both.heard()
        (answer,) = [body for path, body in told if path == REGISTER_PATH]
        assert "credential" not in answer
        given, _, secret = both.secret.partition(".")
        assert given == answer["credential_id"]
        row = await both.hub.hub.read(tokens.get, given)
        assert row.secret_hash == hashlib.sha256(secret.encode()).hexdigest()


async def test_expired_while_cut_off_it_says_so_and_a_join_token_brings_it_back(member, tmp_path):
    """What runs goes on, is not touched, and belongs to the same job afterwards."""
    async with pair(tmp_path / "hub", member) as both:
        uid = await both.hub.submit()
        await both.hub.place(uid, "east")
        await member.namespace("team-a")
        both.start()
        await eventually(lambda: any(job for job in jobs_of(member)))
        await both.heard()
        (job,) = jobs_of(member)
        await both.stop()
        both.hub.clock.advance(LIFE_S)
        assert await asyncio.wait_for(both.start(), 30) == EXIT_REFUSED
        await both.new_token()
        both.start()
        await both.heard()
        assert [each["metadata"]["uid"] for each in jobs_of(member)] == [job["metadata"]["uid"]]
        assert (await both.hub.job(uid)).epoch == 1


def jobs_of(member: Any) -> list[dict[str, Any]]:
    return list(member.cluster.store.list("jobs.batch"))


async def test_a_copy_that_comes_too_late_ends_the_agent(member, tmp_path):
    """Its old credential is used by somebody: agent and thief are out until somebody has looked."""
    async with pair(tmp_path / "hub", member) as both:
        running = both.start()
        await both.heard()
        stolen = both.secret
        both.hub.clock.advance(DUE_S)
        await replaced(both, stolen)
        await both.heard()
        both.hub.clock.advance(OVERLAP_S + 1)
        headers = {"Authorization": f"Bearer {stolen}"}
        reply = await both.hub.http.post(SYNC_PATH, json={}, headers=headers)
        assert (reply.status_code, reply.json()["code"]) == (401, "Revoked")
        assert await asyncio.wait_for(running, 30) == EXIT_REFUSED
        assert (await both.hub.hub.read(clusters.get, "east")).cordoned
        await both.new_token()
        both.start()
        await both.heard()


async def test_a_hub_that_went_back_knows_the_credential_before(member, tmp_path):
    """The newest was given after the copy was made: the one before is tried, once, and goes on."""
    async with pair(tmp_path / "hub", member) as both:
        both.start()
        await both.heard()
        first = both.secret
        both.hub.clock.advance(DUE_S)
        second = await replaced(both, first)
        await both.heard()
        await both.stop()
        await both.hub.write(forget, second, first)
        both.hub.clock.advance(60)
        both.start()
        third = await replaced(both, second)
        await both.heard()
        assert third not in {first, second}


def forget(tx: Any, newest: str, before: str) -> None:
    """As the store was before the newest credential was given."""
    table = tables.tokens
    tx.conn.execute(delete(table).where(table.c.id == newest.partition(".")[0]))
    tx.conn.execute(
        update(table)
        .where(table.c.id == before.partition(".")[0])
        .values(superseded_at=None, used_at=None)
    )
    tx.touch("tokens", newest.partition(".")[0], before.partition(".")[0])


async def test_a_new_ca_comes_with_a_new_credential(member, tmp_path):
    """Both CAs are told side by side, and kept: the next certificate may be of either."""
    async with pair(tmp_path / "hub", member) as both:
        hub = both.hub.hub
        old, new = CA("old"), CA("new")
        hub.authority = lambda: Authority((old.pem + new.pem).decode())
        both.settings = member.settings(hub_url="https://hub")
        both.settings.join_token.write_text(await both.hub.add_cluster("west"))
        both.start()
        await both.heard()
        kept = both.settings.credential.with_name("credential.json.hub-ca")
        assert not kept.exists()
        first = both.secret
        both.hub.clock.advance(DUE_S)
        await replaced(both, first)
        await eventually(kept.exists)
        assert kept.read_bytes() == old.pem + new.pem
        await both.heard()

"""The exchange: offering, delta and digest, sessions, long polls."""

import asyncio
from pathlib import Path

import pytest

from tests import waiting
from tests.services.members.hubs import Running, ran, running_hub, seen

pytestmark = pytest.mark.anyio


async def held(hub: Running, cluster: str) -> None:
    """Wait until a request of this cluster is held for news."""
    await waiting.eventually(lambda: hub.sync._sets.of(cluster)._waiters)


async def test_a_placed_job_is_offered_before_the_reply_leaves(tmp_path: Path):
    """Offered is in the store when the agent first sees the manifest."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        reply = await agent.sync()
        assert [work["uid"] for work in reply["desired"]["works"]] == [uid]
        assert (await hub.job(uid)).state == "Offered"
        assert (await hub.work(uid)).offered is True


async def test_a_job_runs_and_ends_as_its_member_reports(tmp_path: Path):
    """apply, start and succeed follow what is observed; the work is kept, then removed when gone."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north", ttlSecondsAfterFinished=60)
        await agent.sync()
        await agent.sync(ran(uid))
        assert (await hub.job(uid)).state == "Applied"
        await agent.sync(ran(uid, active=1, ready=1, running_since="2026-05-01T00:00:01Z"))
        job = await hub.job(uid)
        assert (job.state, job.active, job.ready) == ("Running", 1, 1)
        await agent.sync(ran(uid, succeeded=1, result="Succeeded"))
        job = await hub.job(uid)
        assert (job.state, job.succeeded, job.active) == ("Succeeded", 1, 0)
        await hub.settled()
        await agent.sync()
        assert (agent.works[uid]["action"], agent.works[uid]["ttl_s"]) == ("Keep", 60)
        await agent.sync(seen(uid, "Gone"))
        await hub.settled()
        reply = await agent.sync()
        assert uid not in agent.works
        assert not reply["need_full"]
        assert await hub.work(uid) is None


async def test_what_an_agent_holds_is_not_sent_again(tmp_path: Path):
    """A reply is the delta since the revision the agent holds."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await hub.placed("north", "one")
        await agent.sync()
        await hub.placed("north", "two")
        reply = await agent.sync()
        assert [work["name"] for work in reply["desired"]["works"]] == ["two"]
        assert (await agent.sync())["desired"]["works"] == []


async def test_a_lost_reply_is_sent_again(tmp_path: Path):
    """An agent that did not hear an answer gets the same works with the next."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        lost = (await agent.post(agent.request())).json()
        reply = await agent.sync()
        assert lost["desired"]["works"] == reply["desired"]["works"]
        assert list(agent.works) == [uid]


async def test_an_agent_with_another_set_gets_the_whole(tmp_path: Path):
    """A revision counts only together with its digest."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await hub.placed("north")
        await agent.sync()
        agent.desired.add("something else")
        reply = await agent.sync()
        assert reply["desired"]["full"]
        assert len(reply["desired"]["works"]) == 1


async def test_a_restarted_hub_goes_on(tmp_path: Path):
    """After a restart the hub asks for the whole observed set, and sends what is missing only."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync(ran(uid))
    async with running_hub(tmp_path) as hub:
        agent.running = hub
        reply = await agent.sync()
        assert reply["need_full"]
        assert reply["desired"]["works"] == []
        reply = await agent.sync()
        assert not reply["need_full"]
        assert (await hub.job(uid)).state == "Applied"


async def test_a_lost_report_is_noticed(tmp_path: Path):
    """A digest that does not add up makes the hub ask for the whole set."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        agent.request(ran(uid))  # never sent
        assert (await agent.sync())["need_full"]
        await agent.sync()
        assert (await hub.job(uid)).state == "Applied"


async def test_a_large_set_comes_in_pages(tmp_path: Path):
    """At most 1,000 works go in one reply; the digest counts when the last page is there."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await hub.place_many("north", 1100)
        first = await agent.sync()
        assert (len(first["desired"]["works"]), first["desired"]["more"]) == (1000, True)
        second = await agent.sync()
        assert (len(second["desired"]["works"]), second["desired"]["more"]) == (100, False)
        assert not second["desired"]["full"]


async def test_a_poll_ends_when_there_is_news(tmp_path: Path):
    """A held request is answered as soon as the desired set changes."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        poll = asyncio.create_task(agent.sync(wait_s=20))
        await held(hub, "north")
        assert not poll.done()
        await hub.placed("north")
        reply = await asyncio.wait_for(poll, 5)
        assert len(reply["desired"]["works"]) == 1


async def test_a_newer_request_ends_the_older_one_empty(tmp_path: Path):
    """The older request offers nothing; the newer one gets everything."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        older = asyncio.create_task(agent.post(agent.request(wait_s=20)))
        await held(hub, "north")
        newer = asyncio.create_task(agent.post(agent.request(wait_s=20)))
        answer = (await asyncio.wait_for(older, 5)).json()
        assert (answer["desired"]["works"], answer["desired"]["revision"]) == ([], 0)
        await hub.placed("north")
        assert len((await asyncio.wait_for(newer, 5)).json()["desired"]["works"]) == 1


async def test_a_new_session_supersedes_the_old_one_for_good(tmp_path: Path):
    """The old session gets 409, and its id never comes back, not even after a restart."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        agent.restart("session-north-2")
        await agent.sync()
        agent.restart("session-north-1")
        reply = await agent.post(agent.request())
        assert (reply.status_code, reply.json()["code"]) == (409, "SessionSuperseded")
    async with running_hub(tmp_path) as hub:
        agent.running = hub
        assert (await agent.post(agent.request())).status_code == 409


async def test_a_replay_is_recomputed_and_never_stored(tmp_path: Path):
    """A repeated sequence has no effect; a lower one is refused."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync()
        agent.seq -= 1
        reply = await agent.post(agent.request(ran(uid)))
        assert reply.status_code == 200
        assert (await hub.job(uid)).state == "Offered"
        agent.seq -= 2
        reply = await agent.post(agent.request())
        assert (reply.status_code, reply.json()["code"]) == (409, "StaleSequence")


async def test_too_many_syncs_are_told_to_wait(tmp_path: Path):
    """Beyond a burst of 20 an agent has five syncs a second."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        codes = [(await agent.post(agent.request())).status_code for _ in range(22)]
        assert (codes[:20], codes[-1]) == ([200] * 20, 429)
        hub.clock.advance(1)
        assert (await agent.post(agent.request())).status_code == 200


@pytest.mark.parametrize("ttl_s", [0, 60])
async def test_a_member_is_told_when_a_finished_job_may_go(tmp_path: Path, ttl_s: int):
    """As the Job says itself; at once is a time too."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north", ttlSecondsAfterFinished=ttl_s)
        await agent.sync()
        assert agent.works[uid]["ttl_s"] == ttl_s


async def test_a_job_that_says_nothing_of_it_is_kept_as_its_epoch_says(tmp_path: Path):
    """What was fixed when it was placed holds."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.submit()
        await hub.place(uid, "north", ttl_s=30)
        await hub.settled()
        await agent.sync()
        assert agent.works[uid]["ttl_s"] == 30

"""Agents between several hubs that share a store: whoever answers, it is one exchange."""

import asyncio
import contextlib
import datetime as dt
from pathlib import Path

import pytest

from hub.services.context import timeline
from hub.services.context.hub import Hub
from hub.services.members import liveness
from shared.clock import ManualClock
from tests import databases, waiting
from tests.services.members.hubs import Agent, Running, ran, running_hub, seen
from tests.store.other_backends import Deaf

pytestmark = [pytest.mark.anyio, pytest.mark.store("postgres")]
CAPACITY = {"pools_revision": 0, "pools": [], "bound": []}


def another(agent: Agent, session: str) -> Agent:
    """A second agent with the same credential."""
    twin = Agent(agent.running, agent.name, agent.uid, agent.credential)
    twin.restart(session)
    return twin


async def caught_up(hub: Running, to: Running) -> None:
    """Wait until one hub has heard and followed all that another one has committed."""
    await waiting.eventually(lambda: hub.sync._in_step.revision >= to.hub.db.revision)


async def test_a_job_is_told_by_one_hub_and_its_end_taken_by_another(tmp_path: Path):
    """An agent goes from hub to hub between two requests; nothing is told twice or lost."""
    async with running_hub(tmp_path) as ours, running_hub(tmp_path) as theirs:
        agent = await ours.join("north")
        uid = await ours.placed("north")
        await agent.sync()
        assert list(agent.works) == [uid]
        agent.running = theirs
        await agent.sync(ran(uid, active=1, running_since="2026-05-01T00:00:00Z"))
        assert (await ours.job(uid)).state == "Running"
        agent.running = ours
        await agent.sync(seen(uid, "Applied", job={"result": "Succeeded", "succeeded": 1}))
        assert (await theirs.job(uid)).state == "Succeeded"


async def test_a_hub_that_has_not_heard_takes_nothing_away_that_another_has_told(tmp_path: Path):
    """The agent's mark says how far the other hub had come: the answer waits until this one has too."""
    async with running_hub(tmp_path) as ours, running_hub(tmp_path, way=Deaf) as theirs:
        agent = await ours.join("north")
        uid = await ours.placed("north")
        await agent.sync()
        agent.running = theirs
        asked = asyncio.create_task(agent.sync())
        await waiting.turns(50)
        assert not asked.done()
        await theirs.submit("another")  # whoever writes hears of everything before
        await asked
        assert list(agent.works) == [uid]


async def test_a_hub_that_does_not_hear_in_time_says_that_it_can_not_answer(tmp_path: Path):
    """It is no reason to take its own store for one that went back."""
    clock = ManualClock()
    async with (
        running_hub(tmp_path, clock) as ours,
        running_hub(tmp_path, clock, way=Deaf) as late,
    ):
        agent = await ours.join("north")
        await ours.placed("north")
        await agent.sync()
        agent.running = late
        asked = asyncio.create_task(agent.post(agent.request()))

        def passes() -> bool:
            clock.advance(1)
            return asked.done()

        await waiting.eventually(passes)
        assert (await asked).status_code == 503
        assert not late.hub.stopped
        assert not ours.hub.stopped


async def test_an_agent_that_was_superseded_elsewhere_is_answered_nowhere(tmp_path: Path):
    """A hub that has not heard of the later session looks whose speaks before it answers."""
    async with running_hub(tmp_path) as ours, running_hub(tmp_path, way=Deaf) as deaf:
        agent = await ours.join("north")
        agent.running = deaf
        await agent.sync()
        twin = another(agent, "session-2")
        twin.running = ours
        await twin.sync()
        refused = await agent.post(agent.request())
        assert (refused.status_code, refused.json()["code"]) == (409, "SessionSuperseded")
        assert (await twin.post(twin.request())).status_code == 200


async def test_a_session_that_began_at_another_hub_goes_on_here(tmp_path: Path):
    """It supersedes nobody anew: nothing of it is retired."""
    async with running_hub(tmp_path) as ours, running_hub(tmp_path) as theirs:
        agent = await ours.join("north")
        for hub in (ours, theirs, ours, theirs):
            agent.running = hub
            await agent.sync()


async def test_a_right_that_comes_back_is_followed_whoever_is_told(tmp_path: Path):
    """A hub compares with the store and not with its own memory: another hub heard of the loss."""
    async with running_hub(tmp_path) as ours, running_hub(tmp_path) as theirs:
        agent = await ours.join("north")
        uid = await ours.placed("north")
        for hub, forbidden in ((ours, []), (theirs, ["team-a"])):
            agent.running = hub
            await agent.sync(capacity={**CAPACITY, "jobs_forbidden_in": forbidden})
        await agent.sync(seen(uid, "Failed", reason="CreateForbidden", message="no"))
        await agent.sync(seen(uid, "Gone", unstarted=True))
        assert (await theirs.job(uid)).set_aside
        agent.running = ours
        await agent.sync(capacity={**CAPACITY, "jobs_forbidden_in": []})
        assert (await theirs.job(uid)).set_aside == {}


async def test_a_request_that_came_twice_to_two_hubs_counts_once(tmp_path: Path):
    """What an older one says is refused in the transaction that would store it."""
    async with running_hub(tmp_path) as ours, running_hub(tmp_path) as theirs:
        agent = await ours.join("north")
        uid = await ours.placed("north")
        await agent.sync()
        early = agent.request(ran(uid, active=1, running_since="2026-05-01T00:00:00Z"))
        await agent.sync(seen(uid, "Applied", job={"result": "Succeeded", "succeeded": 1}))
        agent.running = theirs
        late = await agent.post(early)
        assert (late.status_code, late.json()["code"]) == (409, "StaleSequence")
        assert (await ours.job(uid)).state == "Succeeded"


async def test_what_one_hub_stops_every_hub_stops(tmp_path: Path):
    """A mark that the store can not have given out stops dispatch at all of them."""
    folder = tmp_path / "hub"
    folder.mkdir()
    async with running_hub(folder) as hub:
        agent = await hub.join("north")
        await agent.sync()
    backup = databases.copied(folder, tmp_path / "backup")
    async with running_hub(folder) as hub:
        agent.running = hub
        await hub.placed("north")
        await agent.sync()
    async with running_hub(backup) as ours, running_hub(backup) as theirs:
        agent.running = ours
        assert (await agent.post(agent.request())).json()["code"] == "HubRolledBack"
        await waiting.eventually(lambda: bool(theirs.hub.stopped))


async def test_hubs_that_start_at_once_take_no_agent_for_a_witness_of_a_lost_state(tmp_path: Path):
    """One begins its run while the other has begun its own and does not follow yet: marks still agree."""
    async with contextlib.AsyncExitStack() as both:
        others: list[Running] = []

        async def another_begins(hub: Hub) -> None:
            theirs = await both.enter_async_context(running_hub(tmp_path))
            others.append(theirs)
            await waiting.eventually(lambda: hub.db.revision >= theirs.hub.db.revision)

        ours = await both.enter_async_context(running_hub(tmp_path, meanwhile=another_begins))
        agent = await ours.join("north")
        await ours.placed("north")
        await agent.sync()
        agent.running = others[0]
        await agent.sync()
        assert others[0].hub.stopped == ""
        assert agent.works


async def test_a_stop_while_a_hub_starts_is_known_to_it(tmp_path: Path):
    """What was written between its run's beginning and its following is looked at as well."""

    async def stops(hub: Hub) -> None:
        await hub.write(timeline.recover, "a backup was restored", ())

    async with running_hub(tmp_path, meanwhile=stops) as late:
        await late.sync._ready.wait()
        assert late.hub.stopped == "a backup was restored"


async def test_a_hub_that_starts_beside_another_awaits_whom_that_one_awaits(tmp_path: Path):
    """Rule 10: the members that the first has heard say nothing of those that it has not."""
    async with running_hub(tmp_path) as first:
        north, south = await first.join("north"), await first.join("south")
        await north.sync(capacity=CAPACITY)
        await south.sync(capacity=CAPACITY)
        await first.write(liveness.note_heartbeats, first.sync.heartbeats.take())
    clock = ManualClock(first.clock.now() + dt.timedelta(seconds=31))
    async with running_hub(tmp_path, clock) as ours:
        north.running = south.running = ours
        await north.sync(capacity=CAPACITY)
        await ours.write(liveness.note_heartbeats, ours.sync.heartbeats.take())
        async with running_hub(tmp_path, clock) as theirs:
            uid = await theirs.placed("north")
            north.running = theirs
            await north.sync()
            assert uid not in north.works
            await south.sync(capacity=CAPACITY)
            await caught_up(theirs, ours)
            await north.sync()
            assert uid in north.works

"""A hub that is restored from the same backup twice."""

import datetime as dt
from pathlib import Path

import pytest

from hub.services.context import timeline
from hub.services.context.incarnations import began_ms, new_incarnation
from hub.services.jobs import hold
from hub.services.works import restored
from tests import databases
from tests.services.members.hubs import ran, running_hub

pytestmark = pytest.mark.anyio

AT = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)


async def accepted(hub, *agents):
    """The restored state is accepted, and agents have heard of it."""
    earlier = hub.sync.incarnation
    await hub.write(restored.accept, "ada")
    while hub.sync.incarnation == earlier:
        await hub.settled()
    for agent in agents:
        await agent.sync()


async def test_a_store_from_before_an_accepted_restore_is_noticed(tmp_path: Path):
    """What was started since that restore is known by its marks, though they are of another incarnation."""
    folder = tmp_path / "hub"
    folder.mkdir()
    async with running_hub(folder) as hub:
        north, south = await hub.join("north"), await hub.join("south")
        await north.sync()
        await south.sync()
        uid = await hub.submit()
    backup = databases.copied(folder, tmp_path / "backup")
    again = databases.copied(folder, tmp_path / "again")
    async with running_hub(folder) as hub:
        north.running = south.running = hub
        await hub.submit("later")
        await north.sync()
        await south.sync()
    async with running_hub(backup) as hub:
        north.running = south.running = hub
        assert (await north.post(north.request())).status_code == 409
        for agent in (north, south):
            agent.restart(f"session-{agent.name}-9")
        await accepted(hub, north, south)
        # A person has looked, and releases the job: it runs in north.
        await hub.write(hold.release_job, uid, "ada")
        await hub.place(uid, "north")
        await hub.settled()
        await north.sync()
        epoch = north.works[uid]["epoch"]
        await north.sync(ran(uid, epoch, running_since="2026-05-01T00:00:00Z", active=1))
        await south.sync()
    async with running_hub(again) as hub:
        north.running = south.running = hub
        await hub.place(uid, "south")
        await hub.settled()
        for agent in (south, north):
            assert (await agent.post(agent.request())).status_code == 409
            assert agent is north or uid not in agent.works
        north.restart("session-north-10")
        south.restart("session-south-10")
        await accepted(hub, south, north)
        assert (await hub.job(uid)).reason == "Restored"


async def test_a_mark_of_time_that_was_accepted_as_lost_stops_nothing(tmp_path: Path):
    """Whichever of the incarnations before it gave it."""
    lost = timeline.StoreTimeline(new_incarnation(AT), b"key", [("run", 0)])
    later = AT + dt.timedelta(seconds=1)
    kept = timeline.StoreTimeline(new_incarnation(later), b"key", [("run", 0)])
    assert not kept.contradicts(lost.mark(10**9), 5)
    assert lost.contradicts(kept.mark(1), 5)


async def test_an_incarnation_is_later_than_the_one_that_was_shown(tmp_path: Path):
    """Also by a clock that has gone back since."""
    shown = new_incarnation(AT + dt.timedelta(days=1))
    assert began_ms(new_incarnation(AT, ["one", shown])) == began_ms(shown) + 1
    assert began_ms("one") == 0

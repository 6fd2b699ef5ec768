"""A hub that was restored from a backup, before and after it has found out."""

import datetime as dt
from pathlib import Path

import pytest

from hub.controllers.heartbeats import SilenceLoop
from hub.controllers.last_down import LastDown
from hub.services.members.roll_call import is_fresh
from shared.clock import ManualClock
from tests import databases
from tests.services.members.hubs import Agent, Running, ran, running_hub

pytestmark = pytest.mark.anyio

CAPACITY = {"pools_revision": 0, "pools": [], "bound": []}


async def restored(tmp_path: Path):
    """A backup in which a job waits that has been running in north since; both agents, and the uid."""
    folder = tmp_path / "hub"
    folder.mkdir()
    async with running_hub(folder) as hub:
        north, south = await hub.join("north"), await hub.join("south")
        await north.sync()
        await south.sync()
        uid = await hub.submit()
    backup = databases.copied(folder, tmp_path / "backup")
    async with running_hub(folder) as hub:
        north.running = hub
        await hub.place(uid, "north")
        await hub.settled()
        await north.sync()
        await north.sync(ran(uid, running_since="2026-05-01T00:00:00Z", active=1))
    return backup, north, south, uid


def later(seconds: float) -> ManualClock:
    """The clock of a hub that starts so long after its store was last written."""
    return ManualClock(dt.datetime(2026, 5, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=seconds))


async def a_turn(hub: Running) -> None:
    """What was heard is written down."""
    await SilenceLoop(hub.hub, hub.sync, lambda: 0, LastDown()).tick()


def test_a_member_that_the_backup_had_not_heard_makes_no_store_fresh():
    """It had joined by then, and may have been given work since: it is awaited as the others are."""
    wall = later(3600).now()
    assert not is_fresh({"north": wall - dt.timedelta(hours=1), "south": None}, wall)


async def test_a_restored_hub_waits_for_its_members_before_it_dispatches(tmp_path: Path):
    """Only the member that runs a job knows of it: until it has spoken, the job starts nowhere else."""
    backup, north, south, uid = await restored(tmp_path)
    async with running_hub(backup, later(31)) as hub:
        south.running = hub
        await hub.place(uid, "south")
        await hub.settled()
        await south.sync(capacity=CAPACITY)
        assert uid not in south.works
        north.running = hub
        assert (await north.post(north.request())).status_code == 409
        await south.sync()
        assert uid not in south.works


async def test_an_agent_that_has_only_just_started_has_not_spoken_yet(tmp_path: Path):
    """The marks of its Jobs are told when it has read them, and with them what the cluster has."""
    backup, north, south, uid = await restored(tmp_path)
    async with running_hub(backup, later(31)) as hub:
        marks = north.marks
        north.running = south.running = hub
        await hub.place(uid, "south")
        await hub.settled()
        await south.sync(capacity=CAPACITY)
        north.restart("session-north-2")
        await north.sync()
        await south.sync()
        assert uid not in south.works
        north.marks = marks
        told = await north.post(north.request(capacity=CAPACITY))
        assert (told.status_code, told.json()["code"]) == (409, "HubRolledBack")
        await south.sync()
        assert uid not in south.works


async def test_that_an_agent_was_heard_is_not_that_it_has_spoken_for_its_member(tmp_path: Path):
    """Its heartbeat is written down as ever; what it has read of its Jobs comes later."""
    backup, north, south, uid = await restored(tmp_path)
    async with running_hub(backup, later(31)) as hub:
        north.running = south.running = hub
        await hub.place(uid, "south")
        await hub.settled()
        north.restart("session-north-2")
        hub.clock.advance(1)
        await north.sync()
        await south.sync(capacity=CAPACITY)
        await a_turn(hub)
        await south.sync()
        assert uid not in south.works


async def test_a_hub_that_starts_again_meanwhile_goes_on_waiting(tmp_path: Path):
    """Who has spoken makes the store look fresh; it is the others that may run what it does not know."""
    backup, north, south, uid = await restored(tmp_path)
    async with running_hub(backup, later(31)) as hub:
        south.running = hub
        await hub.place(uid, "south")
        await hub.settled()
        await south.sync(capacity=CAPACITY)
        await a_turn(hub)
    async with running_hub(backup, later(36)) as hub:
        north.running = south.running = hub
        await south.sync(capacity=CAPACITY)
        assert uid not in south.works
        assert (await north.post(north.request())).json()["code"] == "HubRolledBack"
        await south.sync()
        assert uid not in south.works


async def test_a_hub_that_has_waited_for_long_enough_leaves_nobody_to_await(tmp_path: Path):
    """The next start is that of a hub that was just restarted."""
    backup, _, south, uid = await restored(tmp_path)
    async with running_hub(backup, later(31)) as hub:
        south.running = hub
        await south.sync(capacity=CAPACITY)
        hub.clock.advance(46)
        await south.sync()
        await a_turn(hub)
    async with running_hub(backup, later(80)) as hub:
        south.running = hub
        await hub.place(uid, "south")
        await hub.settled()
        await south.sync()
        assert uid in south.works


async def test_when_every_member_has_told_what_it_has_work_is_given_out(tmp_path: Path):
    """None of them knows of anything that the store has not."""
    backup, north, south, uid = await restored(tmp_path)
    async with running_hub(backup, later(31)) as hub:
        north.running = south.running = hub
        north.restart("session-north-2")
        south.restart("session-south-2")
        await hub.place(uid, "south")
        await hub.settled()
        await north.sync(capacity=CAPACITY)
        await south.sync(capacity=CAPACITY)
        assert uid in south.works


async def test_a_member_that_stays_silent_is_waited_for_no_longer_than_makes_it_suspect(
    tmp_path: Path,
):
    """A destroyed cluster does not stop the fleet."""
    backup, _, south, uid = await restored(tmp_path)
    async with running_hub(backup, later(31)) as hub:
        south.running = hub
        await hub.place(uid, "south")
        await hub.settled()
        await south.sync()
        hub.clock.advance(46)
        await south.sync()
        assert uid in south.works


async def test_a_hub_that_was_just_restarted_waits_for_nobody(tmp_path: Path):
    """Its store is as fresh as its last heartbeat."""
    backup, _, south, uid = await restored(tmp_path)
    async with running_hub(backup, later(29)) as hub:
        south.running = hub
        await hub.place(uid, "south")
        await hub.settled()
        await south.sync()
        assert uid in south.works


async def test_an_agent_that_is_refused_has_not_spoken_for_its_member(tmp_path: Path):
    """Rule 10: the last request of a session that is over comes late, and nobody has told what runs there."""
    folder = tmp_path / "hub"
    folder.mkdir()
    async with running_hub(folder) as hub:
        zombie, south = await hub.join("north"), await hub.join("south")
        await zombie.sync(capacity=CAPACITY)
        north = Agent(hub, "north", zombie.uid, zombie.credential)
        north.restart("session-north-2")
        await north.sync(capacity=CAPACITY)
        await south.sync(capacity=CAPACITY)
        uid = await hub.submit()
    backup = databases.copied(folder, tmp_path / "backup")
    async with running_hub(folder) as hub:  # the time that is lost: it starts in north
        north.running = hub
        await hub.place(uid, "north")
        await hub.settled()
        await north.sync()
        await north.sync(ran(uid, running_since="2026-05-01T00:00:00Z", active=1))
    async with running_hub(backup, later(31)) as hub:
        zombie.running = north.running = south.running = hub
        await hub.place(uid, "south")
        await hub.settled()
        await south.sync(capacity=CAPACITY)
        assert uid not in south.works  # north is awaited
        late = await zombie.post(zombie.request(capacity=CAPACITY))
        assert late.json()["code"] == "SessionSuperseded"
        await south.sync()
        told = await north.post(north.request(capacity=CAPACITY))
        assert told.json()["code"] == "HubRolledBack"  # it runs in north …
        assert uid not in south.works  # … and nowhere else

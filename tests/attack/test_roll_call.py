"""Rule 10: a restored hub gives nothing out until every member has spoken; a superseded agent is no member."""

from pathlib import Path

import pytest

from tests import databases
from tests.attack.test_restored import CAPACITY, later
from tests.services.members.hubs import Agent, ran, running_hub

pytestmark = pytest.mark.anyio


async def test_an_agent_that_is_refused_has_not_spoken_for_its_member(tmp_path: Path):
    """The last request of a session that is over comes late: nobody has told what the member runs."""
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

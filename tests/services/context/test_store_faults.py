"""A store that does not answer for a moment: whoever follows it goes on where it stopped.

The table itself is away, so that statements fail as they would on a file that can not be read.
"""

from pathlib import Path

import pytest
import yaml

from hub.controllers.placements import EVERY_S
from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.store.errors import StoreUnavailable
from shared.kinds import parse
from tests import waiting
from tests.services.members.hubs import _place, away, back, running_hub
from tests.services.placements.fleet import CONFIG, Fleet

pytestmark = pytest.mark.anyio


async def test_the_desired_sets_follow_again_once_the_store_answers(tmp_path: Path):
    """What was placed while the works could not be read reaches its agent; the follower lives on."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        uid = await hub.submit()

        def place(tx):
            _place(tx, [uid], "north", ApplyOptions())
            away("works")(tx)

        await hub.write(place)
        for _ in range(20):  # let the follower fail
            await waiting.turns()
            hub.clock.advance(1)
        await hub.write(back("works"))
        for _ in range(200):
            hub.clock.advance(1)
            reply = await agent.sync()
            if reply["desired"]["works"]:
                break
        assert list(agent.works) == [uid]


async def test_placements_miss_nothing_that_could_not_be_read(tmp_path: Path):
    """A turn that fails keeps what it had been told; the next one looks at it."""
    things, _, placement = CONFIG.rpartition("---")
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "north")
        await fleet.apply(things)
        given = draft(parse(yaml.safe_load(placement)), hub.clock.now(), origin=Origin.REST)

        def apply(tx):
            apply_documents(tx, [given], Intake())
            away("objects")(tx)

        await hub.write(apply)
        with pytest.raises(StoreUnavailable):
            await fleet.controller.tick()
        await hub.write(back("objects"))
        await fleet.turn()
        await fleet.agents["north"].sync()
        assert "ConfigMap/settings" in fleet.held("north")


async def test_a_placement_that_failed_is_looked_at_again_though_nothing_changes(tmp_path: Path):
    """After a while, so that one that always fails costs little; the fault may be nobody's news."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "north")
        await fleet.apply(CONFIG.partition("---")[0])
        await hub.write(away("snapshots"))
        await fleet.apply(CONFIG.partition("---")[2])
        await hub.write(back("snapshots"))
        await fleet.turn()
        assert not fleet.agents["north"].works
        hub.clock.advance(EVERY_S)
        await fleet.turn()
        await fleet.agents["north"].sync()
        assert "ConfigMap/settings" in fleet.held("north")

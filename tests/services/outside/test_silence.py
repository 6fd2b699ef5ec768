"""A reservation is held while its cluster is heard, and while nobody listens."""

from pathlib import Path

import pytest

from hub.domain.quota.declared import FlavorResource
from tests.services.hubs import Running, running
from tests.services.outside.controller import reserved

pytestmark = pytest.mark.anyio
CPU = FlavorResource("gold-flavor", "cpu")


async def test_a_silent_cluster_gives_reservations_back(tmp_path: Path) -> None:
    """Reserved on a cluster whose agent is no longer heard: back to Pending."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        await turns(hub, 45)
        assert (await hub.job(uid)).state == "Reserved"
        await turns(hub, 5)
        assert (await hub.job(uid)).state == "Pending"
        assert hub.scheduler.index.ledger.used("gold", CPU) == 0


async def turns(hub: Running, seconds: int) -> None:
    """The scheduler takes its turns for so long."""
    for _ in range(0, seconds, 5):
        hub.clock.advance(5)
        await hub.settle()


@pytest.mark.parametrize("is_restarted", [True, False])
async def test_an_outage_of_the_hub_costs_no_reservation(
    tmp_path: Path, is_restarted: bool
) -> None:
    """Nobody listened to the members for ten minutes: their silence counts from when somebody does again."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        clock = hub.clock
        if not is_restarted:  # it had no database, or another hub led
            clock.advance(600)
            await hub.settle()
            await turns(hub, 45)
            assert (await hub.job(uid)).state == "Reserved"
            await turns(hub, 5)
            assert (await hub.job(uid)).state == "Pending"
            return
    clock.advance(600)
    async with running(tmp_path, clock=clock) as again:
        await again.settle()
        await turns(again, 45)
        assert (await again.job(uid)).state == "Reserved"
        await turns(again, 5)
        assert (await again.job(uid)).state == "Pending"

"""Completed cycles are counted where a hub leads and may decide: what an alert goes by."""

from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from hub.controllers.lease import NOT_LEADING
from hub.controllers.scheduling import SchedulingController
from hub.services.context import leadership
from hub.services.context.timeline import StoreTimeline
from hub.services.scheduling import stalls
from hub.store.errors import StaleTerm
from tests.services.hubs import Running, a_job, a_pool, running

pytestmark = pytest.mark.anyio


def completed() -> float:
    return REGISTRY.get_sample_value("roadstead_scheduling_cycles_total") or 0.0


async def counted(hub: Running, term: int) -> float:
    """How many cycles two turns of the loop count."""
    before = completed()
    controller = SchedulingController(hub.hub, lambda: term)
    for _ in range(2):
        await controller.tick()
    return completed() - before


async def test_each_cycle_of_the_hub_that_leads_is_counted(tmp_path: Path):
    """Also one that places nothing."""
    async with running(tmp_path) as hub:
        assert await counted(hub, await hub.hub.write(leadership.seize, "this")) == 2


async def test_a_hub_that_does_not_lead_counts_none(tmp_path: Path):
    """It follows, and takes its turns for that."""
    async with running(tmp_path) as hub:
        assert await counted(hub, NOT_LEADING) == 0


async def test_a_hub_that_stands_still_counts_none(tmp_path: Path):
    """After a restore of its store it leads and decides nothing."""
    async with running(tmp_path) as hub:
        term = await hub.hub.write(leadership.seize, "this")
        hub.hub.timeline = StoreTimeline("i", b"k", [("r", 0)], stopped="it went back")
        assert await counted(hub, term) == 0


async def test_a_turn_that_fails_counts_none(tmp_path: Path):
    """What it decides is refused, as another hub leads by now."""
    async with running(tmp_path) as hub:
        term = await hub.hub.write(leadership.seize, "this")
        await hub.hub.write(leadership.seize, "another")
        await hub.cluster("a", a_pool(cpu="4", memory="8Gi"))
        await hub.apply(a_job("one"))
        before = completed()
        with pytest.raises(StaleTerm):
            await counted(hub, term)
        assert completed() == before


async def test_turns_that_keep_failing_stand_in_the_store_until_one_succeeds(tmp_path: Path):
    """For doctor, which looks at the store alone; a failure or two say little."""
    async with running(tmp_path) as hub:
        term = await hub.hub.write(leadership.seize, "this")
        controller = SchedulingController(hub.hub, lambda: term)
        decides = controller.scheduler.turn

        async def fails() -> bool:
            raise ValueError("poison")

        controller.scheduler.turn = fails  # type: ignore[method-assign]
        for times in range(1, stalls.TOLD_AFTER + 1):
            assert not await hub.hub.read(stalls.show), times
            with pytest.raises(ValueError, match="poison"):
                await controller.tick()
        assert (await hub.hub.read(stalls.show))["fault"] == "ValueError: poison"
        controller.scheduler.turn = decides  # type: ignore[method-assign]
        await controller.tick()
        assert not await hub.hub.read(stalls.show)


async def test_a_new_leader_clears_failures_of_the_one_before(tmp_path: Path):
    """Its first turn that succeeds."""
    async with running(tmp_path) as hub:
        term = await hub.hub.write(leadership.seize, "this")
        await hub.hub.write(stalls.record, "ValueError: poison")
        await counted(hub, term)
        assert not await hub.hub.read(stalls.show)


async def test_failures_that_another_hub_recorded_meanwhile_are_cleared(tmp_path: Path):
    """Two hubs take turns: the one that comes back has succeeded before."""
    async with running(tmp_path) as hub:
        term = await hub.hub.write(leadership.seize, "this")
        terms = iter([term, NOT_LEADING, term])
        controller = SchedulingController(hub.hub, lambda: next(terms))
        await controller.tick()
        await controller.tick()
        await hub.hub.write(stalls.record, "ValueError: poison")
        await controller.tick()
        assert not await hub.hub.read(stalls.show)

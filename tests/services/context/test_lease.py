"""Of several hubs on one store one leads: who, for how long, and who comes next."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.controllers.lease import NOT_LEADING, Lease, Tenure
from hub.services.context import leadership
from hub.services.context.hub import Hub
from hub.store.engine import Database
from hub.store.errors import StaleTerm, StoreUnavailable
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from tests import prepared
from tests.store.build import START

pytestmark = [pytest.mark.anyio, pytest.mark.store("postgres")]
TTL_S = leadership.TTL.total_seconds()


@contextlib.asynccontextmanager
async def a_hub(folder: Path, clock: ManualClock, name: str) -> AsyncIterator[tuple[Hub, Lease]]:
    """A hub on the store of `folder`, and what it knows of who leads."""
    db = Database.open(prepared.url_of(folder), clock)
    hub = Hub(db, clock)
    try:
        yield hub, Lease(hub, name)
    finally:
        await db.close()


def decide(tx: Transaction, term: int) -> None:
    """What a controller does."""
    tx.require_term(term)


async def test_the_first_to_ask_leads_and_the_others_wait(tmp_path: Path):
    """However often they ask while it renews."""
    clock = ManualClock(START)
    async with (
        a_hub(tmp_path, clock, "a") as (_, first),
        a_hub(tmp_path, clock, "b") as (_, second),
    ):
        assert await first.start() == 1
        for _ in range(3):
            clock.advance(TTL_S - 1)
            await first._tick()
            await second._tick()
            assert (first.term(), second.term()) == (1, NOT_LEADING)


async def test_another_leads_when_the_lease_has_run_out(tmp_path: Path):
    """Under a new term; what the former leader still decides is refused, and it knows by itself."""
    clock = ManualClock(START)
    async with (
        a_hub(tmp_path, clock, "a") as (paused, first),
        a_hub(tmp_path, clock, "b") as (hub, second),
    ):
        await first.start()
        clock.advance(TTL_S + 0.1)
        assert first.term() == NOT_LEADING
        await second._tick()
        assert second.term() == 2
        with pytest.raises(StaleTerm):
            await paused.write(decide, 1)
        await hub.write(decide, 2)
        await first._tick()
        assert first.term() == NOT_LEADING


async def test_a_leader_that_ends_lets_another_lead_at_once(tmp_path: Path):
    """No time has to pass; the term is another one."""
    clock = ManualClock(START)
    async with (
        a_hub(tmp_path, clock, "a") as (_, first),
        a_hub(tmp_path, clock, "b") as (_, second),
    ):
        await first.start()
        await first.release()
        assert first.term() == NOT_LEADING
        await second._tick()
        assert second.term() == 2


async def test_one_that_does_not_lead_lets_nothing_go(tmp_path: Path):
    """Its end changes nothing for the one that leads."""
    clock = ManualClock(START)
    async with (
        a_hub(tmp_path, clock, "a") as (hub, first),
        a_hub(tmp_path, clock, "b") as (_, second),
    ):
        await first.start()
        await second.start()
        await second.release()
        await first._tick()
        assert first.term() == 1
        await hub.write(decide, 1)


async def test_who_comes_back_too_late_lets_nothing_go(tmp_path: Path):
    """One that was paused and takes itself for the leader ends no lease of who leads by now."""
    clock = ManualClock(START)
    async with (
        a_hub(tmp_path, clock, "a") as (_, paused),
        a_hub(tmp_path, clock, "b") as (hub, leader),
    ):
        await paused.start()
        clock.advance(TTL_S + 0.1)
        await leader._tick()
        await paused.release()
        assert not await hub.read(leadership.is_free)


async def test_a_lease_counts_from_when_it_was_asked_for(tmp_path: Path):
    """Its answer may be late: a leader never believes longer than the store does."""
    clock = ManualClock(START)
    async with a_hub(tmp_path, clock, "a") as (hub, first):
        await first.start()

        async def late(fn: Any, *args: Any) -> Any:
            told = await write(fn, *args)
            clock.advance(3)
            return told

        write, hub.write = hub.write, late  # type: ignore[method-assign,assignment]
        await first._tick()
        clock.advance(TTL_S - 3)
        assert first.term() == 1
        clock.advance(0.1)
        assert first.term() == NOT_LEADING


async def test_who_can_not_renew_stops_leading_by_itself(tmp_path: Path):
    """A hub that is cut off from its database decides nothing any more when another one may."""
    clock = ManualClock(START)
    async with a_hub(tmp_path, clock, "a") as (hub, first):
        await first.start()
        await hub.db.close()
        clock.advance(TTL_S - 0.1)
        with pytest.raises(StoreUnavailable):
            await first._tick()
        assert first.term() == 1
        clock.advance(0.2)
        assert first.term() == NOT_LEADING


async def test_silence_counts_from_when_a_hub_began_to_lead(tmp_path: Path):
    """What agents did not say while nobody led is held against none of them."""
    clock = ManualClock(START)
    async with a_hub(tmp_path, clock, "a") as (hub, _):
        tenure = Tenure(hub)
        assert tenure.begins(NOT_LEADING)
        clock.advance(100)
        assert not tenure.begins(NOT_LEADING)
        assert tenure.begins(5)
        assert tenure.since == clock.now()
        clock.advance(10)
        assert not tenure.begins(5)
        assert tenure.since < clock.now()
        clock.advance(31)
        assert not tenure.begins(5)
        assert tenure.since == clock.now(), "nobody took turns: the database was away"

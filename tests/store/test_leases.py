"""Who leads, and under which term: every change of holder is a new term."""

import datetime as dt

import pytest

from hub.store.leases import present_term, take
from shared.clock import ManualClock
from tests.store.build import START, opened

pytestmark = pytest.mark.anyio
TTL = dt.timedelta(seconds=30)


async def test_a_takeover_is_a_new_term(tmp_path):
    """What the former leader still writes under its own term is refused from then on."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        assert await db.write(lambda unit: take(unit, "a", TTL)) == 1
        clock.advance(31)
        assert await db.write(lambda unit: take(unit, "b", TTL)) == 2
        assert await db.read(present_term) == 2


async def test_a_lease_that_lasts_is_nobody_elses(tmp_path):
    """Another may take it when it has run out, not before."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.write(lambda unit: take(unit, "a", TTL))
        clock.advance(29)
        assert await db.write(lambda unit: take(unit, "b", TTL)) is None


async def test_a_leader_that_renews_keeps_its_term(tmp_path):
    """Also where its lease had run out and nobody came."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        terms = []
        for _ in range(3):
            terms.append(await db.write(lambda unit: take(unit, "a", TTL)))
            clock.advance(31)
        assert terms == [1, 1, 1]

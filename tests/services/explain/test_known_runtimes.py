"""When those who hold quota end, and how long those who wait will run: what a forecast is played with."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.domain.instants import stamp, to_micros
from hub.services.context.settings import Settings
from hub.services.explain import study
from hub.services.explain.case import Case, case_of
from hub.services.explain.study import runtimes_of
from tests.services.build import in_cohort, start
from tests.services.hubs import Running, a_job, a_pool, running

pytestmark = pytest.mark.anyio
EXPECTED = "roadstead.dev/expected-runtime"
MINUTE = 60
RAN_S = 500  # of earlier runs, which a limit counts too


async def a_holder_and_one_who_waits(hub: Running, lasts: str) -> tuple[str, str]:
    """One queue for one job: `holder` runs and said that it `lasts` so long; `waits`, as long, waits."""
    await hub.cluster("c", a_pool(nodes=1, cpu="16"))
    await hub.apply(*in_cohort("a", "4", cohort=""))
    said = {EXPECTED: lasts} if lasts else {}
    four = {"cpu": "4"}
    (holder,) = await hub.apply(a_job("holder", queue="a", requests=four, annotations=said))
    await hub.settle()
    await start(hub, holder)
    hub.clock.advance(1)
    (waits,) = await hub.apply(a_job("waits", queue="a", requests=four, annotations=said))
    await hub.settle()
    return holder, waits


def case(hub: Running, uid: str) -> Case:
    assert hub.scheduler.index is not None
    found = case_of(hub.scheduler.index, uid, Settings(), hub.clock.now())
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("lasts", "limit_s", "after_s", "expected_s"),
    [
        ("10m", None, 0, 12 * MINUTE),  # it started two minutes after it was placed
        ("", 20 * MINUTE, 0, 20 * MINUTE),  # a limit counts from when it was placed
        ("10m", 20 * MINUTE, 0, 12 * MINUTE),
        ("30m", 20 * MINUTE, 0, 20 * MINUTE),
        ("10m", None, 12 * MINUTE - 1, 12 * MINUTE),
        ("10m", None, 12 * MINUTE, None),  # this very instant: it has run its time
        ("10m", 20 * MINUTE, 12 * MINUTE, 20 * MINUTE),  # it ran over; then its limit ends it
        ("10m", 20 * MINUTE, 20 * MINUTE, None),
        ("", None, 0, None),
    ],
)
async def test_a_holder_ends_when_it_said_or_when_its_limit_ends_it(
    tmp_path: Path, lasts: str, limit_s: int | None, after_s: int, expected_s: int | None
) -> None:
    """The nearest of both that is still to come; what it said counts from its start."""
    async with running(tmp_path) as hub:
        holder, waits = await a_holder_and_one_who_waits(hub, lasts)
        placed = hub.clock.now()
        begun = placed + dt.timedelta(minutes=2)
        limit = None if limit_s is None else limit_s + RAN_S
        await hub.change(
            holder, placed_at=placed, started_at=begun, max_runtime_s=limit, ran_s=RAN_S
        )
        hub.clock.advance(after_s)
        ends = (await hub.hub.read(runtimes_of, case(hub, waits))).ends
        expected = None if expected_s is None else to_micros(placed) + expected_s * 1_000_000
        assert ends.get(holder) == expected


@pytest.mark.parametrize(
    ("lasts", "limited", "expected_s"),
    [
        ("10m", {}, 10 * MINUTE),
        ("", {"max_runtime_s": 300}, 300),
        ("10m", {"max_runtime_s": 300}, 300),
        ("10m", {"max_runtime_s": 900}, 10 * MINUTE),
        ("", {"max_runtime_s": 300, "ran_s": 100}, 200),  # earlier runs count against its limit
        ("", {"max_runtime_s": 300, "ran_s": 300}, 0),
        ("", {"max_runtime_s": 300, "ran_s": 301}, 0),
        ("", {}, None),
    ],
)
async def test_one_who_waits_runs_as_long_as_it_said_or_may(
    tmp_path: Path, lasts: str, limited: dict[str, Any], expected_s: int | None
) -> None:
    """The shorter of both, and of its limit what earlier runs have left."""
    async with running(tmp_path) as hub:
        _, waits = await a_holder_and_one_who_waits(hub, lasts)
        if limited:
            await hub.change(waits, **limited)
        known = await hub.hub.read(runtimes_of, case(hub, waits))
        expected = None if expected_s is None else expected_s * 1_000_000
        assert known.lasting.get(waits) == expected


async def test_a_job_that_was_placed_and_has_not_begun_ends_as_if_it_began_then(
    tmp_path: Path,
) -> None:
    """Without a start what it said counts from its placing."""
    async with running(tmp_path) as hub:
        holder, waits = await a_holder_and_one_who_waits(hub, "10m")
        placed = hub.clock.now()
        await hub.change(holder, placed_at=placed, started_at=None)
        ends = (await hub.hub.read(runtimes_of, case(hub, waits))).ends
        assert ends[holder] == to_micros(placed) + 600 * 1_000_000


async def test_a_deadline_is_a_known_end(tmp_path: Path) -> None:
    """activeDeadlineSeconds, which `roadstead run --time` sets, counts from the start of the run."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        holder, waits = [_with_deadline(name, 120) for name in ("holder", "waits")]
        (holds,) = await hub.apply(holder)
        await hub.settle()
        await start(hub, holds)
        hub.clock.advance(1)
        (uid,) = await hub.apply(waits)
        await hub.settle()
        begun = hub.clock.now()
        await hub.change(holds, placed_at=begun, started_at=begun + dt.timedelta(seconds=5))
        known = await hub.hub.read(runtimes_of, case(hub, uid))
        assert known.ends == {holds: to_micros(begun) + 125_000_000}
        assert known.lasting == {uid: 120_000_000}
        told = await study.explain(hub.hub, uid, lambda: hub.scheduler.index)
        assert told["forecast"]["at"] == stamp(begun + dt.timedelta(seconds=125))


def _with_deadline(name: str, seconds: int) -> dict[str, Any]:
    job = a_job(name, queue="a", requests={"cpu": "4"})
    job["spec"]["activeDeadlineSeconds"] = seconds
    return job

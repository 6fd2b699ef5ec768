"""Nothing is late on an Unhealthy member: no timeout takes a job back there."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hub.controllers.last_down import LastDown
from hub.controllers.lifetimes import Lifetimes
from hub.services.context.settings import Queueing, Scheduling, Settings
from tests.services.members.hubs import Agent, Running, ran, running_hub
from tests.services.members.unhealthy import (
    capacity,
    falls,
    offered,
    watching,
    withdrawn,
)

pytestmark = pytest.mark.anyio

Tick = Callable[[], Awaitable[Any]]
PENDING_S = Scheduling().pods_pending_timeout_s
READY_S = 120.0
STEP_S = 20.0  # the agent is heard as often
DAMPED = Scheduling(silence_withdrawals_per_minute=2, unhealthy_after_s=PENDING_S)


async def applied(hub: Running, agent: Agent, name: str = "seen") -> str:
    """A job that the member has and that has not started there."""
    uid = await hub.placed("north", name)
    await agent.sync()
    await agent.sync(ran(uid))
    return uid


async def passes(hub: Running, agent: Agent, seconds: float, *ticks: Tick) -> None:
    """Time in which the agent is heard and each controller takes its turns."""
    for _ in range(int(seconds / STEP_S)):
        hub.clock.advance(STEP_S)
        await agent.sync()
        for tick in ticks:
            await tick()


@pytest.mark.parametrize("cause", ["NoAnswer", "Unauthorized"])
async def test_what_was_seen_there_is_not_taken_back_as_pending(tmp_path: Path, cause: str):
    """Its pods may run for all that the hub knows: `pods_pending_timeout_s` does not pass."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        uid = await applied(hub, north)
        heartbeats = await watching(hub)
        await falls(north, cause=cause)
        await passes(hub, north, PENDING_S + 60, heartbeats.tick)
        assert (await hub.job(uid)).state == "Applied"


async def test_what_was_offered_there_is_asked_back_within_the_budget_only(tmp_path: Path):
    """The timeout does not pass the budget of withdrawals for silence by."""
    async with running_hub(tmp_path, limits=Settings(scheduling=DAMPED)) as hub:
        north = await hub.join("north")
        uids = await offered(hub, north)
        heartbeats = await watching(hub)
        await falls(north, down_s=0.0)
        await passes(hub, north, PENDING_S + STEP_S, heartbeats.tick)
        assert await withdrawn(hub, uids) == DAMPED.silence_withdrawals_per_minute


async def test_the_time_begins_when_the_member_is_healthy_again(tmp_path: Path):
    """Then a job has the whole timeout to start, and is taken back after it."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        uid = await applied(hub, north)
        heartbeats = await watching(hub)
        await falls(north)
        await passes(hub, north, PENDING_S + 60, heartbeats.tick)
        await north.sync(capacity=capacity())
        await passes(hub, north, PENDING_S - STEP_S, heartbeats.tick)
        assert (await hub.job(uid)).state == "Applied"
        await passes(hub, north, 2 * STEP_S, heartbeats.tick)
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Withdrawing", "PodsPendingTimeout")


async def test_what_started_meanwhile_goes_on(tmp_path: Path):
    """The agent says so when it is let in again: nothing was ordered that ends the job."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        uid = await applied(hub, north)
        heartbeats = await watching(hub)
        await falls(north, cause="Unauthorized")
        await passes(hub, north, PENDING_S + 60, heartbeats.tick)
        report = ran(uid, running_since="2026-05-01T00:00:01Z")
        await north.sync(report, capacity=capacity())
        await heartbeats.tick()
        await north.sync()
        assert (await hub.job(uid)).state == "Running"
        assert north.works[uid]["action"] == "Apply"


async def test_pods_that_are_not_ready_there_are_not_late(tmp_path: Path):
    """`pods_ready_timeout_s` begins when the member is healthy again, too."""
    given = Settings(queueing=Queueing(pods_ready_timeout_s=READY_S))
    async with running_hub(tmp_path, limits=given) as hub:
        north = await hub.join("north")
        uid = await applied(hub, north)
        heartbeats = await watching(hub)
        lifetimes = Lifetimes(hub.hub, lambda: 1, LastDown())
        await falls(north, cause="Unauthorized")
        await passes(hub, north, READY_S + 60, heartbeats.tick, lifetimes.tick)
        assert (await hub.job(uid)).state == "Applied"
        await north.sync(capacity=capacity())
        await passes(hub, north, READY_S - STEP_S, heartbeats.tick, lifetimes.tick)
        assert (await hub.job(uid)).state == "Applied"
        await passes(hub, north, 2 * STEP_S, heartbeats.tick, lifetimes.tick)
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Withdrawing", "PodsReadyTimeout")


async def test_pods_that_were_lost_there_are_not_late(tmp_path: Path):
    """Nobody knows whether they are back while the API server does not answer."""
    given = Settings(queueing=Queueing(pods_ready_recovery_timeout_s=READY_S))
    async with running_hub(tmp_path, limits=given) as hub:
        north = await hub.join("north")
        uid = await applied(hub, north)
        since = "2026-05-01T00:00:01Z"
        await north.sync(ran(uid, active=1, ready=1, running_since=since))
        await north.sync(ran(uid, active=1, ready=0, running_since=since))
        assert (await hub.job(uid)).pods_lost_at is not None
        heartbeats = await watching(hub)
        lifetimes = Lifetimes(hub.hub, lambda: 1, LastDown())
        await falls(north)
        await passes(hub, north, READY_S + 60, heartbeats.tick, lifetimes.tick)
        assert (await hub.job(uid)).state == "Running"

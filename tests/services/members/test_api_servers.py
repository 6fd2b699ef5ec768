"""A member whose API server is down: no new work, its jobs say why, and what is unseen goes elsewhere."""

from pathlib import Path
from typing import Any

import pytest

from hub.controllers.heartbeats import SilenceLoop
from hub.services.context import leadership
from hub.services.questions.clusters import get_cluster
from tests.services.members.hubs import Agent, Running, ran, running_hub, seen

pytestmark = pytest.mark.anyio


async def watching(hub: Running) -> SilenceLoop:
    term = await hub.write(leadership.seize, "test")
    return SilenceLoop(hub.hub, hub.sync, lambda: term)


def capacity(down_s: float | None = None) -> dict[str, Any]:
    """A report of a member without nodes."""
    told: dict[str, Any] = {"pools_revision": 0, "pools": [], "bound": []}
    if down_s is not None:
        told["api_server"] = {"reason": "Timeout: no answer", "down_s": down_s}
    return told


async def falls(agent: Agent, down_s: float = 5.0) -> None:
    await agent.sync(capacity=capacity(down_s))


async def state(hub: Running, name: str) -> dict[str, Any]:
    return await hub.hub.read(get_cluster, name, hub.hub.settings)


async def test_the_cluster_says_so(tmp_path: Path):
    """Its state is Unhealthy with the agent's words until the server answers again."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        await falls(north)
        told = await state(hub, "north")
        assert (told["state"], told["ready"]) == ("Unhealthy", False)
        assert told["message"].endswith("Timeout: no answer")
        await north.sync(capacity=capacity())
        told = await state(hub, "north")
        assert (told["state"], told["message"]) == ("Ready", "")


async def test_its_jobs_say_why_they_do_not_move(tmp_path: Path):
    """A running job there carries the reason while the server is down, and loses it afterwards."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync()
        await north.sync(ran(uid, running_since="2026-05-01T00:00:01Z"))
        await falls(north)
        await heartbeats.tick()
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Running", "ClusterUnhealthy")
        assert "Timeout: no answer" in job.message
        await north.sync(capacity=capacity())
        await heartbeats.tick()
        job = await hub.job(uid)
        assert (job.state, job.reason, job.message) == ("Running", "", "")


async def test_what_it_was_not_told_of_goes_back_to_its_queue(tmp_path: Path):
    """Placed and never offered: Pending again at the next turn."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        await falls(north)
        uid = await hub.placed("north")
        await heartbeats.tick()
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Pending", "ClusterUnhealthy")


async def test_what_was_offered_and_never_seen_is_asked_back(tmp_path: Path):
    """After `unhealthy_after_s`, and only on the member's word that nothing is left of it."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync()
        await falls(north)
        await heartbeats.tick()
        assert (await hub.job(uid)).state == "Offered"
        hub.clock.advance(61)
        await north.sync()
        await heartbeats.tick()
        job = await hub.job(uid)
        assert (job.state, job.withdraw_to) == ("Withdrawing", "Pending")
        await hub.settled()
        await north.sync()
        assert north.works[uid]["action"] == "Withdraw"
        await north.sync(seen(uid, "Gone"))
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Pending", "ClusterUnhealthy")
        assert list(job.set_aside) == ["north"]


async def test_what_was_seen_there_stays(tmp_path: Path):
    """A job that the member has is not asked back, however long its API server is down."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync()
        await north.sync(ran(uid))
        await falls(north)
        hub.clock.advance(300)
        await north.sync()
        await heartbeats.tick()
        assert (await hub.job(uid)).state == "Applied"

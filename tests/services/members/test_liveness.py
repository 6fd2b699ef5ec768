"""Silence and waiting: what happens to jobs of clusters that do not answer or can not start them."""

from pathlib import Path

import pytest

from hub.controllers.heartbeats import SilenceLoop
from hub.controllers.last_down import LastDown
from hub.services.context import leadership
from hub.store.errors import StoreUnavailable
from tests.services.members.hubs import Running, away, back, ran, running_hub, seen

pytestmark = pytest.mark.anyio


async def watching(hub: Running) -> SilenceLoop:
    term = await hub.write(leadership.seize, "test")
    return SilenceLoop(hub.hub, hub.sync, lambda: term, LastDown())


async def test_jobs_of_a_silent_cluster_are_unknown_and_come_back(tmp_path: Path):
    """After 60 s of silence a job is Unknown; the next observation says what it is."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north, south = await hub.join("north"), await hub.join("south")
        uid = await hub.placed("north")
        await north.sync()
        await north.sync(ran(uid))
        hub.clock.advance(50)
        await south.sync()
        await heartbeats.tick()
        assert (await hub.job(uid)).state == "Applied"
        hub.clock.advance(11)
        await south.sync()
        await heartbeats.tick()
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Unknown", "ClusterUnreachable")
        await north.sync(ran(uid, running_since="2026-05-01T00:00:01Z"))
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Running", "")


async def test_what_a_silent_cluster_was_not_told_of_goes_back_to_its_queue(tmp_path: Path):
    """Placed and never offered: after 45 s of silence it is Pending again, safe to start elsewhere."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        await hub.join("north")
        south = await hub.join("south")
        uid = await hub.placed("north")
        hub.clock.advance(46)
        await south.sync()
        await heartbeats.tick()
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Pending", "ClusterUnreachable")


async def test_an_outage_of_the_database_is_held_against_no_member(tmp_path: Path):
    """Ten minutes without a turn, under the same term: 45 s of fresh silence pass before any verdict."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        await hub.join("north")
        south = await hub.join("south")
        uid = await hub.placed("north")
        await heartbeats.tick()
        hub.clock.advance(600)
        for seconds, state in ((0, "Placed"), (25, "Placed"), (20, "Placed"), (1, "Pending")):
            hub.clock.advance(seconds)
            await south.sync()
            await heartbeats.tick()
            assert (await hub.job(uid)).state == state, seconds


async def test_no_verdict_falls_while_most_of_the_fleet_is_silent(tmp_path: Path):
    """More than half of at least two silent at once: the hub is cut off, not the members."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        await hub.join("south")
        uid = await hub.placed("north")
        await north.sync()
        for _ in range(5):
            await heartbeats.tick()
            hub.clock.advance(20)
        await heartbeats.tick()
        assert heartbeats.frozen
        assert (await hub.job(uid)).state == "Offered"


async def test_timers_restart_with_the_hub(tmp_path: Path):
    """An outage of the hub is not held against a member."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync()
        clock = hub.clock
    clock.advance(7200)
    async with running_hub(tmp_path, clock) as hub:
        heartbeats = await watching(hub)
        await heartbeats.tick()
        assert (await hub.job(uid)).state == "Offered"


async def test_a_job_whose_pods_do_not_start_is_taken_back_for_another_cluster(tmp_path: Path):
    """After podsPendingTimeout: withdraw, confirm, requeue, the cluster set aside, its words kept."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync()
        await north.sync(ran(uid, active=1, reason="FailedScheduling", message="0/3 nodes"))
        hub.clock.advance(601)
        await north.sync()
        await heartbeats.tick()
        job = await hub.job(uid)
        assert (job.state, job.withdraw_to) == ("Withdrawing", "Pending")
        await hub.settled()
        await north.sync()
        assert north.works[uid]["action"] == "Withdraw"
        await north.sync(seen(uid, "Gone"))
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Pending", "PodsPendingTimeout")
        assert "0/3 nodes" in job.message
        assert list(job.set_aside) == ["north"]


async def test_a_job_held_by_its_image_fails(tmp_path: Path):
    """No other cluster would pull it either: withdrawn, confirmed, Failed with that reason."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync()
        await north.sync(ran(uid, active=1, reason="ImagePullBackOff", message="no such image"))
        hub.clock.advance(601)
        await north.sync()
        await heartbeats.tick()
        await hub.settled()
        await north.sync()
        await north.sync(seen(uid, "Gone"))
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Failed", "ImagePullBackOff")


async def test_jobs_are_found_again_at_the_next_word_of_their_cluster(tmp_path: Path):
    """A job that went on through the silence is no longer Unknown, though its agent has no news of it."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north, south = await hub.join("north"), await hub.join("south")
        uid = await hub.placed("north")
        await north.sync()
        await north.sync(ran(uid, running_since="2026-05-01T00:00:01Z"))
        hub.clock.advance(61)
        await south.sync()
        await heartbeats.tick()
        assert (await hub.job(uid)).state == "Unknown"
        await north.sync()
        await heartbeats.tick()
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Running", "")


async def test_judging_again_is_no_sign_of_life(tmp_path: Path):
    """While a cluster is silent its jobs stay Unknown, turn after turn."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north, south = await hub.join("north"), await hub.join("south")
        uid = await hub.placed("north")
        await north.sync()
        await north.sync(ran(uid))
        hub.clock.advance(61)
        for _ in range(3):
            await south.sync()
            await heartbeats.tick()
            hub.clock.advance(10)
        assert (await hub.job(uid)).state == "Unknown"


async def test_a_failure_seen_after_the_silence_is_retried(tmp_path: Path):
    """A job with a retry left that fails while it is Unknown goes back to its queue."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north, south = await hub.join("north"), await hub.join("south")
        retry = {"annotations": {"roadstead.dev/retry": "2"}}
        uid = await hub.placed("north", metadata=retry)
        await north.sync()
        await north.sync(ran(uid))
        hub.clock.advance(61)
        await south.sync()
        await heartbeats.tick()
        await north.sync(ran(uid, failed=1, result="Failed", reason="BackoffLimitExceeded"))
        assert (await hub.job(uid)).state == "Withdrawing"
        await hub.settled()
        await north.sync()
        await north.sync(seen(uid, "Gone"))
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Pending", "Retrying")


async def test_what_was_heard_while_the_store_took_nothing_counts(tmp_path: Path):
    """A store that refuses writes for a moment is held against no member that has spoken meanwhile."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        loop = await watching(hub)
        await agent.sync()
        hub.clock.advance(44)
        await agent.sync()
        await hub.write(away("clusters"))
        with pytest.raises(StoreUnavailable):
            await loop.tick()
        await hub.write(back("clusters"))
        uid = await hub.placed("north")
        hub.clock.advance(10)
        await loop.tick()
        assert (await hub.job(uid)).state == "Placed"

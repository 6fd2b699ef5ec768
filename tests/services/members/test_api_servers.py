"""A member whose API server is down: no new work, its jobs say why, and what is unseen goes elsewhere."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.services.context.settings import Scheduling, Settings
from hub.services.members.api_servers import Tended
from hub.services.objects.drain import drain_cluster
from hub.store.errors import OutcomeUnknown
from hub.store.events import list_events
from shared.clock import ManualClock
from tests.services.members.hubs import Running, ran, running_hub, seen
from tests.services.members.unhealthy import (
    JOBS,
    capacity,
    falls,
    goes_on,
    offered,
    state,
    watching,
    withdrawn,
)

pytestmark = pytest.mark.anyio


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


async def test_its_jobs_say_afterwards_what_they_said_before(tmp_path: Path):
    """The agent tells only what changes: the reason why a pod does not run outlasts a short outage."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync()
        held = {"active": 1, "reason": "ImagePullBackOff", "message": "no such image"}
        await north.sync(seen(uid, "Applied", job=held))
        before = await hub.job(uid)
        await falls(north)
        await heartbeats.tick()
        assert (await hub.job(uid)).reason == "ClusterUnhealthy"
        await north.sync(capacity=capacity())
        await heartbeats.tick()
        job = await hub.job(uid)
        assert (job.state, job.reason, job.message) == (
            "Applied",
            "ImagePullBackOff",
            "north: no such image",
        )
        assert (before.reason, before.message) == (job.reason, job.message)


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
    """After `unhealthy_after_s`, on the member's word that nothing is left; it may go there once it is up."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync()
        await falls(north)
        await heartbeats.tick()
        assert (await hub.job(uid)).state == "Offered"
        await goes_on(hub, north, heartbeats, 60)
        job = await hub.job(uid)
        assert (job.state, job.withdraw_to) == ("Withdrawing", "Pending")
        await hub.settled()
        await north.sync()
        assert north.works[uid]["action"] == "Withdraw"
        await north.sync(seen(uid, "Gone"))
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Pending", "ClusterUnhealthy")
        assert not job.set_aside


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


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        ("NoAnswer", "its API server does not answer its agent: x"),
        ("Unauthorized", "its API server rejects its agent's credential (401): x"),
        ("Forbidden", "its API server refuses its agent (403 to its probe): x"),
    ],
)
async def test_an_unhealthy_cluster_says_which_trouble_it_has(tmp_path: Path, cause, said):
    """The reason is a field; the message names the fault."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        await falls(north, cause=cause, reason="x")
        told = await state(hub, "north")
        assert (told["state"], told["reason"], told["message"]) == ("Unhealthy", cause, said)


async def test_jobs_of_a_member_that_rejects_its_agent_stay_charged(tmp_path: Path):
    """They say why, and what runs there is neither withdrawn nor moved (case p06)."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync()
        await north.sync(ran(uid, running_since="2026-05-01T00:00:01Z"))
        await falls(north, cause="Unauthorized")
        hub.clock.advance(300)
        await north.sync()
        await heartbeats.tick()
        job = await hub.job(uid)
        assert (job.state, job.reason, job.cluster) == ("Running", "ClusterUnhealthy", "north")
        assert "rejects its agent's credential (401)" in job.message


async def test_its_jobs_say_another_cause_when_the_member_has_another(tmp_path: Path):
    """First it did not answer, now it rejects its agent's credential."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync()
        await north.sync(ran(uid, running_since="2026-05-01T00:00:01Z"))
        await falls(north)
        await heartbeats.tick()
        assert "has not answered" in (await hub.job(uid)).message
        await falls(north, cause="Unauthorized", reason="Unauthorized: x")
        await heartbeats.tick()
        assert "rejects its agent's credential (401)" in (await hub.job(uid)).message


async def test_an_event_says_when_a_member_becomes_unhealthy_and_recovers(tmp_path: Path):
    """One of each, however many turns the trouble lasts."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        await falls(north)
        await heartbeats.tick()
        await heartbeats.tick()
        await north.sync(capacity=capacity())
        await heartbeats.tick()
        told = await hub.hub.read(lambda tx: list_events(tx, kind="MemberCluster", name="north"))
        assert [each.reason for each in told if each.reason.endswith("ealthy")] == [
            "MemberClusterUnhealthy",
            "MemberClusterHealthy",
        ]


async def unhealthy_events(hub: Running) -> list[str]:
    told = await hub.hub.read(lambda tx: list_events(tx, kind="MemberCluster", name="north"))
    return [each.reason for each in told if each.reason.endswith("ealthy")]


async def test_a_new_leader_does_not_say_it_again(tmp_path: Path):
    """It reads the events; a recovery in the time without a leader is written once, too."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        await falls(north)
        for _ in range(3):
            await (await watching(hub)).tick()
        assert await unhealthy_events(hub) == ["MemberClusterUnhealthy"]
        await north.sync(capacity=capacity())
        for _ in range(2):
            await (await watching(hub)).tick()
        assert await unhealthy_events(hub) == ["MemberClusterUnhealthy", "MemberClusterHealthy"]


async def test_withdrawals_for_silence_are_damped(tmp_path: Path):
    """With a budget of 2 a minute, 2 of 5 are asked back at once, and 2 more a minute later."""
    settings = Settings(scheduling=Scheduling(silence_withdrawals_per_minute=2))
    async with running_hub(tmp_path, limits=settings) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        uids = await offered(hub, north)
        await falls(north)
        await heartbeats.tick()
        await goes_on(hub, north, heartbeats, 70)
        assert await withdrawn(hub, uids) == 2
        await goes_on(hub, north, heartbeats, 60)
        assert await withdrawn(hub, uids) == 4


async def test_withdrawals_of_unknown_outcome_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The database took the commit and fell silent: the next turn asks nothing more back."""
    settings = Settings(scheduling=Scheduling(silence_withdrawals_per_minute=2))
    async with running_hub(tmp_path, limits=settings) as hub:
        north = await hub.join("north")
        uids = await offered(hub, north)
        heartbeats = await watching(hub)
        await falls(north)
        await goes_on(hub, north, heartbeats, 55)
        hub.clock.advance(5)
        await north.sync()
        write = hub.hub.write

        async def silent_after_the_commit(work: Any, *given: Any, **more: Any) -> Any:
            result = await write(work, *given, **more)
            if isinstance(result, Tended):
                raise OutcomeUnknown("no answer")
            return result

        monkeypatch.setattr(hub.hub, "write", silent_after_the_commit)
        for _ in range(2):
            with pytest.raises(OutcomeUnknown):
                await heartbeats.tick()
        assert await withdrawn(hub, uids) == 2


async def test_a_drain_is_not_damped(tmp_path: Path):
    """What a person asks for takes nothing from the budget of silence, and is never held up by it."""
    settings = Settings(scheduling=Scheduling(silence_withdrawals_per_minute=1))
    async with running_hub(tmp_path, limits=settings) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        uids = await offered(hub, north)
        await falls(north)
        await heartbeats.tick()
        await goes_on(hub, north, heartbeats, 60)
        await hub.write(lambda tx: drain_cluster(tx, "north", "admin", carry_out=True))
        assert await withdrawn(hub, uids) == JOBS


async def test_nothing_is_asked_back_for_the_time_in_which_no_hub_led(tmp_path: Path):
    """The server may answer again since, and what it holds may run: the hub waits for the agent's word."""
    clock = ManualClock(dt.datetime(2026, 5, 1, tzinfo=dt.UTC))
    async with running_hub(tmp_path, clock) as hub:
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync()
        await falls(north)
    clock.advance(120)
    async with running_hub(tmp_path, clock) as hub:
        north.running = hub
        heartbeats = await watching(hub)
        await heartbeats.tick()
        assert (await hub.job(uid)).state == "Offered"
        await hub.settled()
        await north.sync(ran(uid, running_since="2026-05-01T00:00:30Z"), capacity=capacity())
        await hub.settled()
        await north.sync()
        assert ((await hub.job(uid)).state, north.works[uid]["action"]) == ("Running", "Apply")


async def test_nothing_is_asked_back_after_a_time_without_turns(tmp_path: Path):
    """The store hung: reports came to nobody."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync()
        await falls(north)
        await heartbeats.tick()
        hub.clock.advance(120)
        await heartbeats.tick()
        assert (await hub.job(uid)).state == "Offered"


async def test_a_cut_link_ends_the_word_of_an_agent(tmp_path: Path):
    """Unhealthy for 5 s, then cut off: its job is Unknown like that of any silent member, and goes on."""
    async with running_hub(tmp_path) as hub:
        heartbeats = await watching(hub)
        north, south, east = [await hub.join(name) for name in ("north", "south", "east")]
        uid = await hub.placed("north")
        await north.sync()
        await falls(north)
        await heartbeats.tick()
        for _ in range(24):
            hub.clock.advance(5)
            await south.sync()
            await east.sync()
            await heartbeats.tick()
        assert (await hub.job(uid)).state == "Unknown"
        await north.sync(ran(uid, running_since="2026-05-01T00:00:30Z"), capacity=capacity())
        await heartbeats.tick()
        await hub.settled()
        await north.sync()
        assert ((await hub.job(uid)).state, north.works[uid]["action"]) == ("Running", "Apply")

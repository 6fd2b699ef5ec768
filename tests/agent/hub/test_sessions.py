"""Sessions, leases and a hub that is away, slow or somebody else's."""

import asyncio
from typing import Any

import pytest

from agent.config import Settings
from agent.hub import credential
from agent.hub.client import HubError
from agent.main import EXIT_REFUSED, Agent
from agent.objects.facts import finished
from shared.clock import ManualClock, SystemClock
from shared.kube import errors
from shared.wire.versions import LEFT_OBJECTS
from tests import waiting
from tests.agent.build import a_config_map
from tests.agent.scripted_hub import a_job, an_object, eventually
from tests.agent.versioned_hub import HubOfProtocol

pytestmark = pytest.mark.anyio


async def test_the_join_token_is_spent_once_and_the_credential_is_kept_private(member):
    """The first start registers; a second one uses the stored credential, which only we can read."""
    member.start()
    await member.hub.until(lambda hub: hub.requests)
    await member.stop()
    assert (member.folder / "credential.json").stat().st_mode & 0o777 == 0o600
    first = len(member.hub.requests)
    member.start()
    await member.hub.until(lambda hub: len(hub.requests) > first)
    assert member.hub.registrations == 1


async def test_what_was_not_acknowledged_is_sent_again(member):
    """A report whose reply was lost is repeated, unchanged, until a reply comes."""
    lost: list[Any] = []

    def loses(request):
        if len(lost) < 3 and results_in(request.observed.entries):
            lost.append(request)
        return bool(lost) and request is lost[-1]

    member.hub.loses = loses
    member.hub.put(a_job())
    member.start()
    again = await member.hub.until(lambda hub: results_in(hub.told)[3:])
    assert {entry.seq for entry in again} == {entry.seq for entry in results_in(member.hub.told)}


async def test_an_idle_agent_lets_its_request_hang(member):
    """Without news a request asks to be held; with news the next one does not."""
    member.start(lease_s=30.0)
    await member.hub.until(lambda hub: hub.requests and hub.requests[-1].wait_s > 0)
    assert member.hub.requests[-1].wait_s <= 20
    member.hub.put(a_job())
    await member.hub.finished("u-1")
    assert all(request.wait_s == 0 for request in member.hub.requests if request.observed.entries)


async def test_news_makes_a_new_request_while_the_old_one_hangs(member):
    """A change in the member is told at once, by a request with a higher sequence."""
    member.hub.put(a_job(run_seconds="1"))
    member.start(lease_s=30.0)
    await member.hub.seen("u-1", "Applied")
    await member.hub.until(lambda hub: hub.requests[-1].wait_s > 0)
    async with asyncio.timeout(6):
        await member.hub.finished("u-1")
    sequences = [request.seq for request in member.hub.requests]
    assert sequences == sorted(sequences)


async def test_no_request_outlives_its_agent(member):
    """What hung as it was stopped is given up by then: nobody else ever takes in its answer."""
    member.start(lease_s=30.0)
    await member.hub.until(lambda hub: hub.held == 1)
    await member.stop()
    assert member.hub.held == 0


async def test_a_desired_set_comes_in_pages(member):
    """A hub that sends a few works at a time is asked until it has no more."""
    member.hub.page = 2
    member.hub.put(*(a_job(f"u-{n}", f"job-{n}") for n in range(7)))
    member.start()
    for number in range(7):
        await member.hub.finished(f"u-{number}")


async def test_removed_works_leave_the_observed_set(member):
    """A uid that the hub removes is no longer part of what the agent says it sees."""
    member.hub.put(a_job(run_seconds="0.1"))
    member.start()
    await member.hub.finished("u-1")
    member.hub.put(a_job(action="Withdraw"))
    await member.hub.seen("u-1", "Gone")
    member.hub.drop("u-1")
    await member.hub.until(lambda hub: hub.requests[-1].observed.digest == "")


async def test_the_agent_goes_on_while_the_hub_is_away(member):
    """With the hub down running jobs run on, and their results are told when it is back."""
    member.hub.put(a_job(run_seconds="1"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    member.hub.down = True
    live = member.agent.reconciler.tracked_works["u-1"].seen
    await eventually(lambda: finished(live.live))
    member.hub.down = False
    await member.hub.finished("u-1")


async def test_no_job_is_created_once_the_lease_has_run_out(member):
    """Creating needs a hub that answered within the lease: an old reply alone starts nothing."""
    stranger = a_job("u-0").manifest
    stranger["metadata"].pop("labels")
    stranger["spec"]["template"]["metadata"].pop("labels")
    stranger["spec"]["suspend"] = True
    await member.kube.create(stranger, field_manager="someone")
    member.hub.put(a_job())
    member.start(lease_s=1.0)
    await member.hub.seen("u-1", "Failed", "NameConflict")
    member.hub.down = True
    await member.kube.delete("batch/v1", "Job", "team", "job")
    reconciler = member.agent.reconciler

    def nudged():
        reconciler.tracked_works["u-1"].forget_trouble()
        reconciler.mark("u-1")
        return reconciler.observed.entries["u-1"].reason == "LeaseExpired"

    await eventually(lambda: not reconciler._lease.left(SystemClock().monotonic()))
    await eventually(nudged)
    with pytest.raises(errors.NotFound):
        await member.job()
    member.hub.down = False
    await member.hub.finished("u-1")


async def test_a_new_session_confirms_nothing_as_gone_before_the_lease_is_over(member):
    """An earlier agent may still act on an old reply, so Gone waits until it can not any more."""
    member.start(lease_s=2.0)
    member.hub.put(a_job(action="Withdraw"))
    entry = await member.hub.seen("u-1", "Waiting", "LeaseWait")
    assert entry.phase == "Waiting"
    await member.hub.seen("u-1", "Gone")
    first = member.hub.requests[0]
    gone = next(
        r for r in member.hub.requests if any(e.phase == "Gone" for e in r.observed.entries)
    )
    assert gone.seq > first.seq


async def test_a_new_session_names_the_live_one_when_the_hub_asks(member):
    """The question is no answer: it renews no lease, and all that was told is told again."""
    member.hub.live = "0123"
    member.hub.put(a_job())
    member.start()
    await member.hub.finished("u-1")
    (asked,) = member.hub.questions
    first = member.hub.requests[0]
    assert (asked.follows, first.follows) == ("", "0123")
    assert first.observed.full
    assert first.seq > asked.seq


async def test_a_superseded_agent_stops_acting_and_ends_with_code_3(member):
    """Told that another agent runs with its credential it creates, deletes and syncs no more."""
    member.start()
    await member.hub.until(lambda hub: hub.requests)
    member.hub.gone_sessions.add(member.hub.requests[-1].session)
    member.hub.put(a_job())
    async with asyncio.timeout(10):
        assert await member.running == 3
    with pytest.raises(errors.NotFound):
        await member.job()


async def test_a_superseded_agent_stands_by_when_it_is_started_again(tmp_path):
    """Two agents on one credential do not take turns for ever: the restarted one waits first."""
    clock = ManualClock()
    path = tmp_path / "credential.json"
    credential.mark_superseded(path, clock.now(), lived_s=5)
    agent = Agent(Settings(hub_url="http://hub", credential=path), clock=clock)
    standing_by = asyncio.create_task(agent._stand_by())
    await waiting.turns()
    clock.advance(59)
    await waiting.turns()
    assert not standing_by.done()
    clock.advance(1)
    await asyncio.wait_for(standing_by, 1)


def test_each_time_it_is_superseded_anew_it_stands_by_longer(tmp_path):
    """The wait doubles up to an hour, and starts small again after a session that lived long."""
    path, now = tmp_path / "credential.json", ManualClock().now()
    waits = [credential.mark_superseded(path, now, lived_s=1).stand_by_s for _ in range(8)]
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert credential.mark_superseded(path, now, lived_s=7200).stand_by_s == 60


async def test_a_revoked_credential_ends_the_agent_and_nothing_else(member):
    """On 401 only a person can help: the agent does no more, exits as refused, and what runs goes on."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "active")
    lease = member.agent.reconciler._lease
    member.hub.refusal = (401, "Revoked")
    assert await asyncio.wait_for(member.running, 30) == EXIT_REFUSED
    assert lease.revoked
    assert (await member.job())["status"]["active"] == 1


async def test_however_often_a_report_was_too_large_something_is_said(member):
    """Its pages become no smaller than some dozens of entries: none at all would tell nothing for ever."""
    member.start()
    await member.hub.until(lambda hub: hub.requests)
    for _ in range(20):
        member.agent.exchange._refused(HubError(413, "BodyTooLarge", "", None))
    member.hub.put(a_job())
    await member.hub.finished("u-1")


async def test_a_restarted_agent_adopts_what_runs(member):
    """After a restart the Job that an earlier run of the agent made is reported, not made again."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    before = await member.hub.seen("u-1", "Applied")
    await member.stop()
    member.hub.observed.clear()
    member.start()
    after = await member.hub.seen("u-1", "Applied")
    assert after.object_uid == before.object_uid


async def test_an_agent_begins_anew_where_the_hub_goes_on_from_a_restored_store(member):
    """What it was told may be of the time that is lost: it forgets it, and finds what runs."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    before = await member.hub.job_says("u-1", "running_since")
    lease = member.agent.reconciler._lease
    earlier = len(member.hub.requests)
    member.hub.observed.clear()
    member.hub.incarnation = "i-2"
    member.hub.put(a_job("u-2", "other"))
    after = await member.hub.seen("u-1", "Applied")
    assert lease.revoked
    assert after.object_uid == before.object_uid
    await member.hub.finished("u-2")
    anew = [r for r in member.hub.requests[earlier:] if r.seq == 1]
    assert [(r.desired.revision, r.incarnation_seen) for r in anew] == [(0, "i-2")]


async def test_an_orphan_is_told_and_left(member):
    """An object with our labels that the hub does not ask for is reported, and withdrawn when told."""
    await member.kube.create(a_job("u-9", run_seconds="600").manifest, field_manager="roadstead")
    member.start()
    await member.hub.seen("u-9", "Applied", "Orphan")
    assert await member.job()
    member.hub.put(a_job("u-9", action="Withdraw"))
    await member.hub.seen("u-9", "Gone")


async def test_an_object_that_nothing_desires_is_told_with_its_place(member):
    """No Job: which it is and that the agent created it, which its managed fields say."""
    member.hub = HubOfProtocol(LEFT_OBJECTS)
    member.hub.removes_strays = False
    member.hub.put(an_object(a_config_map(), "o-1"))
    member.start()
    assert (await member.hub.seen("o-1", "Applied")).left is None
    member.hub.drop("o-1")
    left = (await member.hub.seen("o-1", "Applied", "Orphan")).left
    assert (left.api_version, left.kind, left.namespace, left.name, left.created) == (
        "v1", "ConfigMap", "team", "settings", True,
    )  # fmt: skip


async def a_late_copy(member, uid):
    """What a create that had no answer brings after all: the object as the agent applied it."""
    await member.hub.seen(uid, "Applied")
    late = await member.kube.get("v1", "ConfigMap", "team", "settings")
    for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"):
        late["metadata"].pop(name, None)
    return late


async def test_a_late_copy_of_a_withdrawn_object_is_withdrawn_too(member):
    """The session said that it is gone; a create without an answer takes effect after that."""
    member.hub.removes_strays = False  # the hub knows nothing of it
    member.hub.put(an_object(a_config_map(), "o-1"))
    member.start()
    late = await a_late_copy(member, "o-1")
    member.hub.put(an_object(a_config_map(), "o-1", action="Withdraw"))
    await member.hub.seen("o-1", "Gone")
    member.hub.drop("o-1")
    await member.hub.until(lambda hub: hub.requests[-1].desired.revision == hub.revision)
    await member.kube.create(late, field_manager="roadstead")
    await eventually(lambda: member.cluster.store.get("configmaps", "team", "settings") is None)


async def test_what_the_hub_asks_for_again_is_no_late_copy(member):
    """Withdrawn, asked for again, then not desired any more: it is told and left."""
    member.hub.removes_strays = False
    member.hub.put(an_object(a_config_map(), "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    member.hub.put(an_object(a_config_map(), "o-1", action="Withdraw"))
    await member.hub.seen("o-1", "Gone")
    member.hub.put(an_object(a_config_map(), "o-1", generation=3))
    await member.hub.seen("o-1", "Applied")
    member.hub.drop("o-1")
    await member.hub.seen("o-1", "Applied", "Orphan")
    assert member.cluster.store.get("configmaps", "team", "settings") is not None


async def test_what_is_too_large_for_one_request_comes_in_several(member):
    """Each is half as long until the hub takes it, and says whether more is to follow: none is lost."""
    uids = [f"u-{number}" for number in range(250)]
    member.hub.put(*(a_job(uid, uid, action="Withdraw") for uid in uids))
    member.hub.loses = lambda request: request.observed.entries  # so all of it is to be said again
    member.start()
    await member.hub.until(lambda hub: hub.requests and carried(hub.requests[-1]) == set(uids))

    member.hub.requests.clear()
    member.hub.takes_at_most = 200
    member.hub.loses = lambda request: False

    def said_to_the_end(hub):
        told = set().union(*map(carried, hub.requests))
        return hub.requests if set(uids) <= told and not hub.requests[-1].observed.more else None

    parts = await member.hub.until(said_to_the_end)
    assert next(request.observed.more for request in parts if request.observed.entries)
    assert all(len(carried(part)) <= 200 for part in parts)


def carried(request):
    """The uids a request says something of."""
    return {entry.uid for entry in request.observed.entries}


def results_in(entries):
    return [entry for entry in entries if entry.job and entry.job.result == "Succeeded"]


async def test_a_hub_that_asks_for_everything_gets_everything(member):
    """All works, and the capacity with the kinds that are served, though nothing of it has changed."""
    member.hub.put(an_object(a_config_map(), "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    before = await member.hub.until(lambda hub: hub.capacity and hub.capacity.kinds)
    member.hub.capacity = None
    member.hub.observed.clear()
    member.hub.wants_all = True
    member.hub.put(an_object({**a_config_map(), "data": {"colour": "blue"}}, "o-1", generation=2))
    await member.hub.until(lambda hub: "o-1" in hub.observed and hub.capacity)
    assert member.hub.capacity.kinds == before

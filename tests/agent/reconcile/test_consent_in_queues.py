"""A Job that waits in a queue of the member is withdrawn once its namespace refuses the hub."""

from typing import Any

import pytest

from shared import labels
from tests.agent.build import edit
from tests.agent.scripted_hub import HUB_ID, a_job, eventually

pytestmark = pytest.mark.anyio
STARTED: dict[str, Any] = {"spec": {"suspend": False}}
STOPPED: dict[str, Any] = {"spec": {"suspend": True}}


async def a_waiting_job(member, **fields):
    """A Job in a queue of the member, where its people accept the hub so far."""
    member.hub.put(a_job(suspend=True, fresh=True, **fields))
    member.start()
    return await member.hub.seen("u-1", "Applied")


async def withdrawn(member, **fields):
    """The hub takes the epoch back: the last report of it."""
    member.hub.put(a_job(action="Withdraw", seen=True, **fields))
    return await member.hub.seen("u-1", "Gone")


def the_jobs(member):
    return member.cluster.store.list("jobs.batch", "team")


async def test_a_job_that_waits_is_refused_once_consent_is_withdrawn(member):
    """The refusal names the command; the queue manager can no longer start the Job."""
    await a_waiting_job(member)
    await member.accept("team", False)
    entry = await member.hub.seen("u-1", "Failed", "NotAccepted")
    assert entry.message.endswith(f"kubectl label namespace team {labels.ACCEPT}={HUB_ID}")
    (job,) = the_jobs(member)
    assert job["metadata"]["deletionTimestamp"]


async def test_its_epoch_is_no_attempt(member):
    """The Job itself proves that it never ran: the agent reports `unstarted`."""
    await a_waiting_job(member)
    await member.accept("team", False)
    await member.hub.seen("u-1", "Failed", "NotAccepted")
    assert (await withdrawn(member, fresh=True)).unstarted
    await eventually(lambda: not the_jobs(member))


async def test_a_later_session_has_the_same_proof(member):
    """The proof is in the object, so a new agent finds it."""
    await a_waiting_job(member)
    await member.accept("team", False)
    await member.hub.seen("u-1", "Failed", "NotAccepted")
    await member.stop()
    member.hub.put(a_job(suspend=True, seen=True))
    member.start()
    await member.hub.seen("u-1", "Failed", "NotAccepted")
    assert (await withdrawn(member)).unstarted


async def test_a_job_that_runs_is_left_alone(member):
    """The queue manager has started it: it runs to its end."""
    await a_waiting_job(member, run_seconds="600")
    await edit(member, "Job", "job", STARTED, "batch/v1")
    await member.hub.job_says("u-1", "active")
    await member.accept("team", False)
    await eventually(lambda: member.agent.reconciler.watch.closed(a_job()) is not None)
    (job,) = the_jobs(member)
    assert not job["metadata"].get("deletionTimestamp")


async def test_a_job_that_may_have_run_stays_in_its_queue(member):
    """The queue manager had started and stopped it; its present status does not matter."""
    await a_waiting_job(member, run_seconds="600")
    await edit(member, "Job", "job", STARTED, "batch/v1")
    await member.hub.job_says("u-1", "active")
    await edit(member, "Job", "job", STOPPED, "batch/v1")
    await member.hub.until(lambda hub: hub.observed["u-1"].job.suspended)
    await member.accept("team", False)
    await eventually(lambda: member.agent.reconciler.watch.closed(a_job()) is not None)
    (job,) = the_jobs(member)
    assert labels.CONSENT_WITHDRAWN not in job["metadata"]["annotations"]
    assert not job["metadata"].get("deletionTimestamp")


@pytest.mark.parametrize("verb", ["patch", "delete"])
async def test_a_job_that_is_started_at_that_moment_runs_on(member, verb):
    """Each request of the agent names the version that it judged: this one comes too late."""
    await a_waiting_job(member, run_seconds="600")
    started = StartedFirst(member, verb)
    await member.accept("team", False)
    await member.hub.job_says("u-1", "active")
    assert started.done
    (job,) = the_jobs(member)
    assert not job["metadata"].get("deletionTimestamp")
    assert "Failed" not in {each.phase for each in member.hub.told}


async def test_consent_that_comes_back_keeps_no_job_that_goes(member):
    """The Job is being deleted: the agent reports it, and the hub places its next epoch."""
    await a_waiting_job(member)
    await member.accept("team", False)
    await member.hub.seen("u-1", "Failed", "NotAccepted")
    await member.accept("team")
    assert (await withdrawn(member, fresh=True)).unstarted


class StartedFirst:
    """The member's queue manager starts the Job right before a request of the agent about it arrives."""

    def __init__(self, member, verb):
        self._member, self._verb = member, verb
        self.done = False
        self._then = member.cluster.server.intercept
        member.cluster.server.intercept = self

    async def before(self, call, verb):
        if verb == self._verb and call.resource.plural == "jobs" and not self.done:
            self.done = True
            await edit(self._member, "Job", "job", STARTED, "batch/v1", "kueue")
        return await self._then.before(call, verb) if self._then else None

    async def after(self, call, verb, reply):
        return await self._then.after(call, verb, reply) if self._then else reply

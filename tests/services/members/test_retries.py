"""Which failures are tried again: by the exit codes and reasons of the report that brings the result."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.services.jobs import hold
from hub.services.works.evict import evict
from hub.store import events
from shared.kinds import retry_on
from tests.api.serving import a_job, served
from tests.services.members.hubs import ran, running_hub, seen

pytestmark = pytest.mark.anyio
ASKED = {"roadstead.dev/retry": "2", "roadstead.dev/retry-on": "137, 140-143, OOMKilled, Evicted"}
FAILED: dict[str, Any] = {"result": "Failed", "failed": 1, "reason": "BackoffLimitExceeded"}


@pytest.mark.parametrize(
    ("failures", "reason", "again"),
    [
        (["137/Error"], "", True),
        (["1/Error", "141/"], "", True),  # one is enough
        (["1/OOMKilled"], "", True),
        (["/Evicted"], "", True),
        ([], "OOMKilled", True),  # the Job's own reason
        (["1/Error"], "", False),
        (["144/", "139/"], "", False),
        (["x137/Error", "137137/"], "", False),
        ([], "", False),
    ],
)
async def test_a_failure_is_tried_again_where_it_is_named(tmp_path: Path, failures, reason, again):
    """By code, by span or by reason, of any pod; else it is the end, and the message says why."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north", metadata={"annotations": ASKED})
        await agent.sync()
        told = {**FAILED, "failures": failures, **({"reason": reason} if reason else {})}
        await agent.sync(ran(uid, **told))
        job = await hub.job(uid)
        if not again:
            assert (job.state, job.reason) == ("Failed", "BackoffLimitExceeded")
            assert "roadstead.dev/retry-on does not name this" in job.message
            return
        assert (job.state, job.reason) == ("Withdrawing", "Retrying")
        await agent.sync(ran(uid, **FAILED, failures=[]))  # another agent, which saw no pods
        assert (await hub.job(uid)).state == "Withdrawing"
        await agent.sync(seen(uid, "Gone", job={**FAILED, "failures": []}))
        assert (await hub.job(uid)).state == "Pending"


async def test_what_an_older_agent_reports_is_not_tried_again(tmp_path: Path):
    """It says nothing of pods: nothing is guessed."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north", metadata={"annotations": ASKED})
        await agent.sync()
        await agent.sync(ran(uid, **FAILED))
        job = await hub.job(uid)
        assert job.state == "Failed"
        assert "its agent is too old to say how pods failed" in job.message


@pytest.mark.parametrize("text", ["", "0", "256", "139-137", "oom", "137;139", "exit 137", "1,,2"])
async def test_what_can_not_be_read_is_refused(tmp_path: Path, text: str):
    """422 InvalidAnnotation, with the field and an example."""
    async with served(tmp_path) as hub:
        job = a_job()
        job["metadata"]["annotations"] = {"roadstead.dev/retry-on": text}
        reply = await hub.admin.post("/v1/jobs", json=job)
        assert (reply.status_code, reply.json()["code"]) == (422, "InvalidAnnotation")
        assert "137, 250-255, OOMKilled" in reply.text


async def test_codes_without_a_number_of_attempts_change_nothing(tmp_path: Path):
    """`retry` says how often: without it the answer says that nothing is tried again."""
    async with served(tmp_path) as hub:
        job = a_job()
        job["metadata"]["annotations"] = {"roadstead.dev/retry-on": "137"}
        told = (await hub.admin.post("/v1/jobs", json=job)).json()
        assert "not tried again" in " ".join(told["warnings"])


@given(st.integers(1, 255), st.integers(1, 255), st.integers(0, 999))
def test_a_span_takes_what_lies_in_it(first, last, code):
    """Both ends included; one that goes backwards is no span."""
    rule = retry_on.read(f"{first}-{last}")
    assert (rule is None) is (first > last)
    if rule is not None:
        assert rule.takes([f"{code}/Error"]) is (first <= code <= last)


@pytest.mark.parametrize("reason", ["NotAccepted", "NameConflict", "KindNotServed"])
async def test_a_refusal_before_the_start_costs_no_attempt(tmp_path: Path, reason: str):
    """A member refused the job before: with `retry: 2` a failure in the second epoch is tried again."""
    async with running_hub(tmp_path) as hub:
        north, east = await hub.join("north"), await hub.join("east")
        uid = await hub.placed("north", metadata={"annotations": {"roadstead.dev/retry": "2"}})
        await north.sync()
        await north.sync(seen(uid, "Failed", reason=reason, message="no"))
        await north.sync(seen(uid, "Gone", unstarted=True))
        job = await hub.job(uid)
        assert (job.state, job.epoch, job.unstarted) == ("Pending", 1, 1)
        assert (job.requeue_at, job.requeues, job.evictions) == (None, 0, None)
        await hub.place(uid, "east")
        await hub.settled()
        await east.sync()
        await east.sync(ran(uid, 2, **FAILED))
        assert (await hub.job(uid)).reason == "Retrying"
        await east.sync(seen(uid, "Gone", 2, job=FAILED))
        await hub.place(uid, "north")
        await hub.settled()
        await north.sync()
        await north.sync(ran(uid, 3, **FAILED))
        assert (await hub.job(uid)).state == "Failed"


async def test_a_refusal_of_what_may_have_started_is_no_failure(tmp_path: Path):
    """The agent does not say that the epoch never started: `retry` counts failures alone."""
    async with running_hub(tmp_path) as hub:
        north, east = await hub.join("north"), await hub.join("east")
        uid = await hub.placed("north", metadata={"annotations": {"roadstead.dev/retry": "2"}})
        await north.sync()
        await north.sync(seen(uid, "Failed", reason="NotAccepted", message="no"))
        await north.sync(seen(uid, "Gone"))
        await hub.place(uid, "east")
        await hub.settled()
        await east.sync()
        await east.sync(ran(uid, 2, **FAILED))
        job = await hub.job(uid)
        assert (job.state, job.reason, job.retries) == ("Withdrawing", "Retrying", 1)


@pytest.mark.parametrize("preempted", [False, True], ids=["alone", "beside a preemption"])
async def test_the_event_of_a_retry_has_the_member_s_code_as_a_field(
    tmp_path: Path, preempted: bool
):
    """Rules and pages read `cause`; the message is for people."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north", metadata={"annotations": {"roadstead.dev/retry": "2"}})
        await agent.sync()
        if preempted:
            await hub.write(evict, [uid], "Preempted", "for another")
        await agent.sync(ran(uid, **{**FAILED, "reason": "DeadlineExceeded"}))
        (event,) = await hub.hub.read(events.about, uid, "Retrying", 9)
        assert (event.cluster, event.epoch, event.cause) == ("north", 1, "DeadlineExceeded")


CODE_42: dict[str, Any] = {**FAILED, "failures": ["42/Error"]}
FIVE: dict[str, str] = {"roadstead.dev/retry": "5", "roadstead.dev/retry-on": "42"}


@pytest.mark.parametrize("first", ["failure", "hold"])
async def test_a_hold_beside_a_retry_keeps_the_retry(tmp_path: Path, first: str):
    """In either order. A later report, of an agent that has seen no exit codes, ends nothing."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north", metadata={"annotations": FIVE})
        await agent.sync()
        if first == "failure":
            await agent.sync(ran(uid, **CODE_42))
            await hub.write(hold.hold_job, uid, "ann")
        else:
            await agent.sync(ran(uid, active=1, running_since="2026-03-01T12:00:00Z"))
            await hub.write(hold.hold_job, uid, "ann")
            await agent.sync(ran(uid, **CODE_42))
        job = await hub.job(uid)
        assert (job.state, job.withdraw_to, job.retries) == ("Withdrawing", "Held", 1)
        agent.restart("session-north-2")  # it saw no pods
        await agent.sync(ran(uid, **FAILED, failures=[]))
        await agent.sync(seen(uid, "Gone", job={**FAILED, "failures": []}))
        job = await hub.job(uid)
        assert (job.state, job.reason, job.retries) == ("Held", "HeldByUser", 1)
        await hub.write(hold.release_job, uid, "ann")
        assert (await hub.job(uid)).state == "Pending"


async def test_a_failure_while_a_job_is_preempted_stays_a_retry(tmp_path: Path):
    """The report that names exit codes decides; a later one, without them, changes nothing."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north", metadata={"annotations": FIVE})
        await agent.sync()
        await hub.write(evict, [uid], "Preempted", "for another")
        await agent.sync(ran(uid, **CODE_42))
        await agent.sync(seen(uid, "Gone", job={**FAILED, "failures": []}))
        job = await hub.job(uid)
        assert (job.state, job.retries) == ("Pending", 1)


async def test_a_preemption_is_no_retry(tmp_path: Path):
    """With `retry: 2` a job that was preempted while it ran may still fail once."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north", metadata={"annotations": {"roadstead.dev/retry": "2"}})
        await agent.sync()
        await agent.sync(ran(uid, active=1, running_since="2026-03-01T12:00:00Z"))
        await hub.write(evict, [uid], "Preempted", "for another")
        await agent.sync(seen(uid, "Gone"))
        for epoch, state in ((2, "Withdrawing"), (3, "Failed")):
            await hub.place(uid, "north")
            await hub.settled()
            await agent.sync()
            await agent.sync(ran(uid, epoch, **FAILED))
            assert (await hub.job(uid)).state == state
            await agent.sync(seen(uid, "Gone", epoch, job=FAILED))


@pytest.mark.parametrize("word", ["entry", "job"])
async def test_an_agents_own_word_is_no_promise_to_try_again(tmp_path: Path, word: str):
    """Agents say Retrying of what they do, and members whatever they like: a failure is the end."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        told: dict[str, Any] = {"reason": "Retrying", "message": "busy"}
        await agent.sync(seen(uid, "Failed", **told) if word == "entry" else ran(uid, **told))
        assert (await hub.job(uid)).reason == "Retrying"
        await agent.sync(ran(uid, **FAILED))
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Failed", "BackoffLimitExceeded")

"""Writes to a member name what they mean and end with the lease that allowed them."""

from typing import Any

import httpx
import pytest

from agent.decide.decision import Decision, Outcome, Seen
from agent.decide.member_policy import MemberPolicy
from agent.member.acceptance import Acceptance
from agent.member.applier import Applier
from agent.member.namespace_watch import NamespaceWatch
from agent.metrics import Meters
from agent.reconcile.steps import Steps
from agent.works.lease import Lease
from agent.works.marks import Marks
from agent.works.tracked import TrackedWork
from shared.clock import ManualClock, SystemClock
from shared.kube import errors
from tests import waiting
from tests.agent.moments import a_live_job
from tests.agent.scripted_hub import HUB_ID, ScriptedHub, a_job, eventually

pytestmark = pytest.mark.anyio


class SlowHub(ScriptedHub):
    """A hub whose answers take longer on the way than a lease lasts."""

    on_the_way_s = 0.8

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await super().handle_async_request(request)
        await waiting.span(self.on_the_way_s, why="the answer is on its way")
        return answer


class NoMember(Applier):
    """A member that is asked for nothing."""

    def __init__(self) -> None:
        """Without a client."""


async def test_an_answer_that_was_long_on_the_way_allows_nothing(member):
    """The lease counts from when the request was sent: it is over before this answer comes."""
    member.hub = SlowHub()
    member.hub.put(a_job())
    member.start(lease_s=0.5)
    await member.hub.seen("u-1", "Waiting", "LeaseExpired")
    answered = len(member.hub.requests)
    await member.hub.until(lambda hub: len(hub.requests) >= answered + 2)
    with pytest.raises(errors.NotFound):
        await member.job()


async def test_a_start_does_not_outlive_its_lease(member):
    """A start that hangs is given up when the lease ends that it was sent under."""
    member.cluster.faults.add("delay", verb="patch", resource="jobs", seconds=8)
    member.hub.put(a_job())
    member.start(lease_s=1.0)
    await member.hub.until(
        lambda hub: "u-1" in hub.observed and hub.observed["u-1"].reason == "Unavailable",
        timeout_s=6,
    )


async def test_once_the_lease_is_over_the_member_is_not_asked_for_a_start():
    """Not even with no time left: that the member did not answer would be untrue."""
    clock, lease, work = ManualClock(), Lease(1.0), a_job()
    lease.answered(clock.monotonic(), clock.monotonic())
    clock.advance(1.0)
    policy = MemberPolicy()
    nobody: Any = NoMember()
    watch = NamespaceWatch(nobody, Acceptance(HUB_ID, policy), clock, lambda: None)
    watch._informer.synced.set()
    hands = Steps(nobody, lease, clock, Meters(), Marks(), policy, watch)
    tracked = TrackedWork(work.uid, work, Seen(live=a_live_job(waiting=True)))
    assert await hands.carry_out(tracked, Decision("Waiting", "Start")) == Outcome()


async def test_only_the_object_that_is_meant_is_deleted(member):
    """A namesake that took the place of our Job unseen is not deleted in its stead."""
    manifest = a_job().manifest
    ours = await member.kube.create(manifest, field_manager="test")
    await member.kube.delete("batch/v1", "Job", "team", "job")
    await eventually(lambda: not member.cluster.store.list("jobs.batch"))
    made = await member.kube.create(manifest, field_manager="someone")
    applier = Applier(member.kube, HUB_ID, SystemClock())
    await applier.delete(ours, "Foreground", strict=False)
    left = (await member.job())["metadata"]
    assert left["uid"] == made["metadata"]["uid"]
    assert "deletionTimestamp" not in left

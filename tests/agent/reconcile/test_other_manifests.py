"""A work whose manifest is that of another object than the work: nothing is read or written for it."""

from typing import Any

import pytest

from agent.decide.decision import Decision, Seen
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
from tests.agent.build import a_config_map
from tests.agent.moments import a_live_job
from tests.agent.scripted_hub import HUB_ID, a_job, an_object

pytestmark = pytest.mark.anyio
NOBODY: Any = object()  # a client that takes no request: each would raise AttributeError
OTHERS = [
    {"apiVersion": "v2"},
    {"kind": "Secret"},
    {"metadata": {"namespace": "finance", "name": "settings"}},
    {"metadata": {"namespace": "team", "name": "theirs"}},
    {"metadata": {"name": "settings"}},
    {"metadata": None},
]


def a_work(other, action="Compare"):
    """A work of ConfigMap team/settings with the manifest of another object."""
    work = an_object(a_config_map(), "o-1")
    return work.model_copy(
        update={"action": action, "hash": f"{work.hash}~", "manifest": {**work.manifest, **other}}
    )


def without_a_member():
    """Steps whose member client takes no request; the lease is fresh."""
    clock, lease, policy = ManualClock(), Lease(60.0), MemberPolicy()
    lease.answered(clock.monotonic(), clock.monotonic())
    watch = NamespaceWatch(NOBODY, Acceptance(HUB_ID, policy), clock, lambda: None)
    applier = Applier(NOBODY, HUB_ID, clock)
    return Steps(applier, lease, clock, Meters(), Marks(), policy, watch)


@pytest.mark.parametrize("do", ["Compare", "Create", "Apply", "Start", "PatchJob", "Nothing"])
@pytest.mark.parametrize("other", OTHERS)
async def test_no_step_is_taken_with_the_manifest_of_another_object(do, other):
    """The agent refuses before it asks the member, whatever the step."""
    tracked = TrackedWork("o-1", a_work(other), Seen(live=a_live_job()), doubtful=True)
    outcome = await without_a_member().carry_out(tracked, Decision("Waiting", do))
    assert outcome.trouble is not None
    assert (outcome.trouble.reason, outcome.trouble.final) == ("RefusedByMember", True)


async def test_no_job_is_started_by_the_manifest_of_another():
    """A Job that exists is refused its start as well."""
    work = a_job()
    work = work.model_copy(update={"manifest": a_job(name="other").manifest})
    tracked = TrackedWork(work.uid, work, Seen(live=a_live_job(waiting=True)))
    outcome = await without_a_member().carry_out(tracked, Decision("Waiting", "Start"))
    assert outcome.trouble is not None
    assert outcome.trouble.reason == "RefusedByMember"


@pytest.mark.parametrize("action", ["Compare", "Apply"])
async def test_the_refusal_does_not_say_whether_the_other_object_exists(member, action):
    """In a namespace without consent, the reports for a Secret that is there and for none are equal."""
    await member.namespace("finance", accept=False)
    metadata = {"namespace": "finance", "name": "theirs"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    await member.kube.create(secret, field_manager="people")
    await member.kube.create(a_config_map(), field_manager="people")
    member.start()
    told = []
    for name in ("theirs", "absent"):
        manifest = {**secret, "metadata": {**metadata, "name": name}}
        member.hub.put(a_work(manifest, action).model_copy(update={"uid": f"o-{name}"}))
        entry = await member.hub.seen(f"o-{name}", "Failed", "RefusedByMember")
        told.append((entry.message, entry.drift, entry.object_uid, entry.member_generation))
    assert told[0] == told[1]


async def test_a_comparison_is_refused_by_itself(member):
    """A comparison too: it would need consent for one object and send another."""
    applier = Applier(member.kube, HUB_ID, SystemClock())
    told = await applier.compare(a_work({"kind": "Secret"}))
    assert told.trouble is not None
    assert (told.trouble.reason, told.found) == ("RefusedByMember", [])


async def test_what_was_placed_before_is_still_withdrawn(member):
    """A withdrawal finds the object by the work: a refused manifest does not keep it."""
    member.start()
    placed = an_object(a_config_map(), "o-1")
    member.hub.put(placed)
    await member.hub.seen("o-1", "Applied")
    other = an_object(a_config_map("theirs"), "o-1", generation=2)
    member.hub.put(
        placed.model_copy(update={"manifest": other.manifest, "generation": 2, "hash": other.hash})
    )
    await member.hub.seen("o-1", "Failed", "RefusedByMember")
    member.hub.put(an_object(a_config_map(), "o-1", generation=3, action="Withdraw"))
    await member.hub.seen("o-1", "Gone")

"""Jobs that another incarnation of the hub made: left alone until a person deletes them."""

from typing import Any

import pytest

from agent.decide.decision import Seen
from agent.decide.jobs import FOREGROUND, decide_orphan
from shared import labels
from tests.agent.moments import a_live_job, a_moment
from tests.agent.scripted_hub import a_job

pytestmark = pytest.mark.anyio
BOTH = [FOREGROUND, labels.MEMBER_FINALIZER]
OURS: dict[str, Any] = {"left": "m-1"}


@pytest.mark.parametrize(
    ("seen", "do"),
    [
        (Seen(live=a_live_job(), **OURS), "Nothing"),
        (Seen(live=a_live_job(ended_ago=1), **OURS), "Nothing"),
        (Seen(live=a_live_job(deleting=True)), "Nothing"),
        (Seen(live=a_live_job(deleting=True), left="m-2"), "Nothing"),
        (Seen(live=a_live_job(deleting=True), **OURS), "Delete"),
        (Seen(live=a_live_job(deleting=True, finalizers=BOTH), **OURS), "Nothing"),
        (Seen(live=a_live_job(deleting=True), foreground="m-1", **OURS), "CountPods"),
        (
            Seen(live=a_live_job(deleting=True), foreground="m-1", podless="m-1", **OURS),
            "Release",
        ),
    ],
)
def test_one_that_a_person_deletes_is_let_go_when_its_pods_are_gone(seen, do):
    """Exactly the object that the hub named; nothing is begun by ourselves."""
    decision = decide_orphan(seen, a_moment())
    assert (decision.do, decision.phase) == (do, "Applied")


def test_the_hub_is_told_which_object_it_is():
    """Its entry has no field for the name."""
    decision = decide_orphan(Seen(live=a_live_job()), a_moment())
    assert decision.message == "team/job: the hub does not ask for it"


@pytest.fixture
async def leftover(member):
    """A Job that runs, which the hub has forgotten and quarantined."""
    member.hub.put(a_job("old", run_seconds="600"))
    member.start()
    await member.hub.seen("old", "Applied")
    member.hub.stray_action = "Quarantine"
    member.hub.drop("old")
    await member.hub.seen("old", "Applied", "Orphan")
    return member


async def test_kubectl_delete_of_a_leftover_does_not_hang(leftover):
    """A deletion in the background, as kubectl asks for it, ends the pods and then the object."""
    await leftover.kube.delete("batch/v1", "Job", "team", "job", propagation="Background")
    await leftover.absent()
    assert not list(leftover.cluster.store.iterate("pods"))


async def test_a_new_job_of_its_name_is_given_back_at_once(leftover):
    """NameConflict, so that another member gets it: the leftover never goes by itself."""
    leftover.hub.put(a_job("new", run_seconds="1"))
    entry = await leftover.hub.seen("new", "Failed")
    assert entry.reason == "NameConflict"
    assert "left over from another incarnation" in entry.message
    assert (await leftover.job())["metadata"]["labels"][labels.JOB_UID] == "old"

"""When a deleted Job is over: a read past the caches, begun after the deletion was seen, found no pods."""

import pytest

from agent.decide.decision import Decision, Outcome, Seen, Trouble
from agent.decide.next_step import decide
from agent.works.tracked import TrackedWork
from shared import labels
from tests.agent.moments import a_live_job, a_moment, settled
from tests.agent.scripted_hub import a_job

WITHDRAW, KEEP = a_job(action="Withdraw"), a_job(action="Keep", ttl_s=60)
ASKED = {"live": a_live_job(deleting=True), "foreground": "m-1"}  # deleted, the collector is done
LEFT = Trouble("PodsRemain", "1 pods still exist")


@pytest.mark.parametrize(
    ("seen", "wanted"),
    [
        (Seen(**ASKED), ("CountPods", "Applied", "Withdrawing")),
        (Seen(**ASKED, podless="m-0"), ("CountPods", "Applied", "Withdrawing")),
        (Seen(**ASKED, podless="m-1"), ("Nothing", "Gone", "")),
        (Seen(**ASKED, trouble=LEFT), ("Delete", "Applied", "Withdrawing")),
        (Seen(**ASKED, trouble=LEFT, not_before=1010), ("Nothing", "Applied", "Withdrawing")),
    ],
    ids=["nobody looked", "another object's", "none", "some: asked again", "some, a moment ago"],
)
def test_pods_of_a_deleted_job_are_looked_for(seen, wanted):
    """Whoever deletes it once more takes the collector's finalizer away, and its pods run on."""
    assert settled(WITHDRAW, seen) == wanted


def test_a_creation_that_came_late_is_removed():
    """Under Keep the job has ended: what was made of it since is never started, and goes."""
    seen = Seen(live=a_live_job(waiting=True))
    assert settled(KEEP, seen) == ("Delete", "Applied", "Expiring")


@pytest.mark.parametrize(("read_at", "podless"), [(11.0, "m-1"), (9.0, "")])
def test_a_read_counts_from_when_it_began(read_at, podless):
    """One that began before the deletion was seen says nothing: pods may have come after it."""
    tracked = TrackedWork("job-1", a_job(action="Withdraw"))
    live = a_live_job(deleting=True)
    live["metadata"]["labels"] = {**live["metadata"]["labels"], labels.EPOCH: "1"}
    tracked.is_here(live, 10.0)
    tracked.settle(Decision("Applied", "CountPods"), Outcome(podless_at=read_at), 12.0)
    assert tracked.seen.podless == podless


def test_what_an_epoch_came_to_is_not_said_of_the_next():
    """The next epoch has no result before it has run, though its Job is not there yet."""
    tracked = TrackedWork("u-1", a_job())
    tracked.is_here(a_live_job(ended_ago=1), 10.0)
    ended = tracked.observed(Decision("Applied"), None)
    assert (ended.epoch, ended.job.result) == (1, "Succeeded")
    tracked.went()
    tracked.desire(a_job(epoch=2))
    told = tracked.observed(Decision("Waiting", "Create"), None)
    assert (told.epoch, told.job) == (2, None)


def test_a_kept_job_wakes_when_its_time_is_over():
    """The decision says when to look again."""
    decision = decide(KEEP, Seen(live=a_live_job(ended_ago=20)), a_moment())
    assert decision.wake_at == 1040
    assert not decision.urgent  # letting it go has time until then


def test_deletion_of_a_withdrawn_job_waits_for_its_pods():
    """Foreground when withdrawn, so that the object goes last; background when its time is over."""
    withdrawn = decide(WITHDRAW, Seen(live=a_live_job()), a_moment())
    over = decide(KEEP, Seen(live=a_live_job(ended_ago=61, finalizers=[])), a_moment())
    assert (withdrawn.propagation, over.propagation) == ("Foreground", "Background")


def test_what_is_of_a_newer_epoch_is_never_said_to_be_gone():
    """The work is fresh and was never started, and yet a newer epoch is here: the hub's store went back."""
    withdrawn = a_job(action="Withdraw", fresh=True)
    seen = Seen(live=a_live_job(epoch=2))
    assert settled(withdrawn, seen) == ("Nothing", "Applied", "NewerEpoch")


def test_what_is_out_of_sight_is_looked_for_while_its_pods_are_there():
    """Perhaps only our labels were taken off."""
    seen = Seen(ever=True, vanished=True, pods=1)
    assert settled(a_job(), seen) == ("ReadBack", "Waiting", "Vanished")

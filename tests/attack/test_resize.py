"""A Job that is made smaller before it has started."""

from agent.decide.decision import Decision, Seen
from agent.decide.next_step import decide
from agent.works.tracked import TrackedWork
from tests.agent.moments import a_live_job, a_moment
from tests.agent.scripted_hub import a_job


def test_a_start_brings_the_newest_size():
    """The hub gives quota back for a Job that runs no more pods: what starts has that size."""
    live = a_live_job(a_job(parallelism=10), waiting=True)
    decision = decide(a_job(generation=2, parallelism=2), Seen(live=live), a_moment())
    assert decision.do == "Start"
    assert decision.patch["spec"]["parallelism"] == 2


def test_a_job_whose_start_is_under_way_does_not_claim_the_newest_size():
    """The start that is on its way may be of the old size: the hub may not free quota for it yet."""
    live = a_live_job(a_job(parallelism=10), waiting=True)
    tracked = TrackedWork("u-1", work=a_job(generation=2, parallelism=2))
    tracked.seen.live, tracked.seen.started = live, True
    entry = tracked.observed(Decision("Waiting", reason="Unavailable"), None)
    assert entry.generation == 1

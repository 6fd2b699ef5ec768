"""What a placement says of Jobs whose queues choose the cluster."""

import pytest

from hub.domain.placement.rungs import left_to_queue, placed_by_queue, unscheduled


@pytest.mark.parametrize(
    ("jobs", "named"),
    [
        (["a"], "Job(s) a wait"),
        (["a", "b", "c"], "Job(s) a, b, c wait"),
        (["a", "b", "c", "d", "e"], "Job(s) a, b, c and 2 more wait"),
    ],
)
def test_jobs_that_wait_in_queues_of_their_own_are_named(jobs, named):
    """At most three, and how many more there are."""
    rung = left_to_queue(2, jobs)

    assert (rung.type, rung.status, rung.reason) == ("Scheduled", "True", "PlacedByQueue")
    assert named in rung.message


def test_what_a_queue_has_placed_is_named_too():
    """The rung of Jobs that their queue has placed has the same reason."""
    assert placed_by_queue(1, ["a"]).reason == "PlacedByQueue"
    assert unscheduled("NoClusterMatches", "none").status == "False"

"""The course of a workload, told from its events and from how it stands."""

import datetime as dt
from itertools import pairwise

import pytest

from hub.domain.workloads.course import Happening, Now, Phase, course_of

BEGAN = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
PREEMPTED = "preempted to accommodate team-a/urgent"


def at(seconds):
    return BEGAN + dt.timedelta(seconds=seconds)


def told(*given):
    """Each: seconds, reason, message, and cluster and cause where they matter."""
    return [Happening(at(s), *facts) for s, *facts in given]


RAN = (
    (2, "Placed", "placed on north, epoch 1", "north"),
    (2, "Offered", "offered to north"),
    (3, "Applied", "created in north"),
    (5, "Started", "runs in north"),
)
BACK = (
    (60, "Preempted", PREEMPTED),
    (60, "EvictedDueToPreempted", PREEMPTED),
    (62, "Requeued", "waits again (Preempted)", "north", "Preempted"),
)


def course(state, *given, ended=None, **said):
    return course_of(Now(state, BEGAN, None if ended is None else at(ended), **said), told(*given))


def phases(found):
    return [(each.phase, (each.since - BEGAN).total_seconds()) for each in found.stretches]


def test_a_job_that_runs_waited_was_placed_and_started():
    """Each phase begins where the one before it ends; what took no time is left out."""
    found = course("Running", *RAN)
    assert phases(found) == [
        (Phase.WAITING, 0), (Phase.PLACING, 2), (Phase.STARTING, 3), (Phase.RUNNING, 5),
    ]  # fmt: skip
    assert [each.until for each in found.stretches[:-1]] == [at(2), at(3), at(5)]
    assert found.last.until is None


def test_a_job_that_was_preempted_waits_again_since_it_was_let_go():
    """Not since it was created, and not as if it had started (A10)."""
    found = course("Pending", *RAN, *BACK)
    assert (found.last.phase, found.last.since, found.last.again) == (Phase.WAITING, at(62), True)
    (first,) = found.attempts
    assert (first.cluster, first.started_at, first.ended_at) == ("north", at(5), at(62))
    assert (first.ended, first.why) == ("EvictedDueToPreempted", PREEMPTED)


def test_a_job_that_is_tried_again_says_what_failed():
    """It was told to leave in words of its own; that it waits again names them."""
    failed = (20, "Retrying", "epoch 1 failed in north")
    found = course(
        "Pending",
        *RAN,
        failed,
        (21, "PodFailed", "x"),
        (22, "Requeued", "waits again (Retrying)", "north", "Retrying"),
    )
    assert phases(found)[-3:] == [(Phase.RUNNING, 5), (Phase.LEAVING, 20), (Phase.WAITING, 22)]
    assert (found.attempts[0].ended, found.attempts[0].why) == failed[1:]


def test_what_was_said_of_an_attempt_is_said_of_no_later_one():
    """Why the second one came back was not kept: the words and the instant of the first are not taken."""
    back = "waits again (Retrying)"
    found = course(
        "Pending", *RAN, (20, "Retrying", "epoch 1 failed in north"),
        (22, "Requeued", back, "north", "Retrying"), (30, "Placed", "placed on south", "south"),
        (31, "Started", ""),
        (40, "Requeued", back, "south", "Retrying"),
    )  # fmt: skip
    assert phases(found)[-2:] == [(Phase.RUNNING, 31), (Phase.WAITING, 40)]
    assert found.attempts[1].why == back


def test_each_placement_is_an_attempt():
    """The second one goes on."""
    found = course(
        "Running",
        *RAN,
        *BACK,
        (70, "Placed", "placed on south, epoch 2", "south"),
        (71, "Started", ""),
    )
    assert [(each.cluster, each.ended_at) for each in found.attempts] == [
        ("north", at(62)),
        ("south", None),
    ]
    assert not found.last.again


def test_an_end_has_the_words_of_the_job_itself():
    """Its event is called by the reason of the failure, which is no name of a phase."""
    found = course(
        "Failed", *RAN, (9, "BackoffLimitExceeded", "exit 137"), ended=9,
        reason="BackoffLimitExceeded", message="exit 137",
    )  # fmt: skip
    assert (found.last.phase, found.last.since) == (Phase.ENDED, at(9))
    assert (found.attempts[0].ended, found.attempts[0].why) == ("BackoffLimitExceeded", "exit 137")


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        ("Held", Phase.HELD),
        ("Pending", Phase.WAITING),
        ("Reserved", Phase.CHECKED),
        ("Placed", Phase.PLACING),
        ("Applied", Phase.STARTING),
        ("Running", Phase.RUNNING),
        ("Unknown", Phase.SILENT),
        ("Withdrawing", Phase.LEAVING),
        ("Succeeded", Phase.ENDED),
    ],
)
def test_whatever_events_are_kept_it_ends_in_the_state_it_is_in(state, phase):
    """History that is gone, or told in other words, does not make it another state."""
    ended = 99 if phase is Phase.ENDED else None
    for given in ((), RAN, (*RAN, *BACK), (*RAN, (50, "SomethingElse", ""))):
        found = course(state, *given, ended=ended)
        assert found.last.phase is phase
        assert all(a.until == b.since for a, b in pairwise(found.stretches))


def test_a_state_that_is_none_spoils_nothing():
    """What a later release has written is shown as far as events tell it."""
    assert course("Dreaming", *RAN).last.phase is Phase.RUNNING

"""What is remembered of one work: which state of its object counts, and when it is tried again."""

import pytest

from agent.decide.decision import Decision, Outcome, Trouble
from agent.decide.jobs import FOREGROUND
from agent.reconcile.copies import in_the_way
from agent.works.tracked import TrackedWork
from shared.labels import MEMBER_FINALIZER
from tests.agent.moments import a_live_job, settled, tracking
from tests.agent.owned import a_config_map, live_of
from tests.agent.scripted_hub import a_job, an_object


def at_version(version, uid="m-1", **changes):
    live = a_live_job(**changes)
    live["metadata"] |= {"resourceVersion": version, "uid": uid}
    return live


@pytest.mark.parametrize(
    ("version", "uid", "taken"),
    [
        ("6", "m-1", False),
        ("7", "m-1", True),
        ("8", "m-1", True),
        ("10", "m-1", True),
        ("6", "m-2", True),
        ("x", "m-1", True),
    ],
)
def test_an_older_state_of_the_same_object_is_not_taken_for_news(version, uid, taken):
    """Versions are numbers, of one object; the same one again is confirmed."""
    tracked = tracking(at_version("7"))
    other = at_version(version, uid)
    tracked.is_here(other, 20.0)
    assert (tracked.seen.live is other, tracked.since) == (taken, 20.0 if taken else 10.0)


def test_an_event_from_before_an_object_was_abandoned_makes_it_ours_no_more():
    """The watch may tell late that it carried our labels: a later apply asks for consent as for any other."""
    tracked = tracking(live_of(a_config_map()))
    late, uid = tracked.seen.live, tracked.known_uid
    assert late is not None
    tracked.abandoned_uid = uid
    tracked.settle(Decision("Gone", "Abandon"), Outcome(absent_at=20.0), 20.0)
    tracked.is_here(late, 21.0)
    assert (tracked.seen.live, tracked.known_uid) == (None, "")
    tracked.settle(Decision("Applied", "Apply"), Outcome(live=late), 22.0)
    assert tracked.known_uid == uid


def test_an_object_that_is_here_takes_back_what_was_read_of_its_absence():
    """Both reads are done anew before it is concluded once more that nothing is left."""
    tracked = tracking()
    tracked.seen.absent_at, tracked.seen.podless_at, tracked.seen.vanished = 5.0, 6.0, True
    tracked.is_here(a_live_job(), 10.0)
    seen = tracked.seen
    assert (seen.absent_at, seen.podless_at, seen.vanished) == (None, None, False)


@pytest.mark.parametrize(
    ("deleting", "finalizers", "foreground"),
    [(True, [FOREGROUND], "m-1"), (False, [FOREGROUND], ""), (True, [], "")],
)
def test_a_foreground_deletion_is_one_that_has_begun(deleting, finalizers, foreground):
    """Anybody may put that finalizer on an object that nobody deletes."""
    live = a_live_job(deleting=deleting, finalizers=finalizers)
    assert tracking(live).seen.foreground == foreground


def test_a_foreground_deletion_that_ended_before_its_answer_came_has_begun():
    """The watch shows only the state after it: pods are counted next, and the Job is not deleted again."""
    asked = at_version("7", deleting=True, finalizers=[MEMBER_FINALIZER, FOREGROUND])
    tracked = tracking(at_version("8", deleting=True), a_job(action="Withdraw"))
    tracked.settle(Decision("Applied", "Delete"), Outcome(live=asked), 20.0)
    assert settled(tracked.work, tracked.seen)[0] == "CountPods"
    tracked.settle(Decision("Applied", "CountPods"), Outcome(podless_at=21.0), 22.0)
    assert tracked.seen.podless == "m-1"


@pytest.mark.parametrize(
    ("epoch", "waiting", "ever"), [(1, False, True), (1, True, False), (2, False, False)]
)
def test_an_epoch_was_there_once_its_own_object_was_started(epoch, waiting, ever):
    """Neither one that was never started nor one of another epoch counts."""
    assert tracking(a_live_job(epoch=epoch, waiting=waiting)).seen.ever is ever


def test_that_an_epoch_was_there_is_not_forgotten():
    """A second object of it, of a POST that landed late, is found to be the second."""
    tracked = tracking(a_live_job())
    tracked.is_here(at_version("9", "m-2", waiting=True), 20.0)
    assert tracked.seen.ever


@pytest.mark.parametrize(
    ("deleting", "vanished", "gone_uid"), [(False, True, ""), (True, False, "m-1")]
)
def test_a_job_that_went_without_being_deleted_has_vanished(deleting, vanished, gone_uid):
    """Perhaps its labels were taken off: it may come back; a deleted one may not."""
    tracked = tracking(a_live_job(deleting=deleting))
    tracked.went()
    assert (tracked.seen.vanished, tracked.gone_uid) == (vanished, gone_uid)


def test_another_object_that_went_is_simply_made_again():
    """Nothing runs of it twice: it is not looked for."""
    manifest = a_config_map(a="1")
    tracked = TrackedWork("o-1", work=an_object(manifest, "o-1"))
    tracked.is_here(live_of(manifest), 1.0)
    tracked.leave = [("data", "a")]
    tracked.seen.trouble, tracked.seen.not_before, tracked.tries = Trouble("NameConflict"), 99.0, 3
    tracked.went()
    seen = tracked.seen
    assert not seen.vanished
    assert (seen.trouble, seen.not_before, tracked.tries, tracked.leave) == (None, 0.0, 0, [])


@pytest.mark.parametrize(
    ("change", "forgotten"),
    [
        ({}, False),
        ({"seen": True}, False),
        ({"epoch": 2}, True),
        ({"generation": 2}, True),  # another manifest: its hash says so
        ({"action": "Keep"}, True),
        ({"action": "Withdraw"}, True),
    ],
    ids=str,
)
def test_a_refusal_stands_until_something_else_is_asked_for(change, forgotten):
    """The same work told once more is no reason to try again."""
    tracked = tracking()
    tracked.seen.trouble, tracked.seen.not_before, tracked.tries = Trouble("Invalid"), 99.0, 3
    tracked.desire(a_job(**change))
    expected = (None, 0.0, 0) if forgotten else (Trouble("Invalid"), 99.0, 3)
    assert (tracked.seen.trouble, tracked.seen.not_before, tracked.tries) == expected


@pytest.mark.parametrize(("epoch", "kept"), [(1, True), (2, False)])
def test_a_manifest_is_kept_for_what_comes_without_one_of_the_same_epoch(epoch, kept):
    """Keep and Withdraw say nothing of it; another epoch's was another one."""
    tracked = tracking()
    before = tracked.work.manifest
    tracked.desire(a_job(action="Keep", epoch=epoch))
    assert tracked.work.manifest == (before if kept else None)


WAITS = [
    ("Retrying", [0.5, 1.0, 1.5, 2.0, 2.0]),
    ("NameTaken", [0.5, 1.0, 1.5, 2.0, 2.0]),
    ("NameConflict", [10.0, 10.0, 10.0]),
    ("NamespaceMissing", [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]),
    ("KindNotServed", [10.0, 10.0]),
    ("Unavailable", [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]),
    ("Throttled", [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]),
    ("ApplyFailed", [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0, 300.0]),
]


@pytest.mark.parametrize(("reason", "waits"), WAITS, ids=[reason for reason, _ in WAITS])
def test_how_long_it_is_waited_for_the_next_try(reason, waits):
    """By what stood against the last ones in a row, each with its bound."""
    tracked, found = tracking(), []
    for _ in waits:
        tracked.settle(Decision("Waiting", "Create"), Outcome(trouble=Trouble(reason)), 100.0)
        found.append(tracked.seen.not_before - 100.0)
    assert found == waits
    tracked.settle(Decision("Waiting", "Create"), Outcome(), 100.0)
    assert (tracked.tries, tracked.seen.trouble) == (0, None)


@pytest.mark.parametrize(
    ("do", "not_before"), [("Apply", 130.0), ("PatchJob", 130.0), ("Delete", 0.0)]
)
def test_a_fight_over_a_field_is_not_ended_by_the_write_that_it_put_off(do, not_before):
    """The next overwriting keeps its distance; any other step that succeeds may follow at once."""
    tracked = tracking()
    tracked.seen.not_before = 130.0
    tracked.settle(Decision("Applied", do), Outcome(), 100.0)
    assert tracked.seen.not_before == not_before


@pytest.mark.parametrize(
    ("at", "waits"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 2, 4, 8, 16, 32, 60, 60]),
        ([0, 120, 240], [0, 1, 2]),
        ([0, 121, 242], [0, 0, 0]),
        ([0, 100, 200, 300], [0, 1, 2, 4]),  # calm counts from the last time, not from the first
    ],
)
def test_drift_that_comes_back_is_overwritten_ever_later(at, waits):
    """Twice as late each time, a minute at most; more than two minutes without it end the fight."""
    tracked, found = tracking(), []
    for now in at:
        tracked.seen.not_before = 1000.0 + now
        tracked.fight_back(1000.0 + now)
        found.append(tracked.seen.not_before - 1000.0 - now)
    assert found == waits


@pytest.mark.parametrize(("began", "podless"), [(9.9, ""), (10.0, "m-1"), (10.1, "m-1")])
def test_no_pods_are_proved_by_a_read_from_the_moment_of_the_deletion_on(began, podless):
    """The instant at which it was seen included."""
    tracked = tracking(a_live_job(deleting=True))
    tracked.settle(Decision("Applied", "CountPods"), Outcome(podless_at=began), 12.0)
    assert tracked.seen.podless == podless


def test_that_a_job_has_no_pods_ends_none_that_nobody_deletes():
    """Its controller may make some yet."""
    tracked = tracking(a_live_job())
    tracked.settle(Decision("Applied", "CountPods"), Outcome(podless_at=11.0), 12.0)
    assert tracked.seen.podless == ""


@pytest.mark.parametrize(
    ("left", "desired", "reason"),
    [("m-1", False, "NameConflict"), ("", False, "NameTaken"), ("m-1", True, "NameTaken")],
)
def test_a_name_that_a_leftover_holds_is_no_passing_trouble(left, desired, reason):
    """Only of an object that is left to people, and that nothing desires."""
    tracked = tracking(a_live_job())
    tracked.seen.left = left
    if not desired:
        tracked.work = None
    outcome = in_the_way(tracked, Outcome(trouble=Trouble("NameTaken"), taken_by="u-1"))
    assert (outcome.trouble.reason, bool(outcome.taken_by)) == (reason, reason == "NameTaken")

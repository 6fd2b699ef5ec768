"""What waits, until when, and what does not: the edges of every rule with an instant or a mark, as tables."""

import datetime as dt
from typing import Any

import pytest

from agent.decide.decision import Seen, Trouble
from agent.decide.jobs import FOREGROUND, ORPHAN, decide_orphan
from agent.decide.next_step import decide
from shared import labels
from shared.wire.agent_v1 import Order
from tests.agent.moments import NOW, a_live_job, a_moment, settled
from tests.agent.owned import owning
from tests.agent.scripted_hub import HUB_ID, a_job, an_object

APPLY, KEEP, WITHDRAW = a_job(), a_job(action="Keep", ttl_s=60), a_job(action="Withdraw")
FRESH = a_job(action="Withdraw", fresh=True)
ASKED = {"live": a_live_job(deleting=True), "foreground": "m-1"}
OVER = {**ASKED, "podless": "m-1"}
HELD_OFF = Trouble("ApplyFailed", "no")
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}}
OBJECT, NEWER = an_object(CONFIG, "o-1"), an_object(CONFIG, "o-1", generation=2)
GOING = an_object(CONFIG, "o-1", action="Withdraw")
LIVE = {**OBJECT.manifest, "metadata": {**OBJECT.manifest["metadata"], "uid": "m-1"}}
MADE = {**LIVE["metadata"]["labels"], labels.CREATED_BY: HUB_ID}
WRITTEN = [owning({"f:metadata": {"f:labels": {f"f:{labels.CREATED_BY}": {}}}})]
CREATED = {**LIVE, "metadata": {**LIVE["metadata"], "labels": MADE, "managedFields": WRITTEN}}

TRIED = [
    ("a change", a_job(generation=2), {"live": a_live_job()}, "PatchJob"),
    ("a deletion", WITHDRAW, {"live": a_live_job()}, "Delete"),
    ("a release", WITHDRAW, {**OVER, "acknowledged": "m-1"}, "Release"),
    ("a count of pods", WITHDRAW, ASKED, "CountPods"),
    ("a look for what vanished", APPLY, {"ever": True, "vanished": True}, "ReadBack"),
    ("a look for its Job", APPLY, {"ever": True}, "ReadBack"),
    ("a look for a Job whose pods are there", WITHDRAW, {"pods": 1}, "ReadBack"),
    ("a creation", APPLY, {"trouble": HELD_OFF}, "Create"),
    ("a start", APPLY, {"live": a_live_job(waiting=True), "trouble": HELD_OFF}, "Start"),
    ("an object", OBJECT, {"trouble": HELD_OFF}, "Apply"),
    ("a newer object", NEWER, {"live": LIVE, "trouble": HELD_OFF}, "Apply"),
    ("a drifted object", OBJECT, {"live": LIVE, "drifted": True}, "Apply"),
    ("an object's deletion", GOING, {"live": CREATED}, "Delete"),
    ("an object's release", GOING, {"live": LIVE}, "Abandon"),
]


@pytest.mark.parametrize(("work", "seen", "do"), [c[1:] for c in TRIED], ids=[c[0] for c in TRIED])
def test_what_failed_is_tried_again_at_its_instant_and_not_before(work, seen, do):
    """Until then nothing is done, and the decision says when to look again."""
    at = a_moment().now
    assert decide(work, Seen(**seen, not_before=at), a_moment()).do == do
    waits = decide(work, Seen(**seen, not_before=at + 0.5), a_moment())
    assert (waits.do, waits.wake_at) == ("Nothing", at + 0.5)


@pytest.mark.parametrize(
    ("ended_ago", "do", "wake_at"),
    [(59.5, "Nothing", 1000.5), (60, "Delete", None), (60.5, "Delete", None)],
)
def test_a_kept_job_is_over_when_its_seconds_are(ended_ago, do, wake_at):
    """Counted from its end: at the last of them, not after it."""
    live = a_live_job(ended_ago=ended_ago, finalizers=[])
    decision = decide(KEEP, Seen(live=live), a_moment())
    assert (decision.do, decision.wake_at) == (do, wake_at)


def test_a_job_that_is_kept_for_no_time_goes_at_once():
    """ttlSecondsAfterFinished: 0 is a time, not its absence."""
    work = a_job(action="Keep", ttl_s=0)
    assert settled(work, Seen(live=a_live_job(ended_ago=0, finalizers=[])))[0] == "Delete"


@pytest.mark.parametrize(
    ("ended_ago", "urgent", "wake_at"), [(20, False, 1040), (60, True, None), (61, True, None)]
)
def test_letting_a_kept_job_go_is_urgent_once_its_time_is_over(ended_ago, urgent, wake_at):
    """Before, it gives way to everything else; the release keeps the hour of the deletion."""
    decision = decide(KEEP, Seen(live=a_live_job(ended_ago=ended_ago)), a_moment())
    assert (decision.do, decision.urgent, decision.wake_at) == ("Release", urgent, wake_at)


def test_letting_go_is_urgent_where_the_name_is_needed():
    """A newer job waits for it, whatever the time to live."""
    seen = Seen(live=a_live_job(ended_ago=1), make_room=True)
    assert decide(a_job(action="Keep"), seen, a_moment()).urgent


YOUNG = {"settled_at": None}
NOT_SETTLED = [
    ("deleted, offered before", WITHDRAW, Seen(**OVER), ("Applied", "LeaseWait")),
    ("deleted, offered to us alone", FRESH, Seen(**OVER, started=True), ("Gone", "")),
    ("kept, offered before", KEEP, Seen(live=a_live_job(ended_ago=1)), ("Applied", "LeaseWait")),
    (
        "kept, offered to us alone",
        a_job(action="Keep", ttl_s=60, fresh=True),
        Seen(live=a_live_job(ended_ago=1)),
        ("Applied", ""),
    ),
    ("kept and gone", KEEP, Seen(), ("Waiting", "LeaseWait")),
    ("an object that is gone", GOING, Seen(), ("Waiting", "LeaseWait")),
    ("an object that is there", GOING, Seen(live=LIVE), ("Applied", "Withdrawing")),
]


@pytest.mark.parametrize(
    ("work", "seen", "wanted"), [c[1:] for c in NOT_SETTLED], ids=[c[0] for c in NOT_SETTLED]
)
def test_what_an_earlier_session_may_still_do_is_waited_for(work, seen, wanted):
    """Only where another session can have been offered the epoch does its end wait for that lease."""
    decision = decide(work, seen, a_moment(**YOUNG))
    assert (decision.phase, decision.reason) == wanted


@pytest.mark.parametrize("mark", ["started", "ever", "seen"])
def test_an_epoch_that_may_have_been_started_is_not_gone_unseen(mark):
    """Asked for by us, there once, or known to the hub: its end is looked for."""
    work = a_job(action="Withdraw", fresh=True, seen=mark == "seen")
    seen = Seen(started=mark == "started", ever=mark == "ever")
    assert settled(work, seen) == ("ReadBack", "Waiting", "Proving")


@pytest.mark.parametrize(
    ("work", "seen", "unstarted"),
    [
        (FRESH, Seen(), True),
        (FRESH, Seen(**OVER, started=True), False),
        (WITHDRAW, Seen(**OVER), False),
    ],
    ids=["never asked for", "asked for", "offered before"],
)
def test_only_an_epoch_that_nobody_can_have_started_is_said_to_be_unstarted(work, seen, unstarted):
    """It was offered to this session alone, which never asked for its start."""
    decision = decide(work, seen, a_moment())
    assert (decision.phase, decision.unstarted) == ("Gone", unstarted)


SECOND = a_live_job(waiting=True)
UNSTARTED = a_live_job(waiting=True, deleting=True)
REFUSED: dict[str, Any] = {"started": True, "refused": True}


@pytest.mark.parametrize(
    ("work", "seen", "unstarted"),
    [
        (FRESH, Seen(live=UNSTARTED, **REFUSED), True),
        (FRESH, Seen(live=UNSTARTED, started=True), False),
        (FRESH, Seen(**OVER, **REFUSED), False),
        (FRESH, Seen(live=UNSTARTED, podless="m-1", ever=True, **REFUSED), False),
        (WITHDRAW, Seen(live=UNSTARTED, **REFUSED), False),
        (FRESH, Seen(**REFUSED, absent_at=950.0, podless_at=960.0), False),
    ],
    ids=["refused", "one not", "started", "was started", "offered before", "not there"],
)
def test_refused_starts_are_none_once_their_object_is_deleted(work, seen, unstarted):
    """A late copy of the request starts no Job that is being deleted; an absent Job proves nothing."""
    decision = decide(work, seen, a_moment())
    assert (decision.phase, decision.unstarted) == ("Gone", unstarted)


def test_a_job_whose_start_was_refused_is_deleted_before_it_is_gone():
    """A late copy of the request could start it. The agent does not report that its epoch has begun."""
    assert settled(FRESH, Seen(live=SECOND, **REFUSED)) == ("Delete", "Waiting", "Withdrawing")


@pytest.mark.parametrize(
    ("work", "seen"),
    [
        (APPLY, Seen(live=SECOND, closed="Missing")),
        (APPLY, Seen(live=SECOND, ever=True)),
        (a_job(seen=True), Seen(live=SECOND)),
    ],
    ids=["closed", "was there", "the hub saw it"],
)
def test_a_second_object_of_an_epoch_is_not_started(work, seen):
    """A POST that landed late: it goes, whatever tells that the epoch has had its object."""
    assert settled(work, seen) == ("Delete", "Applied", "Deleting")


@pytest.mark.parametrize(
    ("seen", "do"),
    [({}, "Release"), ({"ever": True}, "Delete"), ({"pods": 1}, "Delete")],
    ids=["never started", "a started one was there", "it has pods"],
)
def test_that_a_job_is_marked_unstarted_is_not_believed_against_what_was_seen(seen, do):
    """The mark is anybody's to set: where it ran or has pods, its end is awaited."""
    live = a_live_job(waiting=True, deleting=True)
    work = a_job(epoch=2)
    assert decide(work, Seen(live=live, **seen), a_moment()).do == do


@pytest.mark.parametrize(
    ("kept_by", "do"),
    [
        ([FOREGROUND, labels.MEMBER_FINALIZER], "Nothing"),
        ([ORPHAN, labels.MEMBER_FINALIZER], "Nothing"),
        ([labels.MEMBER_FINALIZER], "Delete"),
        ([labels.MEMBER_FINALIZER, "example.com/theirs"], "Delete"),
        ([], "Delete"),
    ],
    ids=["foreground", "orphan", "background", "others", "nobody"],
)
def test_the_collector_is_left_to_its_work(kept_by, do):
    """While it holds a deleted Job nothing is asked anew; where it does not, its pods are seen to."""
    seen = Seen(live=a_live_job(deleting=True, finalizers=kept_by))
    assert decide(WITHDRAW, seen, a_moment()).do == do


@pytest.mark.parametrize(("foreground", "do"), [("m-1", "CountPods"), ("m-0", "Delete")])
def test_that_another_object_waited_for_its_pods_says_nothing_of_this_one(foreground, do):
    """A deletion is asked for by uid."""
    seen = Seen(live=a_live_job(deleting=True), foreground=foreground)
    assert decide(WITHDRAW, seen, a_moment()).do == do


@pytest.mark.parametrize(
    ("forgotten", "deleting", "do"),
    [
        ("m-1", True, "Release"),
        ("", True, "Nothing"),
        ("m-0", True, "Nothing"),
        ("m-1", False, "Nothing"),
    ],
)
def test_a_deleted_newer_epoch_is_let_go_when_the_hub_was_told_of_it(forgotten, deleting, do):
    """Of this very object. Before, it may be this agent that is behind, though its lease lasts."""
    seen = Seen(live=a_live_job(epoch=2, deleting=deleting), foreground="m-1", podless="m-1")
    seen.forgotten = forgotten
    decision = decide(a_job(), seen, a_moment(may_start=True))
    assert (decision.do, decision.phase, decision.reason) == (do, "Applied", "NewerEpoch")


@pytest.mark.parametrize(
    ("drifted", "rule", "generation", "wanted"),
    [
        (True, "Always", 1, ("PatchJob", "Applied", "")),
        (True, "IfNotDrifted", 1, ("Nothing", "Applied", "")),
        (True, "IfNotDrifted", 2, ("Nothing", "Failed", "FoundDrifts")),
        (False, "IfNotDrifted", 2, ("PatchJob", "Applied", "")),
        (False, "Always", 1, ("Nothing", "Applied", "")),
    ],
)
def test_a_drifted_job_is_patched_by_the_users_rule(drifted, rule, generation, wanted):
    """IfNotDrifted leaves drift, and fails only where something newer is to be written over it."""
    work = a_job(generation=generation, when_to_apply=rule)
    assert settled(work, Seen(live=a_live_job(), drifted=drifted)) == wanted


@pytest.mark.parametrize("deleting", [True, False])
def test_an_orphan_whose_end_is_known_is_let_go_only_when_it_is_deleted(deleting):
    """That the hub has its end is no order to remove it."""
    live = a_live_job(deleting=deleting, ended_ago=1)
    decision = decide_orphan(Seen(live=live, acknowledged="m-1"), a_moment())
    assert decision.do == ("Release" if deleting else "Nothing")


@pytest.mark.parametrize(
    ("action", "ordered", "left"), [("Remove", "m-1", ""), ("Quarantine", "", "m-1")]
)
def test_an_order_names_what_goes_or_what_stays(action, ordered, left):
    """One is never taken for the other."""
    seen = Seen()
    seen.order(Order(uid="u-1", object_uid="m-1", action=action))
    assert (seen.ordered, seen.left) == (ordered, left)


@pytest.mark.parametrize(
    ("live", "ever"),
    [
        (None, False),
        (a_live_job(epoch=1), False),
        (a_live_job(epoch=2), True),
        (a_live_job(epoch=2, waiting=True), False),
        (a_live_job(epoch=3), False),
    ],
    ids=["absent", "older", "its own", "not started", "newer"],
)
def test_nothing_of_an_epoch_counts_for_the_next(live, ever):
    """Only an object of exactly this epoch that was started says that it was there."""
    seen = Seen(live=live, ever=True, started=True, closed="Gone", absent_at=1.0, podless_at=2.0)
    seen.new_epoch(2)
    told = (seen.ever, seen.started, seen.closed, seen.absent_at, seen.podless_at)
    assert told == (ever, False, "", None, None)


@pytest.mark.parametrize("field", ["completionTime", "lastTransitionTime"])
def test_the_time_to_live_counts_from_the_jobs_end(field):
    """Its completionTime where it has one; of a failed Job when that was said."""
    live = a_live_job(ended_ago=90, finalizers=[])
    (ended,) = live["status"]["conditions"]
    at = (NOW - dt.timedelta(seconds=30)).isoformat()
    if field == "completionTime":
        live["status"][field] = at
    else:
        del live["status"]["completionTime"]
        ended |= {"type": "Failed", field: at}
    assert decide(KEEP, Seen(live=live), a_moment()).wake_at == 1030

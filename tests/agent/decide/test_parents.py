"""The next step for a job whose object is no Job: as for a Job, and what its kind adds."""

import pytest

from agent.decide.next_step import decide
from agent.objects.readings import Reading
from shared import labels
from tests.agent.moments import NOW, a_moment, settled, tracking
from tests.agent.parents import a_parent, created


def running(kind="JobSet", **fields):
    """Its object, started."""
    live = created(kind, **fields)
    live["metadata"]["annotations"].pop(labels.NOT_STARTED)
    live["spec"]["suspend"] = False
    return live


def seen_of(live=None, work=None, *, result=None, read=True):
    work = work or a_parent()
    tracked = tracking(None, work)
    tracked.desire(work)
    if live is not None:
        tracked.is_here(live, 10.0)
    if live is not None and read:
        ended = {} if result is None else {"result": result, "ended_at": NOW}
        tracked.seen.reading = Reading("m-1", "7", **ended)
    return tracked.seen


@pytest.mark.parametrize(
    ("work", "moment", "step"),
    [
        ({}, {}, ("Create", "Waiting", "Creating")),
        ({}, {"served": False}, ("Nothing", "Failed", "KindNotServed")),
        ({}, {"synced": False}, ("Nothing", "Waiting", "Observing")),
        ({}, {"synced": False, "refused": "403"}, ("Nothing", "Failed", "KindNotReadable")),
        ({"kind_rule": None}, {}, ("Nothing", "Failed", "KindNotHeld")),
        ({"seen": True}, {}, ("ReadBack", "Waiting", "Proving")),
        ({"seen": True}, {"synced": False, "refused": "403"}, ("Nothing", "Waiting", "Observing")),
    ],
    ids=["create", "not served", "not read", "may not read", "no rule", "seen", "seen, not read"],
)
def test_what_is_not_there_is_created_if_it_can_be_held_and_seen(work, moment, step):
    """A kind that is not served, that can not be read, or of which nothing is known is refused by name."""
    work = a_parent(**work)
    assert settled(work, seen_of(work=work), **moment) == step


def test_what_waits_is_started_and_what_runs_is_left():
    """The start names the uid of the object that was seen."""
    assert settled(a_parent(), seen_of(created())) == ("Start", "Waiting", "Creating")
    assert settled(a_parent(), seen_of(running())) == ("Nothing", "Applied", "")


def test_a_work_without_a_rule_is_still_a_job():
    """By its epoch: what is to go is deleted and waited for, not released like a plain object."""
    work = a_parent(action="Withdraw", kind_rule=None)
    decision = decide(work, seen_of(running(), work), a_moment())
    assert (decision.do, decision.propagation) == ("Delete", "Foreground")


def test_a_version_is_read_before_it_is_deleted():
    """It may have ended, and that is told first."""
    work = a_parent(action="Withdraw")
    unread = seen_of(running(), work, read=False)
    assert settled(work, unread) == ("Nothing", "Applied", "Withdrawing")
    ended = seen_of(running(), work, result="Succeeded")
    assert settled(work, ended) == ("Nothing", "Applied", "Withdrawing")
    ended.told = "m-1"
    assert settled(work, ended) == ("Delete", "Applied", "Withdrawing")


@pytest.mark.parametrize(
    ("result", "step"),
    [(None, "Nothing"), ("Succeeded", "Release"), ("Failed", "Release")],
    ids=["unknown", "completed", "failed"],
)
def test_a_kept_one_is_let_go_once_its_definition_says_that_it_has_ended(result, step):
    """One of which nothing is known stays."""
    work = a_parent(action="Keep", ttl_s=None)
    assert settled(work, seen_of(running(), work, result=result))[0] == step


def test_an_earlier_epoch_goes_first():
    """Deleted in the foreground, and no pod of it is left before the next one begins."""
    work = a_parent(epoch=2)
    assert settled(work, seen_of(running(), work))[0] == "Delete"

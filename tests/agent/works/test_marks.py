"""Marks of how far the hub's store had come: the newest of each run is kept, and told in time."""

import pytest

from agent.works.marks import Marks
from shared import labels
from shared.wire.agent_v1 import MAX_MARKS, Mark


def a_mark(run="r", revision=1, proof="p"):
    return Mark(run=run, revision=revision, proof=proof)


def carrying(text):
    return {"metadata": {"annotations": {labels.MARK: text}}}


@pytest.mark.parametrize(
    ("revision", "proof"),
    [(4, "first"), (5, "first"), (6, "second")],
    ids=["older", "same", "newer"],
)
def test_of_a_run_the_newest_mark_is_kept(revision, proof):
    """The same revision with another proof is none: the first stays."""
    marks = Marks()
    marks.answered(a_mark(revision=5, proof="first"))
    marks.found(carrying(f"r:{revision}:second"))
    (kept,) = marks.tell(everything=True)
    assert kept.proof == proof


def test_of_many_runs_the_latest_learnt_are_told():
    """A run that is heard of again is a late one."""
    marks = Marks()
    for number in range(MAX_MARKS + 1):
        marks.answered(a_mark(f"r-{number}"))
    marks.answered(a_mark("r-1", 2))
    told = [mark.run for mark in marks.tell(everything=True)]
    assert len(told) == MAX_MARKS
    assert told[-1] == "r-1"
    assert "r-0" not in told


def test_what_was_found_leaves_room_for_the_last_reply():
    """However many Jobs carry one, a request has no more than the bound, the last one among them."""
    marks = Marks()
    marks.answered(a_mark("now", 9))
    for number in range(MAX_MARKS + 3):
        marks.found(carrying(f"r-{number}:1:p"))
    told = [mark.run for mark in marks.tell(everything=False)]
    assert (len(told), told[-1]) == (MAX_MARKS, "now")
    marks.answered(None)
    rest = [mark.run for mark in marks.tell(everything=False)]
    assert rest == [f"r-{number}" for number in range(MAX_MARKS - 1, MAX_MARKS + 3)] + ["now"]


def test_a_newer_mark_found_while_an_older_one_is_told_is_told_next():
    """The answer acknowledges what its request said, not what was found since of the same run."""
    marks = Marks()
    marks.found(carrying("r:1:p"))
    marks.tell(everything=False)
    marks.found(carrying("r:2:p"))
    marks.answered(None)
    assert [mark.revision for mark in marks.tell(everything=False)] == [2]


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("r:1:p", True),
        ("r:" + "9" * 18 + ":p", True),
        ("r:" + "9" * 19 + ":p", False),
        ("r:x:p", False),
        ("r:-1:p", False),
        ("r:1", False),
        ("r:1:p:q", False),
        ("", False),
    ],
)
def test_only_what_reads_as_a_mark_is_one(text, known):
    """The annotation is anybody's to write."""
    marks = Marks()
    marks.found(carrying(text))
    assert bool(marks.tell(everything=True)) is known


def test_the_mark_on_a_new_job_is_that_of_the_last_reply():
    """Not one that was found on an object; a reply without one changes nothing."""
    marks = Marks()
    assert marks.text == ""
    marks.found(carrying("r:9:p"))
    assert marks.text == ""
    marks.answered(a_mark("now", 3, "q"))
    marks.answered(None)
    assert marks.text == "now:3:q"

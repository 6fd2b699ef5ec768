"""Which callers share a commit."""

import queue
import threading
from typing import Any

import pytest

from hub.store.writer import MAX_CALLERS, Writer
from shared.clock import SystemClock

PATIENCE_S = 5.0


def a_writer(*waiting: Any) -> Any:
    """A writer without its thread, with these in its queue."""
    writer = Writer.__new__(Writer)
    writer._clock = SystemClock()
    writer._queue = queue.SimpleQueue()
    for call in waiting:
        writer._queue.put(call)
    return writer


@pytest.mark.parametrize(("expected", "patience_s"), [(1, PATIENCE_S), (9, 0.0), (3, PATIENCE_S)])
def test_whoever_is_there_shares_the_commit(expected, patience_s):
    """Nobody is waited for beyond as many as shared the last one, nor without patience."""
    assert a_writer("b", "c")._gather("a", expected, patience_s) == (["a", "b", "c"], False)


def test_those_that_were_answered_together_are_waited_for():
    """The third comes a moment later, and is in time."""
    writer = a_writer("b")
    late = threading.Timer(0.01, lambda: writer._queue.put("c"))
    late.start()
    assert writer._gather("a", 3, PATIENCE_S) == (["a", "b", "c"], False)
    late.join()


def test_patience_ends():
    """One that does not come back holds up the others for a moment only."""
    assert a_writer("b")._gather("a", 3, 0.01) == (["a", "b"], False)


def test_the_end_is_told_at_once():
    """What was queued before it is still written; nobody is waited for."""
    assert a_writer("b", None)._gather("a", 9, PATIENCE_S) == (["a", "b"], True)


def test_a_commit_has_its_limit():
    """More than so many wait for the next one."""
    calls, last = a_writer(*range(MAX_CALLERS))._gather("a", MAX_CALLERS + 5, PATIENCE_S)
    assert (len(calls), last) == (MAX_CALLERS, False)

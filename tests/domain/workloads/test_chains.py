"""Chains: how a dependency stands by how the other job has ended, and what follows for who waits."""

import pytest
from hypothesis import given, strategies as st

from hub.domain.workloads.chains import (
    FINAL,
    NEVER,
    WAITS,
    EndCondition,
    JobLink,
    LinkState,
    follows,
    in_cycles,
    judge,
    waits_for_others,
)
from hub.domain.workloads.states import TRANSITIONS, HeldFor, State
from shared.kinds import after

W, OK, NO, PAST = LinkState.WAITING, LinkState.SATISFIED, LinkState.NEVER, LinkState.WAIVED


@pytest.mark.parametrize(
    ("state", "ok", "any_", "fail"),
    [
        (State.SUCCEEDED, OK, OK, NO),
        (State.FAILED, NO, OK, OK),
        (State.CANCELLED, NO, OK, OK),
        *((state, W, W, W) for state in State if state not in FINAL),
    ],
)
def test_a_dependency_is_decided_by_an_end_alone(state, ok, any_, fail):
    """A job that is lost, taken back, held or deactivated has not ended: nothing is decided."""
    assert [judge(wanted, state) for wanted in (EndCondition.OK, EndCondition.ANY, EndCondition.FAIL)] == [
        ok, any_, fail
    ]  # fmt: skip


def test_nothing_leads_out_of_an_end():
    """What decides can not be taken back: no transition starts from a final state."""
    assert not {state for starts, _ in TRANSITIONS.values() for state in starts} & FINAL


@pytest.mark.parametrize(
    ("links", "may_go", "reason", "words"),
    [
        ([("a", "ok", W)], False, WAITS, "waits for a to succeed"),
        ([("a", "ok", OK), ("b", "fail", W)], False, WAITS, "waits for b to fail"),
        ([("a", "any", W), ("b", "ok", W)], False, WAITS, "waits for a to end and b to succeed"),
        ([(n, "any", W) for n in "abcde"], False, WAITS, "and c to end and 2 more"),
        ([("a", "ok", NO), ("b", "ok", W)], False, NEVER, "a was to succeed and failed"),
        ([("a", "ok", OK), ("b", "ok", PAST)], True, "", "a failed, b failed"),
    ],
)
def test_what_follows_is_said_in_words(links, may_go, reason, words):
    """Never beats waiting, waiting beats going; the sentence names whom and how."""
    made = [JobLink(n, EndCondition(w), s, "" if s is W else "Failed") for n, w, s in links]
    told = follows(made)
    assert (told.may_go, told.reason) == (may_go, reason)
    assert words in told.message


@given(st.lists(st.tuples(st.sampled_from(EndCondition), st.sampled_from(State)), max_size=6))
def test_a_job_goes_when_all_it_waits_for_have_ended_as_they_should(asked):
    """And only then; it never goes by itself once one of them has ended otherwise."""
    links = [JobLink(f"j{i}", w, judge(w, s), s.value) for i, (w, s) in enumerate(asked)]
    told = follows(links)
    assert told.may_go is all(each.state is OK for each in links)
    assert (told.reason == NEVER) is any(each.state is NO for each in links)


_GRAPHS = st.dictionaries(
    st.sampled_from("abcdefg"), st.lists(st.sampled_from("abcdefgh"), max_size=3), max_size=7
)


def _reaches(graph, start, goal):
    seen, front = set(), list(graph.get(start, ()))
    while front:
        name = front.pop()
        if name == goal:
            return True
        if name not in seen:
            seen.add(name)
            front += graph.get(name, ())
    return False


@given(_GRAPHS)
def test_those_in_a_cycle_are_found(graph):
    """Every job that reaches itself is found; what is found lies on or between cycles."""
    found = in_cycles(graph)
    cyclic = {name for name in graph if _reaches(graph, name, name)}
    assert cyclic <= found
    for name in found - cyclic:
        assert any(_reaches(graph, name, each) for each in cyclic)
        assert any(_reaches(graph, each, name) for each in cyclic)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("prepare", (("prepare", "ok"),)),
        ("prepare:ok, fetch:any,c:fail", (("prepare", "ok"), ("fetch", "any"), ("c", "fail"))),
        *((text, None) for text in (
            "", " ", "a,", "a:", "a:OK", "a:done", "ns/a", "a, a:any", "A", "a b",
            ",".join(f"j{i}" for i in range(65)),
        )),
    ],
)  # fmt: skip
def test_the_annotation_is_read_whole_or_not_at_all(text, found):
    """Names with conditions; a name twice, an unknown condition or too many is no value."""
    assert after.read(text) == found


@pytest.mark.parametrize(
    ("held_for", "reason", "waits"),
    [
        (HeldFor.JOBS, "WaitsForJobs", True),
        (HeldFor.JOBS, "DependencyNeverSatisfied", True),
        (HeldFor.JOBS, "HeldByUser", False),  # a person, through a hub of the release before
        ("", "WaitsForJobs", True),  # held by such a hub
        ("", "HeldByUser", False),
        (HeldFor.PERSON, "WaitsForJobs", True),  # such a hub released what a person had held
        (HeldFor.PERSON, "HeldByUser", False),
        (HeldFor.RESTORE, "WaitsForJobs", False),
        (HeldFor.RESTORE, "Restored", False),
    ],
)
def test_other_jobs_let_go_only_what_nobody_holds_besides(held_for, reason, waits):
    """Of rows of both releases: the reason decides while a hub of the release before may write it alone."""
    assert waits_for_others(State.HELD, held_for, reason) is waits
    assert not waits_for_others(State.PENDING, held_for, reason)

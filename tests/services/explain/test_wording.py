"""Sentences of remedies: how long, how many, and what is said of a run that is about to end."""

import datetime as dt
from typing import Any

import pytest

from hub.domain.whatif.remedy import Remedy, RemedyKind
from hub.services.explain.wording import LISTED, NAMED, Wording
from tests.domain.build import NOW
from tests.domain.whatif.pictures import PRESENT, SECOND, a_holder

MINUTE, HOUR, DAY = 60, 3600, 86400


def told(*holders: str, ends_in: int | None = None, **given: Any) -> str:
    """What is said where these jobs, of one cpu each, have to be preempted."""
    wording = Wording(
        "q",
        {uid: ("team-a", uid) for uid in holders},
        {} if ends_in is None else dict.fromkeys(holders, PRESENT + ends_in * SECOND),
        NOW,
    )
    found = tuple(a_holder(uid, **given) for uid in holders)
    said = wording.remedy(Remedy(RemedyKind.PREEMPTION, holders=found))["message"]
    return str(said).removeprefix("when its turn comes it preempts ")


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (1, "1 s"),
        (2 * MINUTE - 1, "119 s"),
        (2 * MINUTE, "2 min"),
        (2 * HOUR - 1, "119 min"),
        (2 * HOUR, "2 h"),
        (2 * DAY - 1, "47 h"),
        (2 * DAY, "2 d"),
    ],
)
def test_a_span_is_told_in_the_largest_unit_that_it_has_twice(seconds: int, expected: str):
    """Until then it stays in the smaller one; whole units, never more than there is."""
    assert told("x", ends_in=seconds) == f"team-a/x (1 cpu, ends in {expected})"
    began = PRESENT - seconds * SECOND
    assert told("x", started_at=began) == f"team-a/x (1 cpu, admitted {expected} ago)"


@pytest.mark.parametrize("ends_in", [0, -1])
def test_an_end_that_is_not_to_come_is_not_told(ends_in: int):
    """What should have ended by now is told by its beginning."""
    assert told("x", ends_in=ends_in, started_at=PRESENT) == "team-a/x (1 cpu, admitted 0 s ago)"


def test_one_that_goes_already_is_said_to_go():
    """Neither when it would have ended nor since when it runs matters any more."""
    said = told("x", ends_in=60, started_at=PRESENT, evicted=True)
    assert said == "team-a/x (1 cpu, on its way out)"
    assert told("x") == "team-a/x (1 cpu, quota reserved)"


@pytest.mark.parametrize(
    ("count", "last"),
    [(1, "j0"), (2, "j0 and j1"), (3, "j0, j1 and j2"), (NAMED, "and j4"), (NAMED + 1, "1 more")],
)
def test_a_sentence_names_five_and_counts_the_others(count: int, last: str):
    """The last of those named stands after `and`; of more it is said how many."""
    names = [f"j{number}" for number in range(count)]
    said = told(*names).replace("team-a/", "").replace(" (1 cpu, quota reserved)", "")
    assert said.endswith(last)
    assert said.count("j") == min(count, NAMED)


@pytest.mark.parametrize("count", [LISTED - 1, LISTED, LISTED + 1])
def test_a_remedy_lists_twenty_and_tells_how_many_there_are(count: int):
    """The list is cut, the number is not."""
    holders = tuple(a_holder(f"j{number}") for number in range(count))
    remedy = Wording("q", {}, {}, NOW).remedy(Remedy(RemedyKind.PREEMPTION, holders=holders))
    assert (len(remedy["jobs"]), remedy["jobsTotal"]) == (min(count, LISTED), count)


def test_a_listed_job_has_its_own_two_times():
    """Since when it is admitted, and when it is expected to end; none of what is not known."""
    began, ends = PRESENT - 60 * SECOND, PRESENT + 3600 * SECOND
    holders = (a_holder("x", started_at=began), a_holder("y"))
    wording = Wording("q", {"x": ("team-a", "x")}, {"x": ends}, NOW)
    one, other = wording.remedy(Remedy(RemedyKind.PREEMPTION, holders=holders))["jobs"]
    since, end = dt.datetime.fromisoformat(one["since"]), dt.datetime.fromisoformat(one["endsAt"])
    assert (since, end) == (NOW - dt.timedelta(minutes=1), NOW + dt.timedelta(hours=1))
    assert (other["since"], other["endsAt"]) == (None, None)
    assert [(j["namespace"], j["name"]) for j in (one, other)] == [("team-a", "x"), ("", "y")]


@pytest.mark.parametrize(("number", "expected"), [(1, "with 1 pod it"), (2, "with 2 pods it")])
def test_one_pod_is_no_pods(number: int, expected: str):
    """Numbers and nouns go together."""
    remedy = Wording("q", {}, {}, NOW).remedy(Remedy(RemedyKind.FEWER_PODS, number=number))
    assert str(remedy["message"]).startswith(expected)


@pytest.mark.parametrize(
    ("number", "expected"), [(1, "a node with 2 cpu"), (2, "2 more nodes, each with 2 cpu")]
)
def test_one_node_is_a_node(number: int, expected: str):
    """Of several each has to have so much free."""
    remedy = Remedy(RemedyKind.NODES, number=number, cluster="c", pod=(("cpu", 2000),))
    said = Wording("q", {}, {}, NOW).remedy(remedy)["message"]
    assert said == f"fits with {expected} free on cluster c"

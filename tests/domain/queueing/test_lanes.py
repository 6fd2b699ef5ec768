"""Whose turn it is in one line, and how many equals follow before anybody else's."""

import pytest

from hub.domain.queueing.lanes import Line
from tests.domain.build import a_demand, a_lane, a_pod_set, a_queue

ONE, OTHER = a_demand(), a_demand(a_pod_set(name="x"))
URGENT = a_demand(priority=1)


@pytest.mark.parametrize(
    ("since", "limit", "run"),
    [(99, 9, "abc"), (99, 2, "ab"), (99, 1, "a"), (2, 9, "ab"), (1, 9, "a"), (0, 9, "a")],
)
def test_a_run_ends_before_another_ones_turn(since: int, limit: int, run: str) -> None:
    """Entries a, b, c are queued at 0, 1, 2; another class's "b0" at `since`."""
    line = Line(a_queue(), [a_lane(ONE, "a", "b", "c"), a_lane(OTHER, "b0", since=since)])
    assert line.head is not None
    found = "".join(e.uid for e in line.run(limit))
    assert found == (run if since != 1 else "ab")


def test_lower_priorities_do_not_end_a_run() -> None:
    """However old they are; higher ones have gone before."""
    line = Line(a_queue(), [a_lane(URGENT, "a", "b", since=50), a_lane(ONE, "old")])
    assert [e.uid for e in line.run(9)] == ["a", "b"]
    line.advance(2)
    assert line.head is not None
    assert line.head.entry.uid == "old"


def test_the_earliest_of_several_others_ends_a_run() -> None:
    """Wherever it stands among them."""
    third = a_demand(a_pod_set(name="y"))
    for order in ((OTHER, third), (third, OTHER)):
        lanes = [
            a_lane(ONE, *"abcd"),
            a_lane(order[0], "m", since=2),
            a_lane(order[1], "n", since=3),
        ]
        assert "".join(e.uid for e in Line(a_queue(), lanes).run(9)) == "abc"


def test_parking_passes_equals_or_blocks_the_line() -> None:
    """BestEffortFIFO goes on with the next class; StrictFIFO says who is behind and ends."""
    lanes = [a_lane(ONE, "a", "b"), a_lane(OTHER, "c", since=9)]
    best = Line(a_queue(), lanes)
    assert best.park() == []
    assert best.head is not None
    assert best.head.entry.uid == "c"
    strict = Line(a_queue(strict=True), lanes)
    assert strict.park() == [OTHER]
    assert strict.head is None

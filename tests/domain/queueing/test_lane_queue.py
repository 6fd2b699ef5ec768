"""One queue's lanes as rounds take them: whose turn comes, who sticks to the head, and by whose usage."""

from collections.abc import Mapping
from typing import Any

from hub.domain.queueing.lane_queue import LaneQueue
from hub.domain.queueing.lanes import Entry, Lane
from hub.domain.queueing.requeue import Where
from hub.domain.workloads.demand import Demand
from tests.domain.build import a_demand, a_lane, a_pod_set, a_queue

ONE, OTHER = a_demand(), a_demand(a_pod_set(name="x"))
URGENT = a_demand(priority=1)


def popped(queue: LaneQueue) -> str:
    """All turns, each admitted at once."""
    found = []
    while (who := queue.pop()) is not None:
        found.append(who.uid)
    return "".join(found)


def a_line(*lanes: Lane, strict: bool = False, **given: Any) -> LaneQueue:
    return LaneQueue(a_queue(strict=strict), lanes, **given)


def test_turns_go_by_priority_age_and_uid() -> None:
    """Over all lanes; each lane's next takes the place of the one that was admitted."""
    lanes = a_lane(ONE, "b", "d"), a_lane(OTHER, "a", "c"), a_lane(URGENT, "z", since=9)
    assert popped(a_line(*lanes)) == "zabcd"


def test_who_was_nominated_goes_before_everything_else_once() -> None:
    """In its own place in a StrictFIFO queue; it has one turn in either."""
    lanes = a_lane(ONE, "a", "b", "c"), a_lane(URGENT, "z", since=9)
    assert popped(a_line(*lanes, nominated={"b"})) == "bzac"
    assert popped(a_line(*lanes, nominated={"a", "b", "c"})) == "abcz"
    assert popped(a_line(*lanes, nominated={"b"}, strict=True)) == "zabc"
    who = a_line(*lanes, nominated={"b"}).pop()
    assert who is not None
    assert who.nominated


def test_one_that_was_put_back_has_another_turn() -> None:
    """In its own place, and but for that nothing changes."""
    line = a_line(a_lane(ONE, "y", since=1), a_lane(OTHER, "z", since=2))
    first = line.pop()
    assert first is not None
    line.put_back(first, Where.HEAP)
    assert popped(line) == "yz"


def test_one_that_was_parked_has_no_turn() -> None:
    """Neither do its equals behind it."""
    line = a_line(a_lane(ONE, "a", "b"), a_lane(OTHER, "c", since=9))
    head = line.pop()
    assert head is not None
    line.put_back(head, Where.PARKED)
    assert popped(line) == "c"


def test_a_sticky_head_stays_before_higher_priorities() -> None:
    """Once and again: a nominated one that is put back keeps its place before its lane."""
    line = a_line(a_lane(ONE, "a"), a_lane(URGENT, "z"), nominated={"a"})
    for _ in range(2):
        who = line.pop()
        assert who is not None
        assert who.uid == "a"
        line.put_back(who, Where.HEAP)
    assert popped(line) == "az"


def test_by_usage_the_lighter_local_queue_goes_first() -> None:
    """Whatever the priorities; of equal usage whoever would be first anyway."""
    doors = {"heavy": URGENT, "light": ONE, "other": OTHER}
    lanes = [
        Lane(demand, [Entry(n, f"{door[0]}{n}", 0, 1, 1, "ns", door) for n in range(2)])
        for door, demand in doors.items()
    ]
    ranks: Mapping[str, float] = {"ns/heavy": 2.0, "ns/light": 1.0, "ns/other": 1.0}
    assert popped(a_line(*lanes, ranks=ranks)) == "l0o0l1o1h0h1"
    assert popped(a_line(*lanes, ranks={})) == "h0h1l0o0l1o1"


def test_classes_that_are_spared_have_no_turn() -> None:
    """But for those of them that were nominated."""
    lanes = a_lane(ONE, "a", "b"), a_lane(OTHER, "c", since=9)

    def spared(demand: Demand) -> bool:
        return demand is ONE

    assert popped(a_line(*lanes, spared=spared)) == "c"
    assert popped(a_line(*lanes, spared=spared, nominated={"b"})) == "bc"


def test_whose_turn_may_still_come_behind_a_head() -> None:
    """All classes that wait, but for that of the head."""
    line = a_line(a_lane(ONE, "a", "b"), a_lane(OTHER, "c"), a_lane(URGENT, "z"))
    head = line.pop()
    assert head is not None
    line.put_back(head, Where.HEAP)
    assert set(line.behind("z")) == {ONE, OTHER}

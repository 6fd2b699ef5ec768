"""A cycle considers classes again whose reasons have old figures, a bounded number at a time."""

import numpy as np
import pytest

from hub.domain.fleet.free_capacity import Layout, Room
from hub.domain.plan import Reason, Refusal
from hub.domain.queueing.lanes import Entry
from hub.domain.queueing.pending import Waiting, WaitingLane
from hub.domain.quota.ledger import Ledger
from hub.services.index.waiting.stale_figures import (
    AFTER,
    EVERY,
    LOOKS,
    MOST,
    StaleFigures,
    room_of,
)
from tests.domain.build import NOW, a_cluster, a_demand, a_pod_set, a_pool, a_queue

TREE = Ledger([a_queue()]).tree


def a_room(cpu: int) -> Room:
    clusters = [a_cluster(a_pool(cpu=cpu))]
    return Room.of(Layout(clusters), {c.name: c for c in clusters})


NOW_THERE, BEFORE = a_room(2), room_of(a_room(1))
UNCHANGED = room_of(NOW_THERE)


class Line:
    """Classes that were refused for want of room, in order: `changed` says of each if room is other now."""

    def __init__(self, changed: list[bool]) -> None:
        self.waiting = Waiting()
        self.figures = StaleFigures()
        self.lanes = [self._refused(number, one) for number, one in enumerate(changed)]
        self.now = NOW + AFTER

    def _refused(self, number: int, changed: bool) -> WaitingLane:
        demand = a_demand(a_pod_set(requests={"cpu": f"{number + 1}m"}))
        self.waiting.add(demand, Entry(number, f"u{number}", 0))
        self.waiting.park([Refusal(demand.key, "q", Reason.NO_CLUSTER_FITS, "no room")])
        lane = self.waiting.lane(demand)
        self.figures.note(lane, BEFORE if changed else UNCHANGED, NOW)
        return lane

    def look(self) -> list[int]:
        """One look, at its time: the numbers of classes that the next cycle looks at."""
        self.figures.wake(self.waiting, TREE, NOW_THERE, self.now)
        self.now += EVERY
        return [number for number, lane in enumerate(self.lanes) if lane.parked is None]


def test_who_is_refused_with_figures_of_now_is_left_alone() -> None:
    """Only classes for which the room is another one are woken."""
    assert Line([False, True, False]).look() == [1]


def test_no_more_than_a_few_are_woken_at_a_time() -> None:
    """The first few of a line; the others follow at the next look."""
    line = Line([True] * (MOST + 3))
    assert line.look() == list(range(MOST))
    assert line.look() == list(range(MOST + 3))


def test_a_look_compares_a_bounded_number_of_classes() -> None:
    """A class behind many that have not changed is found by the second look, not by the first."""
    line = Line([False] * LOOKS + [True])
    assert line.look() == []
    assert line.look() == [LOOKS]


def test_a_class_that_is_refused_again_is_compared_again() -> None:
    """However often it was: a refusal puts it in the line once."""
    line = Line([True, False])
    assert line.look() == [0]
    line.waiting.park([Refusal(line.lanes[0].demand.key, "q", Reason.NO_CLUSTER_FITS, "no room")])
    for _ in range(3):
        line.figures.note(line.lanes[0], BEFORE, line.now)
    assert line.look() == []  # its figures are new
    line.now += AFTER
    assert line.look() == [0]


@pytest.mark.parametrize("others", [0, 2])
def test_a_class_in_which_nobody_waits_any_more_is_forgotten(others: int) -> None:
    """It takes no place in the line."""
    line = Line([True] + [False] * others)
    line.waiting.remove("u0")
    line.look()
    assert len(line.waiting) == others
    assert not np.any([lane.parked is None for lane in line.lanes[1:]])

"""Who waits for its victims goes first in a round; as in Kueue, where it does not, they may go in a ring."""

from collections import Counter
from typing import Any

import pytest

from hub.offline.loads.load import Arrival, Kind, Load, pod_set
from hub.offline.play.timeline import Timeline
from tests.offline.build import a_cohort, a_queue, a_scene

_BORROW: dict[str, Any] = {"reclaim": "LowerPriority", "borrow": {"policy": "LowerPriority"}}
# queue, arrival in s, priority, cpu; each runs for about a minute
_LOAD = {
    "first": ("d", 0, -1, 5),
    "lender": ("c", 9, 0, 6),
    "second": ("d", 18, 0, 6),
    "preemptor": ("b", 20, 0, 6),
}


def _played(settings: dict[str, Any]) -> Counter[tuple[str, str]]:
    """How often each workload preempted each other one."""
    scene = a_scene(
        a_cohort("root", 1), a_cohort("left", 2, "root"), a_cohort("right", 3, "root"),
        a_queue("a", 1, "right"), a_queue("b", 5, "right", **_BORROW),
        a_queue("c", 5, "left", **_BORROW), a_queue("d", 2, "right", **_BORROW),
        settings=settings,
    )  # fmt: skip
    load = Load()
    for name, (queue, at, priority, cpu) in _LOAD.items():
        kind = Kind("any", priority, 55_000_000, (pod_set({"cpu": cpu * 1000}, 1),))
        load.arrivals.append(Arrival(at * 1_000_000, name, "ns", queue, kind))
    load.sort()
    return Counter((p.by, p.uid) for p in Timeline(scene, load).run().preemptions)


def test_a_victim_does_not_take_back_what_it_gave_at_once() -> None:
    """By default whoever others made room for takes it: one preemption."""
    assert list(_played({}).values()) == [1]


@pytest.mark.parametrize("value", [False, "Off"])
def test_without_it_a_pair_preempts_again_and_again(value: object) -> None:
    """Without `preemptorsFirst` the victim, which borrows nearer, goes first, and is evicted again."""
    played = _played({"preemption": {"preemptorsFirst": value}})
    assert max(played.values()) > 50

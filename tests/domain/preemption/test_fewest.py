"""The cheapest victims that leave the room, against a search through all sets of them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given, strategies as st

from hub.domain.admission.nomination import Rules
from hub.domain.cycle.profile import Profile
from hub.domain.preemption.search import PreemptionLimits
from tests.domain.build import decide, where
from tests.domain.preemption.seats import Seat, a_scene
from tests.examples import Contents, examples, sample

FOR_ROOM = Profile(rules=Rules(for_room=True))
HIGH = 10


@st.composite
def crowds(draw: st.DrawFn) -> tuple[list[int], dict[str, Seat], int]:
    """Up to three nodes, up to seven workloads on them, and the cpu of one that waits."""
    sizes = draw(st.lists(st.integers(3, 8), min_size=1, max_size=3))
    seats: dict[str, Seat] = {}
    for node, size in enumerate(sizes):
        left = size
        while left > 0 and len(seats) < 7 and draw(st.integers(0, 9)):
            cpu = draw(st.integers(1, min(3, left)))
            seats[f"h{len(seats)}"] = (node, cpu, draw(st.integers(0, 3)))
            left -= cpu
    return sizes, seats, draw(st.integers(3, 8))


def oracle(
    sizes: Sequence[int], seats: Mapping[str, Seat], cpu: int, most: int | None
) -> tuple[int, int] | None:
    """The least cost of all sets: highest priority, then how many; None where no set will do."""
    found = []
    for count in range(1, (len(seats) if most is None else most) + 1):
        for gone in itertools.combinations(seats, count):
            stay = [seat for uid, seat in seats.items() if uid not in gone]
            free = [
                size - sum(takes for at, takes, _ in stay if at == node)
                for node, size in enumerate(sizes)
            ]
            if max(free) >= cpu:
                found.append((max(seats[uid][2] for uid in gone), count))
    return min(found, default=None)


@examples(200)
@given(crowds(), st.sampled_from([None, 1, 2]))
# Finding K11: three of four went, two on one node are enough; with a budget of two nobody went.
@example(([8, 8], {f"h{n}": (n % 2, 4, 0) for n in range(4)}, 8), 2)
def test_no_cheaper_victims_leave_the_room(
    crowd: tuple[list[int], dict[str, Seat], int], most: int | None
) -> None:
    """The highest priority that must go is the lowest that will do, and they are as few as can be."""
    sizes, seats, cpu = crowd
    limits = PreemptionLimits(budget=most)
    profile = replace(FOR_ROOM, rules=replace(FOR_ROOM.rules, limits=limits))
    plan = decide(a_scene(sizes, seats, {"w": (cpu, HIGH)}), profile)
    gone = {e.uid for e in plan.evictions}
    best = None if where(plan) else oracle(sizes, seats, cpu, most)
    if best is None:
        assert not gone
    else:
        assert (max(seats[uid][2] for uid in gone), len(gone)) == best


def test_much_of_what_is_drawn_makes_somebody_go() -> None:
    """The rule above has something to say: in one of ten scenes at least two go."""
    contents = Contents()

    @sample(100)
    @given(crowds())
    def play(crowd: tuple[list[int], dict[str, Seat], int]) -> None:
        sizes, seats, cpu = crowd
        plan = decide(a_scene(sizes, seats, {"w": (cpu, HIGH)}), FOR_ROOM)
        contents.note(len(plan.evictions) > 1)

    play()
    assert contents.are_in(0.1), contents.seen


def test_of_equals_the_least_work_is_lost() -> None:
    """Two pairs on two nodes would do: the pair that started last goes."""
    seats: dict[str, Seat] = {f"h{n}": (n // 2, 4, 0) for n in range(4)}
    plan = decide(a_scene([8, 8], seats, {"w": (8, HIGH)}), FOR_ROOM)
    assert {e.uid for e in plan.evictions} == {"h2", "h3"}


@pytest.mark.parametrize("budget", [None, 2])
def test_for_quota_too_fewer_go_where_they_stand_together(budget: int | None) -> None:
    """Kueue's order takes a, b and c, until n0 has the room: d alone leaves both quota and room."""
    seats: dict[str, Seat] = {"a": (0, 2, 0), "b": (0, 2, 0), "c": (0, 2, 0), "d": (1, 6, 0)}
    scene = a_scene([6, 6], seats, {"w": (6, HIGH)}, quota=17)
    profile = Profile(rules=Rules(limits=PreemptionLimits(budget=budget)))
    assert {e.uid for e in decide(scene, profile).evictions} == {"d"}


def test_for_quota_nobody_of_higher_priority_goes_instead() -> None:
    """One rather than three, but of a higher priority: the order of priorities stands."""
    seats: dict[str, Seat] = {"a": (0, 2, 0), "b": (0, 2, 0), "c": (0, 2, 0), "d": (1, 6, 1)}
    plan = decide(a_scene([6, 6], seats, {"w": (6, HIGH)}, quota=17))
    assert {e.uid for e in plan.evictions} == {"a", "b", "c"}


def test_nodes_are_named_where_the_room_is_kept() -> None:
    """The preemptor waits with a claim to the node that its victim leaves."""
    seats: dict[str, Seat] = {"a": (0, 4, 1), "b": (1, 4, 0)}
    (claim,) = decide(a_scene([4, 4], seats, {"w": (4, HIGH)}), FOR_ROOM).nominated
    assert (claim.cluster, claim.nodes, claim.victims) == ("c", ("n1",), ("b",))

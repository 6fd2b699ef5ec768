"""Preemption for room in the live cycle: whom it takes, from where, and that it leads where it said."""

from hypothesis import given

from hub.domain.plan import Nominated, Plan
from tests.domain.build import (
    decide,
    where,
)
from tests.examples import Contents, sample
from tests.properties.rooms import PROFILE, Fleet, a_scene, crowded, heads


def test_most_of_what_is_drawn_makes_somebody_go() -> None:
    """The rules below have something to say: in at least a quarter of the fleets somebody is evicted."""
    contents = Contents()

    @sample(100)
    @given(crowded(), heads)
    def play(fleet: Fleet, ask: dict[str, tuple[int, int]]) -> None:
        contents.note(decide(a_scene(*fleet, ask), PROFILE).evictions)

    play()
    assert contents.are_in(0.25), contents.seen


def victims_of(plan: Plan, nominated: Nominated) -> set[str]:
    return {e.uid for e in plan.evictions if e.by == nominated.uid}


@given(crowded(), heads)
def test_everybody_who_goes_has_a_lower_priority_and_stands_where_it_is_needed(
    fleet: Fleet, ask: dict[str, tuple[int, int]]
) -> None:
    """All victims of one preemptor are on the cluster that it is nominated for, and below it."""
    sizes, there = fleet
    plan = decide(a_scene(sizes, there, ask), PROFILE)
    for nominated in plan.nominated:
        victims = victims_of(plan, nominated)
        assert victims
        assert {f"c{there[uid][0]}" for uid in victims} == {nominated.cluster}
        assert all(there[uid][2] < ask[nominated.uid][1] for uid in victims)


@given(crowded(), heads)
def test_a_preemption_leads_to_the_placement_it_was_made_for(
    fleet: Fleet, ask: dict[str, tuple[int, int]]
) -> None:
    """Once the victims are gone, and what else the plan placed stands, the nominees fit where they were
    nominated; without any one victim somebody would not.
    """
    sizes, there = fleet
    plan = decide(a_scene(sizes, there, ask), PROFILE)
    gone = {e.uid for e in plan.evictions}
    after = {uid: each for uid, each in there.items() if uid not in gone}
    for placement in plan.placements:
        cpu, priority = ask[placement.uid]
        after[placement.uid] = (int(placement.cluster[1:]), cpu, priority)
    used = [sum(cpu for at, cpu, _ in after.values() if at == n) for n in range(len(sizes))]
    for nominated in plan.nominated:
        used[int(nominated.cluster[1:])] += ask[nominated.uid][0]
    assert all(amount <= size for amount, size in zip(used, sizes, strict=True))
    for uid in gone:
        at, cpu, _ = there[uid]
        assert used[at] + cpu > sizes[at]


@given(crowded(), heads)
def test_nobody_goes_who_could_come_back_in_turn(
    fleet: Fleet, ask: dict[str, tuple[int, int]]
) -> None:
    """Victims that wait again displace none of those that they went for."""
    sizes, there = fleet
    plan = decide(a_scene(sizes, there, ask), PROFILE)
    gone = {e.uid for e in plan.evictions}
    after = {uid: each for uid, each in there.items() if uid not in gone}
    placed = where(plan) | {n.uid: n.cluster for n in plan.nominated}
    for uid, cluster in placed.items():
        after[uid] = (int(cluster[1:]), *ask[uid])
    again = {uid: there[uid][1:] for uid in gone}
    second = decide(a_scene(sizes, after, again), PROFILE)
    went_for = {e.uid: e.by for e in plan.evictions}
    for eviction in second.evictions:
        assert eviction.uid != went_for[eviction.by]
        assert after[eviction.uid][2] < again[eviction.by][1]

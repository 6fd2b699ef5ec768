"""Preemption for quota where clusters matter: it evicts on one cluster, and leads to the placement there."""

from dataclasses import replace

import pytest
from hypothesis import example, given, strategies as st

from hub.domain.admission.nomination import Rules
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Nomination
from hub.domain.plan import Plan
from tests.domain.build import (
    decide,
    where,
)
from tests.examples import Contents, examples, sample
from tests.properties.crowds import (
    Crowd,
    Gang,
    Held,
    a_scene,
    crowded,
    pods_of,
    total,
    waiting,
)

profiles = st.sampled_from([Profile(), Profile(rules=Rules(fair=True))])


def test_much_of_what_is_drawn_makes_somebody_go() -> None:
    """The rules below have something to say: in at least one of seven scenes somebody is evicted."""
    contents = Contents()

    @sample(100)
    @given(crowded(), waiting)
    def play(crowd: Crowd, ask: dict[str, Gang]) -> None:
        contents.note(decide(a_scene(crowd, ask)).evictions)

    play()
    assert contents.are_in(0.15), contents.seen


def once_they_are_gone(crowd: Crowd, ask: dict[str, Gang], plan: Plan, profile: Profile) -> Plan:
    """The next cycle: victims are gone, what was placed stands, nominees keep their claims."""
    gone = {e.uid for e in plan.evictions}
    after = {uid: each for uid, each in crowd.held.items() if uid not in gone}
    for placement in plan.placements:  # a later round may have evicted what an earlier one placed
        if placement.uid not in gone:
            after[placement.uid] = (int(placement.cluster[1:]), ask[placement.uid])
    left = {uid: gang for uid, gang in ask.items() if uid not in where(plan)}
    claims = {n.uid: Nomination(n.cluster, pods_of(ask[n.uid])) for n in plan.nominated}
    scene = a_scene(crowd._replace(held=after), left)
    return decide(replace(scene, nominations=claims), profile)


@examples(250)
@given(crowded(), waiting, profiles)
# Who goes before it takes the room that its victims would have left it: then nobody is evicted for it.
@example(
    Crowd([6, 3], (6, 2), {f"h{n}": (0, ("q", 1, 1, 0)) for n in range(4)}),
    {"w0": ("q", 2, 3, 1), "w1": ("r", 2, 1, 0)},
    Profile(),
)
# Whoever has victims keeps its turn in the rounds that follow, and another does not take over one of them.
@example(
    Crowd(
        [6, 8],
        (8, 2),
        {
            "h0": (0, ("r", 1, 2, 2)),
            "h1": (0, ("q", 1, 1, 0)),
            "h2": (1, ("q", 1, 3, 3)),
            "h3": (1, ("r", 1, 3, 1)),
            "h4": (1, ("r", 1, 1, 3)),
        },
    ),
    {"w0": ("q", 2, 3, 2), "w1": ("r", 3, 2, 3), "w2": ("r", 3, 1, 3)},
    Profile(rules=Rules(fair=True)),
)
def test_a_plan_leads_to_the_placement_it_was_made_for(
    crowd: Crowd, ask: dict[str, Gang], profile: Profile
) -> None:
    """Victims gone and nothing else changed: every nominee is placed where it should be."""
    plan = decide(a_scene(crowd, ask), profile)
    if plan.nominated:
        then = once_they_are_gone(crowd, ask, plan, profile)
        nominated = {n.uid: n.cluster for n in plan.nominated}
        assert nominated.items() <= where(then).items()


def test_who_counts_on_quota_that_others_are_nominated_for_is_not_nominated() -> None:
    """Nobody goes for w0: once h0 and h1 have made way for w1 and w2, no quota is left for it."""
    held: dict[str, Held] = {"h0": (2, ("r", 2, 3, 0)), "h1": (2, ("r", 1, 2, 0))}
    ask: dict[str, Gang] = {"w0": ("q", 1, 1, 0), "w1": ("q", 2, 3, 1), "w2": ("r", 1, 2, 1)}
    plan = decide(a_scene(Crowd([3, 3, 8], (6, 2), held), ask))
    assert {n.uid for n in plan.nominated} == {"w1", "w2"}


@pytest.mark.parametrize("fair", [False, True])
def test_a_nominee_keeps_its_victims_until_the_cycle_is_over(fair: bool) -> None:
    """In a later round nobody takes over whom w3 is to follow, and w0 not the quota that it counts on."""
    held: dict[str, Held] = {
        "h0": (0, ("r", 1, 1, 2)), "h1": (0, ("q", 1, 1, 3)), "h2": (0, ("q", 1, 1, 3)),
        "h3": (1, ("r", 3, 1, 1)), "h4": (1, ("q", 3, 1, 2)), "h5": (2, ("r", 1, 2, 0)),
    }  # fmt: skip
    ask: dict[str, Gang] = {
        "w0": ("q", 1, 1, 2), "w1": ("r", 3, 1, 0), "w2": ("r", 3, 3, 1), "w3": ("q", 1, 3, 3)
    }  # fmt: skip
    plan = decide(a_scene(Crowd([7, 7, 3], (4, 9), held), ask), Profile(rules=Rules(fair=fair)))
    assert {n.uid: n.victims for n in plan.nominated}["w3"] == ("h4",)
    assert "w0" not in where(plan)


def test_who_has_its_quota_before_its_room_goes_on_waiting_for_it() -> None:
    """While h1 still stands where w1 will, w0 does not take the quota that w1 needs then."""
    held: dict[str, Held] = {"h0": (0, ("q", 1, 3, 1)), "h1": (1, ("q", 1, 1, 0))}
    ask: dict[str, Gang] = {"w0": ("q", 1, 2, 0), "w1": ("q", 1, 2, 1)}
    scene = a_scene(Crowd([3, 2, 2], (6, 0), held), ask)
    leaving = replace(scene.holders["q"]["h1"], evicted=True)
    plan = decide(
        replace(
            scene,
            holders={"q": {**scene.holders["q"], "h1": leaving}},
            nominations={"w1": Nomination("c1", pods_of(ask["w1"]), (leaving,))},
        )
    )
    assert not plan.placements
    assert not plan.evictions
    assert [(n.uid, n.cluster, n.victims) for n in plan.nominated] == [("w1", "c1", ("h1",))]


@examples(250)
@given(crowded(), waiting)
def test_nobody_is_evicted_for_a_gang_that_fits_nowhere(
    crowd: Crowd, ask: dict[str, Gang]
) -> None:
    """Whoever preempts is nominated for one cluster that is large enough for all of its pods."""
    plan = decide(a_scene(crowd, ask))
    assert {e.by for e in plan.evictions} <= {n.uid for n in plan.nominated}
    for nominated in plan.nominated:
        assert total(ask[nominated.uid]) <= crowd.sizes[int(nominated.cluster[1:])]

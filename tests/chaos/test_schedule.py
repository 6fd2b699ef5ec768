"""Schedules: all from one number, each within its time."""

import inspect

import pytest

from tests.chaos import run
from tests.chaos.links import MODES
from tests.chaos.schedule import LENGTH_S, schedule

SEEDS = range(1, 201)


def test_the_same_number_gives_the_same_schedule():
    """Two drawings of a number are equal, hash included; other numbers give others."""
    assert schedule(7) == schedule(7)
    assert len({schedule(seed).hash for seed in SEEDS}) == len(SEEDS)


def test_every_action_is_known_and_has_what_it_needs():
    """Each action of many schedules is one that a player can do, with arguments it takes."""
    player = run._Player
    for seed in SEEDS:
        for action in schedule(seed).actions:
            if action.do in run._USER_VERBS:
                continue
            signature = inspect.signature(getattr(player, f"_do_{action.do}"))
            signature.bind(None, **action.given())


def test_everything_begins_within_the_length():
    """Nothing is left to begin when the healing does."""
    latest = max(action.at for seed in SEEDS for action in schedule(seed).actions)
    assert latest < LENGTH_S


@pytest.mark.parametrize("mode", [m for m in MODES if m != "pass"])
def test_every_way_a_link_breaks_occurs(mode):
    """Some schedule breaks a link in this way."""
    modes = {action.given().get("mode") for seed in SEEDS for action in schedule(seed).actions}
    assert mode in modes


def test_a_schedule_submits_a_few_dozen_jobs():
    """Enough to meet faults, few enough for a minute."""
    for seed in SEEDS:
        submitted = [a.given()["jobs"] for a in schedule(seed).actions if a.do == "submit"]
        assert 8 <= sum(len(jobs) for jobs in submitted) <= 200, seed

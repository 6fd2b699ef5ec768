"""Schedules: all from one number, each within its time."""

import inspect
import itertools

import pytest

from tests.chaos import owners, run
from tests.chaos.administrator import Administrator
from tests.chaos.drawing import LEADER, LENGTH_S
from tests.chaos.links import MODES
from tests.chaos.schedule import schedule
from tests.simulation.owners.locals import Locals

SEEDS = range(1, 201)


def test_the_same_number_gives_the_same_schedule():
    """Two drawings of a number are equal, hash included; other numbers give others."""
    assert schedule(7) == schedule(7)
    assert len({schedule(seed).hash for seed in SEEDS}) == len(SEEDS)


def test_every_action_is_known_and_has_what_it_needs():
    """Each action of many schedules is one that a player can do, with arguments it takes."""
    player = run._Player
    for seed, hubs in itertools.product(SEEDS, (1, 2)):
        for action in schedule(seed, hubs).actions:
            if action.do in run._USER_VERBS:
                continue
            if action.do in run.ADMINISTRATOR_VERBS:
                given = {
                    k: v for k, v in action.given().items() if action.do != "queue" or k != "what"
                }
                verb = f"_{action.given()['what']}" if action.do == "queue" else action.do
                inspect.signature(getattr(Administrator, verb)).bind(None, **given)
                continue
            signature = inspect.signature(getattr(player, f"_do_{action.do}"))
            signature.bind(None, **action.given())


def test_everything_begins_within_the_length():
    """Nothing is left to begin when the healing does."""
    latest = max(
        action.at for seed in SEEDS for hubs in (1, 2) for action in schedule(seed, hubs).actions
    )
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


def test_one_hub_meets_nothing_that_several_would():
    """A schedule of one hub is what it was before there could be more; one of two has its own faults."""
    of_hubs = {"unbase", "part", "database"}
    assert not of_hubs & {a.do for seed in SEEDS for a in schedule(seed).actions}
    assert of_hubs <= {a.do for seed in SEEDS for a in schedule(seed, 2).actions}
    assert schedule(1).hash == "999978416612a9aa"


def test_every_hub_and_the_leader_is_hurt():
    """Killed or stopped: the one that leads then, and each by its name."""
    hurt = {
        action.given()["part"]
        for seed in SEEDS
        for action in schedule(seed, 2).actions
        if action.do in {"kill", "stop"}
    }
    assert {LEADER, "hub", "hub-2"} <= hurt


def test_every_act_of_the_owners_can_be_played_on_processes():
    """Each act of many seeds is one of the locals' or one that the player does, with what it takes."""
    for seed in SEEDS:
        for act in owners.draw(seed):
            name = act.what.replace("-", "_")
            owner = Locals if hasattr(Locals, name) else owners._Player
            inspect.signature(getattr(owner, name)).bind(None, *act.given)

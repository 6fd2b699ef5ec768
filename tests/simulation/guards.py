"""Two guards of a restored store for as long as they must hold: the silence of a member, and its overflow.

A Job of the lost time runs in a member through all of it. Findings A4 and A5: after 25 minutes of silence, or
with more earlier Jobs than are kept, the hub once released the job beside it.
"""

import random
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from hub.store import leftovers
from tests.simulation.checks import uid_and_epoch
from tests.simulation.faults import Scenario

if TYPE_CHECKING:
    from tests.simulation.restores import RestoredRun

_HELD_S: Final = 8.0  # from the beginning to the copy: the job is held meanwhile
_LOST_S: Final = 12.0  # from the copy to the restore: the Job begins meanwhile
_SILENCE_S: Final = (26 * 60.0, 60 * 60.0)
_ASKED_S: Final = 300.0  # at first; later everything that is held is asked for
_ASKED_EVERY_S: Final = 20.0


class Guard(StrEnum):
    """What alone keeps the job from a second start."""

    SILENCE = "silence"  # its member is not heard from for longer than leftovers are shown
    OVERFLOW = "overflow"  # its member has more earlier Jobs than are kept


def guard_of(seed: int) -> Guard | None:
    """In one seed of ten."""
    die = random.Random(seed ^ 0xA4A5)
    return die.choice(list(Guard)) if die.random() < 0.1 else None


def guarded(scenario: Scenario) -> Scenario:
    """One job that runs for longer than the guard has to hold, and nothing else befalls it."""
    return replace(
        scenario, run_s=_SILENCE_S[1] + 600.0, faults=[], jobs=1, limit=2, trouble=0.0, failing=0.0,
        consent=False, rights=False, queue_s=0.0, foreign=False, ttl_s=None,
    )  # fmt: skip


def arrange(run: "RestoredRun", guard: Guard) -> tuple[float, float, float]:
    """The job is held in the copy and released in the lost time. When: copied, put back, accepted."""
    world, copied, back = run.world, _HELD_S, _HELD_S + _LOST_S
    world.at(0.1, run.hub.wish, "w0", "hold")
    world.at(copied + 0.5, run.hub.wish, "w0", "release")
    if guard is Guard.OVERFLOW:
        leftovers.MOST_OF_MEMBER = 0  # type: ignore[misc]
    else:
        world.at(back - 0.1, _silence, run)
    return copied, back, back + 5.0


def _silence(run: "RestoredRun") -> None:
    """The member that has the Job is not heard from for longer than leftovers are shown."""
    for name, member in run.members.items():
        if any(uid_and_epoch(job)[0] == "w0" for job in member.jobs.values()):
            longest = random.Random(run.scenario.seed).uniform(*_SILENCE_S)
            run.silent = name, run.world.now + longest
            run.hub.networks[name].cut_until = run.silent[1]


def ask_again(run: "RestoredRun") -> None:
    """A person asks for the release, also while the member is silent."""
    at = run.accepted
    while at < run.accepted + _ASKED_S:
        at += _ASKED_EVERY_S
        run.world.at(at, run.hub.wish, "w0", "release")

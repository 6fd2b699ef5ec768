"""What befalls hubs that share a database, and the runs in which it does."""

import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from hub.store.errors import StoreUnavailable
from tests.simulation.faults import Scenario
from tests.simulation.hub_process import Process
from tests.simulation.replicas import PROCESSES, Replicas
from tests.simulation.services import WholeRun

_PAUSED_S: Final = 45.0
_CUT_S: Final = 40.0
_DEAF_S: Final = 40.0

Does = Callable[[Replicas, Process, float], None]


def _pause(hub: Replicas, process: Process, seconds: float) -> None:
    process.paused_until = hub.world.now + seconds * _PAUSED_S


def _cut(hub: Replicas, process: Process, seconds: float) -> None:
    hub.cut_until[process.name] = hub.world.now + seconds * _CUT_S


def _deaf(hub: Replicas, process: Process, seconds: float) -> None:
    hub.deaf_until[process.name] = hub.world.now + seconds * _DEAF_S


def _all_deaf(hub: Replicas, _process: Process, seconds: float) -> None:
    for index in range(PROCESSES):
        hub.deaf_until[f"p{index}"] = hub.world.now + seconds * _DEAF_S


def _down(hub: Replicas, _process: Process, seconds: float) -> None:
    """The database restarts."""
    for index in range(PROCESSES):
        hub.cut_until[f"p{index}"] = hub.world.now + seconds * _CUT_S


def _loses(how: str) -> Does:
    def lose(_hub: Replicas, process: Process, _seconds: float) -> None:
        process.db.loses = how

    return lose


def _dies(hub: Replicas, process: Process, seconds: float) -> None:
    hub.kill(process.name)
    hub.world.after(1.0 + 15.0 * seconds, hub._start_process, process.name)


def _goes(hub: Replicas, process: Process, seconds: float) -> None:
    """An orderly end, as in an upgrade."""
    with suppress(StoreUnavailable):
        hub.run(process.lease.release())
    _dies(hub, process, seconds)


def _another_leads(hub: Replicas, _process: Process, _seconds: float) -> None:
    hub.another_leads_in_plan = True


_FAULTS: Final[dict[str, Does]] = {
    "is paused": _pause,
    "is cut off from the database": _cut,
    "hears of no commits": _deaf,
    "and all others hear of no commits": _all_deaf,
    "is there as the database goes": _down,
    "commits, and does not know it": _loses("done"),
    "does not commit, and does not know it": _loses("undone"),
    "is killed": _dies,
    "is ended": _goes,
    "makes a plan that is late": _another_leads,
}
_MOMENTS: Final = (
    "submit",
    "offer",
    "create",
    "runs",
    "over",
    "withdraw",
    "requeue",
    "session",
    "leads",
)


class ReplicatedRun(WholeRun):
    """A scenario played on several hubs."""

    plays_losses = frozenset({"lost"})
    plays_consent = frozenset[str]()
    plays_queues = frozenset[str]()

    def __init__(self, scenario: Scenario, *, tell: bool = False) -> None:
        super().__init__(scenario, tell=tell)
        die = random.Random(scenario.seed ^ 0x5E7)
        if die.random() < 0.3:  # another agent begins, of which the other hub hears nothing
            seconds = die.random()
            self.world.on(
                "session",
                len(self.agents) + 1,
                partial(
                    self._follows_in_hub, "and all others hear of no commits", seconds, False, 0.0
                ),
            )
        for _ in range(die.choice((1, 1, 2, 2, 3, 4))):
            kind, seconds = die.choice(sorted(_FAULTS)), die.random() ** 2
            leader = die.random() < 0.5
            late = die.random() * die.choice((0.0, 0.05, 0.5, 5.0))
            if die.random() < 0.3:
                self.pending += 1
                self.world.at(
                    0.3 + die.random() ** 1.5 * 30.0, self._comes_to_hub, kind, seconds, leader
                )
            else:
                moment, nth = die.choice(_MOMENTS), die.choice((1, 1, 1, 2))
                follows = partial(self._follows_in_hub, kind, seconds, leader, late)
                self.world.on(moment, nth, follows)

    def _follows_in_hub(
        self, kind: str, seconds: float, leader: bool, late: float, _where: str
    ) -> None:
        if not self.mended:
            self.pending += 1
            self.world.after(late, self._comes_to_hub, kind, seconds, leader)

    def _comes_to_hub(self, kind: str, seconds: float, leader: bool) -> None:
        """`leader`: it befalls who leads, if anybody does."""
        self.pending -= 1
        hub: Replicas = self.hub  # type: ignore[assignment]
        if self.mended or not hub.processes:
            return
        leading = [each for each in hub.processes.values() if each.lease.term()]
        process = leading[0] if leader and leading else hub.processes[min(hub.processes)]
        self.world.note(f"* {process.name} {kind} ({seconds:.2f})")
        self.troubled_until = max(self.troubled_until, self.world.now + seconds * _PAUSED_S)
        _FAULTS[kind](hub, process, seconds)

    def new_hub(self, names: list[str]) -> Any:
        return Replicas(self.world, self.checks, names, self.scenario.limit)

    def mend(self) -> None:
        self.hub.mend()  # type: ignore[attr-defined]
        super().mend()

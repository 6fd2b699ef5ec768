"""Ten minutes in which no hub reaches the database, or no hub runs, on the simulation's clock."""

from dataclasses import replace
from typing import Any

import pytest

from tests.simulation import runner
from tests.simulation.faults import draw
from tests.simulation.replicas import Replicas
from tests.simulation.services import WholeRun

OUTAGE_S = 600.0
FRESH_SILENCE_S = 45.0  # no verdict before
VERDICT_S = 75.0  # the hub's 60 s, and the 15 s in which it is sure to look


class _Fleet(WholeRun):
    """Two hubs, two members, and nothing befalls them but what a test says."""

    hub: Replicas  # type: ignore[assignment]  # what `new_hub` makes

    def __init__(self, run_s: float) -> None:
        quiet: dict[str, Any] = {
            "jobs": 2, "limit": 2, "trouble": 0.0, "failing": 0.0, "foreign": False, "retries": 1,
            "ttl_s": None, "copied_at": 0.0, "faults": [], "run_s": run_s,
        }  # fmt: skip
        super().__init__(replace(draw(7), **quiet), tell=True)

    def new_hub(self, names: list[str]) -> Any:
        return Replicas(self.world, self.checks, names, self.scenario.limit)

    def go_on(self, seconds: float) -> None:
        self.world.run(self.world.now + seconds)

    def end(self, within_s: float) -> None:
        """Play until no job runs any more, for `within_s` at most."""
        last = self.world.now + within_s
        while self.world.now < last and any(state == "Running" for state, _ in self.states()):
            self.go_on(25.0)

    def states(self) -> list[tuple[str, int]]:
        """State and epoch of each job, as the database has them."""
        rows, _works = self.hub._read_books()
        return [(rows[uid]["state"], rows[uid]["epoch"]) for uid in sorted(rows)]

    def cut_off_database(self) -> None:
        self.hub.cut_until = dict.fromkeys(self.hub.processes, self.world.now + OUTAGE_S)

    def end_hubs(self) -> None:
        for name in list(self.hub.processes):
            self.hub.kill(name)
        self.world.after(OUTAGE_S, self.hub.start)

    def moves(self) -> list[str]:
        """What became of jobs, in order."""
        return [line for line in self.world.lines or () if "hub: w" in line and "→" in line]


@pytest.fixture(autouse=True)
def _quiet() -> None:
    runner.quiet()


@pytest.fixture(params=["database", "hubs"])
def outage(request: pytest.FixtureRequest) -> str:
    """What is gone."""
    return str(request.param)


def _begin(fleet: _Fleet, outage: str) -> None:
    fleet.go_on(20.0)
    assert fleet.states() == [("Running", 1)] * 2
    if outage == "database":
        fleet.cut_off_database()
    else:
        fleet.end_hubs()


@pytest.mark.parametrize("pods_s", [100.0, 700.0])
def test_an_outage_of_ten_minutes_kills_nothing(outage: str, pods_s: float) -> None:
    """Jobs that run go on running, or end meanwhile: each once, and their end is told afterwards."""
    fleet = _Fleet(pods_s)
    try:
        _begin(fleet, outage)
        before = len(fleet.moves())
        fleet.go_on(OUTAGE_S - 1.0)
        assert fleet.moves()[before:] == []
        fleet.go_on(1.0 + 30.0)
        ended = (
            3 * pods_s < OUTAGE_S
        )  # two pods, one after the other, each half as long to 1.5 times
        assert fleet.states() == [("Succeeded" if ended else "Running", 1)] * 2
        fleet.end(3 * pods_s)
        assert fleet.states() == [("Succeeded", 1)] * 2
        assert len(fleet.moves()) == before + 2
    finally:
        fleet.finish()


def test_after_an_outage_silence_counts_anew(outage: str) -> None:
    """A member that stays away is lost no sooner than if it had fallen silent when hubs listen again."""
    fleet = _Fleet(2000.0)
    try:
        _begin(fleet, outage)
        away = fleet.hub.networks["south"]
        away.cut_until = fleet.world.now + OUTAGE_S + 300.0
        before = len(fleet.moves())
        fleet.go_on(OUTAGE_S + FRESH_SILENCE_S)
        assert fleet.moves()[before:] == []
        fleet.go_on(VERDICT_S - FRESH_SILENCE_S + 15.0)
        lost = fleet.moves()[before:]
        assert len(lost) == 1, lost
        fleet.go_on(300.0)
        assert sorted(fleet.states()) == [("Running", 1)] * 2
    finally:
        fleet.finish()

"""The dice of one number, and the actions that scenes draw with them. Pure."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
LENGTH_S = 42.0
LEADER = "leader"  # a part that the player looks up when it does the action


@dataclass(frozen=True, order=True)
class Action:
    """At `at` seconds after the start: `do` with `args` (as JSON text, so that actions compare)."""

    at: float
    do: str
    args: str = "{}"

    def given(self) -> Json:
        return json.loads(self.args)


class Draw:
    """A schedule in the making."""

    def __init__(self, seed: int, hubs: int = 1) -> None:
        self.rng = random.Random(seed)
        self.hubs = hubs
        self.members = self.rng.choice([2, 2, 3])
        self.actions: list[Action] = []
        self.goes_back = False  # a schedule restores a backup once at most
        self._bursts = 0

    @property
    def burst(self) -> str:
        """The prefix of the names of the newest burst's jobs."""
        return f"b{self._bursts:02d}"

    def add(self, at: float, do: str, **args: Any) -> None:
        self.actions.append(Action(round(at, 2), do, json.dumps(args, sort_keys=True)))

    def member(self) -> str:
        return f"m{self.rng.randint(1, self.members)}"

    def hub(self) -> str:
        """One of the hubs, or whichever leads then."""
        return self.rng.choice([LEADER, "hub", *(f"hub-{n}" for n in range(2, self.hubs + 1))])

    def submit(self, at: float, count: int, *, run_s: float = 0.0, **more: Any) -> None:
        """A burst of jobs; `run_s` 0: short ones, and now and then a longer one."""
        rng = self.rng
        self._bursts += 1
        jobs = []
        for index in range(count):
            seconds = run_s or rng.choice([0.3, 0.6, 1.0, 1.5, 2.0, 5.0])
            jobs.append(
                {
                    "name": f"{self.burst}-{index:02d}",
                    "run_s": round(seconds * rng.uniform(0.8, 1.3), 2),
                    "indexes": rng.choice([1, 1, 1, 2, 3]),
                    "tight": rng.random() < 0.35,
                    "priority": rng.choice(["", "low", "high"]),
                    **more,
                }
            )
        self.add(at, "submit", key=f"burst-{self._bursts}", jobs=jobs)

    def load(self) -> None:
        rng = self.rng
        for _ in range(rng.randint(1, 3)):
            at, seconds = rng.uniform(0, LENGTH_S * 0.7), round(rng.uniform(4, 15), 1)
            self.add(at, "load", seconds=seconds, nice=rng.choice([0, 0, 10]))


Scene = Callable[[Draw, float], None]

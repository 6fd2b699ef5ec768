"""One seed of level `owners`: acts and faults, then everything is taken away and must come to rest."""

import asyncio
import random
import zlib
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.owners import acts
from tests.simulation.owners.acts import Act
from tests.simulation.owners.fleet import Fleet
from tests.simulation.owners.locals import Locals
from tests.simulation.owners.users import Users
from tests.simulation.owners.virtual import VirtualClock, VirtualLoop, determined, passes
from tests.simulation.world import Violation

_ACTS_S = 30.0
_SETTLED_S = 240.0
_LOOK_S = 5.0
_REAPPLY_S = 7.0
_REPORTED_S = 45.0  # agents are started by then, and have reported and applied what is there


@dataclass(frozen=True)
class OwnersScenario:
    """`faults`: the acts, by the name that shrinking knows."""

    seed: int
    faults: list[Act] = field(default_factory=list)


class Trace:
    """What `runner` reads of a run's world."""

    def __init__(self, loop: VirtualLoop, *, tell: bool) -> None:
        self._loop = loop
        self.steps = 0
        self.crc = 0
        self.lines: list[str] | None = [] if tell else None

    def note(self, text: str) -> None:
        self.steps += 1
        line = f"{self._loop.time():8.3f} {text}"
        self.crc = zlib.crc32(line.encode(), self.crc)
        if self.lines is not None:
            self.lines.append(line)


class OwnersRun:
    """A scenario with three owners."""

    @staticmethod
    def draw(seed: int) -> OwnersScenario:
        return OwnersScenario(seed, acts.draw(random.Random(seed ^ 0x0E2)))

    def __init__(self, scenario: OwnersScenario, *, tell: bool = False) -> None:
        self.scenario = scenario
        self.loop = VirtualLoop()
        self.world = Trace(self.loop, tell=tell)
        self.dice = random.Random(scenario.seed)
        self.calm = False
        self._tool: asyncio.Task[None] | None = None

    def play(self) -> None:
        """Raises Violation."""
        with determined(self.scenario.seed):
            self.fleet = Fleet(VirtualClock(self.loop), self.dice, self.world.note)
            with self.fleet.wired():
                self.loop.run_until_complete(self._play())

    def finish(self) -> None:
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()

    async def _play(self) -> None:
        fleet = self.fleet
        fleet.later = self._later  # type: ignore[attr-defined]
        try:
            await fleet.start(acts.MEMBERS)
            self.users, self.locals = Users(fleet), Locals(fleet)
            await self.users.open()
            self._tool = asyncio.create_task(self._reapply())
            await self._befall()
            await self._settle()
        finally:
            if self._tool is not None:
                self._tool.cancel()
            await fleet.stop()

    async def _befall(self) -> None:
        for act in self.scenario.faults:
            await passes(max(0.0, act.at - self.loop.time()))
            await self._act(act.what, act.given)
            self._look()
        await passes(max(0.0, _ACTS_S - self.loop.time()))

    async def _act(self, what: str, given: tuple[Any, ...]) -> None:
        name = what.replace("-", "_")
        owner = next(
            (each for each in (self.users, self.locals, self) if hasattr(each, name)), None
        )
        assert owner is not None, what
        if owner is self.users and not self.fleet.hub.up:
            return
        said = await getattr(owner, name)(*given)
        self.world.note(f"{what} {' '.join(map(str, given))}{': ' + said if said else ''}")
        if what == "drain":
            self._later(given[1], "uncordon", (given[0],))

    def _later(self, seconds: float, what: str, given: tuple[Any, ...]) -> None:
        self.loop.call_later(
            seconds, lambda: self.calm or asyncio.ensure_future(self._act(what, given))
        )

    async def _reapply(self) -> None:
        """The GitOps controller's own rounds."""
        while True:
            await passes(_REAPPLY_S)
            for (member, _, _), body in list(self.locals.reapplied.items()):
                await self.locals.reapply_once(member, body)

    # --- faults ----------------------------------------------------------------------------------

    async def agent_dies(self, member: str, writes: int, when: str, back: float) -> str:
        one = self.fleet.members[member]
        if one.line is None or one.running is None:
            return "none runs"
        if when == "now":
            await one.kill()
        else:
            one.line.writes_left, one.line.dies_when = writes, when
        self._later(6.0 + back, "agent-starts", (member,))
        return ""

    async def agent_starts(self, member: str) -> str:
        one = self.fleet.members[member]
        if one.running is not None and one.running.done():
            one.running = None
        one.start()
        return ""

    async def hub_dies(self, seconds: float) -> str:
        if not self.fleet.hub.up:
            return "it is down"
        await self.fleet.hub.stop()
        self._later(seconds, "hub-starts", ())
        return ""

    async def hub_starts(self) -> str:
        if not self.fleet.hub.up:
            await self.fleet.hub.start()
        return ""

    async def cut(self, member: str, seconds: float) -> str:
        self.fleet.members[member].is_cut = True
        self._later(seconds, "mend", (member,))
        return ""

    async def mend(self, member: str) -> str:
        self.fleet.members[member].is_cut = False
        return ""

    async def lossy(self, share: float) -> str:
        self.fleet.loses = share
        for member in self.fleet.members.values():
            if member.line is not None:
                member.line.loses = share
        return ""

    # --- at the end ------------------------------------------------------------------------------

    async def _settle(self) -> None:
        """Everything works again, and everything is taken away."""
        self.calm = True
        await self.lossy(0.0)
        await self.hub_starts()
        for name, member in self.fleet.members.items():
            await self.mend(name)
            await self.users.uncordon(name)
            if member.line is not None:
                member.line.writes_left = -1
            await self.agent_starts(name)
        await self.locals.let_go()
        await self._decide_about_the_lost()
        for name in sorted(self.users.placed):
            self.world.note(f"unplace {name}: {await self.users.unplace(name)}")
        await self.users.unsubmit_all()
        left, until = "?", self.loop.time() + _SETTLED_S
        while left and self.loop.time() < until:
            await passes(_LOOK_S)
            self._look()
            left = self._left() or await self._listed()
        if left:
            raise Violation("O-4", left)

    async def _listed(self) -> str:
        members = await self.users.left()
        return f"what is listed is never removed: {members}" if members else ""

    async def _decide_about_the_lost(self) -> None:
        """What is listed is removed. What no agent watches any more is placed again, and taken back.

        A Namespace in which other placements have objects goes once these are taken back.
        """
        until = self.loop.time() + _SETTLED_S
        await passes(_REPORTED_S if self.users.lost else 0.0)
        while (members := await self.users.left()) and self.loop.time() < until:
            for member in members:
                await self.users.decide(member, "Remove")
            await passes(_LOOK_S)
            self._look()
        for name in sorted(self.users.lost - self.users.placed):
            self.world.note(
                f"place {name} again: {await self.users.place(name, *acts.EVERYWHERE)}"
            )
        await passes(_REPORTED_S if self.users.lost else 0.0)

    def _left(self) -> str:
        found = (member.ledger.left_behind() for member in self.fleet.members.values())
        return next((each for each in found if each), "")

    def _look(self) -> None:
        fault = self.fleet.hub.fault() if self.fleet.hub.up else None
        if fault is not None:
            raise fault
        if self.fleet.hub_side.failed:
            raise self.fleet.hub_side.failed[0]

"""Gives jobs the value of their WorkloadPriorityClass once it was made or edited, while this process leads.

Level-based: the first turn of a leader compares every class, and so does one turn in ten minutes, for a job
that another hub accepted with the earlier value.
"""

from collections.abc import Callable
from typing import Final

from hub.controllers.lease import NOT_LEADING
from hub.services.context.hub import Hub
from hub.services.queues import class_values
from shared.loop import Loop, Observer, unobserved

EVERY_S: Final = 2.0
COMPARES_ALL_S: Final = 600.0
_LEAST_S: Final = 0.02  # between two batches: others write too


class ClassValues:
    """One turn: one small query; a search through the jobs where a value changed; then a batch at a time."""

    def __init__(self, hub: Hub, term: Callable[[], int], observe: Observer = unobserved) -> None:
        self._hub = hub
        self._term = term
        self._carried_out: dict[str, int] = {}  # values that every job of the class has
        self._compared_at = 0.0
        self._behind: list[tuple[str, list[str]]] = []  # batches of uids by class
        self.loop = Loop(
            "class-values",
            self.tick,
            hub.clock,
            every_s=EVERY_S,
            least_s=_LEAST_S,
            observe=observe,
        )

    async def run(self) -> None:
        """Until cancelled."""
        await self.loop.run()

    async def tick(self) -> float | None:
        """One turn; 0 to take the next at once."""
        term = self._term()
        if term == NOT_LEADING:
            self._carried_out, self._behind = {}, []
            return None
        if not self._behind:
            await self._search()
        if not self._behind:
            return None
        name, uids = self._behind.pop(0)
        await self._hub.write(class_values.carry_out, name, uids, term)
        return 0.0

    async def _search(self) -> None:
        """Look for jobs of classes that changed; a class of which none is left is carried out."""
        now = self._hub.clock.monotonic()
        if now - self._compared_at >= COMPARES_ALL_S:
            self._carried_out, self._compared_at = {}, now
        values = await self._hub.read(class_values.values)
        changed = {n: value for n, value in values.items() if self._carried_out.get(n) != value}
        found = await self._hub.read(class_values.behind, changed) if changed else {}
        self._carried_out = {n: value for n, value in values.items() if n not in found}
        size = class_values.BATCH
        for name, uids in found.items():
            self._behind += [(name, uids[at : at + size]) for at in range(0, len(uids), size)]

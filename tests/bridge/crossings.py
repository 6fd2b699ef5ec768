"""A connection of the bridge whose turns a test takes, one by one."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from hub.bridge.bridge import _Crossing
from hub.bridge.kinds import Mirrored
from shared.clock import ManualClock
from shared.kubesim.cluster import SimCluster
from tests.bridge.hub_cluster import until
from tests.bridge.parts import KINDS, Parts, on_simulated


class Turns:
    """The turns of one connection; `term` 0: this hub does not lead."""

    def __init__(self, it: Parts) -> None:
        self.it = it
        self.term = it.term
        self.crossing = _Crossing(it.hub.hub, lambda: self.term, it.kube, it.condition)
        self.sources = self.crossing._sources

    async def follow(self, kinds: Sequence[Mirrored]) -> None:
        """The caches of these kinds, complete."""
        for kind in kinds:
            await self.sources.add(kind)
        await self.sources.synced()

    async def take(self) -> float | None:
        """A turn inward; the seconds until it wants another."""
        return await self.crossing._take()

    async def give(self) -> None:
        """The turns outward."""
        await self.crossing._give()
        await self.crossing._show()

    async def level(self, obj: dict[str, Any]) -> None:
        """Wait until the cache shows what the API server has."""
        version = int((await self.it.live(obj))["metadata"]["resourceVersion"])

        async def shown() -> bool:
            place = self.sources.place_of(obj["metadata"]["uid"])
            found = None if place is None else self.sources.get(place)
            return found is not None and int(found[1]["metadata"]["resourceVersion"]) >= version

        await until(shown)


@contextlib.asynccontextmanager
async def crossing(
    directory: Path, kinds: Sequence[Mirrored] = KINDS, clock: ManualClock | None = None
) -> AsyncIterator[tuple[Turns, Parts, SimCluster]]:
    """The turns between a fresh hub and a simulated hub cluster, whose objects are of these kinds."""
    async with on_simulated(directory, kinds, clock) as (it, cluster):
        turns = Turns(it)
        await turns.follow(kinds)
        try:
            yield turns, it, cluster
        finally:
            await turns.sources.close()

"""Says where this hub process is reached by the others of its store, until it ends."""

import contextlib

from hub.services.context.hub import Hub
from hub.services.live import peers
from hub.store.errors import StoreError
from shared.loop import Loop


class Reached:
    """`name`: the process's own; `url`: where the others reach it."""

    def __init__(self, hub: Hub, name: str, url: str) -> None:
        self._hub, self._name, self._url = hub, name, url
        self.loop = Loop("peers", self._tick, hub.clock, every_s=peers.EVERY_S)

    async def run(self) -> None:
        """Until cancelled."""
        try:
            await self.loop.run()
        finally:
            with contextlib.suppress(StoreError):
                await self._hub.write(peers.go, self._name)

    async def _tick(self) -> None:
        await self._hub.write(peers.tell, self._name, self._url)

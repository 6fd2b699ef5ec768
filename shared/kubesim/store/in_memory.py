"""The durability of a cluster that keeps nothing."""

import asyncio

from shared.kubesim.store.objects import Event, ObjectStore
from shared.kubesim.store.watch import WatchHub


class InMemory:
    """Durability of a cluster that keeps nothing: a change counts at once."""

    def __init__(self, hub: WatchHub, store: ObjectStore) -> None:
        self._hub = hub
        self._scheduled = False
        self._store = store
        store.subscribe(self._note)

    def _note(self, event: Event) -> None:
        if not self._scheduled:
            self._scheduled = True
            try:
                asyncio.get_running_loop().call_soon(self._release)
            except RuntimeError:  # no loop yet: written while the cluster is being built
                self._release()

    def _release(self) -> None:
        self._scheduled = False
        self._hub.release(self._store.rv)

    async def committed(self, rv: int) -> None:
        """Everything is as durable as it gets."""

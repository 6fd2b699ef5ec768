"""Authenticates the sessions of agents by the store: one query for all concurrent requests.

A hub that shares its store may not have heard yet that an agent has been superseded elsewhere. Whatever
it answers prolongs that agent's lease, counted from when the request was sent; so it looks into the store
after the request has come (docs/explain/exactly-once.md, rule 4).
"""

import asyncio
from collections.abc import Mapping

from hub.store import clusters
from hub.store.engine import Database
from hub.store.records.members import Speaking

_Round = asyncio.Future[Mapping[str, Speaking]]


class SpeakingSessions:
    """One read at a time; who asks meanwhile is answered by the next."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._asked: set[str] = set()
        self._coming: _Round | None = None  # will read what is asked now
        self._under_way: _Round | None = None

    async def of(self, cluster: str) -> Speaking | None:
        """Read after this was called; None for a cluster that is not there. Raises StoreUnavailable."""
        self._asked.add(cluster)
        if self._coming is None:
            self._coming = asyncio.ensure_future(self._read(self._under_way))
        return (await asyncio.shield(self._coming)).get(cluster)

    async def _read(self, before: _Round | None) -> Mapping[str, Speaking]:
        if before is not None:
            await asyncio.wait([before])
        asked, self._asked = self._asked, set()
        self._under_way, self._coming = self._coming, None
        return await self._db.read(lambda tx: clusters.sessions(tx, asked))

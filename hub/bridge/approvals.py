"""Imports condition Approved of approval requests on the hub cluster.

The requests are mirrors, or made there; either way their status is open to whoever the roles let write it.
Each turn looks at all of them, and takes those that were approved since.
"""

from typing import Final

import structlog

from hub.bridge.sources import Place, Sources
from hub.services.context.hub import Hub
from hub.services.placements.staged import approvals
from hub.store.errors import StaleTerm, StoreUnavailable
from shared.conditions import find, is_true
from shared.groups import PLACEMENT
from shared.kinds.staged_v1 import REQUEST_KINDS

log: Final = structlog.get_logger(__name__)


class Approvals:
    """Follows the requests of all staged update runs of the hub cluster."""

    def __init__(self, hub: Hub, sources: Sources) -> None:
        self._hub = hub
        self._sources = sources
        self._taken: set[str] = set()  # uids of rows

    async def turn(self, term: int) -> None:
        """Take what has been approved; one that can not be read stops no other."""
        for kind in REQUEST_KINDS:
            for place in self._sources.all_of(PLACEMENT, kind):
                await self._look_at(place, term)

    async def _look_at(self, place: Place, term: int) -> None:
        found = self._sources.get(place)
        if found is None:
            return
        uid = self._sources.row_of(found[1])
        try:
            conditions = (found[1].get("status") or {}).get("conditions")
            said = find(conditions, approvals.APPROVED)
            if said is None or said["status"] != "True":
                self._taken.discard(uid)
                return
            if uid in self._taken or is_true(conditions, approvals.ACCEPTED):
                return
            if await self._hub.write(approvals.hear_approval, term, uid, dict(said)):
                self._taken.add(uid)
        except (StaleTerm, StoreUnavailable):
            raise
        except Exception:
            log.exception("approval.failed", name=place[3])

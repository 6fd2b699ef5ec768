"""Imports condition Active of AdmissionChecks from the hub cluster.

There are few such objects: each turn looks at all of them, and takes those whose conditions changed.
Of checks whose controller is the hub itself the status goes the other way (`hub.bridge.writeback`).
"""

from typing import Final

import orjson
import structlog

from hub.bridge.sources import Sources
from hub.domain.workloads.admission_checks import MULTIKUEUE
from hub.services.context.hub import Hub
from hub.services.mirror import workloads
from hub.store.errors import StaleTerm, StoreUnavailable
from shared.documents import JsonView
from shared.errors import Rejected
from shared.groups import KUEUE

CHECK: Final = "AdmissionCheck"
ACCEPTED: Final = "Accepted"  # the bridge's own
log = structlog.get_logger(__name__)


def answered_outside(obj: JsonView) -> bool:
    """Has this check a controller other than the hub?"""
    return (obj.get("spec") or {}).get("controllerName") != MULTIKUEUE


def _told(obj: JsonView) -> list[JsonView]:
    """The conditions that are its controller's."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    return [each for each in conditions if each.get("type") != ACCEPTED]


class CheckConditions:
    """Follows the conditions of all AdmissionChecks of the hub cluster."""

    def __init__(self, hub: Hub, sources: Sources) -> None:
        self._hub = hub
        self._sources = sources
        self._taken: dict[str, bytes] = {}  # by uid

    async def turn(self, term: int) -> None:
        """Take what has changed; one that can not be read stops no other."""
        places = self._sources.all_of(KUEUE, CHECK)
        alive = set()
        for place in places:
            found = self._sources.get(place)
            if found is None or not answered_outside(found[1]):
                continue
            obj = found[1]
            uid = self._sources.row_of(obj)
            alive.add(uid)
            name = obj["metadata"]["name"]
            try:
                told = _told(obj)
                mark = orjson.dumps(told)
                if not told or self._taken.get(uid) == mark:
                    continue
                if not await self._hub.write(workloads.hear_check, term, uid, told):
                    continue  # refused so far: its Accepted condition says why
            except (StaleTerm, StoreUnavailable):
                raise
            except Rejected as refusal:
                log.info("check.unheard", name=name, code=refusal.code, detail=refusal.detail)
            except Exception:
                log.exception("check.failed", name=name)
                continue
            self._taken[uid] = mark
        self._taken = {uid: mark for uid, mark in self._taken.items() if uid in alive}

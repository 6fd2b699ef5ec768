"""Evictions that were made on the hub cluster go there once they are old, as those of REST do in the store.

What became of one is in its own status: nothing is asked of the store. One without a verdict stays.
"""

import datetime as dt
from typing import Final

import structlog

from hub.bridge.sources import Source, Sources
from hub.services.context.hub import Hub
from shared.groups import PLACEMENT
from shared.kinds.eviction_v1 import EVICTIONS
from shared.kube import errors
from shared.kube.client import KubeClient, Object

EVERY_S: Final = 60.0
MOST: Final = 100  # in one turn
log = structlog.get_logger(__name__)


class OldEvictions:
    """Removes them, some at a time."""

    def __init__(self, hub: Hub, client: KubeClient, sources: Sources) -> None:
        self._hub = hub
        self._client = client
        self._sources = sources
        self._looked_at = -EVERY_S

    async def turn(self) -> None:
        """Look once a minute; what can not be removed now is left for the next time."""
        at = self._hub.clock.monotonic()
        if at - self._looked_at < EVERY_S:
            return
        self._looked_at = at
        before = self._hub.clock.now() - self._hub.settings.retention.evictions
        for source, obj in self._old(before)[:MOST]:
            metadata = obj["metadata"]
            try:
                await self._client.delete(
                    source.informer.api_version,
                    source.kind.kind,
                    metadata.get("namespace") or "",
                    metadata["name"],
                    uid=metadata["uid"],
                )
            except errors.KubeError as refusal:
                log.info("eviction.kept", name=metadata["name"], error=str(refusal))

    def _old(self, before: dt.datetime) -> list[tuple[Source, Object]]:
        places = [place for kind in EVICTIONS for place in self._sources.all_of(PLACEMENT, kind)]
        found = [each for place in places if (each := self._sources.get(place)) is not None]
        return [
            (source, obj)
            for source, obj in found
            if not self._sources.is_mirror(obj) and is_over(obj, before)
        ]


def is_over(eviction: Object, before: dt.datetime) -> bool:
    """Has it been decided before that instant?"""
    told = (eviction.get("status") or {}).get("conditions") or ()
    said = [each for each in told if each.get("type") in ("Valid", "Executed")]
    try:
        return bool(said) and all(
            dt.datetime.fromisoformat(each["lastTransitionTime"]) < before for each in said
        )
    except (KeyError, TypeError, ValueError):
        return False

"""Selects the Jobs of REST to mirror to the hub cluster: by namespace, up to the limit.

Jobs come from the feed as they change, and from the store page by page where there was no room for them;
what has ended makes room for what has not. Nothing here grows beyond the number that may be shown.
"""

import datetime as dt
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from hub.bridge.kinds import NAMESPACE
from hub.bridge.sources import Sources
from hub.domain.workloads.origin import Origin
from hub.services.context.hub import Hub
from hub.services.context.settings import BridgeSettings
from hub.services.mirror import shown
from hub.services.mirror.shown import Position, ended_before
from hub.store.records.workloads import Workload
from shared import labels

PAGE: Final = 1000  # rows looked at in one turn


class ShownJobs:
    """The uids of Jobs that have a mirror, or are to get one."""

    def __init__(self, hub: Hub, sources: Sources) -> None:
        self._hub = hub
        self._sources = sources
        self._held: set[str] = set()
        self._ended: OrderedDict[str, None] = OrderedDict()  # of those, in the order of their ends
        self._yielding: set[str] = set()
        self._after: Position | None = None  # how far the store was looked through
        self._more = True  # some were passed over, or not looked at yet
        self._switches: dict[str, str] = {}

    @property
    def _settings(self) -> BridgeSettings:
        return self._hub.settings.bridge

    @property
    def _room(self) -> int:
        return max(0, self._settings.jobs_at_most - len(self._held))

    def anywhere(self) -> bool:
        """Are Jobs shown in any namespace?"""
        return self._settings.jobs == "On" or "true" in self._switches.values()

    @property
    def extent(self) -> str:
        """How many of REST's Jobs are shown: None, All, or Some, where there is no room for others."""
        if not self.anywhere():
            return "None"
        return "Some" if self._more and not self._room else "All"

    @property
    def may_find_more(self) -> bool:
        """Is there room for some that were passed over, or something that could make it?"""
        return self._more and self.anywhere() and bool(self._room or self._ended)

    def look_at_switches(self) -> bool:
        """Read the label of all Namespaces; True if what it says of some has changed."""
        found = {}
        for place in self._sources.all_of(NAMESPACE.group, NAMESPACE.kind):
            each = self._sources.get(place)
            marks = (each[1]["metadata"].get("labels") or {}) if each else {}
            if labels.SHOW_JOBS in marks:
                found[place[3]] = str(marks[labels.SHOW_JOBS])
        changed = found != self._switches
        if changed:
            self._switches, self._after, self._more = found, None, True
        return changed

    def held(self) -> list[str]:
        """All of them."""
        return list(self._held)

    def concern(self, uids: Iterable[str]) -> list[str]:
        """Those of these workloads that are to be looked at: shown ones, and others while there is room."""
        found = []
        for uid in uids:
            if uid not in self._held:
                if not self.anywhere():
                    continue
                if not self._room:
                    self._more = True
                    continue
                self._held.add(uid)
            found.append(uid)
        return found

    def keep(self, uid: str) -> None:
        """It has a mirror, whatever else is true of it."""
        self._held.add(uid)

    def drop(self, uid: str) -> None:
        """It has no mirror any more, and gets none."""
        self._held.discard(uid)
        self._ended.pop(uid, None)
        self._yielding.discard(uid)

    def wants(self, row: Workload, now: dt.datetime, *, has_mirror: bool) -> bool:
        """Is this Job to be shown? One that has ended is for a while, if no other waits for the room."""
        if not self._is_on(row.namespace):
            return False
        if row.finished_at is None:
            self._ended.pop(row.uid, None)
            self._yielding.discard(row.uid)
            return True
        if row.uid in self._yielding or (self._more and not has_mirror):
            return False
        self._ended.setdefault(row.uid)
        return not ended_before(row, now - self._settings.ended_jobs)

    def _is_on(self, namespace: str) -> bool:
        said = self._switches.get(namespace)
        return said == "true" if said in ("true", "false") else self._settings.jobs == "On"

    async def find_more(self) -> list[str]:
        """Jobs to look at: from the store where there is room, else ended ones that make some."""
        if not self._more or not self.anywhere():
            return []
        if not self._room:
            count = min(len(self._ended), PAGE)
            leaving = [self._ended.popitem(last=False)[0] for _ in range(count)]
            self._yielding.update(leaving)
            return leaving  # their absence is the news that there is room
        page = await self._hub.read(shown.jobs_after, self._after, PAGE)
        found: list[str] = []
        for each in page:
            if not self._room:
                return found
            self._after = (each.created_at, each.uid)
            wanted = each.kind == "Job" and each.origin == Origin.REST and each.live
            if not wanted or each.finished_at is not None or each.uid in self._held:
                continue
            if self._is_on(each.namespace):
                self._held.add(each.uid)
                found.append(each.uid)
        self._more = len(page) == PAGE
        return found

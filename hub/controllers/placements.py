"""Keeps placements level: follows the feed, looks again at those concerned, writes their status.

Off the dispatch path: turns are at least 200 ms apart, a placement is reconciled once per turn however
much has changed, and a failed one is retried without delaying the others.
"""

import asyncio
import contextlib
import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import structlog

from hub.controllers.placement_news import FOLLOWED, PlacementNews
from hub.domain.fleet.clusters import Cluster
from hub.services.consent.placed import name_placed
from hub.services.context.hub import Hub
from hub.services.mirror.not_taken import NotTaken
from hub.services.objects import leave, left_behind
from hub.services.placements.reported.reports import take_reports
from hub.services.placements.staged.index import tell_orphans
from hub.services.placements.status import reconcile_with_status
from shared.loop import Loop

EVERY_S: Final = 10.0
LEAST_S: Final = 0.2
MOST_REST_S: Final = 1.0  # after a long turn, so that more reports are taken together
LEAVING_S: Final = 2.0  # minimum interval of checks of leaving members
_TOGETHER: Final = 32  # placements whose transactions share a commit
log = structlog.get_logger(__name__)


FindPromised = Callable[[], Mapping[str, Mapping[str, int]]]


def _nothing() -> Mapping[str, Mapping[str, int]]:
    return {}


class Placements:
    """One turn: find who is concerned by what changed, reconcile them."""

    def __init__(
        self,
        hub: Hub,
        term: Callable[[], int],
        promised: FindPromised = _nothing,
        not_taken: NotTaken | None = None,
    ) -> None:
        """`promised`: what members were promised and have not reported yet, by member and resource.

        `not_taken`: what the bridge did not take from the hub cluster.
        """
        self._not_taken = not_taken or NotTaken()
        self._hub = hub
        self._promised = promised
        self._term = term
        self._news = PlacementNews(hub, self._not_taken)
        self._failed: dict[str, float] = {}  # until when those that failed are left alone
        self._due: dict[str, dt.datetime] = {}  # when to look at those again that time makes ready
        self._told: set[str] = set()  # runs with a recorded missing placement
        self._loaded = False
        self._orphans_at = self._leaving_at = 0.0  # when to look for them again
        self._changes = hub.subscribe(*FOLLOWED)
        self.loop = Loop(
            "placements",
            self.tick,
            hub.clock,
            every_s=EVERY_S,
            least_s=LEAST_S,
            most_rest_s=MOST_REST_S,
        )
        self._not_taken.told = self.loop.wake

    async def run(self) -> None:
        """Follow and work until cancelled."""
        waking = asyncio.create_task(self._wake())
        try:
            await self.loop.run()
        finally:
            waking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await waking
            self._changes.close()

    async def _wake(self) -> None:
        async for _ in self._hub.subscribe(*FOLLOWED):
            self.loop.wake()

    async def tick(self) -> float | None:
        """One turn; wants the next at once while placements are left."""
        term = self._term()
        if not term:
            self._forget()
            return None
        if not self._loaded:
            await self._news.load()
            self._loaded = True
        change = self._changes.take()
        await self._news.follow({} if change is None else change.keys)
        self._retry_failed()
        self._look_at_due()
        await self._tell_orphans(term)
        await self._let_members_leave(term)
        batch = sorted(self._news.dirty | self._news.reported.keys())[: 4 * _TOGETHER]
        for start in range(0, len(batch), _TOGETHER):
            few = batch[start : start + _TOGETHER]
            await asyncio.gather(*(self._one(uid, term) for uid in few))
        await self._name_namespaces()
        if batch and (self._news.dirty or self._news.reported):
            return 0.0
        await self._take_back_orphans(term)
        return self._until_due()

    async def _name_namespaces(self) -> None:
        """See that agents report the consent of every namespace in which placements have objects."""
        whole = not (self._news.dirty or self._news.reported)
        if (needed := self._news.placed.unnamed(self._news.fleet, whole=whole)) is not None:
            asked = await self._hub.write(name_placed, needed, whole=whole)
            self._news.placed.took(asked, whole=whole)

    async def _let_members_leave(self, term: int) -> None:
        """Those that are being emptied are forgotten once they are."""
        now = self._hub.clock.monotonic()
        if now < self._leaving_at:
            return
        self._leaving_at = now + LEAVING_S
        if await self._hub.read(leave.are_some_leaving):
            await self._hub.write(leave.finish, term)

    async def _take_back_orphans(self, term: int) -> None:
        """All are reconciled: leftovers on clusters that came back may go."""
        now = self._hub.clock.monotonic()
        if self._failed or now < self._orphans_at:
            return
        self._orphans_at = now + EVERY_S / 2
        if await self._hub.read(left_behind.is_any_back):
            await self._hub.write(left_behind.take_back_orphans, term)

    def _forget(self) -> None:
        """Another hub leads: nothing is remembered, and all is read when this one does."""
        self._changes.take()
        if self._loaded:
            self._news = PlacementNews(self._hub, self._not_taken)
            for each in (self._failed, self._due, self._told):
                each.clear()
            self._loaded = False

    def _retry_failed(self) -> None:
        """Look again at what failed a while ago, though nothing has changed: the fault may have passed."""
        now = self._hub.clock.monotonic()
        due = {uid for uid, until in self._failed.items() if until <= now}
        if due:
            self._news.dirty |= due.intersection(self._news.index.uids())
            self._failed = {u: until for u, until in self._failed.items() if u not in due}

    def _look_at_due(self) -> None:
        """Objects of kinds without availability count as ready after a while."""
        now = self._hub.clock.now()
        due = {uid for uid, at in self._due.items() if at <= now}
        self._news.dirty |= due.intersection(self._news.index.uids())
        for uid in due:
            del self._due[uid]
        self._news.dirty |= self._news.awaited.take_due(now)

    async def _tell_orphans(self, term: int) -> None:
        """Runs wait for their placements, and show it; a faulty one stops no other."""
        orphans = self._news.index.runs.orphans()
        fresh = [uid for uid in orphans if uid not in self._told]
        self._told.intersection_update(orphans)
        if fresh:
            try:
                await self._hub.write(tell_orphans, fresh, term)
                self._told.update(fresh)
            except Exception as fault:  # noqa: BLE001 - placements go on
                log.warning("runs not told", fault=f"{type(fault).__name__}: {fault}")

    def _until_due(self) -> float | None:
        times = [*self._due.values(), self._news.awaited.next_at()]
        first = min((at for at in times if at is not None), default=None)
        if first is None:
            return None
        left = (first - self._hub.clock.now()).total_seconds()
        return min(max(0.0, left), EVERY_S)

    async def _one(self, uid: str, term: int) -> None:
        """Bring one placement up to date; a fault is its own."""
        reported = self._news.reported.pop(uid, set())
        whole = uid in self._news.dirty or not self._news.standing.has(uid)
        self._news.dirty.discard(uid)
        try:
            if whole or not await self._take_reports(uid, reported, term):
                await self._reconcile(uid, term)
        except Exception as fault:  # noqa: BLE001 - one placement must not stop the others
            log.warning("placement failed", uid=uid, fault=f"{type(fault).__name__}: {fault}")
            self._news.standing.forget(uid)
            self._news.awaited.put(uid, ())
            self._news.index.unsettled.add(uid)
            self._failed[uid] = self._hub.clock.monotonic() + EVERY_S

    async def _take_reports(self, uid: str, clusters: set[str], term: int) -> bool:
        """Bring the status level with what was reported; False: the placement has to be reconciled."""
        standing = self._news.standing.take(uid)
        after = await self._hub.write(take_reports, standing, clusters, term)
        self._news.standing.put(uid, after)
        return after is not None

    async def _reconcile(self, uid: str, term: int) -> None:
        overrides = frozenset(self._news.index.overrides)
        of = self._hub.settings.scheduling
        given = (uid, self._fleet_now(), term, overrides, of.profile, of.suspect_after_s)
        runs = self._news.index.runs.of(uid), self._hub.settings.rollouts, self._news.placed.asked
        self._news.standing.forget(uid)
        refused = self._not_taken.of(self._news.index.rules_of(uid), uid)
        after = await self._hub.write(reconcile_with_status, *given, *runs, refused)
        self._news.standing.put(uid, after.standing)
        self._news.index.watch(uid, after.watched)
        self._news.placed.put(uid, after.namespaces)
        self._news.awaited.put(uid, after.awaits)
        if after.unsettled:
            self._news.index.unsettled.add(uid)
        else:
            self._news.index.unsettled.discard(uid)
        if after.leaving:
            self._news.index.awaiting[uid] = after.leaving
        else:
            self._news.index.awaiting.pop(uid, None)
        if after.at is not None:
            self._due[uid] = after.at
        else:
            self._due.pop(uid, None)

    def _fleet_now(self) -> dict[str, Cluster]:
        """The fleet less what was promised: jobs on their way are as good as there."""
        promised = self._promised()
        return {
            name: replace(cluster, reserved=promised[name]) if promised.get(name) else cluster
            for name, cluster in self._news.fleet.items()
        }

"""Keeps placements level: follows the feed, looks again at those concerned, writes their status.

Off the dispatch path: turns are at least 200 ms apart, a placement is looked at once per turn however
much has changed, and one that fails is tried again without holding up the others.
"""

import asyncio
import contextlib
import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import structlog

from hub.domain.fleet.clusters import Cluster
from hub.services.consent import namespaces as consents
from hub.services.consent.placed import PlacedNamespaces, name_placed
from hub.services.context.hub import Hub
from hub.services.mirror.not_taken import NotTaken
from hub.services.objects import leave, left_behind
from hub.services.placements import index
from hub.services.placements.fleet import read_fleet, read_heartbeats
from hub.services.placements.index import PlacementIndex
from hub.services.placements.reported.remembered import Remembered
from hub.services.placements.reported.reports import take_reports
from hub.services.placements.staged.index import tell_orphans
from hub.services.placements.status import reconcile_with_status
from shared.groups import KUEUE
from shared.kinds.placement_v1 import PLACEMENT_KINDS
from shared.loop import Loop

EVERY_S: Final = 10.0
LEAST_S: Final = 0.2
MOST_REST_S: Final = 1.0  # after a long turn, so that more reports are taken together
LEAVING_S: Final = 2.0  # how often members that leave are looked at, at most
_TOGETHER: Final = 32  # placements whose transactions share a commit
_QUEUES: Final = frozenset({"ClusterQueue", "LocalQueue"})
_FOLLOWED: Final = ("objects", "workloads", "clusters", "observed")
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
        self._index = PlacementIndex()
        self._fleet: dict[str, Cluster] = {}
        self._silent: set[str] = set()  # members not heard lately
        self._dirty: set[str] = set()  # to be reconciled
        self._reported: dict[
            str, set[str]
        ] = {}  # by placement, clusters with news of what is there
        self._standing = Remembered()
        self._failed: dict[str, float] = {}  # until when those that failed are left alone
        self._due: dict[str, dt.datetime] = {}  # when to look at those again that time makes ready
        self._told: set[str] = set()  # runs of which it was said that their placement is not there
        self._unread: dict[str, set[str]] = {}  # keys that have changed, by kind
        self._placed = PlacedNamespaces()
        self._loaded = False
        self._orphans_at = self._leaving_at = 0.0  # when to look for them again
        self._changes = hub.subscribe(*_FOLLOWED)
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
        async for _ in self._hub.subscribe(*_FOLLOWED):
            self.loop.wake()

    async def tick(self) -> float | None:
        """One turn; wants the next at once while placements are left."""
        term = self._term()
        if not term:
            self._forget()
            return None
        if not self._loaded:
            await self._load()
        change = self._changes.take()
        if change is not None:
            for kind, keys in change.keys.items():
                self._unread.setdefault(kind, set()).update(keys)
        if self._unread:  # kept until they could be read
            await self._follow({kind: frozenset(keys) for kind, keys in self._unread.items()})
            self._unread.clear()
        if len(self._index):
            await self._hear()
        for each in self._not_taken.take_changed():
            it = each.resource
            labels = dict(each.labels)
            self._dirty |= self._index.concerned(it.group, it.kind, it.namespace, it.name, labels)
            self._dirty |= {each.of}.intersection(self._index.uids())
        self._retry_failed()
        self._look_at_due()
        await self._tell_orphans(term)
        await self._let_members_leave(term)
        batch = sorted(self._dirty | self._reported.keys())[: 4 * _TOGETHER]
        for start in range(0, len(batch), _TOGETHER):
            few = batch[start : start + _TOGETHER]
            await asyncio.gather(*(self._one(uid, term) for uid in few))
        await self._name_namespaces()
        if batch and (self._dirty or self._reported):
            return 0.0
        await self._take_back_orphans(term)
        return self._until_due()

    async def _name_namespaces(self) -> None:
        """See that agents report the consent of every namespace in which placements have objects."""
        whole = not (self._dirty or self._reported)
        if (needed := self._placed.unnamed(self._fleet, whole=whole)) is not None:
            asked = await self._hub.write(name_placed, needed, whole=whole)
            self._placed.took(asked, whole=whole)

    async def _let_members_leave(self, term: int) -> None:
        """Those that are being emptied are forgotten once they are."""
        now = self._hub.clock.monotonic()
        if now < self._leaving_at:
            return
        self._leaving_at = now + LEAVING_S
        if await self._hub.read(leave.are_some_leaving):
            await self._hub.write(leave.finish, term)

    async def _take_back_orphans(self, term: int) -> None:
        """All have looked: what clusters that came back hold besides may go."""
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
            self._index, self._fleet = PlacementIndex(), {}
            self._placed, self._standing = PlacedNamespaces(), Remembered()
            for each in (
                self._silent,
                self._dirty,
                self._reported,
                self._failed,
                self._due,
                self._unread,
                self._told,
            ):
                each.clear()
            self._loaded = False

    async def _load(self) -> None:
        for row in await self._hub.read(index.load_placements):
            self._index.put(row)
            self._not_taken.recall(row)
            self._dirty.add(row.uid)
        self._index.overrides = await self._hub.read(index.load_overrides)
        for row in await self._hub.read(index.load_runs):
            self._index.runs.put(row)
        self._fleet = await self._hub.read(read_fleet)
        self._placed = PlacedNamespaces(await self._hub.read(consents.load))
        self._loaded = True

    async def _follow(self, keys: Any) -> None:
        """Note who is concerned by a change."""
        if touched := keys.get("objects"):
            await self._follow_objects(touched)
        if touched := keys.get("clusters"):
            await self._follow_clusters(touched)
        if not len(self._index):
            return
        touched = keys.get("workloads")
        if touched and self._index.selects_jobs():
            traits = await self._hub.read(index.job_traits, touched)
            self._dirty |= self._index.of_jobs(traits)
        if touched := keys.get("observed"):
            reported = await self._hub.read(index.placements_of_works, touched)
            for uid, clusters in reported.items():
                self._reported.setdefault(uid, set()).update(clusters)
            self._dirty |= self._index.leaving | self._index.awaited(touched)
            self._dirty |= self._index.comparing(touched)

    async def _follow_objects(self, uids: frozenset[str]) -> None:
        rows, placed = await self._hub.read(index.object_rows, uids)
        for uid in uids:
            row = rows.get(uid)
            self._dirty |= placed.get(uid, set()) | self._index.watching(uid)
            staged = self._index.runs.concerned(uid, row)
            if staged is not None:
                self._dirty |= staged
            elif self._index.is_override(uid, row):
                self._dirty |= set(self._index.uids())
            elif row is None:
                self._dirty |= self._of_its_queues(uid)
                self._placed.put(uid, frozenset())
                if self._index.drop(uid):  # what it held may be another's now
                    self._dirty |= {uid} | self._index.unsettled
            elif row.kind in PLACEMENT_KINDS:
                selected = self._of_its_queues(uid)
                if self._index.put(row):
                    self._dirty |= {uid} | self._index.unsettled
                    self._dirty |= selected | self._of_its_queues(uid)
            else:
                if row.api_group == KUEUE and row.kind in _QUEUES:
                    self._dirty |= self._index.put_queue(row)
                self._dirty |= self._index.concerned(
                    row.api_group, row.kind, row.namespace, row.name, row.labels
                )

    def _of_its_queues(self, uid: str) -> set[str]:
        """Placements whose Jobs may be in ClusterQueues that this placement selects."""
        return self._index.selecting_jobs() if self._index.selects_queues(uid) else set()

    async def _follow_clusters(self, names: frozenset[str]) -> None:
        """Placements of every cluster follow the fleet; those that miss one try again."""
        found = await self._hub.read(read_fleet, names)
        news, returned = False, set[str]()
        for name in names:
            old, new = self._fleet.get(name), found.get(name)
            self._dirty |= self._placed.concerned(old, new)
            if new is None:
                self._fleet.pop(name, None)
            else:
                self._fleet[name] = new
            if old is not None and new is not None:
                self._dirty |= self._index.affected(old, new)
                if old.down and not new.down:
                    returned.add(name)
            news = news or old is None or new is None or _declared(old) != _declared(new)
        waiting = self._index.unsettled | self._index.awaiting.keys() | self._index.leaving
        self._dirty |= set(self._index.uids()) if news else waiting
        self._may_be_picked(returned)

    def _may_be_picked(self, names: set[str]) -> None:
        """Members are there again: placements look again, save those that have all they want without them."""
        if names:
            self._dirty |= {u for u in self._index.uids() if not self._standing.rests(u, names)}

    async def _hear(self) -> None:
        """Take heartbeats; a member that is heard again may be picked again."""
        heard = await self._hub.read(read_heartbeats)
        limit = self._hub.clock.now() - dt.timedelta(
            seconds=self._hub.settings.scheduling.suspect_after_s
        )
        returned = set[str]()
        for name, at in heard.items():
            cluster = self._fleet.get(name)
            if cluster is None or cluster.heartbeat_at == at:
                continue
            before = cluster.heartbeat_at
            self._fleet[name] = replace(cluster, heartbeat_at=at)
            silent = name in self._silent or before is None or before < limit
            if silent and at is not None and at >= limit:
                returned.add(name)
        self._may_be_picked(returned)
        self._silent = {name for name, at in heard.items() if at is None or at < limit}

    def _retry_failed(self) -> None:
        """Look again at what failed a while ago, though nothing has changed: the fault may have passed."""
        now = self._hub.clock.monotonic()
        due = {uid for uid, until in self._failed.items() if until <= now}
        if due:
            self._dirty |= due.intersection(self._index.uids())
            self._failed = {u: until for u, until in self._failed.items() if u not in due}

    def _look_at_due(self) -> None:
        """What is of kinds that do not tell counts as ready after a while."""
        now = self._hub.clock.now()
        due = {uid for uid, at in self._due.items() if at <= now}
        self._dirty |= due.intersection(self._index.uids())
        for uid in due:
            del self._due[uid]

    async def _tell_orphans(self, term: int) -> None:
        """Runs wait for their placements, and say so; what is odd about one stops nobody else."""
        orphans = self._index.runs.orphans()
        fresh = [uid for uid in orphans if uid not in self._told]
        self._told.intersection_update(orphans)
        if fresh:
            try:
                await self._hub.write(tell_orphans, fresh, term)
                self._told.update(fresh)
            except Exception as fault:  # noqa: BLE001 - placements go on
                log.warning("runs not told", fault=f"{type(fault).__name__}: {fault}")

    def _until_due(self) -> float | None:
        if not self._due:
            return None
        left = (min(self._due.values()) - self._hub.clock.now()).total_seconds()
        return min(max(0.0, left), EVERY_S)

    async def _one(self, uid: str, term: int) -> None:
        """Bring one placement up to date; a fault is its own."""
        reported = self._reported.pop(uid, set())
        whole = uid in self._dirty or not self._standing.has(uid)
        self._dirty.discard(uid)
        try:
            if whole or not await self._take_reports(uid, reported, term):
                await self._reconcile(uid, term)
        except Exception as fault:  # noqa: BLE001 - one placement must not stop the others
            log.warning("placement failed", uid=uid, fault=f"{type(fault).__name__}: {fault}")
            self._standing.forget(uid)
            self._index.unsettled.add(uid)
            self._failed[uid] = self._hub.clock.monotonic() + EVERY_S

    async def _take_reports(self, uid: str, clusters: set[str], term: int) -> bool:
        """Bring the status level with what was reported; False: the placement has to be reconciled."""
        standing = self._standing.take(uid)
        after = await self._hub.write(take_reports, standing, clusters, term)
        self._standing.put(uid, after)
        return after is not None

    async def _reconcile(self, uid: str, term: int) -> None:
        overrides = frozenset(self._index.overrides)
        of = self._hub.settings.scheduling
        given = (uid, self._fleet_now(), term, overrides, of.profile, of.suspect_after_s)
        runs = self._index.runs.of(uid), self._hub.settings.rollouts, self._placed.asked
        self._standing.forget(uid)
        refused = self._not_taken.of(self._index.rules_of(uid), uid)
        after = await self._hub.write(reconcile_with_status, *given, *runs, refused)
        self._standing.put(uid, after.standing)
        self._index.watch(uid, after.watched)
        self._placed.put(uid, after.namespaces)
        if after.unsettled:
            self._index.unsettled.add(uid)
        else:
            self._index.unsettled.discard(uid)
        if after.leaving:
            self._index.awaiting[uid] = after.leaving
        else:
            self._index.awaiting.pop(uid, None)
        if after.at is not None:
            self._due[uid] = after.at
        else:
            self._due.pop(uid, None)

    def _fleet_now(self) -> dict[str, Cluster]:
        """The fleet less what was promised: jobs on their way are as good as there."""
        promised = self._promised()
        return {
            name: replace(cluster, reserved=promised[name]) if promised.get(name) else cluster
            for name, cluster in self._fleet.items()
        }


def _declared(cluster: Cluster) -> Sequence[Any]:
    """What decides whether a cluster may be picked, amounts and whether it answers aside."""
    return (
        cluster.labels,
        cluster.taints,
        cluster.cordoned,
        cluster.joined,
        cluster.kinds,
    )

"""Placements to reconcile: follows the feed and the heartbeats of members, in memory.

For the controller of placements (`hub.controllers.placements`), which asks once in each turn.
"""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from hub.controllers.awaited_reports import AwaitedReports
from hub.domain.fleet.clusters import Cluster
from hub.services.consent import namespaces as consents
from hub.services.consent.placed import PlacedNamespaces
from hub.services.context.hub import Hub
from hub.services.mirror.not_taken import NotTaken
from hub.services.placements import index
from hub.services.placements.fleet import read_fleet, read_heartbeats
from hub.services.placements.index import PlacementIndex
from hub.services.placements.reported.remembered import Remembered
from shared.groups import KUEUE
from shared.kinds.placement_v1 import PLACEMENT_KINDS

FOLLOWED: Final = ("objects", "workloads", "clusters", "observed")
_QUEUES: Final = frozenset({"ClusterQueue", "LocalQueue"})


class PlacementNews:
    """`dirty`: placements to be reconciled; `reported`: those of which agents said something, by cluster.

    `fleet`: members as placements see them; `placed`: namespaces of placements; `standing`: placements to
    which reports alone matter; `awaited`: those that wait for reports of consent. All of it is forgotten
    with the leadership.
    """

    def __init__(self, hub: Hub, not_taken: NotTaken) -> None:
        """`not_taken`: what the bridge did not take from the hub cluster."""
        self._hub, self._not_taken = hub, not_taken
        self.index = PlacementIndex()
        self.fleet: dict[str, Cluster] = {}
        self.dirty: set[str] = set()
        self.reported: dict[str, set[str]] = {}
        self.standing = Remembered()
        self.placed = PlacedNamespaces()
        self.awaited = AwaitedReports()
        self._silent: set[str] = set()  # members not heard lately
        self._unread: dict[str, set[str]] = {}  # keys that have changed, by kind

    async def load(self) -> None:
        """Read everything; every placement is reconciled."""
        for row in await self._hub.read(index.load_placements):
            self.index.put(row)
            self._not_taken.recall(row)
            self.dirty.add(row.uid)
        self.index.overrides = await self._hub.read(index.load_overrides)
        for row in await self._hub.read(index.load_runs):
            self.index.runs.put(row)
        self.fleet = await self._hub.read(read_fleet)
        self.placed = PlacedNamespaces(await self._hub.read(consents.load))

    async def follow(self, changes: Mapping[str, Iterable[str]]) -> None:
        """Note who is concerned by keys that have changed, by kind; what could not be read stays noted."""
        for kind, keys in changes.items():
            self._unread.setdefault(kind, set()).update(keys)
        if self._unread:
            await self._note({kind: frozenset(keys) for kind, keys in self._unread.items()})
            self._unread.clear()
        if len(self.index):
            await self._hear()
        self._follow_not_taken()

    def _follow_not_taken(self) -> None:
        for each in self._not_taken.take_changed():
            it = each.resource
            labels = dict(each.labels)
            self.dirty |= self.index.concerned(it.group, it.kind, it.namespace, it.name, labels)
            self.dirty |= {each.of}.intersection(self.index.uids())

    async def _note(self, keys: Mapping[str, frozenset[str]]) -> None:
        """Note who is concerned by a change."""
        if touched := keys.get("objects"):
            await self._follow_objects(touched)
        if touched := keys.get("clusters"):
            await self._follow_clusters(touched)
        if not len(self.index):
            return
        touched = keys.get("workloads")
        if touched and self.index.selects_jobs():
            traits = await self._hub.read(index.job_traits, touched)
            self.dirty |= self.index.of_jobs(traits)
        if touched := keys.get("observed"):
            reported = await self._hub.read(index.placements_of_works, touched)
            for uid in self._now(reported.keys()):
                self.reported.setdefault(uid, set()).update(reported[uid])
            self.dirty |= self.index.leaving | self.index.awaited(touched)
            self.dirty |= self.index.comparing(touched)

    async def _follow_objects(self, uids: frozenset[str]) -> None:
        rows, placed = await self._hub.read(index.object_rows, uids)
        for uid in uids:
            row = rows.get(uid)
            self.dirty |= placed.get(uid, set()) | self.index.watching(uid)
            staged = self.index.runs.concerned(uid, row)
            if staged is not None:
                self.dirty |= staged
            elif self.index.is_override(uid, row):
                self.dirty |= set(self.index.uids())
            elif row is None:
                self.dirty |= self._of_its_queues(uid)
                self.placed.put(uid, frozenset())
                if self.index.drop(uid):  # what it held may be another's now
                    self.dirty |= {uid} | self._now(self.index.unsettled)
            elif row.kind in PLACEMENT_KINDS:
                selected = self._of_its_queues(uid)
                if self.index.put(row):
                    self.dirty |= {uid} | self._now(self.index.unsettled)
                    self.dirty |= selected | self._of_its_queues(uid)
            else:
                if row.api_group == KUEUE and row.kind in _QUEUES:
                    self.dirty |= self.index.put_queue(row)
                self.dirty |= self.index.concerned(
                    row.api_group, row.kind, row.namespace, row.name, row.labels
                )

    def _now(self, uids: Collection[str]) -> set[str]:
        """Those that look at once; a placement that waits for reports of consent gathers."""
        return self.awaited.keep_back(uids, self._hub.clock.now())

    def _of_its_queues(self, uid: str) -> set[str]:
        """Placements whose Jobs may be in ClusterQueues that this placement selects."""
        return self.index.selecting_jobs() if self.index.selects_queues(uid) else set()

    async def _follow_clusters(self, names: frozenset[str]) -> None:
        """Placements of every cluster follow the fleet; those that miss one try again."""
        found = await self._hub.read(read_fleet, names)
        news, returned = False, set[str]()
        for name in names:
            old, new = self.fleet.get(name), found.get(name)
            concerned = self.placed.concerned(old, new)
            self.dirty |= self.awaited.take(concerned, name, self._hub.clock.now())
            if new is None:
                self.fleet.pop(name, None)
            else:
                self.fleet[name] = new
            if old is not None and new is not None:
                self.dirty |= self.index.affected(old, new)
                if old.down and not new.down:
                    returned.add(name)
            news = news or old is None or new is None or _declared(old) != _declared(new)
        waiting = self._now(self.index.unsettled) | self.index.awaiting.keys() | self.index.leaving
        self.dirty |= set(self.index.uids()) if news else waiting
        self._may_be_picked(returned)

    def _may_be_picked(self, names: set[str]) -> None:
        """Members are there again: placements look again, save those that have all they want without them."""
        if names:
            self.dirty |= {u for u in self.index.uids() if not self.standing.rests(u, names)}

    async def _hear(self) -> None:
        """Take heartbeats; a member that reports again may be picked again."""
        heard = await self._hub.read(read_heartbeats)
        limit = self._hub.clock.now() - dt.timedelta(
            seconds=self._hub.settings.scheduling.suspect_after_s
        )
        returned = set[str]()
        for name, at in heard.items():
            cluster = self.fleet.get(name)
            if cluster is None or cluster.heartbeat_at == at:
                continue
            before = cluster.heartbeat_at
            self.fleet[name] = replace(cluster, heartbeat_at=at)
            silent = name in self._silent or before is None or before < limit
            if silent and at is not None and at >= limit:
                returned.add(name)
        self._may_be_picked(returned)
        self._silent = {name for name, at in heard.items() if at is None or at < limit}


def _declared(cluster: Cluster) -> Sequence[Any]:
    """Inputs of whether a cluster may be picked, apart from amounts and health."""
    return (
        cluster.labels,
        cluster.taints,
        cluster.cordoned,
        cluster.joined,
        cluster.kinds,
    )

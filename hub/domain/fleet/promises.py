"""Promises: room that the hub has given away and that no report shows yet, counted exactly once.

For every work that a cluster may hold, max(0, min(parallelism, completions - succeeded) - bound) pods
are on their way, where bound and succeeded are those of the very report whose free room is counted
(docs/explain/placement.md). `Members` keeps clusters, promises and the room that is left in step.

Of a work that others left room for, the pods on their way take it on the nodes where it was left, before
any other promise is laid out: until they are bound, or for `KEPT_FOR` (rule 26 of exactly-once.md).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from hub.domain.fleet.clusters import BoundPods, Cluster
from hub.domain.fleet.free_capacity import Layout, NodeAsk, Room
from shared.resources import Resources

KEPT_FOR: Final = 5 * 60 * 1_000_000  # microseconds, from its placement on
Bound = Mapping[tuple[str, int], BoundPods]  # of a report: by uid and epoch


class Promise:
    """One work on a cluster. `pods`: what one pod takes and where, with the most at one time.

    `nodes`: names of the nodes on which room is kept for it, until `until` (microseconds since the epoch).
    """

    __slots__ = (
        "cluster", "completions", "epoch", "nodes", "outstanding", "pod_sets", "succeeded", "uid", "until",
    )  # fmt: skip

    def __init__(
        self,
        uid: str,
        epoch: int,
        cluster: str,
        pod_sets: tuple[tuple[Resources, NodeAsk, int], ...],
        completions: int | None,
        succeeded: int,
        nodes: Sequence[str] = (),
        until: int = 0,
    ) -> None:
        self.uid = uid
        self.epoch = epoch
        self.cluster = cluster
        self.pod_sets = pod_sets  # requests, nodes, pods at one time (a Job's parallelism)
        self.completions = completions
        self.succeeded = succeeded
        self.outstanding: tuple[int, ...] = ()  # per pod set
        self.nodes = tuple(nodes)
        self.until = until

    @property
    def asks(self) -> tuple[NodeAsk, ...]:
        """The nodes that its pods may use, per pod set."""
        return tuple(ask for _, ask, _ in self.pod_sets)

    def with_succeeded(self, succeeded: int) -> "Promise":
        """The same promise after more pods have succeeded."""
        return Promise(
            self.uid, self.epoch, self.cluster, self.pod_sets, self.completions, succeeded,
            self.nodes, self.until,
        )  # fmt: skip

    def count(self, cluster: Cluster | None) -> tuple[int, ...]:
        """Pods on their way, per pod set, as of the cluster's last report."""
        reported = cluster.bound.get((self.uid, self.epoch)) if cluster else None
        bound = reported.bound if reported else 0
        succeeded = max(self.succeeded, reported.succeeded if reported else 0)
        counts = []
        for _, _, parallelism in self.pod_sets:
            if self.completions is None:  # a work queue: once one pod has succeeded none is added
                wanted = 0 if succeeded else parallelism
            else:
                wanted = min(parallelism, max(0, self.completions - succeeded))
            counts.append(max(0, wanted - bound))
            bound = max(0, bound - wanted)
        return tuple(counts)


Grew = Callable[[Mapping[str, int], Mapping[str, int]], None]
_Extent = tuple[list[int], list[int]]  # of a cluster's best node, and left in all, by resource


class Members:
    """The fleet as the scheduler sees it: clusters, what they are promised, and what is left."""

    def __init__(self) -> None:
        self.clusters: dict[str, Cluster] = {}
        self._promises: dict[str, dict[str, Promise]] = {}  # by cluster, then uid
        self._pods: dict[str, dict[tuple[Resources, NodeAsk], int]] = {}  # outstanding, by cluster
        self._kept: dict[str, dict[str, Promise]] = {}  # those with nodes, by cluster, then uid
        self._home: dict[str, str] = {}  # uid → cluster
        self._now = 0
        self._changed: set[str] = set()
        self._layout = Layout(())
        self.room = Room.of(self._layout, {})
        self._stale = True  # the layout must be computed again
        self._lent = False  # does a picture share the room? Then it is changed in a copy

    def put(self, cluster: Cluster) -> None:
        """A cluster was added, changed, or reported."""
        self._stale |= not self._layout.alike(cluster)
        before = self.clusters.get(cluster.name)
        self.clusters[cluster.name] = cluster
        promises = self._promises.get(cluster.name, {})
        if before is None:
            self._pods[cluster.name] = {}
            for promise in promises.values():
                promise.outstanding = ()
                self._recount(promise)
        else:  # who is reported as before counts as before
            for uid in _differing(before.bound, cluster.bound):
                if uid in promises:
                    self._recount(promises[uid])
        self._changed.add(cluster.name)

    def declare(self, cluster: Cluster) -> None:
        """An administrator's declaration of a cluster changed, not its report."""
        self.clusters[cluster.name] = cluster

    def drop(self, name: str) -> None:
        """A cluster is gone."""
        if self.clusters.pop(name, None) is not None:
            self._stale = True

    def promise(self, promise: Promise) -> None:
        """A work may be held by a cluster, or what is known of it changed."""
        home = self._home.get(promise.uid)
        if home is not None and home != promise.cluster:
            self.release(promise.uid)
        promises = self._promises.setdefault(promise.cluster, {})
        if promise.until <= self._now:
            promise.nodes = ()
        present = promises.get(promise.uid)
        if present is not None:
            if present.nodes != promise.nodes:
                self._shift(present, tuple(0 for _ in present.outstanding))
            promise.outstanding = present.outstanding
        promises[promise.uid] = promise
        self._home[promise.uid] = promise.cluster
        self._recount(promise)

    def expire(self, now: int) -> None:
        """Release nodes that were kept for long enough: their promises become like any others."""
        self._now = now
        over = [p for kept in self._kept.values() for p in kept.values() if p.until <= now]
        for promise in over:
            self.promise(promise.with_succeeded(promise.succeeded))

    def kept_nodes(self) -> dict[str, tuple[str, ...]]:
        """Names of the nodes on which room is kept for works that were placed, by cluster."""
        return {
            name: tuple(sorted({node for promise in kept.values() for node in promise.nodes}))
            for name, kept in self._kept.items()
            if kept
        }

    def promised(self, uid: str) -> Promise | None:
        """The facts about a work that a cluster may hold."""
        home = self._home.get(uid)
        return None if home is None else self._promises[home].get(uid)

    def release(self, uid: str) -> None:
        """No cluster holds this work any more."""
        home = self._home.pop(uid, None)
        if home is None:
            return
        promise = self._promises[home].pop(uid)
        self._shift(promise, tuple(0 for _ in promise.outstanding))

    def _recount(self, promise: Promise) -> None:
        self._shift(promise, promise.count(self.clusters.get(promise.cluster)))

    def _shift(self, promise: Promise, counts: tuple[int, ...]) -> None:
        before = promise.outstanding or tuple(0 for _ in counts)
        if before == counts:
            promise.outstanding = counts
            self._keep(promise)
            return
        if promise.nodes:
            promise.outstanding = counts
            self._keep(promise)
            self._changed.add(promise.cluster)
            return
        pods = self._pods.setdefault(promise.cluster, {})
        for (requests, ask, _), old, new in zip(promise.pod_sets, before, counts, strict=True):
            key = (requests, ask)
            total = pods.get(key, 0) + new - old
            if total:
                pods[key] = total
            else:
                pods.pop(key, None)
        promise.outstanding = counts
        self._changed.add(promise.cluster)

    def _keep(self, promise: Promise) -> None:
        """Remember what is kept on nodes, as long as pods are on their way there."""
        if promise.nodes and any(promise.outstanding):
            self._kept.setdefault(promise.cluster, {})[promise.uid] = promise
        elif promise.nodes:
            self._kept.get(promise.cluster, {}).pop(promise.uid, None)

    def refresh(self, grew: Grew | None) -> bool:
        """Bring the room up to date; True if members, labels or nodes changed.

        `grew` is told of each cluster whose best node or total grew: amounts of its best node (the
        largest free amount of each resource on any node) and what is left in all, by resource. None:
        nobody waits for that.
        """
        if self._stale:
            self._layout = Layout(list(self.clusters.values()))
            self.room = Room.of(self._layout, self.clusters)
            self._lent = False
            for name in self._layout.names:
                self._keep_promises(name)
            self._stale = False
            self._changed.clear()
            return True
        changed = self._changed & self.clusters.keys()
        if changed and self._lent:
            self.room, self._lent = self.room.copy(), False
        for name in changed:
            before = None if grew is None else self._extent(name)
            self.room.reset(self.clusters[name])
            self._keep_promises(name)
            if grew is not None and before is not None:
                self._tell_growth(name, before, grew)
        self._changed.clear()
        if changed:
            self.room.touched.clear()
        return False

    def _tell_growth(self, name: str, before: _Extent, grew: Grew) -> None:
        best, left = self._extent(name)
        if any(b > a for a, b in zip(before[0] + before[1], best + left, strict=True)):
            names = self._layout.resources
            grew(dict(zip(names, best, strict=True)), dict(zip(names, left, strict=True)))

    def lend_room(self) -> Room:
        """The room as it was brought up to date last: what changes later does not show in it."""
        self._lent = True
        return self.room

    def room_with(self, changed: Mapping[str, Cluster], gone: Collection[str] = ()) -> Room:
        """The room that would be left with these clusters as given, and without those `gone`.

        Nothing changes here. The room must have been brought up to date (`refresh`).
        """
        same = not gone and all(self._layout.alike(cluster) for cluster in changed.values())
        if same:
            room = self.room.copy()
            for cluster in changed.values():
                room.reset(cluster)
            anew: Iterable[str] = changed
        else:
            clusters = {n: c for n, c in {**self.clusters, **changed}.items() if n not in gone}
            layout = Layout(list(clusters.values()))
            room, anew = Room.of(layout, clusters), layout.names
        for name in anew:
            _keep_all(room, name, self._kept_with(name, changed.get(name)))
            pods = self._pods_with(changed[name]) if name in changed else self._pods.get(name, {})
            _promise_all(room, name, pods)
        room.touched.clear()
        return room

    def _pods_with(self, cluster: Cluster) -> Mapping[tuple[Resources, NodeAsk], int]:
        """Pods on their way to a cluster, were its report this one."""
        before = self.clusters.get(cluster.name)
        promises = self._promises.get(cluster.name, {})
        differing = promises if before is None else _differing(before.bound, cluster.bound)
        pods = dict(self._pods.get(cluster.name, {}))
        for uid in differing:
            promise = promises.get(uid)
            if promise is None or uid in self._kept.get(cluster.name, ()):
                continue
            counts = promise.count(cluster)
            outstanding = promise.outstanding or (0,) * len(counts)
            for (requests, ask, _), old, new in zip(
                promise.pod_sets, outstanding, counts, strict=True
            ):
                pods[requests, ask] = pods.get((requests, ask), 0) + new - old
        return {key: count for key, count in pods.items() if count > 0}

    def _kept_with(self, name: str, cluster: Cluster | None = None) -> "list[_Kept]":
        """The kept room on nodes of a cluster, if its report were this one."""
        return [
            (promise, promise.outstanding if cluster is None else promise.count(cluster))
            for _, promise in sorted(self._kept.get(name, {}).items())
        ]

    def _keep_promises(self, name: str) -> None:
        _keep_all(self.room, name, self._kept_with(name))
        _promise_all(self.room, name, self._pods.get(name, {}))

    def _extent(self, name: str) -> _Extent:
        at = self._layout.position[name]
        low, high = self._layout.bounds[at], self._layout.bounds[at + 1]
        there = self.room.free[:, low:high]
        best, left = there.max(axis=1, initial=0), self.room.left[:, at]
        if (
            self.room.growth is not None
        ):  # what may come counts, and what was promised of it does not
            coming = self.room.growth.nodes_of(at)
            best = np.maximum(best, coming.max(axis=1, initial=0))
            left = np.maximum(left, np.maximum(there, 0).sum(axis=1)) + coming.sum(axis=1)
        return best.tolist(), left.tolist()

    def all_promised(self) -> dict[str, dict[str, int]]:
        """Promises to clusters that their reports do not show yet, by cluster and resource."""
        found: dict[str, dict[str, int]] = {}
        for name, pods in self._pods.items():
            amounts = found.setdefault(name, {})
            for (requests, _), count in pods.items():
                for resource, amount in requests.items():
                    amounts[resource] = amounts.get(resource, 0) + amount * count
        for name, kept in self._kept.items():
            amounts = found.setdefault(name, {})
            for promise in kept.values():
                pairs = zip(promise.pod_sets, promise.outstanding, strict=True)
                for (requests, _, _), count in pairs:
                    for resource, amount in requests.items():
                        amounts[resource] = amounts.get(resource, 0) + amount * count
        return found

    def of_cluster(self, name: str) -> Iterable[Promise]:
        """The works a cluster may hold."""
        return self._promises.get(name, {}).values()


_Kept = tuple[Promise, tuple[int, ...]]  # with its pods on their way, per pod set


def _keep_all(room: Room, name: str, kept: Sequence[_Kept]) -> None:
    """Take the room of pods on their way where it was left for them; what is not free there, anywhere."""
    at = room.layout.position[name]
    for promise, counts in kept:
        for (requests, ask, _), count in zip(promise.pod_sets, counts, strict=True):
            need = room.layout.need(requests, ask)
            there = room.layout.only(need, at, promise.nodes)
            some = 0 if there is None else min(count, room.count_held(there, at))
            if there is not None and some:
                room.take(there, some, at)
            if count > some:
                room.promise(need, count - some, at)


def _differing(before: Bound, after: Bound) -> set[str]:
    """Works of which one report says something else than the other."""
    found = {uid for (uid, epoch), told in after.items() if before.get((uid, epoch)) != told}
    found.update(uid for uid, epoch in before if (uid, epoch) not in after)
    return found


def _promise_all(room: Room, name: str, pods: Mapping[tuple[Resources, NodeAsk], int]) -> None:
    at = room.layout.position[name]
    for (requests, ask), count in sorted(pods.items(), key=_largest_first):
        room.promise(room.layout.need(requests, ask), count, at)


def _largest_first(item: tuple[tuple[Resources, NodeAsk], int]) -> tuple[bool, int, str]:
    """Those that may wait for new nodes come last: the nodes there are serve the others first."""
    (requests, ask), _ = item
    return ask.growing, -sum(requests.values()), str(requests)

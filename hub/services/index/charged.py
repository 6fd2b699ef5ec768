"""Charges of workloads, and promises on their clusters: kept equal to the rows."""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import orjson

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.fleet.promises import KEPT_FOR, Members, Promise
from hub.domain.instants import to_micros
from hub.domain.placement.scoring.pace import Paces
from hub.domain.plan import Placement
from hub.domain.queueing.lanes import Entry
from hub.domain.quota.declared import Usage, read_usage
from hub.domain.quota.holders import AdmittedWorkload, Pods
from hub.domain.quota.ledger import Ledger
from hub.domain.workloads.demand import Demand
from hub.domain.workloads.states import CHARGED, State
from hub.services.index.catalog import Routes
from hub.store.schedule import ProgressRow, SchedulingRow
from shared.documents import JsonView
from shared.resources import PodSet

Shapes = Mapping[str, tuple[PodSet, ...] | Exception]

_CHARGED: Final = frozenset(str(s) for s in CHARGED)
_MOST: Final = 50_000  # distinct values remembered


class Charges:
    """Quota and room of every charged workload. `released` is called with queues that got quota back."""

    def __init__(self, routes: Routes, shapes: Shapes, released: Callable[[str], None]) -> None:
        self.ledger = Ledger()
        self.members = Members()
        self._routes = routes
        self._shapes = shapes
        self._released = released
        self.holders: dict[str, dict[str, AdmittedWorkload]] = {}  # by queue, then uid
        self._lent: set[str] = set()  # queues whose holders a picture shares: changed in a copy
        self._charged: dict[str, tuple[str, Usage]] = {}
        self._placed: dict[tuple[str, int], Pods] = {}  # by demand and assignment, of one plan
        self.epochs: dict[str, int] = {}  # of charged workloads
        self._usage: dict[bytes, Usage] = {}
        self._asks: dict[tuple[str, bytes], Pods] = {}
        self.paces = Paces()
        self.unready: set[str] = set()  # admitted, and not all of their pods are ready

    def charge(self, row: SchedulingRow) -> None:
        """A workload is charged, as its row says."""
        self.epochs[row.uid] = row.epoch
        self.paces.follow(row.uid, row.cluster, row.state)
        usage = self._usage_of(row.admission)
        present = self._charged.get(row.uid)
        if present is None or present[0] != row.cluster_queue or present[1] != usage:
            self._discharge_quota(row.uid)
            self._charged[row.uid] = (row.cluster_queue, usage)
            self.ledger.charge(row.cluster_queue, usage)
        before = self.holder(row.uid)
        if before is not None and before.priority != row.priority:
            self._released(row.cluster_queue)  # it may be a victim now
        pods = self._pods(row)
        self._hold(
            AdmittedWorkload(
                uid=row.uid, namespace=row.namespace, name="", queue=row.cluster_queue,
                usage=usage, priority=row.priority, queued_at=to_micros(row.queued_at),
                reserved_at=to_micros(row.reserved_at or row.placed_at or row.queued_at),
                evicted=row.state == State.WITHDRAWING, local_queue=row.queue,
                cluster=row.cluster,
                started_at=None if row.placed_at is None else to_micros(row.placed_at), pods=pods,
                pods_ready=bool(row.pods_ready), epoch=row.epoch, completions=row.completions,
            )
        )  # fmt: skip
        promised = self.members.promised(row.uid)
        if promised is not None and promised.pod_sets != pods:  # another size
            self.members.release(row.uid)
            promised = None
        if not row.cluster:
            self.members.release(row.uid)
        elif (
            promised is None
            or promised.epoch != row.epoch
            or promised.cluster != row.cluster
            or promised.succeeded != row.succeeded
        ):
            self.members.promise(
                Promise(
                    row.uid, row.epoch, row.cluster, pods,
                    row.completions, row.succeeded, *_kept(row),
                )
            )  # fmt: skip

    def place(self, placement: Placement, demand: Demand, entry: Entry, now: dt.datetime) -> None:
        """A placement was committed: what reading its row again would tell."""
        uid, epoch = placement.uid, placement.epoch + 1
        self._discharge_quota(uid)
        self.epochs[uid] = epoch
        self._charged[uid] = (placement.queue, placement.assignment.charge)
        self.ledger.charge(placement.queue, placement.assignment.charge)
        key = (demand.key, id(placement.assignment))
        pods = self._placed.get(key)
        if pods is None:
            asks = [ask._replace(revision=0) for ask in placement.assignment.asks]
            pairs = zip(demand.pod_sets, asks, strict=True)
            pods = tuple((p.requests, ask, p.count) for p, ask in pairs)
            self._placed[key] = pods
        if len(pods) == 1:
            reduced = placement.assignment.reduced
            count = placement.assignment.pod_sets[0].count if reduced else entry.parallelism
            pods = ((*pods[0][:2], count),)
        at = to_micros(now)
        self._hold(
            AdmittedWorkload(
                uid=uid, namespace=entry.namespace, name="", queue=placement.queue,
                usage=placement.assignment.charge, priority=demand.priority,
                queued_at=entry.queued_at, reserved_at=at, local_queue=entry.local_queue,
                cluster=placement.cluster, started_at=at, pods=pods,
                pods_ready=not placement.cluster,  # a bare one is, unless it says otherwise
                epoch=epoch, completions=entry.completions,
            )
        )  # fmt: skip
        if placement.cluster:
            self.paces.now = now
            self.paces.follow(uid, placement.cluster, State.PLACED)
            self.members.promise(
                Promise(
                    uid, epoch, placement.cluster, pods, entry.completions, 0,
                    placement.nodes, at + KEPT_FOR if placement.nodes else 0,
                )
            )  # fmt: skip

    def forget_plan(self) -> None:
        """The assignments of the last plan are gone."""
        self._placed.clear()

    def forget_asks(self) -> None:
        """Flavors changed: what is placed from now on asks for other nodes than its equals did."""
        self._asks.clear()

    def follow(self, pulse: ProgressRow) -> None:
        """The same placement of a charged workload, a little further or at its end."""
        self.paces.follow(pulse.uid, pulse.cluster, pulse.state)
        if pulse.state not in _CHARGED:
            self.discharge(pulse.uid)
            return
        if pulse.state == State.WITHDRAWING:
            self._evict(pulse.uid)
        if bool(pulse.pods_ready) == (pulse.uid in self.unready):
            self._note_ready(pulse.uid, ready=bool(pulse.pods_ready))
        promised = self.members.promised(pulse.uid)
        if promised is not None and promised.succeeded != pulse.succeeded:
            self.members.promise(promised.with_succeeded(pulse.succeeded))

    def _hold(self, holder: AdmittedWorkload) -> None:
        self._own(holder.queue)[holder.uid] = holder
        (self.unready.discard if holder.pods_ready else self.unready.add)(holder.uid)

    def _own(self, queue: str) -> dict[str, AdmittedWorkload]:
        """The mutable holders of a queue's quota."""
        if queue in self._lent:
            self._lent.remove(queue)
            self.holders[queue] = dict(self.holders[queue])
        return self.holders.setdefault(queue, {})

    def lend_holders(self) -> Mapping[str, Mapping[str, AdmittedWorkload]]:
        """The holders of quota, as of now: later changes do not show in it."""
        self._lent.update(self.holders)
        return dict(self.holders)

    @property
    def charged(self) -> Mapping[str, tuple[str, Usage]]:
        """Queue and usage of every charged workload, by uid."""
        return self._charged

    def holder(self, uid: str) -> AdmittedWorkload | None:
        """A workload that holds quota; None if it holds none."""
        queue, _ = self._charged.get(uid, ("", {}))
        return self.holders.get(queue, {}).get(uid)

    def _evict(self, uid: str) -> None:
        holder = self.holder(uid)
        if holder is not None and not holder.evicted:
            self._hold(replace(holder, evicted=True))

    def _note_ready(self, uid: str, *, ready: bool) -> None:
        holder = self.holder(uid)
        if holder is not None:
            self._hold(replace(holder, pods_ready=ready))

    def discharge(self, uid: str) -> None:
        """Nothing is charged for a workload any more."""
        self.epochs.pop(uid, None)
        self.paces.drop(uid)
        self._discharge_quota(uid)
        self.members.release(uid)

    def _discharge_quota(self, uid: str) -> None:
        charged = self._charged.pop(uid, None)
        if charged is not None:
            queue, usage = charged
            self.ledger.release(queue, usage)
            self._own(queue).pop(uid, None)
            self.unready.discard(uid)
            self._released(queue)

    def _usage_of(self, admission: bytes | None) -> Usage:
        if admission is None:
            return {}
        usage = self._usage.get(admission)
        if usage is None:
            if len(self._usage) > _MOST:
                self._usage.clear()
            usage = self._usage[admission] = read_usage(orjson.loads(admission))
        return usage

    def _pods(self, row: SchedulingRow) -> Pods:
        """The requests of a charged workload's pods, and their nodes: under its flavors."""
        key = (row.shape, row.admission or b"")
        found = self._asks.get(key)
        if found is None:
            found = self._read_pods(row)
            if len(self._asks) > _MOST:
                self._asks.clear()
            self._asks[key] = found
        if len(found) == 1:
            requests, ask, count = found[0]
            admitted = orjson.loads(row.admission) if row.admission else {}
            most = count if admitted.get("reduced") else row.parallelism
            return ((requests, ask, min(most, row.parallelism)),)
        return found

    def _read_pods(self, row: SchedulingRow) -> Pods:
        return self.pods_of(row.shape, orjson.loads(row.admission) if row.admission else {})

    def pods_of(self, shape: str, admission: JsonView, *, as_decided: bool = False) -> Pods:
        """The requests of a shape's pods, and their nodes, under the flavors of an admission.

        `as_decided`: as many as it names, also where these are all; else the shape says how many.
        """
        pod_sets = self._shapes.get(shape)
        if not isinstance(pod_sets, tuple):
            return ()
        given = admission.get("podSets", ())
        assigned = {p["name"]: set((p.get("flavors") or {}).values()) for p in given}
        named = as_decided or admission.get("reduced")
        counts = {p["name"]: p["count"] for p in given if named}
        growing = bool(admission.get("growing"))
        catalog = FlavorCatalog(self._routes.flavors, {})
        found = []
        for pod_set in pod_sets:
            names = sorted(assigned.get(pod_set.name, ()))
            flavors = [self._routes.flavors[n] for n in names if n in self._routes.flavors]
            ask = catalog.ask(pod_set, flavors)._replace(revision=0, growing=growing)
            found.append((pod_set.requests, ask, counts.get(pod_set.name, pod_set.count)))
        return tuple(found)


def _kept(row: SchedulingRow) -> tuple[tuple[str, ...], int]:
    """Names of the nodes on which room is kept for a placed workload, and until when."""
    since = row.placed_at or row.reserved_at
    if since is None or b'"nodes"' not in (row.admission or b""):
        return (), 0
    nodes = orjson.loads(row.admission or b"{}").get("nodes") or ()
    return tuple(nodes), to_micros(since) + KEPT_FOR

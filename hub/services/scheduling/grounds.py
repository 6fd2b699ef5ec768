"""The records that decisions rest on: as the index had them, and as the transaction that writes finds them.

The change feed is the proof. A revision is written by the transaction that makes the change, and
revisions have no holes: what no revision since names is as it was. So one query tells that nothing has
changed, whichever hub wrote; only what it names is read again. Rule 23 of docs/explain/exactly-once.md.
"""

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Final

import orjson

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.recheck import Moved, Standing
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.clusters import Cluster, changed_for_jobs
from hub.domain.fleet.free_capacity import Room
from hub.domain.fleet.promises import Members
from hub.domain.plan import Lapse, Reason
from hub.domain.quota.declared import ClusterQueue, Usage, read_usage
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.tree import Cohort
from hub.domain.workloads.demand import Demand
from hub.domain.workloads.states import CHARGED, State
from hub.services.consent.namespaces import Consents
from hub.services.index import reader
from hub.services.index.catalog import KINDS, Route, Routes
from hub.services.index.charged import Shapes
from hub.services.index.demand_cache import Demands
from hub.services.index.fleet import read_member, stopped_queues
from hub.services.index.held_back import BackingOff
from hub.services.index.index import ScheduleIndex
from hub.services.index.pending_growth import GrowthPlace
from hub.services.index.pending_router import PendingRouter
from hub.store import changes, schedule
from hub.store.schedule import SchedulingRow
from hub.store.transaction import Touched, Transaction
from hub.store.workloads import TERMS

_DECISIVE: Final = ("clusters", "objects", TERMS, "workloads")
_CHARGED: Final = frozenset(str(state) for state in CHARGED)
Concerns = Callable[[AdmittedWorkload], bool]
Holders = Mapping[str, AdmittedWorkload | None]  # by uid; None: it holds no quota any more


@dataclass(frozen=True, slots=True, eq=False)
class Grounds:
    """The index as decisions found it: it stays as it is until they are written or dropped.

    `revision`: of the feed, up to which it had followed. `charged`: queue and usage by uid, as in
    `ledger`. `snapshot`: what a cycle decided on; None for what is decided beside cycles.
    """

    revision: int
    routes: Routes
    shapes: Shapes
    members: Members
    consents: Consents
    charged: Mapping[str, tuple[str, Usage]]
    key_revisions: Mapping[str, int]
    balanced: bool
    profile: Profile
    ledger: Ledger
    snapshot: Snapshot | None = None

    @classmethod
    def of(
        cls, index: ScheduleIndex, profile: Profile, snapshot: Snapshot | None = None
    ) -> "Grounds":
        """Those of decisions that are made now; `snapshot`: of the cycle that makes them."""
        return cls(
            index.revision, index.routes, index.shapes, index.members, index.consents,
            index.charged, index.keys.since, index.balanced, profile,
            index.ledger if snapshot is None else snapshot.ledger, snapshot,
        )  # fmt: skip

    def in_transaction(
        self, tx: Transaction, uids: Collection[str], concerns: Concerns | None = None
    ) -> "Present | None":
        """The differences now; None if there is none that decisions about `uids` can rest on.

        `concerns`: does a decision to preempt rest on this holder of quota?
        """
        touched = changes.touched_since(tx, self.revision, _DECISIVE)
        rows = touched.pop("workloads", set())
        about = rows.intersection(uids)
        held = set()
        if concerns is not None:
            known = ((uid, self.holder(uid)) for uid in rows)
            held = {uid for uid, holder in known if holder is not None and concerns(holder)}
        return Present(tx, self, touched, about, held) if touched or about or held else None

    def holder(self, uid: str) -> AdmittedWorkload | None:
        """A workload that held quota in the picture of the cycle; None for any other."""
        queue, _ = self.charged.get(uid, ("", {}))
        held = {} if self.snapshot is None else self.snapshot.holders
        return held.get(queue, {}).get(uid)

    def stays_small(self, tx: Transaction, where: Mapping[str, GrowthPlace]) -> set[str]:
        """Jobs that may not grow as was decided, by uid.

        The next turn looks at them again.
        """
        present = self.in_transaction(tx, where) if where else None
        if present is None:
            return set()
        return {
            uid
            for uid, (namespace, local, queue, cluster) in where.items()
            if cluster in present.moved.clusters
            or present.rests_on_moved(queue)
            or not present.routes.may_grow(namespace, local, queue)
        }


class Present:
    """Grounds as of a transaction. `moved`: what is different; `routes` and `clusters`: as they are now."""

    def __init__(
        self,
        tx: Transaction,
        grounds: Grounds,
        touched: Touched,
        about: Collection[str],
        held: Collection[str] = (),
    ) -> None:
        """`about`: workloads decided upon whose rows were touched; `held`: such holders of quota."""
        self._tx, self._grounds, self._about = tx, grounds, about
        routes = _routes(tx, grounds.routes, touched.get("objects", ()))
        self.rules_moved = routes is not None
        self.routes = routes or grounds.routes
        before = grounds.members.clusters
        self._told, self._gone = _clusters(tx, grounds, touched.get("clusters", ()))
        self.clusters = {n: c for n, c in {**before, **self._told}.items() if n not in self._gone}
        self._follow_stopped_queues()
        self._consent_moved = bool(self._gone) or any(
            name not in before or changed_for_jobs(before[name], cluster) != frozenset()
            for name, cluster in self._told.items()
        )
        terms = schedule.standing(tx, touched.get(TERMS, ()))
        self._ledger, trees = self._charge(terms)
        self.routes_moved = self.rules_moved and not self.routes.leads_as(grounds.routes)
        self._holders = _holders(tx, grounds, terms, held)
        self.moved = Moved(
            trees,
            _differing(grounds.routes.flavors, self.routes.flavors),
            frozenset(self._told) | self._gone,
            *self._release({row.uid for row in terms}),
        )

    def _follow_stopped_queues(self) -> None:
        """Members that reported may have stopped LocalQueues, or opened them: routes avoid others then."""
        stopped = stopped_queues(self.clusters) if self._told or self._gone else None
        self._stops_moved = stopped is not None and stopped != self.routes.stopped_in
        if stopped is not None and self._stops_moved:
            self.routes = copy(self.routes)
            self.routes.stopped_in = stopped

    def _release(self, charged: Collection[str]) -> tuple[frozenset[str], frozenset[str]]:
        """Release the quota of holders that left; roots of trees and clusters in which holders differ.

        `charged`: uids of those of which the ledger knows already.
        """
        trees, clusters = set(), set()
        for uid, now in self._holders.items():
            before = self._grounds.holder(uid)
            if before is None:
                continue
            if now is None and uid not in charged:
                if self._ledger is self._grounds.ledger:
                    self._ledger = self._ledger.copy()
                self._ledger.release(before.queue, before.usage)
            node = self._ledger.node(before.queue)
            trees |= {node.root().name} if node is not None else set()
            clusters.add(before.cluster)
        return frozenset(trees), frozenset(clusters - {""})

    def _charge(self, terms: Iterable[SchedulingRow]) -> tuple[Ledger, frozenset[str] | None]:
        """Quota as declared and charged now, and the roots of trees where that is different."""
        grounds, routes = self._grounds, self.routes
        base = ledger = grounds.ledger
        names: set[str] = set()
        if self.rules_moved:
            was = grounds.routes.queues
            names |= {
                n for n in was.keys() | routes.queues.keys()
                if not _same_queue(was.get(n), routes.queues.get(n))
            }  # fmt: skip
            cohorts_moved = not _same_cohorts(grounds.routes.cohorts, routes.cohorts)
            if names or cohorts_moved:
                ledger = base.copy()
                for name in names:
                    ledger.drop(name)
                    if name in routes.queues:
                        ledger.put(routes.queues[name])
                ledger.put_cohorts(routes.cohorts.values())
            routes.cycles = ledger.tree.inactive
            if cohorts_moved:
                return self._with_terms(ledger, terms)[0], None
        ledger, charged = self._with_terms(ledger, terms)
        nodes = [
            tree.queues[name]
            for name in names | charged
            for tree in (base.tree, ledger.tree)
            if name in tree.queues
        ]
        return ledger, frozenset(node.root().name for node in nodes)

    def _with_terms(
        self, ledger: Ledger, terms: Iterable[SchedulingRow]
    ) -> tuple[Ledger, set[str]]:
        """Workloads whose charge was changed beside the scheduler: what it is now; queues it is in."""
        queues: set[str] = set()
        for row in terms:
            now = row.state in _CHARGED
            usage = read_usage(orjson.loads(row.admission or b"null")) if now else {}
            queue, charged = self._grounds.charged.get(row.uid, ("", {}))
            if (row.cluster_queue, usage) == (queue, charged) or not (now or charged):
                continue
            if not queues and ledger is self._grounds.ledger:
                ledger = ledger.copy()
            if charged:
                ledger.release(queue, charged)
            if usage:
                ledger.charge(row.cluster_queue, usage)
            queues |= {queue, row.cluster_queue}
        return ledger, queues - {""}

    def rests_on_moved(self, queue: str) -> bool:
        """Are limits, policies or charges different in the quota tree of a queue, or is it gone?"""
        node, trees = self._ledger.node(queue), self.moved.trees
        return node is None or trees is None or node.root().name in trees

    def snapshot(self) -> Snapshot:
        """The picture of the cycle, as it is now; its queues are empty."""
        was, routes = self._grounds.snapshot, self.routes
        assert was is not None
        told, gone = self._told, self._gone
        return replace(
            was,
            queues=[(queue, ()) for queue in routes.queues.values()],
            ledger=self._ledger,
            catalog=FlavorCatalog(routes.flavors, self._grounds.key_revisions),
            clusters=self.clusters,
            room=self._grounds.members.room_with(told, gone) if told or gone else was.room,
            policies=routes.queue_policies,
            holders=_with_holders(was.holders, self._holders),
            namespaces=routes.namespaces,
            inactive=routes.idle_queues(),
        )

    def roomy(self, room: Room) -> frozenset[str]:
        """Clusters that reported and on whose every node at least as much is free as the cycle saw."""
        was = self._grounds.snapshot
        assert was is not None
        places = room.layout.position
        return frozenset(
            name for name in self._told
            if name in places and room.has_all_of(was.room, places[name])
        )  # fmt: skip

    def standing(
        self, decided: Mapping[str, tuple[int, int]], demands: Mapping[str, Demand]
    ) -> Standing:
        """The demands of workloads now, or why they can not be considered, by uid.

        `decided`: epoch and generation by uid. `demands`: as in the plan, valid if neither rules, consent,
        queues stopped in members nor the row changed. Those of another state, epoch or generation are
        left out.
        """
        anew = self.routes_moved or self._consent_moved or self._stops_moved
        again = [uid for uid in decided if anew or uid in self._about or uid not in demands]
        found: dict[str, Demand | Lapse] = {u: demands[u] for u in decided.keys() - set(again)}
        for row in self.rows(again):
            expected = decided[row.uid]
            if row.state == State.PENDING and (row.epoch, row.generation) == expected:
                found[row.uid] = self.stand(row)
        return found

    def rows(self, uids: Iterable[str]) -> list[SchedulingRow]:
        """Rows as they are now."""
        return schedule.standing(self._tx, uids)

    def stand(self, row: SchedulingRow) -> Demand | Lapse:
        """The demand that the index would give a row now, or why it would hold it back."""
        route, demand = self.route(row)
        if demand is not None:
            return demand
        return Lapse(Reason(route.reason), route.message)

    def route(self, row: SchedulingRow) -> tuple[Route, Demand | None]:
        """The queue that a row may enter now, and its demand there."""
        return self._router.stand(row)

    @functools.cached_property
    def _router(self) -> PendingRouter:
        grounds = self._grounds
        consents = Consents(self.clusters)
        consents.named = grounds.consents.named
        demands = Demands(self.routes, set(), consents, balanced=grounds.balanced)
        return PendingRouter(self.routes, grounds.shapes, demands, BackingOff())


def _routes(tx: Transaction, routes: Routes, uids: Collection[str]) -> Routes | None:
    if not uids:
        return None
    rows = schedule.rules(tx, KINDS, uids)
    return routes.with_news(rows, set(uids).difference(row.uid for row in rows))


def _clusters(
    tx: Transaction, grounds: Grounds, names: Collection[str]
) -> tuple[dict[str, Cluster], frozenset[str]]:
    if not names:
        return {}, frozenset()
    told = {
        member.name: read_member(member, capacity, grounds.key_revisions)[1]
        for member, capacity in reader.read_clusters(tx, names)
    }
    gone = frozenset(names) - told.keys()
    return told, gone & grounds.members.clusters.keys()


def _holders(
    tx: Transaction, grounds: Grounds, terms: Iterable[SchedulingRow], held: Collection[str]
) -> Holders:
    """Holders of quota that are not as the cycle saw them. `terms`: rows with another size or priority."""
    found: dict[str, AdmittedWorkload | None] = {}
    rest = set(held)
    for row in terms:
        rest.discard(row.uid)
        holder = grounds.holder(row.uid)
        if holder is None:
            continue
        now = replace(
            holder,
            queue=row.cluster_queue,
            usage=read_usage(orjson.loads(row.admission or b"null")),
            priority=row.priority,
            evicted=row.state == State.WITHDRAWING,
        )
        if row.state not in _CHARGED:
            found[row.uid] = None
        elif _terms(now) != _terms(holder):
            found[row.uid] = now
    pulses = {pulse.uid: pulse.state for pulse in schedule.pulses(tx, rest)} if rest else {}
    for uid in rest:
        state, holder = pulses.get(uid, ""), grounds.holder(uid)
        if state not in _CHARGED:
            found[uid] = None
        elif holder is not None and state == State.WITHDRAWING and not holder.evicted:
            found[uid] = replace(holder, evicted=True)
    return found


def _terms(holder: AdmittedWorkload) -> tuple[object, ...]:
    return holder.queue, holder.usage, holder.priority, holder.evicted


def _with_holders(
    before: Mapping[str, Mapping[str, AdmittedWorkload]], changed: Holders
) -> Mapping[str, Mapping[str, AdmittedWorkload]]:
    """Holders by queue and uid, with those that changed; nothing of `before` is changed."""
    if not changed:
        return before
    found: dict[str, Mapping[str, AdmittedWorkload]] = {
        queue: {uid: h for uid, h in those.items() if uid not in changed}
        if not changed.keys().isdisjoint(those)
        else those
        for queue, those in before.items()
    }
    for uid, now in changed.items():
        if now is not None:
            found[now.queue] = {**found.get(now.queue, {}), uid: now}
    return found


def _differing(before: Mapping[str, object], after: Mapping[str, object]) -> frozenset[str]:
    return frozenset(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )


def _same_queue(one: ClusterQueue | None, other: ClusterQueue | None) -> bool:
    """Labels aside: who is placed by them, the route of each workload says."""
    if one is other or one is None or other is None:
        return one is other
    return (one.spec, one.terminating) == (other.spec, other.terminating)


def _same_cohorts(before: Mapping[str, Cohort], after: Mapping[str, Cohort]) -> bool:
    def told(cohorts: Mapping[str, Cohort]) -> dict[str, tuple[object, ...]]:
        return {n: (c.parent, c.quotas, c.weight) for n, c in cohorts.items()}

    return before == after or told(before) == told(after)

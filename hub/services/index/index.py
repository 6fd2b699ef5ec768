"""The leader's index of what scheduling needs, in memory: rebuilt at start, then following the feed.

It holds nothing that is not committed: losing it loses nothing. Rows are read in a store thread
(`hub.services.index.reader`) and applied in the event loop; a cycle works on a snapshot of it.
"""

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.cycle.snapshot import Nomination, Snapshot
from hub.domain.instants import to_micros
from hub.domain.placement.framework import Filter
from hub.domain.placement.scoring.pace import Starts
from hub.domain.plan import Plan, Reason, Refusal
from hub.domain.preemption.search import PreemptionLimits
from hub.domain.queueing.lanes import Lane
from hub.domain.queueing.pending import Waiting
from hub.domain.quota.declared import ClusterQueue, Flavor, Usage
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.quota.usage_history import UsageHistory
from hub.domain.workloads import shape
from hub.domain.workloads.demand import selected_keys
from hub.domain.workloads.states import CHARGED, State
from hub.services.consent.namespaces import Consents
from hub.services.index.catalog import Routes
from hub.services.index.charged import Charges
from hub.services.index.demand_cache import Demands
from hub.services.index.fair_usage import Consumption
from hub.services.index.fleet import FleetNews
from hub.services.index.held_back import BackingOff
from hub.services.index.nominations import Claims
from hub.services.index.pending_growth import Wish, Wishes, contested
from hub.services.index.pending_router import PendingRouter
from hub.services.index.pool_keys import PoolKeys
from hub.services.index.reader import Affected, Known, News
from hub.services.index.reservations import Reservations
from hub.services.index.waiting.pending_rows import PendingRows
from hub.services.index.waiting.stale_figures import StaleFigures, room_of
from hub.store.records.workloads import ReasonToWait
from hub.store.schedule import SchedulingRow
from shared.resources import PodSet
from shared.selectors import LabelSelector

_CHARGED: Final = frozenset(str(s) for s in CHARGED)


class ScheduleIndex:
    """Queues with who waits in them, quota with what is charged, the fleet with what is promised."""

    def __init__(
        self,
        missing_selector: LabelSelector | None,
        suspect_after_s: float,
        history: UsageHistory | None = None,
        *,
        balanced: bool = True,
    ) -> None:
        """`balanced`: jobs that no placement's sorters place are balanced; else KubeFleet's arithmetic."""
        self.routes = Routes(missing_selector)
        self.waiting = Waiting()
        self.consumption = Consumption(history, self.routes)
        if history is not None:
            self.waiting.rank_of = self.consumption.rank_of
        self.keys = PoolKeys()
        self.shapes: dict[str, tuple[PodSet, ...] | Exception] = {}
        self.seen_keys: set[str] = set()  # node label keys looked at lately, by whomever
        self._backing_off = BackingOff()
        self._freed: set[str] = set()  # queues whose quota was released since the last cycle
        self._charges = Charges(self.routes, self.shapes, self._freed.add)
        self.ledger = self._charges.ledger
        self.members = self._charges.members
        self.consents = Consents(self.members.clusters)
        demands = Demands(self.routes, self.seen_keys, self.consents, balanced=balanced)
        line = PendingRouter(self.routes, self.shapes, demands, self._backing_off)
        self.claims = Claims(self._charges)
        self.pending = PendingRows(self.routes, self.waiting, line, self.claims, self._backing_off)
        self.held_back, self.pending_reasons = self.pending.held_back, self.pending.reasons
        self._figures = StaleFigures()
        self.reservations = Reservations(
            self.routes, self.members, self.claims, line.place, self.seen_keys
        )
        self.wishes = Wishes(self.routes, self._charges)
        self._pods_awaited = False  # somebody waits for all pods of all admitted to be ready
        self.balanced = balanced
        self.revision = 0  # of the feed, up to which everything has been taken in
        self._fleet = FleetNews(
            self.members, self._charges.paces, self.waiting, suspect_after_s, self.seen_keys
        )
        self.limits = PreemptionLimits()  # of preemption, as the administrator set them

    @property
    def holders(self) -> Mapping[str, Mapping[str, AdmittedWorkload]]:
        """The holders of quota, by queue and uid."""
        return self._charges.holders

    @property
    def charged(self) -> Mapping[str, tuple[str, Usage]]:
        """Queue and usage of every charged workload, by uid."""
        return self._charges.charged

    def lend_holders(self) -> Mapping[str, Mapping[str, AdmittedWorkload]]:
        """The holders of quota, as of now: later changes do not show in it."""
        return self._charges.lend_holders()

    def known(self) -> Known:
        """The rows that need not be read again."""
        return Known(self.shapes.keys(), self._charges.epochs)

    def needed_keys(self) -> frozenset[str]:
        """Node label keys that flavors, declared pools and those who wait look at now.

        Looks at every class that waits; what only others looked at is forgotten.
        """
        pod_sets = [lane.demand.pod_sets for lane in self.waiting.every_lane()]
        for digest in self.reservations.shapes():
            stored = self.shapes.get(digest)
            pod_sets += [stored] if isinstance(stored, tuple) else []
        needed = self._fleet.declared_keys() | _keys_of(self.routes.flavors.values())
        needed.update(self.reservations.added_keys(), *map(selected_keys, pod_sets))
        self.seen_keys &= needed
        return frozenset(needed)

    def _wake_for_quota(self) -> None:
        """Quota was released: it may serve every queue of the same tree."""
        tree = self.ledger.tree
        names: set[str] = set()
        for name in self._freed & tree.queues.keys():
            if name not in names:
                node = tree.queues[name]
                names |= {name} if node.parent is None else {n.name for n in node.root().queues()}
        self._freed.clear()
        for name in names:
            preempts = self.routes.queue_policies[name].preempts
            self.waiting.wake_for_quota(name, self.ledger, any_shortage=preempts)

    # --- applying ----------------------------------------------------------------------------

    def apply(self, news: News) -> Affected:
        """Take rows in; what else must be read because rules changed."""
        self.revision = max(self.revision, news.revision)
        if news.keys is not None and news.keys != self.keys:
            self.keys = news.keys
        self._backing_off.now = self._charges.paces.now = news.read_at or self._backing_off.now
        affected = self._apply_rules(news)
        if news.consumed is not None:
            self.consumption.read(news.consumed)
        if news.named is not None:
            self.consents.named = replace(news.named, beyond=self.consents.named.beyond)
        changed = self.consents.look_again(self._fleet.follow(news, self.keys.since))
        affected = self._follow_stopped_queues(affected, whole=news.whole)
        affected = replace(affected, namespaces=affected.namespaces | changed)
        for digest, stored in news.shapes.items():
            self.shapes[digest] = _decoded(stored)
        for pulse in news.pulses:
            self.reservations.forget(pulse.uid)
            self._charges.follow(pulse)
            self.consumption.finish(pulse.uid, pulse.state)
        for uid in news.gone:
            self._forget(uid)
        if news.backlog is not None:
            self.pending.fill(news.backlog)
        for row in news.workloads:
            self._apply_workload(row)
        return affected

    def _follow_stopped_queues(self, affected: Affected, *, whole: bool) -> Affected:
        """Members report which LocalQueues their people have stopped: Jobs of these look again."""
        before, now = self.routes.stopped_in, self._fleet.stopped_queues()
        if before == now:
            return affected
        self.routes.stopped_in = now
        if whole:
            return affected
        keys = before.keys() | now.keys()
        changed = {
            key for key in keys & self.routes.local.keys() if before.get(key) != now.get(key)
        }
        return replace(affected, queues=affected.queues | changed)

    def trim(self) -> None:
        """Forget shapes that are many: they are read again as they are met. Not between parts of news."""
        if len(self.shapes) > _MOST_DEMANDS:
            self.shapes.clear()

    def _apply_rules(self, news: News) -> Affected:
        if not news.rules and not news.rules_gone:
            return Affected()
        routes = self.routes
        looked_at = news.rules_gone | {row.uid for row in news.rules}
        before = {} if news.whole else routes.targets()
        policies = {uid: routes.policy(uid) for uid in looked_at}
        flavors, queues = dict(routes.flavors), dict(routes.queues)
        cohorts = dict(routes.cohorts)
        gone = news.rules_gone - {row.uid for row in news.rules}
        changed = [routes.drop(uid) for uid in gone] + [routes.put(row) for row in news.rules]
        if not any(changed):
            return Affected()
        self._follow_queues(queues)
        self.reservations.look_again()
        self.consumption.follow_rules()
        if cohorts != routes.cohorts:
            self.ledger.put_cohorts(routes.cohorts.values())
            self.waiting.wake()
        routes.cycles = self.ledger.tree.inactive
        if flavors != routes.flavors:
            self._charges.forget_asks()
            self.waiting.wake()
            self.seen_keys |= _keys_of(routes.flavors.values())
        if news.whole:
            return Affected()
        after = routes.targets()
        return Affected(
            queues=frozenset(
                key for key in before.keys() | after.keys() if before.get(key) != after.get(key)
            ),
            placements=frozenset(
                uid for uid, was in policies.items() if was != routes.policy(uid)
            ),
        )

    def _follow_queues(self, before: Mapping[str, ClusterQueue]) -> None:
        """Bring limits up to date, and look again at who waits in queues that changed."""
        for name in before.keys() - self.routes.queues.keys():
            self.ledger.drop(name)
        for name, queue in self.routes.queues.items():
            if before.get(name) is not queue:
                self.ledger.put(queue)
                self.waiting.wake_queue(name)
                if queue.cohort:
                    self._freed.add(name)

    def _apply_workload(self, row: SchedulingRow) -> None:
        self.reservations.follow(row)
        self.wishes.follow(row)
        if row.state == State.PENDING:
            self._charges.discharge(row.uid)
            self.consumption.end(row.uid)
            self.pending.follow(row)
            return
        self.pending.stop(row.uid)
        if row.state in _CHARGED:
            self._charges.charge(row)
            self.consumption.reserve(
                self._charges.holder(row.uid), row.reserved_at or row.placed_at
            )
        else:
            self._charges.discharge(row.uid)
            self.consumption.finish(row.uid, row.state)

    def _forget(self, uid: str) -> None:
        self.reservations.forget(uid)
        self.wishes.shrinking.discard(uid)
        self.pending.stop(uid)
        self.consumption.forgive(uid)
        self._charges.discharge(uid)

    # --- answering ----------------------------------------------------------------------------

    def refresh_room(self) -> None:
        """Bring the room up to date with reports and promises, and wake those it may serve."""
        if self.members.refresh(self.waiting.wake_for_room if len(self.waiting) else None):
            self.waiting.wake_all_for_room()

    def snapshot(
        self, now: dt.datetime, limit: int, filters: Sequence[Filter] = ()
    ) -> Snapshot | None:
        """The workloads for the decisions of a cycle, `limit` of each demand; None if nobody may move.

        Claims to clusters that `filters` reject end.
        """
        self.members.expire(to_micros(now))
        self.refresh_room()
        self.waiting.wake_due(now)
        for row in self._backing_off.due(now):
            self.pending.follow(row)
        if self._pods_awaited and not self._charges.unready:
            self.waiting.wake(lambda _, parked: parked.reason is Reason.WAITING_FOR_PODS_READY)
            self._pods_awaited = False
        self._wake_for_quota()
        if self._charges.paces.reopened():
            self.waiting.wake_all_for_room()
        kept = len(self.claims)
        nominations = self.claims.standing(now, filters)
        if len(nominations) < kept:
            self.waiting.wake_all_for_room()
        self._figures.wake(self.waiting, self.ledger.tree, self.members.room, now)
        queues = self._movable(limit, nominations)
        if not queues:
            return None
        routes = self.routes
        return Snapshot(
            queues,
            self.ledger.copy(),
            FlavorCatalog(dict(routes.flavors), self.keys.since),
            dict(self.members.clusters),
            self.members.lend_room(),
            dict(routes.queue_policies),
            self._charges.lend_holders(),
            nominations,
            dict(routes.namespaces),
            self.consumption.ranks(),
            routes.idle_queues(),
            self.starts(now),
            self.claims.preempted(),
            self.members.kept_nodes(),
        )

    def starts(self, now: dt.datetime) -> dict[str, Starts]:
        """The missing and running jobs of each member, and its pace of starts."""
        return self._charges.paces.starts(now)

    def _movable(
        self, limit: int, nominations: Mapping[str, Nomination]
    ) -> list[tuple[ClusterQueue, list[Lane]]]:
        """Lanes worth a look. If there are any, those that only keep their place take part too:
        nominees, and heads of StrictFIFO queues in cohorts.
        """
        queues = {}
        for name in sorted(self.waiting.queues()):
            queue = self.routes.queues.get(name)
            lanes = self.waiting.movable(queue, limit) if queue else []
            if queue is not None and lanes:
                queues[name] = (queue, lanes)
        if not queues:
            return []
        for uid in nominations:
            lane = self.waiting.find(uid)
            queue = self.routes.queues.get(lane.demand.queue) if lane else None
            if queue is not None and queue.name not in queues:
                queues[queue.name] = (queue, self.waiting.movable(queue, limit, parked=True))
        for name in self.waiting.queues() - queues.keys():
            queue = self.routes.queues.get(name)
            if queue is not None and queue.strict and queue.cohort:
                queues[name] = (queue, self.waiting.movable(queue, limit, parked=True))
        return [queues[name] for name in sorted(queues)]

    def placed(self, plan: Plan, uids: Collection[str], now: dt.datetime) -> None:
        """A plan was committed for these workloads: they wait no longer and are charged."""
        for placement in plan.placements:
            uid = placement.uid
            lane, entry = self.waiting.find(uid), self.waiting.entry(uid)
            if uid in uids and lane is not None and entry is not None:
                self.pending.stop(uid)
                self._charges.place(placement, lane.demand, entry, now)
                self.consumption.reserve(self._charges.holder(uid), now)
        self._charges.forget_plan()

    def grow(self, now: dt.datetime) -> list[Wish]:
        """Jobs that run smaller than wanted and may grow from what the last cycle left over."""
        if not self.wishes:
            return []
        self.refresh_room()
        kept = contested(self.routes, self.waiting, self.claims, self.ledger)
        return self.wishes.served(kept, self.ledger, self.claims.room_beside(now))

    def settle(self, plan: Plan, now: dt.datetime) -> dict[str, Refusal]:
        """Park what a plan refused, and queue what rows should say; refusals to be stored anew, by key."""
        stored = {}
        room = room_of(self.members.room) if plan.refusals else 0
        for lane in self.waiting.park(plan.refusals):
            self._figures.note(lane, room, now)
            self._pods_awaited |= lane.parked is not None and (
                lane.parked.reason is Reason.WAITING_FOR_PODS_READY
            )
            if lane.refusal is not None and self.pending_reasons.lane(lane, lane.refusal, now):
                stored[lane.demand.key] = lane.refusal
        return stored

    def tell(self, limit: int, now: dt.datetime) -> list[ReasonToWait]:
        """Rows of waiting workloads to set reason and message of, at most `limit`."""
        self.pending_reasons.late(now)
        return self.pending_reasons.take(
            limit, lambda uid: uid in self.waiting or uid in self.held_back
        )


_MOST_DEMANDS: Final = 50_000


def _keys_of(flavors: Iterable[Flavor]) -> set[str]:
    return {key for flavor in flavors for key, _ in flavor.labels}


def _decoded(stored: Any) -> tuple[PodSet, ...] | Exception:
    try:
        return shape.decode(stored)
    except Exception as fault:  # noqa: BLE001 - one unusable shape must not stop the others
        return fault


FindIndex = Callable[[], ScheduleIndex | None]  # None: this process has no scheduler

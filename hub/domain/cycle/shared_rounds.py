"""Rounds of the live cycle: queues whose turns depend on others, through a cohort or by preemption.

Heads stand for classes of equal workloads; what is decided here becomes values of a `Plan`. Plain queues
(`is_plain`) take their turns in between, in the same order.
"""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from hub.domain.cycle.admit import RoundState
from hub.domain.cycle.attempt import Attempt, Ending, progressed
from hub.domain.cycle.capacity_view import LiveFleet
from hub.domain.cycle.plain_rounds import Order, is_plain
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.rounds import Rounds
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.free_capacity import Room
from hub.domain.instants import from_micros, to_micros
from hub.domain.placement.cluster_search import ClusterSearch
from hub.domain.placement.picking.choice import NOWHERE
from hub.domain.plan import Assignment, Eviction, Nominated, Placement, Reason, Refusal
from hub.domain.queueing.eligibility import Hold
from hub.domain.queueing.lane_queue import LaneQueue
from hub.domain.queueing.requeue import Outcome, Where
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload, QuotaState
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.quota.tree import QuotaTree
from shared.resources import PodSet

_PATIENCE = 3  # rounds in a row that change nothing, before the cycle ends
_NO_POLICY = QueuePolicy()


class SharedRounds(Rounds):
    """Rounds over the lanes of queues that are not plain. `refusals`: by demand."""

    def __init__(
        self,
        snapshot: Snapshot,
        tree: QuotaTree,
        search: ClusterSearch,
        room: Room,
        profile: Profile,
        now: dt.datetime,
        placements: list[Placement],
        plain: Callable[[Order | None], None],
    ) -> None:
        """`plain` lets plain queues take their turns up to a place in the order, or (None) all.

        Decisions are added to `placements`, the cycle's own.
        """
        contended = {q.name: (q, lanes) for q, lanes in snapshot.queues}
        contended = {
            name: found
            for name, found in contended.items()
            if name in tree.queues and not is_plain(name, snapshot, profile)
        }
        policies = {name: snapshot.policies.get(name, _NO_POLICY) for name in tree.queues}
        queues = {name: queue for name, (queue, _) in contended.items()}
        self._ranks = None if snapshot.ranks is None else snapshot.ranks.copy()
        ranks = None if self._ranks is None else self._ranks.values
        quota_state = QuotaState(
            tree, queues, policies, ranks=ranks, held=snapshot.holders if queues else None,
            inactive=snapshot.inactive,
        )  # fmt: skip
        nominations = {u: n for u, n in snapshot.nominations.items() if n.cluster}
        self.live_lines: Mapping[str, LaneQueue] = {
            name: LaneQueue(
                queue,
                lanes,
                snapshot.nominations.keys(),
                ranks if policies[name].by_usage else None,
            )
            for name, (queue, lanes) in contended.items()
        }
        self.live_fleet = LiveFleet(snapshot.room, room, search, nominations)
        super().__init__(
            quota_state, self.live_lines, snapshot.catalog, profile.rules, snapshot.namespaces,
            self.live_fleet, preempted=snapshot.preempted,
        )  # fmt: skip
        self._take_plain_turns = plain
        self._queues = snapshot.queues
        self._clusters, self._ask = search, snapshot.catalog.ask_widely
        self._instant = to_micros(now)
        self._idle = 0
        self._placements = placements
        self.refusals: dict[str, Refusal] = {}
        self.evictions: dict[str, Eviction] = {}
        self.nominated: dict[str, Nominated] = {}
        self.starts: list[int] = []  # how many placements were decided before each round
        self.admitted: dict[str, AdmittedWorkload] = {}  # as they hold quota since their round
        # What has been assigned, by demand: equals share one, which is written and checked again once.
        self._assigned: dict[tuple[str, object], Assignment] = {}
        self._turns: dict[str, int] = {}  # uid → how many placements were decided before its turn

    def round(self) -> bool:
        """One round, plain queues in between; False if nothing changed for a while."""
        self.starts.append(len(self._placements))
        attempts = self.run(self._instant)
        for attempt in attempts:
            self._note(attempt)
        self._idle = 0 if progressed(attempts) else self._idle + 1
        waits = any(
            a.outcome is Outcome.FAILED_AFTER_NOMINATION
            or (a.starts_over and a.where is Where.HEAP)
            for a in attempts
        )
        return self._idle == 0 or (waits and self._idle < _PATIENCE)

    def attempt(self, who: PendingWorkload) -> Attempt:
        """A workload that can not be judged is set aside, with the fault as its reason."""
        try:
            return super().attempt(who)
        except Exception as fault:  # noqa: BLE001 - one unusable workload must not stop the others
            return _unreadable(who, fault)

    def order(self, attempts: list[Attempt]) -> Iterator[Attempt]:
        """Heads in the order in which they are processed, with plain queues' turns in between."""
        if self.rules.fair:
            self._plain(None)
        for attempt in super().order(attempts):
            if not self.rules.fair:
                who = attempt.who
                self._plain((attempt.search.borrowing, -who.priority, who.queued_at, who.uid))
            yield attempt
        self._plain(None)

    @cached_property
    def _pod_sets(self) -> dict[str, tuple[PodSet, ...]]:
        """By demand; made once a plain queue has placed something: there may be many classes."""
        return {
            lane.demand.key: lane.demand.pod_sets for _, lanes in self._queues for lane in lanes
        }

    def _plain(self, until: Order | None) -> None:
        """Plain queues' turns; the fleet notes what they took."""
        decided = len(self._placements)
        self._take_plain_turns(until)
        for placement in self._placements[decided:]:
            self.live_fleet.note_beside(placement, self._pod_sets[placement.demand])

    def admit(self, attempt: Attempt, state: RoundState) -> None:
        """As for any rounds; placements are decided in the order of turns."""
        self._turns[attempt.who.uid] = len(self._placements)
        super().admit(attempt, state)
        if attempt.ending is Ending.ADMITTED:
            self._place(attempt)

    def _note(self, attempt: Attempt) -> None:
        who = attempt.who
        demand = who.demand
        assert demand is not None
        if attempt.ending is Ending.ADMITTED:
            self.admitted[who.uid] = self.quota_state.holder(who.queue, who.uid)
            if self._ranks is not None and self.quota_state.policies[who.queue].by_usage:
                self._ranks.penalise(f"{who.namespace}/{who.local_queue}", attempt.usage)
            return
        waits = attempt.outcome is Outcome.PENDING_PREEMPTION
        if waits:
            self.refusals.pop(demand.key, None)  # of an earlier round
            self._preempting(attempt)
        else:
            self.refusals[demand.key] = self._refusal(attempt)
        if waits or self.live_lines[who.queue].queue.strict:
            for behind in self.live_lines[who.queue].behind(who.uid):
                message = f"waits behind the head of {who.queue}"
                refusal = Refusal(
                    behind.key, behind.queue, Reason.BEHIND_HEAD, message, head=who.uid
                )
                self.refusals.setdefault(behind.key, refusal)

    def _place(self, attempt: Attempt) -> None:
        who, assigned = attempt.who, attempt.search.assignment
        demand = who.demand
        assert demand is not None
        assert assigned is not None
        choice = NOWHERE if who.quota_only else self.live_fleet.choices[who.uid]
        growing = tuple(ask.growing for ask in assigned.asks)
        shared = self._assigned.setdefault((demand.key, (assigned.pod_sets, growing)), assigned)
        self._placements.append(
            Placement(
                who.uid, who.epoch, choice.cluster, demand.key, demand.queue, demand.placement,
                shared, choice.scores, choice.rejected, choice.others, who.generation,
                self.live_fleet.kept_nodes(who.uid),
            )
        )  # fmt: skip

    def _preempting(self, attempt: Attempt) -> None:
        who, assigned = attempt.who, attempt.search.assignment
        assert assigned is not None
        new = not attempt.victims and not who.nominated  # it waits for the victims of another
        for victim in attempt.victims:
            if not victim.holder.evicted:
                new = True
                uid = victim.holder.uid
                self.evictions.setdefault(uid, Eviction(uid, who.uid, str(victim.cause)))
        self.nominated[who.uid] = Nominated(
            who.uid, attempt.cluster or "", assigned,
            tuple(holder.uid for holder in attempt.awaited), attempt.message, new, who,
            len(self.starts) - 1, self._turns[who.uid], self.live_fleet.kept_nodes(who.uid),
        )  # fmt: skip

    def _spared_until(self) -> dt.datetime | None:
        """The time when the next workload has run long enough to be preempted."""
        least = self.rules.limits.minimum_runtime
        if not least:
            return None
        started = (
            h.started_at for h in self.quota_state.all_holders() if h.started_at is not None
        )
        coming = [at + least for at in started if at + least > self._instant]
        return from_micros(min(coming)) if coming else None

    def _refusal(self, attempt: Attempt) -> Refusal:
        demand, search = attempt.who.demand, attempt.search
        assert demand is not None
        none = self.live_fleet.refusals.get(attempt.who.uid)
        if none is None or search.asks is None:
            refusal = Refusal(
                demand.key, demand.queue, attempt.reason, attempt.message, search.shortages,
                retry_at=self._spared_until() if attempt.outcome is Outcome.NO_CANDIDATES else None,
            )  # fmt: skip
            return self._clusters.decisive(refusal, demand, self._ask)
        again = [none.retry_at, self._spared_until() if self.rules.for_room else None]
        return Refusal(
            demand.key, demand.queue, attempt.reason, attempt.message, search.shortages,
            none.verdicts, none.nearest, "", min((at for at in again if at), default=None),
        )  # fmt: skip


def _unreadable(who: PendingWorkload, fault: Exception) -> Attempt:
    attempt = Attempt(who)
    message = f"{type(fault).__name__}: {fault}"[:500]
    attempt.mark_inadmissible(Hold(Reason.UNREADABLE, message))
    return attempt

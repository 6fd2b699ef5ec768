"""One scheduling cycle: a snapshot in, a plan out. The page to read first.

Nothing here reads a clock, a database or a cluster; equal input gives an equal plan. Preemption,
cohorts and fair sharing are further steps of the same recipe (architecture, section 7).
"""

import datetime as dt

from hub.domain import flavors, queueing
from hub.domain.flavors import Unassigned
from hub.domain.placement.desk import Choice, Desk
from hub.domain.plan import Assignment, Placement, Plan, Reason, Refusal
from hub.domain.queueing import Head, Line
from hub.domain.quota import Ledger
from hub.domain.snapshot import Profile, Snapshot

_ASK_EVERY = 32  # heads between two looks at whether there is time left


def schedule(snapshot: Snapshot, now: dt.datetime, profile: Profile) -> Plan:
    """Decide who is placed where, and why the others wait, on one picture of queues and fleet."""
    cycle = _Cycle(snapshot, now, profile)
    for heads in queueing.rounds(cycle.lines):  # 1. heads of the queues, in order
        for head in heads:
            if not cycle.may_go_on():
                return cycle.plan(unfinished=True)
            try:
                cycle.consider(head)
            except Exception as fault:  # noqa: BLE001 - one unusable workload must not stop the others
                cycle.set_aside(head, fault)
        if profile.one_round:
            break
    return cycle.plan(unfinished=False)


class _Cycle:
    """What has been decided so far, and the room and quota that are left."""

    def __init__(self, snapshot: Snapshot, now: dt.datetime, profile: Profile) -> None:
        self.lines = [Line(queue, lanes) for queue, lanes in snapshot.queues]
        self._ledger: Ledger = snapshot.ledger.copy()
        self._market = snapshot.market
        self._desk = Desk(snapshot.clusters, snapshot.room.copy(), profile.filters, now)
        self._profile = profile
        self._last: dict[str, Assignment] = {}  # by demand
        self._placements: list[Placement] = []
        self._refusals: dict[str, Refusal] = {}  # by demand
        self._considered = 0

    def may_go_on(self) -> bool:
        placed = len(self._placements)
        if placed >= self._profile.max_placements:
            return False
        self._considered += 1
        return self._considered % _ASK_EVERY != 0 or self._profile.may_go_on(placed)

    def consider(self, head: Head) -> None:
        """Steps 2 to 6 for one head: quota, clusters, reservation, decision."""
        while True:
            assignment = self._assign(head)  # 2. flavors under quota
            if isinstance(assignment, Unassigned):
                return self._refuse(head, assignment)
            choice = self._desk.place(head.demand, assignment.asks)  # 3. best cluster, 4. its room
            if choice is not None:
                return self._place(head, assignment, choice)  # 6. the decision, with its reasons
            self._last.pop(head.demand.key, None)  # these flavors have closed: try the next ones

    def _assign(self, head: Head) -> Assignment | Unassigned:
        """Flavors for all pod sets; those of the last equal workload while their quota lasts."""
        demand, queue = head.demand, head.line.queue
        last = self._last.get(demand.key)
        if last is not None and self._ledger.fits(queue.name, last.charge):
            return last
        assigned = flavors.assign(
            demand.pod_sets,
            queue,
            self._market,
            self._ledger,
            lambda asks: self._desk.can_hold(demand, asks),
        )
        if isinstance(assigned, Assignment):
            self._last[demand.key] = assigned
        return assigned

    def _place(self, head: Head, assignment: Assignment, choice: Choice) -> None:
        queue, entry = head.line.queue, head.entry
        self._ledger.charge(queue.name, assignment.charge)
        self._placements.append(
            Placement(
                entry.uid, entry.epoch, choice.cluster, head.demand.key, assignment,
                choice.scores, choice.rejected, choice.others,
            )
        )  # fmt: skip
        head.line.advance()

    def _refuse(self, head: Head, why: Unassigned) -> None:
        demand = head.demand
        if why.asks is None:
            self._park(
                head, Refusal(demand.key, demand.queue, why.reason, why.message, why.shortages)
            )
            return
        none = self._desk.explain(demand, why.asks)
        self._park(
            head,
            Refusal(
                demand.key, demand.queue, none.reason, none.message, (),
                none.verdicts, none.nearest, "", none.retry_at,
            ),
        )  # fmt: skip

    def set_aside(self, head: Head, fault: Exception) -> None:
        """A workload that can not be judged waits with the fault as its reason."""
        message = f"{type(fault).__name__}: {fault}"[:500]
        self._park(head, Refusal(head.demand.key, head.demand.queue, Reason.UNREADABLE, message))

    def _park(self, head: Head, refusal: Refusal) -> None:
        self._refusals[refusal.demand] = refusal
        for behind in head.line.park():  # StrictFIFO: nobody passes the head
            self._refusals.setdefault(
                behind.key,
                Refusal(
                    behind.key,
                    behind.queue,
                    Reason.BEHIND_HEAD,
                    f"StrictFIFO: waits behind the head of {behind.queue}",
                    head=head.entry.uid,
                ),
            )

    def plan(self, *, unfinished: bool) -> Plan:
        return Plan(
            tuple(self._placements),
            tuple(self._refusals.values()),
            self._desk.notes(),
            unfinished,
        )

"""One scheduling cycle: a snapshot in, a plan out. The page to read first.

Nothing here reads a clock, a database or a cluster; equal input gives an equal plan. Preemption,
cohorts and fair sharing are further steps of the same recipe (architecture, section 7).
"""

import datetime as dt

from hub.domain import flavors, queueing
from hub.domain.flavors import Unassigned
from hub.domain.placement.desk import Bid, Choice, Desk
from hub.domain.plan import Assignment, Placement, Plan, Reason, Refusal
from hub.domain.queueing import Entry, Head, Line
from hub.domain.quota import Ledger
from hub.domain.snapshot import Profile, Snapshot

_ASK_EVERY = 32  # heads between two looks at whether there is time left
_RUN = 64  # equal workloads taken together where no other queue's turn comes between


def schedule(snapshot: Snapshot, now: dt.datetime, profile: Profile) -> Plan:
    """Decide who is placed where, and why the others wait, on one picture of queues and fleet."""
    cycle = _Cycle(snapshot, now, profile)
    for heads in queueing.rounds(cycle.lines):  # 1. heads of the queues, in order
        for head in heads:
            if not cycle.may_go_on():
                return cycle.plan(unfinished=True)
            try:
                cycle.consider(head, alone=len(heads) == 1)
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
        self._offers: dict[str, tuple[Assignment, Bid]] = {}  # by demand
        self._placements: list[Placement] = []
        self._refusals: dict[str, Refusal] = {}  # by demand
        self._considered = 0

    def may_go_on(self) -> bool:
        placed = len(self._placements)
        if placed >= self._profile.max_placements:
            return False
        self._considered += 1
        return self._considered % _ASK_EVERY != 0 or self._profile.may_go_on(placed)

    def consider(self, head: Head, *, alone: bool) -> None:
        """Steps 2 to 6 for one head, and for its equals behind it where no other turn comes between."""
        demand, queue = head.demand, head.line.queue.name
        left = self._profile.max_placements - len(self._placements)
        run = head.line.run(min(_RUN, left) if alone and not self._profile.one_round else 1)
        offer = self._offers.get(demand.key)
        while True:
            if offer is None:
                assigned = self._assign(head)  # 2. flavors for all pod sets, under quota
                if isinstance(assigned, Unassigned):
                    return self._refuse(head, assigned)
                offer = (assigned, self._desk.bid(demand, assigned.asks))
                self._offers[demand.key] = offer
            assignment, bid = offer  # equal workloads keep the flavors of the last while they last
            charged = self._ledger.take(queue, assignment.charge, len(run))
            placed = 0
            while placed < charged and (
                choice := bid.place()
            ):  # 3. best cluster; 4. its room taken
                self._place(head, run[placed], assignment, choice)  # 6. the decision, its reasons
                placed += 1
            if placed < charged:
                self._ledger.release(queue, assignment.charge, charged - placed)
            if placed:
                return head.line.advance(placed)
            offer = None  # quota or clusters of these flavors have run out

    def _assign(self, head: Head) -> Assignment | Unassigned:
        demand = head.demand
        return flavors.assign(
            demand.pod_sets,
            head.line.queue,
            self._market,
            self._ledger,
            lambda asks: self._desk.can_hold(demand, asks),
        )

    def _place(self, head: Head, entry: Entry, assignment: Assignment, choice: Choice) -> None:
        cluster, scores, rejected, others = choice
        demand = head.demand
        self._placements.append(
            Placement(
                entry.uid, entry.epoch, cluster, demand.key, demand.queue, demand.placement,
                assignment, scores, rejected, others,
            )
        )  # fmt: skip

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
                demand.key, demand.queue, none.reason, none.message, why.shortages,
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

"""One scheduling cycle: a snapshot in, a plan out. The page to read first.

Nothing here reads a clock, a database or a cluster; equal input gives an equal plan. Rounds of one head
per queue repeat until nothing changes. A queue that shares no quota and preempts nobody is *plain*: its
equal workloads are taken in runs, here. All others go through `shared_rounds`, which is Kueue's own cycle;
both look at one tree of quota and one room.
"""

import datetime as dt

from hub.domain.admission import assign_with_scale_up
from hub.domain.admission.flavor_assigner import Mode, Outlook, Request, Search
from hub.domain.cycle.shared_rounds import Order, SharedRounds, is_plain
from hub.domain.cycle.snapshot import Profile, Snapshot
from hub.domain.placement.cluster_search import Anywhere, Choice, ClusterPicker, ClusterSearch
from hub.domain.plan import Assignment, Placement, Plan, Reason, Refusal, behind
from hub.domain.queueing.lanes import Entry, Head, Line
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.workloads.demand import Demand

_ASK_EVERY = 32  # heads between two looks at whether there is time left
_RUN = 64  # equal workloads taken together where no other queue's turn comes between
_DEFAULTS = QueuePolicy()


def schedule(snapshot: Snapshot, now: dt.datetime, profile: Profile) -> Plan:
    """Decide who is placed where, and why the others wait, on one picture of queues and fleet."""
    cycle = _Cycle(snapshot, now, profile)
    while cycle.goes_on() and cycle.round():
        if profile.one_round:
            break
    return cycle.plan()


class _Cycle:
    """What has been decided so far, and the room and quota that are left."""

    def __init__(self, snapshot: Snapshot, now: dt.datetime, profile: Profile) -> None:
        self._ledger = snapshot.ledger.copy()
        self._tree = self._ledger.tree
        self._policies = snapshot.policies
        self._catalog = snapshot.catalog
        room = snapshot.room.copy()
        self._clusters = ClusterSearch(
            snapshot.clusters, room, profile.filters, now, snapshot.starts
        )
        self._profile = profile
        plain, contended = [], False
        for queue, lanes in snapshot.queues:
            if is_plain(queue.name, snapshot, profile):
                plain.append(Line(queue, lanes))
            else:
                contended = True
        self._lines = plain
        self._turns: list[Line] = []  # of this round, still to come
        self._shared_rounds = (
            SharedRounds(
                snapshot, self._tree, self._clusters, room, profile, now, self._plain_turns
            )
            if contended
            else None
        )
        self._contended = contended  # may another round among them change anything?
        self._alone = False
        self._offers: dict[str, tuple[Assignment, ClusterPicker | Anywhere]] = {}  # by demand
        self._placements: list[Placement] = (
            self._shared_rounds.placements if self._shared_rounds else []
        )
        self._refusals: dict[str, Refusal] = {}  # by demand
        self._considered = 0
        self._unfinished = False

    def goes_on(self) -> bool:
        """Is there time left, and may more be placed?"""
        placed = len(self._placements)
        if placed >= self._profile.max_placements or (
            self._contended and not self._profile.may_go_on(placed)
        ):
            self._unfinished = True
        return not self._unfinished

    def round(self) -> bool:
        """1. Heads of the queues, in order; False when every line is empty, blocked or waits."""
        self._turns = [line for line in self._lines if line.head is not None]
        if len(self._turns) > 1:
            self._turns.sort(key=Line.order)
        some = bool(self._turns)
        self._alone = len(self._turns) == 1 and not self._contended
        if self._contended and self._shared_rounds is not None:
            self._contended = self._shared_rounds.round()
        else:
            self._plain_turns(None)
        return (some or self._contended) and not self._unfinished

    def _plain_turns(self, until: Order | None) -> None:
        """Plain queues take the turns that come before `until`."""
        turns = self._turns
        taken = 0
        for line in turns:
            if until is not None and (0, *line.order()) >= until:
                break
            taken += 1
            if not self._may_go_on():
                self._unfinished = True
                break
            head = line.head
            assert head is not None
            try:
                self._consider(head)
            except Exception as fault:  # noqa: BLE001 - one unusable workload must not stop the others
                self._set_aside(head, fault)
        if taken:
            self._turns = turns[taken:]

    def _may_go_on(self) -> bool:
        placed = len(self._placements)
        if placed >= self._profile.max_placements:
            return False
        self._considered += 1
        return self._considered % _ASK_EVERY != 0 or self._profile.may_go_on(placed)

    def _consider(self, head: Head) -> None:
        """Steps 2 to 6 for one head, and for its equals behind it where no other turn comes between."""
        demand, queue = head.demand, head.line.queue.name
        left = self._profile.max_placements - len(self._placements)
        run = head.line.run(min(_RUN, left) if self._alone and not self._profile.one_round else 1)
        offer = self._offers.get(demand.key)
        while True:
            if offer is None:
                found = self._search(head)  # 2. flavors for all pod sets, under quota
                if found.mode is not Mode.FIT or found.assignment is None:
                    return self._refuse(head, found)
                offer = (found.assignment, self._picker(demand, found.assignment))
                self._offers[demand.key] = offer
            assignment, picker = offer  # equals keep the flavors of the last while they last
            charged = self._ledger.take(queue, assignment.charge, len(run))
            placed = 0
            while placed < charged and (
                choice := picker.place(run[placed].uid)
            ):  # 3. best cluster; 4. its room taken
                self._place(head, run[placed], assignment, choice)  # 6. the decision, its reasons
                placed += 1
            if placed < charged:
                self._ledger.release(queue, assignment.charge, charged - placed)
            if placed:
                return head.line.advance(placed)
            offer = None  # quota or clusters of these flavors have run out

    def _picker(self, demand: Demand, assignment: Assignment) -> ClusterPicker | Anywhere:
        return Anywhere() if demand.quota_only else self._clusters.picker(demand, assignment.asks)

    def _search(self, head: Head) -> Search:
        demand, queue = head.demand, head.line.queue
        rules = self._profile.rules
        return assign_with_scale_up.search(
            Request(
                pod_sets=demand.pod_sets,
                queue=queue,
                policy=self._policies.get(queue.name, _DEFAULTS),
                catalog=self._catalog,
                tree=self._tree,
                node=self._tree.queues[queue.name],
                oracle=lambda _of, _amount: _NOBODY,
                can_hold=None
                if demand.quota_only
                else lambda asks: self._clusters.can_hold(demand, asks),
                excluded=rules.excluded,
                ignore_undeclared=rules.ignore_undeclared,
            ),
            grows=self._clusters.grows,
        )

    def _place(self, head: Head, entry: Entry, assignment: Assignment, choice: Choice) -> None:
        cluster, scores, rejected, others = choice
        demand = head.demand
        self._placements.append(
            Placement(
                entry.uid, entry.epoch, cluster, demand.key, demand.queue, demand.placement,
                assignment, scores, rejected, others, entry.generation,
            )
        )  # fmt: skip

    def _refuse(self, head: Head, why: Search) -> None:
        demand = head.demand
        if why.asks is None:
            self._park(
                head, Refusal(demand.key, demand.queue, why.reason, why.message, why.shortages)
            )
            return
        none = self._clusters.explain(demand, why.asks)
        self._park(
            head,
            Refusal(
                demand.key, demand.queue, none.reason, none.message, why.shortages,
                none.verdicts, none.nearest, "", none.retry_at,
            ),
        )  # fmt: skip

    def _set_aside(self, head: Head, fault: Exception) -> None:
        """A workload that can not be judged waits with the fault as its reason."""
        message = f"{type(fault).__name__}: {fault}"[:500]
        self._park(head, Refusal(head.demand.key, head.demand.queue, Reason.UNREADABLE, message))

    def _park(self, head: Head, refusal: Refusal) -> None:
        self._refusals[refusal.demand] = refusal
        for after in head.line.park():  # StrictFIFO: nobody passes the head
            self._refusals.setdefault(after.key, behind(after.key, after.queue, head.entry.uid))

    def plan(self) -> Plan:
        """Everything decided."""
        shared_rounds = self._shared_rounds
        if shared_rounds is None:
            refusals = tuple(self._refusals.values())
            return Plan(
                tuple(self._placements), refusals, notes=self._clusters.notes(),
                unfinished=self._unfinished,
            )  # fmt: skip
        return Plan(
            tuple(self._placements),
            (*self._refusals.values(), *shared_rounds.refusals.values()),
            tuple(shared_rounds.evictions.values()),
            tuple(shared_rounds.nominated.values()),
            self._clusters.notes(),
            self._unfinished,
        )


_NOBODY = Outlook(Mode.NO_CANDIDATES, 0)

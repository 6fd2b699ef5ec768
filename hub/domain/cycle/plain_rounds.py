"""Rounds of the live cycle for plain queues: those that share no quota and never preempt.

Their admissions depend on no other queue, so equal workloads are admitted in runs: one search for flavors,
one for clusters, and then as many as fit. The steps are those that `cycle` names; the snapshot is
the cycle's own, because a plain round releases nothing that it charged.
"""

from collections.abc import Iterable, Sequence

from hub.domain.admission import assign_with_scale_up, partial_admission
from hub.domain.admission.flavor_assigner import Mode, Outlook, Request, Search
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.placement.cluster_search import ClusterSearch
from hub.domain.placement.picking.choice import Choice
from hub.domain.placement.picking.picker import Anywhere, Picker
from hub.domain.plan import Assignment, Placement, Reason, Refusal, behind
from hub.domain.queueing.lanes import Entry, Head, Line
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.queue_policy import NEVER, QueuePolicy
from hub.domain.workloads.demand import Demand

Order = tuple[int, int, int, str]  # borrowing, -priority, queue-order timestamp, uid
_Offer = tuple[Assignment, Picker]

_ASK_EVERY = 32  # heads between two looks at whether there is time left
_RUN = 128  # equal workloads taken together where no other queue's turn comes between
_DEFAULTS = QueuePolicy()
_NOBODY = Outlook(Mode.NO_CANDIDATES, 0)


def is_plain(name: str, snapshot: Snapshot, profile: Profile) -> bool:
    """True if a queue's workloads can be admitted independently of all other queues."""
    policy = snapshot.policies.get(name, _DEFAULTS)
    return (
        snapshot.ledger.tree.queues[name].parent is None
        and policy.within == NEVER
        and not (policy.by_usage and snapshot.ranks is not None)
        and not profile.rules.block_admission
        and not (profile.rules.partial and _may_shrink(name, snapshot))
    )


def _may_shrink(name: str, snapshot: Snapshot) -> bool:
    lanes = next((lanes for queue, lanes in snapshot.queues if queue.name == name), ())
    return any(partial_admission.may_shrink(lane.demand.pod_sets) for lane in lanes)


class PlainRounds:
    """Turns of plain queues, round by round, against the room and quota that are left.

    `refusals`: by demand. `unfinished`: time or placements ran out before all had their turn.
    """

    def __init__(
        self,
        lines: Sequence[Line],
        snapshot: Snapshot,
        ledger: Ledger,
        clusters: ClusterSearch,
        profile: Profile,
        placements: list[Placement],
    ) -> None:
        """`ledger`, `clusters` and `placements` are the cycle's own; decisions are added to the last."""
        self._lines = lines
        self._policies = snapshot.policies
        self._catalog = snapshot.catalog
        self._ledger = ledger
        self._tree = ledger.tree
        self._clusters = clusters
        self._profile = profile
        self._placements = placements
        self._turns: list[Line] = []  # of this round, still to come
        self._alone = False
        self._offers: dict[str, _Offer] = {}  # by demand
        self._considered = 0
        self.refusals: dict[str, Refusal] = {}
        self.unfinished = False

    def begin_round(self, *, contended: bool) -> bool:
        """Heads of the queues, in order; False when every line is empty, blocked or waits.

        `contended`: heads of other queues take turns in between.
        """
        turns = self._turns = self.heads()
        if len(turns) > 1:
            self.order(turns)
        self._alone = len(turns) == 1 and not contended
        return bool(turns)

    def heads(self) -> list[Line]:
        """1. The lines whose head may have a turn."""
        return [line for line in self._lines if line.head is not None]

    def order(self, lines: list[Line]) -> None:
        """4. By priority, queue-order timestamp and uid: none borrows."""
        lines.sort(key=Line.order)

    def take_turns(self, until: Order | None) -> None:
        """Those of the round that come before `until`; all for None."""
        turns = self._turns
        taken = 0
        for line in turns:
            if until is not None and (0, *line.order()) >= until:
                break
            taken += 1
            if not self._turns_of(line):
                self.unfinished = True
                break
        if taken:
            self._turns = turns[taken:]

    def _turns_of(self, line: Line) -> bool:
        """A turn of one line, and if no other has any all that it has left; False when time is up."""
        while (head := line.head) is not None:
            if not self._may_go_on():
                return False
            try:
                self._take_turn(head)
            except Exception as fault:  # noqa: BLE001 - one unusable workload must not stop the others
                self._set_aside(head, fault)
            if not self._alone or self._profile.one_round:
                break
        return True

    def _may_go_on(self) -> bool:
        placed = len(self._placements)
        if placed >= self._profile.max_placements:
            return False
        self._considered += 1
        return self._considered % _ASK_EVERY != 0 or self._profile.may_go_on(placed)

    def _take_turn(self, head: Head) -> None:
        """One head, and its equals behind it where no other turn comes between."""
        left = self._profile.max_placements - len(self._placements)
        run = head.line.run(min(_RUN, left) if self._alone and not self._profile.one_round else 1)
        offer = self._offers.get(head.demand.key)
        if offer is None:
            offer = self.nominate(head)
        while offer is not None:
            placed = self.admit(head, run, offer)
            if placed:
                head.line.advance(placed)
                return
            offer = self.nominate(head)  # quota or clusters of these flavors have run out

    def nominate(self, head: Head) -> _Offer | None:
        """3. Flavors for all pod sets under quota, and who looks for clusters; None where it is refused.

        Equals keep the flavors of the last while they last.
        """
        found = self._search(head)
        if found.mode is not Mode.FIT or found.assignment is None:
            self._refuse(head, found)
            return None
        offer = (found.assignment, self._picker(head.demand, found.assignment))
        self._offers[head.demand.key] = offer
        return offer

    def admit(self, head: Head, run: Sequence[Entry], offer: _Offer) -> int:
        """5. Charge quota and take room, workload by workload; how many of the run got both."""
        queue, (assignment, picker) = head.demand.queue, offer
        charged = self._ledger.take(queue, assignment.charge, len(run))
        choices = picker.place_run([entry.uid for entry in run[:charged]])
        placed = len(choices)
        self._note(head.demand, assignment, zip(run, choices, strict=False))
        if placed < charged:
            self._ledger.release(queue, assignment.charge, charged - placed)
        return placed

    def _picker(self, demand: Demand, assignment: Assignment) -> Picker:
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

    def _note(
        self, demand: Demand, assignment: Assignment, found: Iterable[tuple[Entry, Choice]]
    ) -> None:
        key, queue, placed_by = demand.key, demand.queue, demand.placement
        of = tuple.__new__  # half the time of a named tuple's own
        self._placements += [
            of(
                Placement,
                (
                    entry.uid, entry.epoch, cluster, key, queue, placed_by, assignment, scores, rejected,
                    others, entry.generation, (),
                ),
            )
            for entry, (cluster, scores, rejected, others) in found
        ]  # fmt: skip

    def _refuse(self, head: Head, why: Search) -> None:
        demand = head.demand
        if why.asks is None:
            refusal = Refusal(demand.key, demand.queue, why.reason, why.message, why.shortages)
            self.requeue(head, self._clusters.decisive(refusal, demand, self._catalog.ask_widely))
            return
        none = self._clusters.explain(demand, why.asks)
        self.requeue(
            head,
            Refusal(
                demand.key, demand.queue, none.reason, none.message, why.shortages,
                none.verdicts, none.nearest, "", none.retry_at,
            ),
        )  # fmt: skip

    def _set_aside(self, head: Head, fault: Exception) -> None:
        """A workload that can not be judged waits with the fault as its reason."""
        message = f"{type(fault).__name__}: {fault}"[:500]
        self.requeue(head, Refusal(head.demand.key, head.demand.queue, Reason.UNREADABLE, message))

    def requeue(self, head: Head, refusal: Refusal) -> None:
        """6. A refused workload is parked with its equals."""
        self.refusals[refusal.demand] = refusal
        for after in head.line.park():  # StrictFIFO: no workload passes the head
            self.refusals.setdefault(after.key, behind(after.key, after.queue, head.entry.uid))

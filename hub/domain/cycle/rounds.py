"""Rounds: Kueue's cycle on records, one head per ClusterQueue (queueing 2.1). Read this after `cycle`.

1. heads of the queues; 2. what each could get, and at whose cost; 3. order among them; 4. each in turn
against what the earlier ones took; 5. where the others wait next. Whoever is told to make room holds
its quota until it is gone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain

from hub.domain.admission.flavor_assigner import Mode, Search, Tried
from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.admission.head_order import by_share, in_order
from hub.domain.admission.nomination import Fleet, Nominator, Nominee, Rules
from hub.domain.plan import Assignment, Reason
from hub.domain.preemption.search import Cause, Victim
from hub.domain.queueing import eligibility, requeue
from hub.domain.queueing.lane_queue import Turns
from hub.domain.queueing.requeue import Outcome, Where
from hub.domain.quota.declared import FlavorResource, Usage
from hub.domain.quota.holders import AdmittedWorkload, Overlay, PendingWorkload, Pods, QuotaState

ADMITTED, PREEMPTING, SKIPPED, PENDING = "admitted", "preempting", "skipped", "pending"


@dataclass(slots=True, eq=False)
class Attempt:
    """One head in one round: what it could get, then what became of it."""

    who: PendingWorkload
    nominee: Nominee
    verdict: str = PENDING
    outcome: Outcome | None = None  # None once admitted
    reason: Reason = Reason.PENDING_EVALUATION
    message: str = ""
    where: Where | None = None
    cluster: str | None = None
    awaited: tuple[AdmittedWorkload, ...] = ()  # who must be gone before it can be admitted

    @property
    def search(self) -> Search:
        return self.nominee.search

    @property
    def victims(self) -> tuple[Victim, ...]:
        return self.nominee.victims

    @property
    def usage(self) -> Usage:
        return self.search.assignment.charge if self.search.assignment else {}

    def ends(self, verdict: str, outcome: Outcome | None, reason: Reason, message: str) -> None:
        self.verdict, self.outcome, self.reason, self.message = verdict, outcome, reason, message


class Rounds:
    """Queues between rounds. `quota_state` changes as workloads are admitted and told to go."""

    def __init__(
        self,
        quota_state: QuotaState,
        lines: Mapping[str, Turns],
        catalog: FlavorCatalog,
        rules: Rules = Rules(),  # noqa: B008 - frozen
        namespaces: Mapping[str, Mapping[str, str]] | None = None,
        fleet: Fleet | None = None,
        groups: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.quota_state = quota_state
        self.lines = lines
        self.rules = rules
        self._namespaces = namespaces or {}
        self._fleet = fleet
        self._nominator = Nominator(quota_state, catalog, rules, fleet, groups)
        self._tried: dict[str, Tried] = {}  # uid → where its search for flavors goes on

    def run(self, now: int) -> list[Attempt]:
        """One round; an attempt for each head, in the order in which they were processed."""
        self._nominator.now = now
        heads = [who for name in sorted(self.lines) if (who := self.lines[name].pop())]
        attempts, refused = self.nominate(heads)
        processed = list(_Round(self, now).process(attempts))
        for attempt in (*processed, *refused):
            self._settle(attempt, now)
        return [*processed, *refused]

    def nominate(self, heads: Iterable[PendingWorkload]) -> tuple[list[Attempt], list[Attempt]]:
        """What each head could get; apart from these, heads that may get nothing."""
        attempts = [self.attempt(who) for who in heads]
        return [a for a in attempts if a.outcome is None], [a for a in attempts if a.outcome]

    def attempt(self, who: PendingWorkload) -> Attempt:
        """What one head could get; it has ended where it may get nothing."""
        hold = eligibility.inadmissible(who, self.quota_state.queues[who.queue], self._namespaces)
        if hold is None:
            return Attempt(who, self._nominator.nominate(who, self._tried.get(who.uid, ())))
        attempt = Attempt(who, Nominee(Search(Mode.NO_FIT)))
        attempt.ends(PENDING, hold.outcome, hold.reason, hold.message)
        return attempt

    def nominate_again(self, attempt: Attempt, gone: Sequence[AdmittedWorkload]) -> Nominee:
        """The same head, with the flavors it has, on what the round has become; `gone` have left."""
        return self._nominator.nominate(attempt.who, keep=attempt.search.assignment, gone=gone)

    def may_change(self, attempt: Attempt) -> bool:
        """Might what was refused be given now? Where not, its turn would end as before."""
        return self._nominator.may_change(attempt.who, attempt.search)

    def order(self, attempts: list[Attempt]) -> Iterator[Attempt]:
        """Heads in the order in which they are processed."""
        first = self.rules.preemptors_first
        if self.rules.fair:
            return by_share(self.quota_state, attempts, preemptors_first=first)
        return iter(in_order(attempts, preemptors_first=first))

    def place(self, attempt: Attempt) -> bool:
        """Room on a cluster for what fits under quota; without clusters there is nothing to find."""
        if self._fleet is None or attempt.who.quota_only or attempt.search.assignment is None:
            return True
        attempt.cluster = self._fleet.place(attempt.who, attempt.search.assignment)
        return attempt.cluster is not None

    def nominate_cluster(self, attempt: Attempt, gone: Iterable[AdmittedWorkload]) -> bool:
        """The cluster on which it fits once its victims are gone, and a claim to its room; False if none."""
        if self._fleet is None or attempt.who.quota_only or attempt.search.assignment is None:
            return True
        attempt.cluster = self._fleet.claim(attempt.who, attempt.search.assignment, list(gone))
        return attempt.cluster is not None

    def _settle(self, attempt: Attempt, now: int) -> None:
        who, line = attempt.who, self.lines[attempt.who.queue]
        if attempt.outcome is None:
            self._tried.pop(who.uid, None)
            self.quota_state.add(holder_of(attempt, now))
            return
        if attempt.outcome is Outcome.PENDING_PREEMPTION:
            self._tried.pop(who.uid, None)  # once there is room all flavors are tried
            for victim in attempt.victims:
                self.quota_state.mark_evicted(victim.holder)
            who = replace(who, nominated=True)
        elif attempt.outcome is Outcome.GATED:
            self._tried.pop(who.uid, None)  # it did not fail on its flavors
        elif (
            attempt.search.tried
        ):  # also of one that lost a race: its next turn goes on from there
            self._tried[who.uid] = attempt.search.tried
        strict = line.queue.strict
        untried = who.uid in self._tried and attempt.search.untried_flavors
        attempt.where = requeue.where_next(attempt.outcome, strict=strict, untried_flavors=untried)
        sticky = requeue.is_sticky(attempt.outcome, strict=strict)
        line.put_back(who, attempt.where, sticky=sticky)


def holder_of(attempt: Attempt, now: int) -> AdmittedWorkload:
    """An admitted workload as it holds quota from now on."""
    who, assigned = attempt.who, attempt.search.assignment
    pods: Pods = ()
    if assigned is not None and attempt.cluster:
        parts = zip(who.pod_sets, assigned.asks, assigned.pod_sets, strict=True)
        pods = tuple((p.requests, ask, given.count) for p, ask, given in parts)
    return AdmittedWorkload(
        uid=who.uid, namespace=who.namespace, name=who.name, queue=who.queue, usage=attempt.usage,
        priority=who.priority, queued_at=who.queued_at, reserved_at=now,
        local_queue=who.local_queue, cluster=attempt.cluster or "", pods_ready=False, pods=pods,
    )  # fmt: skip


def progressed(attempts: Iterable[Attempt]) -> bool:
    """May another round on the same picture decide anything else?"""
    return any(
        a.verdict == ADMITTED
        or a.where is Where.PARKED  # the next in its line has its turn
        or any(not v.holder.evicted for v in a.victims if a.verdict == PREEMPTING)
        or (a.where is Where.HEAP and a.search.untried_flavors and a.verdict == PENDING)
        for a in attempts
    )


class _Round:
    """The heads of one round in turn, on one state of quota that shows what earlier ones took."""

    def __init__(self, rounds: Rounds, now: int) -> None:
        self._rounds = rounds
        self._quota_state = rounds.quota_state
        self._now = now
        self._claimed: dict[str, AdmittedWorkload] = {}  # victims of earlier heads
        self._after: Overlay | None = None  # with those gone; None while there are none
        self._taken: list[tuple[str, Usage]] = []
        held = rounds.quota_state.all_holders() if rounds.rules.block_admission else ()
        self._blocked = any(not h.pods_ready for h in held)

    def process(self, attempts: list[Attempt]) -> Iterator[Attempt]:
        for attempt in self._rounds.order(attempts):
            self._process(attempt)
            yield attempt
        for queue, usage in self._taken:
            self._quota_state.tree.release(queue, usage)

    def _process(self, attempt: Attempt) -> None:
        if self._overlaps(attempt) and self._reconsider(attempt):
            return
        mode = attempt.search.mode
        if mode is Mode.NO_FIT or attempt.search.assignment is None:
            attempt.ends(PENDING, Outcome.NO_FIT, attempt.search.reason, attempt.search.message)
        elif mode is not Mode.FIT and not attempt.victims:
            self._reserve(attempt)
            message = _and(attempt.search.message, "no workload may be preempted for it")
            attempt.ends(PENDING, Outcome.NO_CANDIDATES, attempt.search.reason, message)
        elif mode is not Mode.FIT and attempt.who.gated:
            message = "a preemption gate is closed"
            attempt.ends(PENDING, Outcome.GATED, Reason.PREEMPTION_GATED, message)
        elif not self._still_fits(attempt):
            self._skip(attempt, Reason.WAITING_FOR_QUOTA, "no longer fits after another workload")
        elif mode is Mode.FIT:
            self._admit(attempt)
        else:
            self._preempt(attempt)

    def _overlaps(self, attempt: Attempt) -> bool:
        return any(v.holder.uid in self._claimed for v in attempt.victims)

    def _reconsider(self, attempt: Attempt) -> bool:
        """Its victims are another's already: what could it get once those are gone?

        True where it would fit then: it waits for them, before everything else in its queue, and what
        it asks for is kept for it meanwhile. Else it goes on with other victims, or with none.
        """
        shared = tuple(v.holder for v in attempt.victims if v.holder.uid in self._claimed)
        with self._afterwards():
            gone = list(self._claimed.values())
            attempt.nominee = self._rounds.nominate_again(attempt, gone)
        if attempt.search.mode is not Mode.FIT:
            return False
        self._take(attempt.who.queue, attempt.search.assignment)
        self._rounds.nominate_cluster(attempt, self._claimed.values())
        attempt.awaited = shared
        message = "fits once workloads that another one preempts are gone"
        attempt.ends(SKIPPED, Outcome.PENDING_PREEMPTION, Reason.WAITING_FOR_VICTIMS, message)
        return True

    def _still_fits(self, attempt: Attempt) -> bool:
        quota_state = self._quota_state
        with self._afterwards(), quota_state.without(v.holder for v in attempt.victims):
            return quota_state.tree.fits(quota_state.node(attempt.who.queue), attempt.usage)

    def _afterwards(self) -> AbstractContextManager[None]:
        """As it will be once the victims of earlier heads are gone."""
        return nullcontext() if self._after is None else self._quota_state.seen_as(self._after)

    def _take(self, queue: str, assignment: Assignment | None) -> None:
        if assignment is not None:
            self._charge(queue, assignment.charge)

    def _charge(self, queue: str, usage: Usage) -> None:
        self._quota_state.tree.charge(queue, usage)
        if self._after is not None:
            with self._afterwards():
                self._quota_state.tree.charge(queue, usage)
        self._taken.append((queue, usage))

    def _reserve(self, attempt: Attempt) -> None:
        """Keep what it waits for from borrowers, unless it can always take it back."""
        queue = attempt.who.queue
        if self._quota_state.policies[queue].reclaim == "Any":
            return
        self._charge(queue, {of: self._reserved(attempt, of) for of in attempt.usage})

    def _reserved(self, attempt: Attempt, of: FlavorResource) -> int:
        node = self._quota_state.node(attempt.who.queue)
        asked, used = attempt.usage[of], self._quota_state.tree.used_of(node, of)
        most = node.nominal(of)
        if attempt.search.borrowing > 0:
            limit = node.limits.get(of)
            if limit is None:
                return asked
            most += limit
        return max(0, min(asked, most - used))

    def _skip(self, attempt: Attempt, reason: Reason, message: str) -> None:
        attempt.nominee = Nominee(attempt.search)
        attempt.ends(SKIPPED, Outcome.FAILED_AFTER_NOMINATION, reason, message)

    def _admit(self, attempt: Attempt) -> None:
        if self._blocked:
            message = "an admitted workload is not ready yet"
            reason = Reason.WAITING_FOR_PODS_READY
            attempt.ends(PENDING, Outcome.FAILED_AFTER_NOMINATION, reason, message)
        elif not self._rounds.place(attempt):
            self._skip(attempt, Reason.NO_CLUSTER_FITS, "no cluster can hold it any more")
        else:
            self._take(attempt.who.queue, attempt.search.assignment)
            self._blocked = self._rounds.rules.block_admission
            attempt.ends(ADMITTED, None, Reason.QUOTA_RESERVED, _said(attempt))

    def _preempt(self, attempt: Attempt) -> None:
        own = {v.holder.uid: v.holder for v in attempt.victims}
        gone: Iterable[AdmittedWorkload] = own.values()  # for room: they stand where it will stand
        if attempt.victims[0].cause is not Cause.FOR_ROOM:
            gone = chain(gone, (h for uid, h in self._claimed.items() if uid not in own))
        if not self._rounds.nominate_cluster(attempt, gone):  # nobody goes in vain
            message = "no cluster can hold it after another workload"
            self._skip(attempt, Reason.NO_CLUSTER_FITS, message)
            return
        self._take(attempt.who.queue, attempt.search.assignment)
        self._claimed.update(own)
        if self._after is None:
            self._after = self._quota_state.apart()
        with self._afterwards():
            for victim in attempt.victims:
                if self._quota_state.holds(victim.holder):
                    self._quota_state.remove(victim.holder)
        attempt.awaited = tuple(own.values())
        few = f"waits for {len(attempt.victims)} preempted workload(s)"
        message = _and(attempt.search.message, few)
        attempt.ends(PREEMPTING, Outcome.PENDING_PREEMPTION, Reason.WAITING_FOR_VICTIMS, message)


def _and(message: str, more: str) -> str:
    return f"{message}; {more}" if message else more


def _said(attempt: Attempt) -> str:
    assigned = attempt.search.assignment
    flavors = {f for p in (assigned.pod_sets if assigned else ()) for _, f in p.flavors}
    borrowing = ", borrowing" if attempt.search.borrowing else ""
    named = ", ".join(sorted(flavors)) or "nothing asked"
    return f"quota reserved in {attempt.who.queue}: {named}{borrowing}"

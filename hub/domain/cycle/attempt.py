"""One head in one round: what it could get, and the named ways in which its turn may end."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from hub.domain.admission.flavor_assigner import Mode, Search
from hub.domain.admission.nomination import Nominee
from hub.domain.plan import Reason
from hub.domain.preemption.search import Victim
from hub.domain.queueing.eligibility import Hold
from hub.domain.queueing.requeue import Outcome, Where
from hub.domain.quota.declared import Usage
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload, Pods


class Ending(StrEnum):
    """The outcome of a head."""

    ADMITTED = "admitted"
    PREEMPTING = "preempting"
    SKIPPED = "skipped"  # it lost to another head of the round
    PENDING = "pending"


@dataclass(slots=True, eq=False)
class Attempt:
    """A head with what it could get; `ending` and what follows it are set by one of the marks."""

    who: PendingWorkload
    nominee: Nominee = Nominee(Search(Mode.NO_FIT))  # noqa: RUF009 - frozen
    ending: Ending = Ending.PENDING
    outcome: Outcome | None = None  # None once admitted
    reason: Reason = Reason.PENDING_EVALUATION
    message: str = ""
    where: Where | None = None
    cluster: str | None = None
    awaited: tuple[AdmittedWorkload, ...] = ()  # who must be gone before it can be admitted
    starts_over: bool = False  # its scan began behind the first flavor: its next turn looks at all

    @property
    def search(self) -> Search:
        return self.nominee.search

    @property
    def victims(self) -> tuple[Victim, ...]:
        return self.nominee.victims

    @property
    def usage(self) -> Usage:
        return self.search.assignment.charge if self.search.assignment else {}

    def mark_inadmissible(self, hold: Hold) -> None:
        """It may get nothing, whatever there is."""
        self._pending(hold.outcome, hold.reason, hold.message)

    def mark_unfit(self) -> None:
        """No flavor has the quota, or no cluster the room."""
        self._pending(Outcome.NO_FIT, self.search.reason, self.search.message)

    def mark_without_candidates(self) -> None:
        """It would fit once others are gone, and no workload may be preempted for it."""
        message = _and(self.search.message, _nobody(self.nominee.beyond))
        self._pending(Outcome.NO_CANDIDATES, self.search.reason, message)

    def mark_gated(self) -> None:
        """It would preempt, and one of its gates forbids that."""
        message = "a preemption gate is closed"
        self._pending(Outcome.GATED, Reason.PREEMPTION_GATED, message)

    def mark_blocked(self) -> None:
        """It fits, and nothing is admitted until what is admitted is ready."""
        message = "an admitted workload is not ready yet"
        self._pending(Outcome.FAILED_AFTER_NOMINATION, Reason.WAITING_FOR_PODS_READY, message)

    def mark_skipped(self, reason: Reason, message: str) -> None:
        """It fitted when it was nominated and does not any more: no victim is evicted for it."""
        self.nominee = Nominee(self.search)
        self.ending, self.outcome = Ending.SKIPPED, Outcome.FAILED_AFTER_NOMINATION
        self.reason, self.message = reason, message

    def mark_awaiting(
        self,
        shared: Iterable[AdmittedWorkload],
        message: str = "fits once workloads that another one preempts are gone",
    ) -> None:
        """It fits once the victims of another head are gone, or once its room is reported."""
        self.awaited = tuple(shared)
        self.ending, self.outcome = Ending.SKIPPED, Outcome.PENDING_PREEMPTION
        self.reason = Reason.WAITING_FOR_VICTIMS
        self.message = message

    def mark_preempting(self) -> None:
        """Its victims are being evicted; meanwhile it holds its request."""
        self.awaited = tuple(victim.holder for victim in self.victims)
        self.ending, self.outcome = Ending.PREEMPTING, Outcome.PENDING_PREEMPTION
        self.reason = Reason.WAITING_FOR_VICTIMS
        few = f"waits for {len(self.victims)} preempted workload(s)"
        self.message = _and(self.search.message, few)

    def mark_admitted(self) -> None:
        """Quota is reserved for it."""
        self.ending, self.outcome, self.reason = Ending.ADMITTED, None, Reason.QUOTA_RESERVED
        assigned = self.search.assignment
        flavors = {f for p in (assigned.pod_sets if assigned else ()) for _, f in p.flavors}
        named = ", ".join(sorted(flavors)) or "nothing asked"
        borrowing = ", borrowing" if self.search.borrowing else ""
        self.message = f"quota reserved in {self.who.queue}: {named}{borrowing}"

    def _pending(self, outcome: Outcome, reason: Reason, message: str) -> None:
        self.ending, self.outcome = Ending.PENDING, outcome
        self.reason, self.message = reason, message

    def as_holder(self, now: int) -> AdmittedWorkload:
        """Once admitted: the workload as it holds quota from `now` on."""
        who, assigned = self.who, self.search.assignment
        pods: Pods = ()
        if assigned is not None and self.cluster:
            parts = zip(who.pod_sets, assigned.asks, assigned.pod_sets, strict=True)
            pods = tuple((p.requests, ask, given.count) for p, ask, given in parts)
        return AdmittedWorkload(
            uid=who.uid, namespace=who.namespace, name=who.name, queue=who.queue,
            usage=self.usage, priority=who.priority, queued_at=who.queued_at, reserved_at=now,
            local_queue=who.local_queue, cluster=self.cluster or "", pods_ready=False, pods=pods,
        )  # fmt: skip


def progressed(attempts: Iterable[Attempt]) -> bool:
    """May another round on the same picture decide anything else?"""
    return any(
        a.ending is Ending.ADMITTED
        or a.where is Where.PARKED  # the next in its line has its turn
        or any(not v.holder.evicted for v in a.victims if a.ending is Ending.PREEMPTING)
        or (a.where is Where.HEAP and a.search.untried_flavors and a.ending is Ending.PENDING)
        for a in attempts
    )


def _nobody(beyond: int) -> str:
    if not beyond:
        return "no workload may be preempted for it"
    return (
        f"it takes {beyond} preempted workloads in all, and max_preempted_workloads allows fewer"
    )


def _and(message: str, more: str) -> str:
    return f"{message}; {more}" if message else more

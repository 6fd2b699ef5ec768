"""The policy in a ClusterQueue's spec: preemption, flavor search, checks and fair admission.

Read once per queue from the normalised (v1beta2) spec; defaults are Kueue's.
"""

from dataclasses import dataclass

from shared.documents import JsonView

NEVER = "Never"


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """Policies of one ClusterQueue, in Kueue's own words."""

    within: str = NEVER  # withinClusterQueue
    reclaim: str = NEVER  # reclaimWithinCohort
    borrow_within: str = NEVER  # borrowWithinCohort.policy
    threshold: int | None = None  # borrowWithinCohort.maxPriorityThreshold
    when_can_borrow: str = "MayStopSearch"
    when_can_preempt: str = "TryNextFlavor"
    preference: str = "BorrowingOverPreemption"
    checks: tuple[tuple[str, frozenset[str]], ...] = ()  # name, flavors (none: always)
    by_usage: bool = False  # admission fair sharing

    @property
    def preempts(self) -> bool:
        """May any of its workloads displace another?"""
        return self.within != NEVER or self.reclaim != NEVER

    def tries_next(self, *, borrows: bool, preempts: bool) -> bool:
        """Does the search go on to the next flavor after one that would do so?"""
        if preempts and self.when_can_preempt == "TryNextFlavor":
            return True
        return borrows and self.when_can_borrow == "TryNextFlavor"

    def required_checks(self, flavors: frozenset[str]) -> tuple[str, ...]:
        """Names of the checks that an assignment of these flavors must pass."""
        return tuple(name for name, on in self.checks if not on or on & flavors)


def read_policy(spec: JsonView | None) -> QueuePolicy:
    """The policies of a normalised ClusterQueue spec; what is absent has Kueue's default."""
    spec = spec or {}
    preemption = spec.get("preemption") or {}
    borrowing = preemption.get("borrowWithinCohort") or {}
    fungibility = spec.get("flavorFungibility") or {}
    strategy = spec.get("admissionChecksStrategy") or {}
    scope = spec.get("admissionScope") or {}
    return QueuePolicy(
        within=preemption.get("withinClusterQueue") or NEVER,
        reclaim=preemption.get("reclaimWithinCohort") or NEVER,
        borrow_within=borrowing.get("policy") or NEVER,
        threshold=borrowing.get("maxPriorityThreshold"),
        when_can_borrow=fungibility.get("whenCanBorrow") or "MayStopSearch",
        when_can_preempt=fungibility.get("whenCanPreempt") or "TryNextFlavor",
        preference=fungibility.get("preference") or "BorrowingOverPreemption",
        checks=tuple(
            (rule["name"], frozenset(rule.get("onFlavors") or ()))
            for rule in strategy.get("admissionChecks") or ()
        ),
        by_usage=scope.get("admissionMode") == "UsageBasedAdmissionFairSharing",
    )

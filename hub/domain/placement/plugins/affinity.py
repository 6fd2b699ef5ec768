"""Required cluster affinity: terms ORed; labels and properties of one term ANDed."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import Constraints
from hub.domain.workloads.placement_policy import Required


@dataclass(frozen=True, slots=True)
class AffinityRequired:
    """Rejects clusters that satisfy none of the policy's required terms."""

    name: str = "AffinityRequired"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        policy = constraints.policy
        for terms in (policy.required, policy.enduring) if policy else ():
            failed = [_unsatisfied(term, cluster) for term in terms]
            if terms and None not in failed:
                words = "; ".join(f for f in failed if f is not None)
                return Rejection(self.name, "AffinityNotMatched", words)
        return None


def satisfies(terms: Sequence[Required], cluster: Cluster) -> bool:
    """Does a cluster satisfy one of the required terms, or are there none?"""
    return not terms or any(_unsatisfied(term, cluster) is None for term in terms)


def _unsatisfied(term: Required, cluster: Cluster) -> str | None:
    """The unmet part of the term; None when all of it does."""
    if term.selector is not None and not term.selector.matches(cluster.labels):
        return "its labels do not match the required affinity"
    for wanted in term.properties:
        if not wanted.holds(cluster.value(wanted.name)):
            return f"required {wanted}, it is {cluster.shown(wanted.name)}"
    return None

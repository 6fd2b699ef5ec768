"""The people of a member accept the hub in the workload's namespace, or its agent created the namespace."""

import datetime as dt
from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from hub.domain.fleet.clusters import Cluster, accepts
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import Constraints
from shared.consent import NOT_ACCEPTED, REPLACED, accept_command, refused

AWAITING_REPORT: Final = "AwaitingConsentReport"
_MOST_NAMED: Final = 5  # namespaces in a message and its command


@dataclass(frozen=True, slots=True)
class Accepted:
    """Rejects clusters whose agent reports that the namespace is not accepted, or has yet to report it.

    An agent that reports no consent at all is of a release before it: nothing is rejected. While a
    report is due, the workload takes no other cluster (`reports_due`, by namespace): the first cluster to
    answer must not win by that.
    """

    reports_due: Mapping[str, dt.datetime] | None = None
    name: str = "Accepted"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        if constraints.consent is None:
            return None
        namespace, hub_id = constraints.consent
        if accepts(cluster, namespace):
            return None
        if cluster.consent is not None and namespace not in cluster.consent:
            return _awaiting(self.name, namespace, (self.reports_due or {}).get(namespace))
        state = (cluster.consent or {}).get(namespace, NOT_ACCEPTED)
        text = refused(namespace, state, hub_id)
        return Rejection(self.name, NOT_ACCEPTED, text)


@dataclass(frozen=True, slots=True)
class NamespacesAccepted:
    """Rejects clusters in which a namespace of a placement's objects is not accepted, or yet to be reported.

    `reports_due`: until when the placement waits for a report, by namespace. `holding`: clusters that hold
    the objects already: they stay, and `verdict` says whether they take new versions.
    """

    namespaces: Sequence[str] = ()
    hub_id: str = ""
    reports_due: Mapping[str, dt.datetime] = field(default_factory=dict)
    holding: AbstractSet[str] = frozenset()
    name: str = "Accepted"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        return None if cluster.name in self.holding else self.verdict(cluster)

    def verdict(self, cluster: Cluster) -> Rejection | None:
        """The refusal of a cluster that takes nothing new in these namespaces; None: it does."""
        if cluster.consent is None:
            return None
        closed = [each for each in self.namespaces if not accepts(cluster, each)]
        if not closed:
            return None
        told = [each for each in closed if each in cluster.consent]
        if told:
            return Rejection(self.name, NOT_ACCEPTED, self._refusal(told, cluster.consent))
        due = [self.reports_due[each] for each in closed if each in self.reports_due]
        return _awaiting(self.name, closed[0], max(due, default=None))

    def _refusal(self, told: Sequence[str], states: Mapping[str, str]) -> str:
        """The namespaces that accept nothing: one of an earlier id first, because people must examine it."""
        earlier = [each for each in told if states[each] == REPLACED]
        if earlier or len(told) == 1:
            named = (earlier or told)[0]
            others = f" ({len(told) - 1} more namespaces take nothing)" if len(told) > 1 else ""
            return refused(named, states[named], self.hub_id) + others
        named = " ".join(told[:_MOST_NAMED])
        more = len(told) - _MOST_NAMED
        left = f" and {more} more" if more > 0 else ""
        command = accept_command(f"namespace {named}", self.hub_id)
        return f"namespaces {named}{left} do not accept this hub; to accept it there: {command}"


def is_awaiting(rejection: Rejection) -> bool:
    """Does a cluster refuse only because its agent has yet to report the namespace?"""
    return rejection.reason == AWAITING_REPORT


def _awaiting(filter_name: str, namespace: str, due: dt.datetime | None) -> Rejection:
    """The rejection of a cluster whose agent has yet to report the namespace, at most until `due`."""
    text = f"its agent has yet to report whether namespace {namespace} accepts this hub"
    return Rejection(filter_name, AWAITING_REPORT, text, due)

"""The people of a member accept the hub in the workload's namespace, or its agent created the namespace."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hub.domain.fleet.clusters import Cluster, accepts
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import Constraints
from shared.consent import NOT_ACCEPTED, refused

AWAITING_REPORT: Final = "AwaitingConsentReport"


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
            text = f"its agent has yet to report whether namespace {namespace} accepts this hub"
            due = (self.reports_due or {}).get(namespace)
            return Rejection(self.name, AWAITING_REPORT, text, due)
        state = (cluster.consent or {}).get(namespace, NOT_ACCEPTED)
        text = refused(namespace, state, hub_id)
        return Rejection(self.name, NOT_ACCEPTED, text)

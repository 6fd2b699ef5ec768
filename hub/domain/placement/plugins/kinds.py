"""A cluster must serve the kind that is to be created there."""

import datetime as dt
from dataclasses import dataclass

from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import Constraints


@dataclass(frozen=True, slots=True)
class KindServed:
    """Rejects clusters that told which kinds they serve, without this one among them."""

    name: str = "KindServed"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        if not constraints.kind or cluster.kinds is None or constraints.kind in cluster.kinds:
            return None
        return Rejection(self.name, "KindNotServed", f"{constraints.kind} is not served there")

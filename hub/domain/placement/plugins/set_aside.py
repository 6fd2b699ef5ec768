"""Clusters set aside for one workload for a while: it did not start there, or its name was taken."""

import datetime as dt
from dataclasses import dataclass

from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import FOR_GOOD, REFUSED, Constraints


@dataclass(frozen=True, slots=True)
class NotSetAside:
    """Rejects clusters that are set aside until a later instant."""

    name: str = "NotSetAside"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        for name, until in constraints.set_aside:
            if name == cluster.name and until == FOR_GOOD:
                text = "its own rules forbid this job; the job's events name field and rule"
                return Rejection(self.name, REFUSED, text)
            if name == cluster.name and until > now:
                when = until.strftime("%Y-%m-%dT%H:%M:%SZ")
                return Rejection(
                    self.name, "ClusterSetAside", f"tried before; set aside until {when}"
                )
        return None

"""A cordoned cluster keeps what it has and gets nothing new."""

import datetime as dt
from dataclasses import dataclass

from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import Constraints


@dataclass(frozen=True, slots=True)
class Uncordoned:
    """Rejects cordoned clusters."""

    name: str = "Uncordoned"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        if cluster.cordoned:
            return Rejection(self.name, "ClusterCordoned", "the cluster is cordoned")
        return None

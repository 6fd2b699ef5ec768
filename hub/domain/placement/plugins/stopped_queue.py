"""A cluster whose people have stopped the workload's LocalQueue is taken only where no other holds it."""

import datetime as dt
from dataclasses import dataclass

from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import Constraints


@dataclass(frozen=True, slots=True)
class QueueNotStopped:
    """Rejects clusters that are avoided; asked without them again where nothing else holds the workload."""

    name: str = "QueueNotStopped"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        if cluster.name not in constraints.avoided:
            return None
        text = "its LocalQueue is stopped there: only while no other cluster holds the job"
        return Rejection(self.name, "MemberQueueStopped", text)

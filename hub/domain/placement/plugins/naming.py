"""Clusters that a workload, its placement or its queue's MultiKueueConfig names, or selects by label."""

import datetime as dt
from dataclasses import dataclass

from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import CLUSTER_SELECTOR, CLUSTERS, Constraints


@dataclass(frozen=True, slots=True)
class Named:
    """Rejects clusters outside the annotations' list or selector, MultiKueue's or PickFixed's list."""

    name: str = "Named"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        named = constraints.clusters
        if named is not None and cluster.name not in named:
            return self._no(f"annotation {CLUSTERS} names {', '.join(named)}")
        if constraints.members is not None and cluster.name not in constraints.members:
            return self._no("the queue's MultiKueueConfig does not name it")
        selector = constraints.selector
        if selector is not None and not selector.matches(cluster.labels):
            return self._no(f"its labels do not match annotation {CLUSTER_SELECTOR}")
        policy = constraints.policy
        fixed = policy.cluster_names if policy and policy.type == "PickFixed" else None
        if fixed is not None and cluster.name not in fixed:
            return self._no("the placement does not name it")
        return None

    def _no(self, message: str) -> Rejection:
        return Rejection(self.name, "ClusterNotSelected", message)

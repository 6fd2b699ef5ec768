"""Taints of member clusters: any that is not tolerated keeps a workload away."""

import datetime as dt
from dataclasses import dataclass

from hub.domain import selectors
from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import Constraints


@dataclass(frozen=True, slots=True)
class TaintsTolerated:
    """Rejects clusters with a taint that neither the placement nor the pods tolerate.

    A placement that names its clusters (PickFixed) means them, taints or not, as in KubeFleet.
    """

    name: str = "TaintsTolerated"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        policy = constraints.policy
        if not cluster.taints or (policy and policy.type == "PickFixed"):
            return None
        taint = selectors.untolerated(cluster.taints, constraints.tolerations)
        if taint is None:
            return None
        return Rejection(self.name, "UntoleratedTaint", f"taint {taint} is not tolerated")

"""A cluster whose API server does not answer its agent can start nothing: it gets nothing new."""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import Constraints

UNHEALTHY = "ClusterUnhealthy"
SEE_API_SERVER: Final = "it is picked again once it does"


@dataclass(frozen=True, slots=True)
class Healthy:
    """Rejects clusters whose agent reports that its API server is down."""

    name: str = "Healthy"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        if not cluster.down:
            return None
        said = f"its API server does not answer ({cluster.down}): {SEE_API_SERVER}"
        return Rejection(self.name, UNHEALTHY, said)

"""A cluster whose API server serves its agent nothing can start nothing: it gets nothing new."""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import Constraints

UNHEALTHY = "ClusterUnhealthy"
SEE_API_SERVER: Final = "it is picked again once it does"
# By the cause that the agent reports (`agent_v1.ApiServerDown`); one that is not known counts as NO_ANSWER.
NO_ANSWER: Final = "NoAnswer"
_TROUBLES: Final = {
    NO_ANSWER: "its API server does not answer its agent",
    "Unauthorized": "its API server rejects its agent's credential (401)",
    "Forbidden": "its API server refuses its agent (403 to its probe)",
}


def trouble(cause: str) -> str:
    """Name the trouble between a member's API server and its agent."""
    return _TROUBLES.get(cause, _TROUBLES[NO_ANSWER])


@dataclass(frozen=True, slots=True)
class Healthy:
    """Rejects clusters whose agent reports that its API server does not answer, or refuses it."""

    name: str = "Healthy"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        if not cluster.down:
            return None
        said = f"its API server does not answer ({cluster.down}): {SEE_API_SERVER}"
        if cluster.down_cause != NO_ANSWER:
            said = f"{trouble(cluster.down_cause)}: it is picked again once it accepts that"
        return Rejection(self.name, UNHEALTHY, said)

"""The agent's account may create Jobs in the workload's namespace, as far as the member has said."""

import datetime as dt
from dataclasses import dataclass

from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import Constraints
from shared.consent import CREATE_FORBIDDEN


@dataclass(frozen=True, slots=True)
class MayCreate:
    """Rejects clusters whose API server refuses the agent's creates of Jobs there for want of a right."""

    name: str = "MayCreate"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        if constraints.consent is None or constraints.consent[0] not in cluster.jobs_forbidden_in:
            return None
        return Rejection(self.name, CREATE_FORBIDDEN, lacks_right(constraints.consent[0]))


def lacks_right(namespace: str) -> str:
    """The missing right of the agent's account in a namespace, and the grant that helps."""
    return (
        f"its agent's account may not create Jobs in namespace {namespace} (403): grant it verb create on "
        "jobs.batch there, as ClusterRole roadstead-agent-jobs of its chart does"
    )

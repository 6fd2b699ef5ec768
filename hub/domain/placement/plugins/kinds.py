"""A cluster must serve the kind that is to be created there."""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import JOB, Constraints

WORK_KINDS: Final = (
    7  # the first protocol of agents that run other kinds (`shared.wire.versions.KINDS`)
)


@dataclass(frozen=True, slots=True)
class KindServed:
    """Rejects clusters that told which kinds they serve, without this one among them.

    Of a job of another kind than Job they must have told it, and their agents must know how to run one.
    """

    name: str = "KindServed"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        kind = constraints.kind
        is_operated = constraints.is_job and kind not in ("", JOB)
        if is_operated and cluster.protocol < WORK_KINDS:
            text = f"its agent is of a release that runs no {kind}: upgrade it"
            return Rejection(self.name, "AgentTooOld", text)
        if (
            not kind
            or kind in (cluster.kinds or ())
            or (cluster.kinds is None and not is_operated)
        ):
            return None
        return Rejection(self.name, "KindNotServed", f"{kind} is not served there")

"""A cluster must have joined, and have been heard of lately."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import Constraints

SUSPECT_AFTER_S = 45.0


@dataclass(frozen=True, slots=True)
class Eligible:
    """Rejects clusters that have not joined or have been silent for `suspect_after_s`.

    `since`: before that nobody listened, and silence says nothing.
    """

    suspect_after_s: float = SUSPECT_AFTER_S
    since: dt.datetime | None = None
    name: str = "Eligible"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        if not cluster.joined:
            return Rejection(self.name, "ClusterNotJoined", "the cluster has not joined yet")
        if cluster.heartbeat_at is None:
            return Rejection(self.name, "AgentNotOnline", "its agent has not been online yet")
        heard_at = max(cluster.heartbeat_at, self.since or cluster.heartbeat_at)
        silent_s = (now - heard_at).total_seconds()
        if silent_s > self.suspect_after_s:
            return Rejection(
                self.name, "ClusterSilent", f"its agent has been silent for {_spell(silent_s)}"
            )
        return None


@dataclass(frozen=True, slots=True)
class Standing:
    """Rejects clusters of which it is said, by name, why they take nothing new."""

    refused: Mapping[str, str] = field(default_factory=dict)
    name: str = "Eligible"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        why = self.refused.get(cluster.name)
        return None if why is None else Rejection(self.name, "ClusterNotEligible", why)


def _spell(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"

"""A cluster must have joined, and have had recent contact."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from hub.domain.fleet.clusters import Cluster
from hub.domain.plan import Rejection
from hub.domain.workloads.demand import Constraints

SUSPECT_AFTER_S = 45.0
SEE_AGENT: Final = "see whether it runs there and reaches the hub"


@dataclass(frozen=True, slots=True)
class Eligible:
    """Rejects clusters that have not joined or have been silent for `suspect_after_s`.

    `since`: the time when the hub began to listen; earlier silence proves nothing.
    """

    suspect_after_s: float = SUSPECT_AFTER_S
    since: dt.datetime | None = None
    name: str = "Eligible"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        if not cluster.joined:
            words = f"the cluster has not joined yet: {start_agent(cluster.name)}"
            return Rejection(self.name, "ClusterNotJoined", words)
        if cluster.heartbeat_at is None:
            words = f"its agent has not been online yet: {start_agent(cluster.name)}"
            return Rejection(self.name, "AgentNotOnline", words)
        heard_at = max(cluster.heartbeat_at, self.since or cluster.heartbeat_at)
        silent_s = (now - heard_at).total_seconds()
        if silent_s > self.suspect_after_s:
            words = f"its agent has been silent for {_spell(silent_s)}: {SEE_AGENT}"
            return Rejection(self.name, "ClusterSilent", words)
        return None


@dataclass(frozen=True, slots=True)
class Standing:
    """Rejects named clusters with the reason why they accept no new work."""

    refused: Mapping[str, str] = field(default_factory=dict)
    name: str = "Eligible"

    def reject(
        self, constraints: Constraints, cluster: Cluster, now: dt.datetime
    ) -> Rejection | None:
        why = self.refused.get(cluster.name)
        return None if why is None else Rejection(self.name, "ClusterNotEligible", why)


def start_agent(cluster: str) -> str:
    """The remedy if no agent has connected yet."""
    return f"start its agent with the token of `roadstead clusters token {cluster}`"


def _spell(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"

"""Cluster eligibility as in KubeFleet's scheduler (pkg/scheduler/clustereligibilitychecker). Pure.

The last report of its agent decides, whatever already runs there.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Final

HEARTBEAT_TIMEOUT: Final = dt.timedelta(minutes=5)
HEALTH_TIMEOUT: Final = dt.timedelta(minutes=5)
HAS_LEFT: Final = "it has left the fleet: join it again, or name another"


@dataclass(frozen=True, slots=True)
class AgentState:
    """A member as its MemberCluster has it. None: it is not told."""

    has_left: bool = False  # its MemberCluster is being deleted
    is_told: bool = True  # its agent has an entry in the status
    heartbeat_at: dt.datetime | None = None
    joined: bool | None = None
    healthy: bool | None = None
    healthy_since: dt.datetime | None = None  # when `healthy` became what it is


def ineligible(state: AgentState, now: dt.datetime) -> str:
    """The message why the scheduler picks no such cluster now; "" if it may."""
    if state.has_left:
        return HAS_LEFT
    if not state.is_told:
        return "its agent is not online yet: start it there"
    if state.heartbeat_at is None or now - state.heartbeat_at > HEARTBEAT_TIMEOUT:
        told = _for(now, state.heartbeat_at)
        return f"it has sent no heartbeat {told}: see whether its agent runs and reaches the hub"
    if not state.joined:
        return "its agent has not joined yet: see its log there"
    if state.healthy is None:
        return "its health is not known yet: its agent must report it once"
    since = state.healthy_since
    if not state.healthy and (since is None or now - since > HEALTH_TIMEOUT):
        return f"it has been unhealthy {_for(now, since)}: check its API server"
    return ""


def _for(now: dt.datetime, since: dt.datetime | None) -> str:
    return "at all" if since is None else f"for {(now - since).total_seconds() / 60:.2f} minutes"

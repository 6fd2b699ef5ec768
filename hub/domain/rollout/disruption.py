"""Disruption budgets: whether a placement may lose a cluster now, by KubeFleet's rules. Pure.

    allowed where   maxUnavailable - (bindings - available) > 0
    or              available - minAvailable > 0

Percents are of as many clusters as the policy wants, rounded up. A cluster where nothing is available has
nothing to lose. Reasons, and the sentences that messages begin with, are KubeFleet's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from hub.domain.rollout.rolling_update import share

VALID: Final = "ClusterResourcePlacementEvictionValid"
INVALID: Final = "ClusterResourcePlacementEvictionInvalid"
EXECUTED: Final = "ClusterResourcePlacementEvictionExecuted"
NOT_EXECUTED: Final = "ClusterResourcePlacementEvictionNotExecuted"
_IS_VALID: Final = "Eviction is valid"


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """One of the two is given: a number of clusters, or a percent of them (`"25%"`)."""

    max_unavailable: int | str | None = None
    min_available: int | str | None = None


@dataclass(frozen=True, slots=True)
class BoundCluster:
    """One cluster of a placement.

    `given`: it has been given something; `available`: since then all of that is there, and works;
    `leaving`: its objects are being withdrawn; `jobs`: of the placement's Jobs, how many are there and
    have not ended.
    """

    given: bool = True
    available: bool = True
    leaving: bool = False
    jobs: int = 0


@dataclass(frozen=True, slots=True)
class EvictedPlacement:
    """The subject of an eviction. `wanted`: clusters that the policy wants; `clusters`: those it has."""

    kind: str  # ClusterResourcePlacement | ResourcePlacement
    policy: str = "PickAll"  # PickAll | PickN | PickFixed
    wanted: int = 0
    clusters: Mapping[str, BoundCluster] = field(default_factory=dict)
    found: bool = True
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class EvictionVerdict:
    """`valid`: True if the eviction is possible at all; `allowed`; and both in words."""

    valid: bool
    allowed: bool
    message: str

    @property
    def valid_condition(self) -> tuple[str, str]:
        """Reason and message of condition Valid."""
        return (VALID, _IS_VALID) if self.valid else (INVALID, self.message)

    @property
    def executed_reason(self) -> str:
        """Reason of condition Executed, whose message is this one's; of a valid eviction alone."""
        return EXECUTED if self.allowed else NOT_EXECUTED

    @property
    def condition_reason(self) -> str:
        """Reason of the last condition."""
        return self.executed_reason if self.valid else INVALID


def may_evict(
    placement: EvictedPlacement, cluster: str, budget: DisruptionBudget | None
) -> EvictionVerdict:
    """True if one cluster may be evicted."""
    if not placement.found:
        return _invalid(f"Failed to find {placement.kind} targeted by eviction")
    if placement.deleting:
        return _invalid(f"Found deleting {placement.kind} targeted by eviction")
    if placement.policy == "PickFixed":
        text = (
            f"Found {placement.kind} with PickFixed placement type targeted by eviction: take {cluster} "
            "off its clusterNames"
        )
        return _invalid(text)
    bound = placement.clusters.get(cluster)
    if bound is None:
        has = ", ".join(sorted(placement.clusters)[:10]) or "no cluster"
        text = "Failed to find scheduler decision for placement in cluster targeted by eviction"
        return _invalid(f"{text}: it has {has}")
    return _of_bound(placement, bound, budget)


def _of_bound(
    placement: EvictedPlacement, bound: BoundCluster, budget: DisruptionBudget | None
) -> EvictionVerdict:
    if bound.leaving:
        return _allowed(
            "resources propagated by placement is currently being removed from cluster targeted by eviction"
        )
    if bound.jobs and not bound.given:
        return _allowed(f"{bound.jobs} Job(s) are withdrawn and wait for a cluster again")
    if not bound.given:
        return _blocked(
            "Eviction is blocked, placement has not propagated resources to target cluster yet"
        )
    if not bound.available:
        return _allowed(
            "placement has failed: nothing of it is available there, and nothing is lost"
        )
    name = f"{placement.kind}DisruptionBudget"
    if budget is None:
        return _allowed(f"no {name} specified")
    if fault := _misconfigured(placement, budget):
        return _blocked(f"Eviction is blocked by misconfigured {name}, {fault}")
    return _by_budget(placement, budget, name)


def _by_budget(
    placement: EvictedPlacement, budget: DisruptionBudget, name: str
) -> EvictionVerdict:
    every = (
        placement.clusters.values()
    )  # one that is leaving is a binding still, and not available
    available = sum(each.available and each.given and not each.leaving for each in every)
    total = len(every)
    if budget.max_unavailable is not None:
        field_, given = "maxUnavailable", budget.max_unavailable
        bound = share(given, placement.wanted)
        left = bound - (total - available)
    else:
        field_, given = "minAvailable", budget.min_available or 0
        bound = share(given, placement.wanted)
        left = available - bound
    said = (
        f"{name}, availablePlacements: {available}, totalPlacements: {total}; {field_} is {bound}"
    )
    if isinstance(given, str):
        said += f", {given} of {placement.wanted}"
    if left > 0:
        return _allowed("", f"by specified {said}")
    return _blocked(f"Eviction is blocked by specified {said}")


def _misconfigured(placement: EvictedPlacement, budget: DisruptionBudget) -> str:
    """PickAll states no wanted number: only a minimum number of remaining clusters is meaningful."""
    if budget.max_unavailable is None and budget.min_available is None:
        return "neither MaxUnavailable nor MinAvailable is specified"
    if placement.policy != "PickAll":
        return ""
    if budget.max_unavailable is not None or not isinstance(budget.min_available, int):
        return (
            "either MaxUnavailable is specified or MinAvailable is specified as a percentage for PickAll "
            f"{placement.kind}: give minAvailable as a number"
        )
    return ""


def _invalid(message: str) -> EvictionVerdict:
    return EvictionVerdict(False, False, message)


def _allowed(why: str, by: str = "") -> EvictionVerdict:
    return EvictionVerdict(
        True, True, f"Eviction is allowed {by}" if by else f"Eviction is allowed, {why}"
    )


def _blocked(message: str) -> EvictionVerdict:
    return EvictionVerdict(True, False, message)

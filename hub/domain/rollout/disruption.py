"""Whether a placement may lose a cluster now, by its disruption budget: KubeFleet's rules. Pure.

    allowed where   maxUnavailable - (bindings - available) > 0
    or              available - minAvailable > 0

Percents are of as many clusters as the policy wants, rounded up. A cluster where nothing is available has
nothing to lose.
"""

from dataclasses import dataclass

from hub.domain.rollout.rolling_update import share


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """One of the two is given: a number of clusters, or a percent of them (`"25%"`)."""

    max_unavailable: int | str | None = None
    min_available: int | str | None = None


@dataclass(frozen=True, slots=True)
class Bindings:
    """A placement's clusters: how many are `wanted`, `bound`, and `available` among those."""

    policy: str  # PickAll | PickN | PickFixed
    wanted: int
    bound: int
    available: int


@dataclass(frozen=True, slots=True)
class EvictionVerdict:
    """`valid`: whether it can be asked at all; `allowed`; and both in words."""

    valid: bool
    allowed: bool
    message: str


def may_evict(
    bindings: Bindings, budget: DisruptionBudget | None, *, available: bool
) -> EvictionVerdict:
    """Whether one cluster may be taken out. `available`: whether what it holds is."""
    if bindings.policy == "PickFixed":
        return EvictionVerdict(False, False, "PickFixed names its clusters: take it off its list")
    if not available:
        return EvictionVerdict(True, True, "nothing of it is available there: nothing is lost")
    if budget is None:
        return EvictionVerdict(True, True, "no disruption budget: evictions are allowed")
    if fault := _misconfigured(bindings.policy, budget):
        return EvictionVerdict(True, False, fault)
    have = f"{bindings.available} of {bindings.bound} clusters are available"
    if budget.max_unavailable is not None:
        most = share(budget.max_unavailable, bindings.wanted)
        left = most - (bindings.bound - bindings.available)
        text = f"{have}, maxUnavailable {budget.max_unavailable} of {bindings.wanted}"
    else:
        least = share(budget.min_available or 0, bindings.wanted)
        left = bindings.available - least
        text = f"{have}, minAvailable {budget.min_available} of {bindings.wanted}"
    said = (
        "the disruption budget allows it"
        if left > 0
        else "the disruption budget does not allow it"
    )
    return EvictionVerdict(True, left > 0, f"{said}: {text}")


def _misconfigured(policy: str, budget: DisruptionBudget) -> str:
    """Of PickAll nobody says how many are wanted: only a number of those that stay means something."""
    if policy != "PickAll":
        return ""
    if budget.max_unavailable is not None or not isinstance(budget.min_available, int):
        return "the disruption budget of a PickAll needs minAvailable as a whole number"
    return ""

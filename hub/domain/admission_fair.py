"""Admission fair sharing: LocalQueues that have used less go first (queueing 2.7).

History decays with a half-life; what is admitted between two samples counts at once as a penalty.
Amounts are in Kubernetes' units (cores, bytes), as the status of a LocalQueue has them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class History:
    """How usage is remembered. Times in seconds; weights by resource, 1 where none is given."""

    half_life: float = 0.0
    sampling: float = 300.0
    weights: Mapping[str, float] = field(default_factory=dict)

    def alpha(self, elapsed: float) -> float:
        """How much the present counts after `elapsed` seconds: 1 - 0.5^(elapsed / half-life)."""
        return 0.0 if self.half_life <= 0 else 1.0 - math.pow(0.5, elapsed / self.half_life)

    def decayed(
        self, consumed: Mapping[str, float], current: Mapping[str, float], elapsed: float
    ) -> dict[str, float]:
        """History after a sample; without a half-life nothing is remembered."""
        if self.half_life <= 0:
            return {}
        alpha = self.alpha(elapsed)
        return {
            r: (1 - alpha) * consumed.get(r, 0.0) + alpha * current.get(r, 0.0)
            for r in sorted({*consumed, *current})
        }

    def penalty(self, request: Mapping[str, float]) -> dict[str, float]:
        """What an admission adds until the next sample has seen it."""
        alpha = self.alpha(self.sampling)
        return {r: amount * alpha for r, amount in request.items()}

    def rank(self, consumed: Mapping[str, float], weight: float) -> float:
        """The lower goes first. A weight of zero or less always goes last."""
        if weight <= 0:
            return math.inf
        return sum(self.weights.get(r, 1.0) * amount for r, amount in consumed.items()) / weight


class Ranks:
    """Rank of every LocalQueue (`namespace/name`) during a run of cycles."""

    def __init__(
        self,
        history: History,
        consumed: Mapping[str, Mapping[str, float]],
        weights: Mapping[str, float],
    ) -> None:
        self._history = history
        self._weights = weights
        self._consumed = {name: dict(amounts) for name, amounts in consumed.items()}
        self._penalties: dict[str, dict[str, float]] = {}
        self.values: dict[str, float] = {}
        for name in {*consumed, *weights}:
            self._update(name)

    def penalise(self, local_queue: str, request: Mapping[str, float]) -> None:
        """Quota was reserved for a workload of this LocalQueue."""
        penalties = self._penalties.setdefault(local_queue, {})
        for resource, amount in self._history.penalty(request).items():
            penalties[resource] = penalties.get(resource, 0.0) + amount
        self._update(local_queue)

    def sample(self, current: Mapping[str, Mapping[str, float]], elapsed: float) -> None:
        """A sampling tick: what is used now enters the history, and penalties are settled by it."""
        self._penalties.clear()
        for name in {*self._consumed, *current}:
            consumed = self._consumed.get(name, {})
            self._consumed[name] = self._history.decayed(consumed, current.get(name, {}), elapsed)
        for name in {*self.values, *current}:
            self._update(name)

    def _update(self, name: str) -> None:
        weight = self._weights.get(name, 1.0)
        total = dict(self._consumed.get(name, {}))
        for resource, amount in self._penalties.get(name, {}).items():
            total[resource] = total.get(resource, 0.0) + amount
        self.values[name] = self._history.rank(total, weight)

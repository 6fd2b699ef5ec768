"""Admission fair sharing: LocalQueues that have used less go first (Kueue's KEP-4136).

History decays with a half-life; what is admitted between two samples counts at once as a penalty,
and enters the history with the next sample, however short it ran.
Amounts are in Kubernetes' units (cores, bytes), as the status of a LocalQueue has them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from hub.domain.fleet.clusters import in_units
from hub.domain.quota.declared import Usage


@dataclass(frozen=True, slots=True)
class UsageHistory:
    """Settings of the memory of usage. Times in seconds; weights by resource, 1 where none is given."""

    half_life: float = 0.0
    sampling: float = 300.0
    weights: Mapping[str, float] = field(default_factory=dict)

    def alpha(self, elapsed: float) -> float:
        """The weight of the present after `elapsed` seconds: 1 - 0.5^(elapsed / half-life)."""
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
        """The penalty that an admission adds until the next sample includes it."""
        alpha = self.alpha(self.sampling)
        return {r: amount * alpha for r, amount in request.items()}

    def rank(self, consumed: Mapping[str, float], weight: float) -> float:
        """The lower goes first. A weight of zero or less always goes last."""
        if weight <= 0:
            return math.inf
        return sum(self.weights.get(r, 1.0) * amount for r, amount in consumed.items()) / weight


class Ranks:
    """Rank of every LocalQueue (`namespace/name`): what it consumed, and what it reserved since.

    Reservations are summed exactly, so that a released one leaves no trace.
    """

    def __init__(
        self,
        history: UsageHistory,
        consumed: Mapping[str, Mapping[str, float]],
        weights: Mapping[str, float],
    ) -> None:
        self._history = history
        self._weights = dict(weights)
        self._consumed = {name: dict(amounts) for name, amounts in consumed.items()}
        self._reserved: dict[str, dict[str, int]] = {}  # by resource, in base units
        self.values: dict[str, float] = {}
        for name in {*consumed, *weights}:
            self._update(name)

    def copy(self) -> "Ranks":
        """Other ranks to penalise; these stay as they are."""
        other = Ranks(self._history, {}, {})
        other._weights = self._weights
        other._consumed = self._consumed
        other._reserved = {name: dict(amounts) for name, amounts in self._reserved.items()}
        other.values = dict(self.values)
        return other

    def penalise(self, local_queue: str, usage: Usage) -> None:
        """Quota was reserved for a workload of this LocalQueue."""
        self._shift(local_queue, usage, 1)

    def forgive(self, local_queue: str, usage: Usage) -> None:
        """A reservation no longer counts: it was released, or has entered the consumption."""
        self._shift(local_queue, usage, -1)

    def weigh(self, weights: Mapping[str, float]) -> None:
        """Weights of all LocalQueues as they are now."""
        changed = {n for n in {*self._weights, *weights} if self._weights.get(n) != weights.get(n)}
        self._weights = dict(weights)
        for name in changed:
            self._update(name)

    def consume(self, consumed: Mapping[str, Mapping[str, float]]) -> None:
        """The consumption of all LocalQueues as of a sample."""
        self._consumed = {name: dict(amounts) for name, amounts in consumed.items()}
        self.values = {}
        for name in {*self._consumed, *self._weights, *self._reserved}:
            self._update(name)

    def sampled(
        self, current: Mapping[str, Mapping[str, float]], elapsed: Mapping[str, float]
    ) -> dict[str, dict[str, float]]:
        """What each LocalQueue has consumed after a sample: its decayed history with what it uses
        now, and the penalties of everything reserved since the last one. `elapsed`: seconds, by name.
        """
        found = {}
        for name in sorted({*self._consumed, *self._reserved, *current}):
            consumed = self._history.decayed(
                self._consumed.get(name, {}), current.get(name, {}), elapsed.get(name, 0.0)
            )
            found[name] = _sum(consumed, self._penalty(name))
        return found

    def sample(self, current: Mapping[str, Mapping[str, float]], elapsed: float) -> None:
        """A sampling tick: what is used now enters the history, and penalties with it."""
        names = {*self._consumed, *self._reserved, *current}
        consumed = self.sampled(current, dict.fromkeys(names, elapsed))
        self._reserved.clear()
        self.consume(consumed)

    def _shift(self, name: str, usage: Usage, sign: int) -> None:
        reserved = self._reserved.setdefault(name, {})
        for of, amount in usage.items():
            total = reserved.get(of.resource, 0) + sign * amount
            if total:
                reserved[of.resource] = total
            else:
                reserved.pop(of.resource, None)
        if not reserved:
            del self._reserved[name]
        self._update(name)

    def _penalty(self, name: str) -> dict[str, float]:
        reserved = self._reserved.get(name)
        return self._history.penalty(in_kubernetes_units(reserved)) if reserved else {}

    def _update(self, name: str) -> None:
        total = _sum(self._consumed.get(name, {}), self._penalty(name))
        self.values[name] = self._history.rank(total, self._weights.get(name, 1.0))


def request_of(usage: Usage) -> dict[str, float]:
    """The request of a usage by resource, in Kubernetes' units."""
    total: dict[str, int] = {}
    for of, amount in usage.items():
        total[of.resource] = total.get(of.resource, 0) + amount
    return in_kubernetes_units(total)


def in_kubernetes_units(amounts: Mapping[str, int]) -> dict[str, float]:
    """Exact amounts by resource as Kubernetes' numbers: cores, bytes."""
    return {resource: float(in_units(resource, amount)) for resource, amount in amounts.items()}


def _sum(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {r: one.get(r, 0.0) + other.get(r, 0.0) for r in sorted({*one, *other})}

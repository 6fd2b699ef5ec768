"""The settings file of `simulate`: what of scheduling is configuration; absent means off.

Keys are those of Kueue's configuration where it has them.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hub.domain.admission.nomination import Rules
from hub.domain.preemption.fair import DEFAULT_STRATEGIES, FINAL_SHARE, INITIAL_SHARE
from hub.domain.preemption.search import ORDERS, PreemptionLimits
from hub.domain.quota.declared import EVERYTHING
from hub.domain.quota.usage_history import UsageHistory
from hub.offline.inputs.documents import Unreadable, read_content
from shared.documents import JsonView
from shared.selectors import LabelSelector

_STRATEGIES: Final = (
    DEFAULT_STRATEGIES,
    (FINAL_SHARE,),
    (INITIAL_SHARE,),
)
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:h|ms|us|µs|ns|m|s))+")
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(h|ms|us|µs|ns|m|s)")


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    """Settings of decisions. `history` None: no admission fair sharing."""

    rules: Rules = field(default_factory=Rules)
    history: UsageHistory | None = None
    missing_selector: LabelSelector | None = EVERYTHING
    by_eviction_time: bool = True  # waitForPodsReady.requeuingStrategy.timestamp
    eviction_grace: float = 0.0  # seconds from preemption until a workload has left, in `run`
    unknown: tuple[str, ...] = ()  # keys that mean nothing here


def read_settings(path: Path | None) -> SimulationSettings:
    """The settings of a file; all defaults without one. Raises `Unreadable`."""
    if path is None:
        return SimulationSettings()
    documents = [d for d in read_content(path) if d is not None]
    if not documents:
        return SimulationSettings()
    if len(documents) > 1 or not isinstance(documents[0], dict):
        raise Unreadable(str(path), 1, "", "settings are one object")
    return settings_of(documents[0], str(path))


def settings_of(given: JsonView, file: str = "settings") -> SimulationSettings:
    """Settings from a mapping; raises `Unreadable`."""
    return _SettingsReader(given, file).read()


class _SettingsReader:
    def __init__(self, given: JsonView, file: str) -> None:
        self._given = given
        self._file = file

    def read(self) -> SimulationSettings:
        known = {
            "fairSharing", "admissionFairSharing", "partialAdmission", "missingNamespaceSelector",
            "waitForPodsReady", "resources", "preemption", "apiVersion", "kind",
        }  # fmt: skip
        waiting = self._block("waitForPodsReady")
        requeuing = waiting.get("requeuingStrategy") or {}
        stamp = self._one_of(
            requeuing.get("timestamp", "Eviction"),
            ("Eviction", "Creation"),
            "waitForPodsReady.requeuingStrategy.timestamp",
        )
        missing = self._one_of(
            self._given.get("missingNamespaceSelector", "Everything"),
            ("Everything", "Nothing"),
            "missingNamespaceSelector",
        )
        return SimulationSettings(
            rules=self._rules(enabled(waiting) and bool(waiting.get("blockAdmission"))),
            history=self._history(),
            missing_selector=EVERYTHING if missing == "Everything" else None,
            by_eviction_time=stamp == "Eviction",
            eviction_grace=self._duration(
                self._block("preemption").get("gracePeriod", 0), "preemption.gracePeriod"
            ),
            unknown=tuple(sorted(map(str, set(self._given) - known))),
        )

    def _rules(self, block_admission: bool) -> Rules:
        fair = self._block("fairSharing")
        strategies = tuple(fair.get("preemptionStrategies") or DEFAULT_STRATEGIES)
        if strategies not in _STRATEGIES:
            said = " or ".join(", ".join(s) for s in _STRATEGIES)
            raise self._fault("fairSharing.preemptionStrategies", f"must be {said}")
        partial = self._given.get("partialAdmission")
        resources = self._block("resources")
        check = resources.get("quotaCheckStrategy", "BlockUndeclared")
        allowed = ("BlockUndeclared", "IgnoreUndeclared")
        return Rules(
            for_room=self._block("preemption").get("forCapacity") in (True, "On"),
            preemptors_first=self._block("preemption").get("preemptorsFirst", True)
            in (True, "On"),
            fair=enabled(fair),
            strategies=strategies,
            partial=enabled(partial) if isinstance(partial, dict) else bool(partial),
            block_admission=block_admission,
            excluded=tuple(resources.get("excludeResourcePrefixes") or ()),
            ignore_undeclared=self._one_of(check, allowed, "resources.quotaCheckStrategy")
            == "IgnoreUndeclared",
            limits=self._limits(),
        )

    def _limits(self) -> PreemptionLimits:
        given = self._block("preemption")
        budget = given.get("maxPreemptedWorkloads")
        if budget is not None and (not isinstance(budget, int) or budget < 0):
            raise self._fault(
                "preemption.maxPreemptedWorkloads", "must be a whole number, 0 or more"
            )
        order = tuple(given.get("victimOrder") or PreemptionLimits().order)
        for name in order:
            self._one_of(name, ORDERS, "preemption.victimOrder")
        least = self._duration(given.get("minimumRuntime", 0), "preemption.minimumRuntime")
        return PreemptionLimits(
            order=order,
            budget=budget,
            minimum_runtime=round(least * 1e6),
            protected=frozenset(given.get("nonPreemptibleQueues") or ()),
        )

    def _history(self) -> UsageHistory | None:
        if self._given.get("admissionFairSharing") is None:
            return None
        given = self._block("admissionFairSharing")
        prefix = "admissionFairSharing."
        weights = given.get("resourceWeights") or {}
        try:
            read = {str(r): float(w) for r, w in weights.items()}
        except (TypeError, ValueError, AttributeError):
            raise self._fault(
                prefix + "resourceWeights", "must map resources to numbers"
            ) from None
        return UsageHistory(
            half_life=self._duration(
                given.get("usageHalfLifeTime", 0), prefix + "usageHalfLifeTime"
            ),
            sampling=self._duration(
                given.get("usageSamplingInterval", "5m"), prefix + "usageSamplingInterval"
            ),
            weights=read,
        )

    def _block(self, name: str) -> JsonView:
        block = self._given.get(name)
        if block is None:
            return {}
        if isinstance(block, bool):
            return {"enable": block}
        if not isinstance(block, dict):
            raise self._fault(name, "must be an object")
        return block

    def _one_of(self, value: object, allowed: tuple[str, ...], field_name: str) -> str:
        if value not in allowed:
            raise self._fault(field_name, f"{value!r} is none of {', '.join(allowed)}")
        return str(value)

    def _duration(self, value: object, field_name: str) -> float:
        try:
            return seconds(value)
        except ValueError:
            detail = f"{value!r} is no duration; 5m, 1h30m and 90s are"
            raise self._fault(field_name, detail) from None

    def _fault(self, field_name: str, detail: str) -> Unreadable:
        return Unreadable(self._file, 1, field_name, detail)


def enabled(block: JsonView) -> bool:
    """Is a block's feature on? A block that is there is on unless it says `enable: false`."""
    return bool(block) and bool(block.get("enable", True))


def seconds(value: object) -> float:
    """A duration as Kubernetes writes it (`1h30m`), or a plain number of seconds. ValueError."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    text = str(value).strip()
    if text == "0":
        return 0.0
    if not _DURATION.fullmatch(text):
        raise ValueError(text)
    return sum(float(amount) * _UNITS[unit] for amount, unit in _PART.findall(text))

"""AdmissionChecks and MultiKueue's kinds for scheduling, in memory: part of the catalog.

A MultiKueue check is a restriction to members, not a wait: a MultiKueueCluster is the member of its
name, and the check's MultiKueueConfig lists those that the queue's workloads may go to.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from hub.domain.plan import Assignment
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.workloads import admission_checks
from hub.domain.workloads.admission_checks import Check, Fault
from hub.store.records.objects import RuleObject, StoredObject
from shared.conditions import find
from shared.documents import JsonView
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE

CHECK: Final = "AdmissionCheck"
CONFIG: Final = "MultiKueueConfig"
WORKER: Final = "MultiKueueCluster"
KINDS: Final = ((KUEUE, CHECK), (KUEUE, CONFIG), (KUEUE, WORKER))
_NAMES: Final = frozenset(kind for _, kind in KINDS)


def concerns(kind: str) -> bool:
    """Is it one of the kinds that are read here?"""
    return kind in _NAMES


def is_active(status: JsonView | None) -> bool:
    """Does a status say Active=True?"""
    active = find((status or {}).get("conditions"), "Active")
    return active is not None and active.get("status") == "True"


def read_check(row: StoredObject | RuleObject) -> Check:
    """An AdmissionCheck from its object's row."""
    spec = row.spec or {}
    parameters = spec.get("parameters") or {}
    return Check(
        row.name,
        spec.get("controllerName") or "",
        is_active(row.status),
        parameters.get("name") or "" if parameters.get("kind") == CONFIG else "",
    )


@dataclass(frozen=True, slots=True)
class Gate:
    """The checks that admissions must pass, as of one cycle. `known`: by name."""

    policies: Mapping[str, QueuePolicy] = field(default_factory=dict)
    known: Mapping[str, Check] = field(default_factory=dict)

    def required(self, queue: str, assignment: Assignment) -> tuple[str, ...]:
        """Checks for workloads of a queue under these flavors, by name."""
        policy = self.policies.get(queue)
        if policy is None or not policy.checks:
            return ()
        used = {flavor for pod_set in assignment.pod_sets for _, flavor in pod_set.flavors}
        return policy.required_checks(frozenset(used))

    def waits(self, required: tuple[str, ...]) -> bool:
        """Does any of them wait for an outsider?"""
        return any(name not in self.known or not self.known[name].by_hub for name in required)


class CheckRules:
    """Checks, MultiKueueConfigs and MultiKueueClusters as last read."""

    def __init__(self) -> None:
        self.known: dict[str, Check] = {}
        self._configs: dict[str, tuple[str, ...]] = {}
        self._workers: set[str] = set()

    def copy(self) -> "CheckRules":
        """The same, to be changed; this one stays as it is."""
        other = CheckRules()
        other.known, other._configs = dict(self.known), dict(self._configs)
        other._workers = set(self._workers)
        return other

    def told(self) -> tuple[object, ...]:
        """All that is known, to be compared."""
        return self.known, self._configs, self._workers

    def read(self, row: RuleObject) -> None:
        """An object was added or changed."""
        match row.kind:
            case "AdmissionCheck":
                self.known[row.name] = read_check(row)
            case "MultiKueueConfig":
                self._configs[row.name] = tuple((row.spec or {}).get("clusters") or ())
            case "MultiKueueCluster":
                self._workers.add(row.name)

    def drop(self, kind: str, name: str) -> None:
        """An object is gone."""
        match kind:
            case "AdmissionCheck":
                self.known.pop(name, None)
            case "MultiKueueConfig":
                self._configs.pop(name, None)
            case "MultiKueueCluster":
                self._workers.discard(name)

    def fault(self, policy: QueuePolicy | None) -> Fault | None:
        """The reason why a queue can admit nothing for its checks; None where it can."""
        return (
            admission_checks.queue_fault(policy.checks, self.known)
            if policy and policy.checks
            else None
        )

    def gate(self, policies: Mapping[str, QueuePolicy]) -> Gate:
        """The checks that admissions must pass now; later changes do not show in it."""
        return Gate(dict(policies), dict(self.known))

    def members(self, policy: QueuePolicy | None) -> tuple[str, ...] | None:
        """The members that a queue's MultiKueue check names, in its order; None where it has none."""
        for name, _ in policy.checks if policy else ():
            check = self.known.get(name)
            if check is not None and check.by_hub:
                return tuple(w for w in self._configs.get(check.config, ()) if w in self._workers)
        return None

"""Conditions of queue objects, in Kueue's words, with what is not enforced yet."""

import datetime as dt
from collections.abc import Container, Iterable, Mapping
from typing import Final

from hub.domain.instants import stamp
from hub.domain.queueing import eligibility
from hub.domain.queueing.eligibility import Inactive
from hub.domain.quota.declared import LocalQueue
from hub.domain.quota.queue_policy import read_policy
from hub.domain.workloads.admission_checks import Check, queue_fault
from hub.services.index.check_catalog import read_check
from hub.services.queues import quota_tree
from hub.store import objects, settings
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE

QUEUE_KINDS = frozenset(
    {
        "AdmissionCheck",
        "ClusterQueue",
        "Cohort",
        "LocalQueue",
        "MultiKueueCluster",
        "MultiKueueConfig",
        "ResourceFlavor",
    }
)

_SAID: Final = {
    eligibility.STOPPED: "stopPolicy is {}",
    eligibility.TERMINATING: "Can't admit new workloads; clusterQueue is terminating",
    "CohortCycle": "cohorts form a cycle: {}",
    "FlavorNotFound": "ResourceFlavors not found: {}",
}

# A setting that the leader keeps: flavors whose node labels no member has, name → the labels.
UNREACHABLE: Final = "unreachable_flavors"


def refresh(tx: Transaction) -> None:
    """Bring the conditions of all ClusterQueues and LocalQueues up to date; unchanged ones rest."""
    flavors = {row.name for row in objects.list_kind(tx, KUEUE, "ResourceFlavor")}
    queues = objects.list_kind(tx, KUEUE, "ClusterQueue")
    cycles = quota_tree.cycles(tx)
    changed: Json = {}
    known_checks = {
        row.name: read_check(row) for row in objects.list_kind(tx, KUEUE, "AdmissionCheck")
    }
    nowhere = settings.get(tx, UNREACHABLE) or {}
    known: dict[str, Inactive | None] = {}
    for row in queues:
        spec = row.spec or {}
        inactive = known[row.name] = inactivity_of(
            spec, flavors, cycles, known_checks, terminating=row.deleted_at is not None
        )
        _put(changed, row, cluster_queue_conditions(spec, inactive, nowhere), tx.now)
    for row in objects.list_kind(tx, KUEUE, "LocalQueue"):
        _put(changed, row, local_queue_conditions(_local_queue(row), known), tx.now)
    objects.set_statuses(tx, changed)


def inactivity_of(
    spec: JsonView,
    flavors: Container[str],
    cycles: Mapping[str, tuple[str, ...]],
    checks: Mapping[str, Check],
    *,
    terminating: bool = False,
) -> Inactive | None:
    """The reason why a ClusterQueue can admit nothing; None where it can.

    `cycles`: cohort → the cycle of cohorts that it leads into. `checks`: AdmissionChecks by name.
    """
    cycle = cycles.get(spec.get("cohortName") or spec.get("cohort") or "", ())
    fault = queue_fault(read_policy(spec).checks, checks)
    policy = spec.get("stopPolicy") or "None"
    used = _flavors_used(spec)
    return eligibility.inactivity(policy, cycle, used, flavors, fault, terminating=terminating)


def cluster_queue_conditions(
    spec: JsonView, inactive: Inactive | None, nowhere: Mapping[str, str]
) -> list[Json]:
    """Active; NodesFound=False where no member has the nodes of a flavor; LimitsEnforced=False where the
    spec has rules that nothing obeys.

    `nowhere`: flavors whose node labels no member has, with these labels.
    """
    unfound = [
        f"ResourceFlavor {name}: no member has nodes with {nowhere[name]}"
        for name in _flavors_used(spec)
        if name in nowhere
    ]
    if inactive is not None:
        said = _SAID.get(inactive.reason, "{}").format(inactive.detail)
        active = ("False", inactive.reason, said)
    else:
        active = ("True", "Ready", "; ".join(["Can admit new workloads", *unfound]))
    conditions = [_condition("Active", *active)]
    if unfound:
        conditions.append(_condition("NodesFound", "False", "NoNodesMatch", "; ".join(unfound)))
    unenforced = not_enforced(spec)
    if unenforced:
        conditions.append(
            _condition(
                "LimitsEnforced",
                "False",
                "NotYetEnforced",
                f"{', '.join(unenforced)}: accepted, not yet enforced",
            )
        )
    return conditions


def not_enforced(spec: JsonView) -> list[str]:
    """Fields of a ClusterQueue that are kept but that nothing obeys yet."""
    return [name for name in ("concurrentAdmissionPolicy",) if spec.get(name)]


def local_queue_conditions(
    local_queue: LocalQueue, queues: Mapping[str, Inactive | None]
) -> list[Json]:
    """Active: whether it admits, and its ClusterQueue does. `queues`: why each admits nothing."""
    name = local_queue.cluster_queue
    verdict = eligibility.may_admit(local_queue, queues.get(name), exists=name in queues)
    if verdict.admits:
        text = "Can submit new workloads to localQueue"
        return [_condition("Active", "True", verdict.condition, text)]
    return [_condition("Active", "False", verdict.condition, verdict.message)]


def _local_queue(row: StoredObject) -> LocalQueue:
    """Inputs of its conditions."""
    spec = row.spec or {}
    target, stop_policy = spec.get("clusterQueue") or "", spec.get("stopPolicy") or "None"
    return LocalQueue(row.namespace, row.name, target, stop_policy)


def _flavors_used(spec: JsonView) -> Iterable[str]:
    """The flavors that a ClusterQueue names, each once."""
    return dict.fromkeys(
        flavor["name"]
        for group in spec.get("resourceGroups") or ()
        for flavor in group.get("flavors") or ()
    )


def held_workload_conditions(
    spec: JsonView, *, queue_found: bool, owned: bool = False, hindrance: str = ""
) -> list[Json]:
    """A Workload object that is no unit of admission holds nothing, and says why.

    Those that Jobs own are not: the hub admits Jobs, through workloads of its own. One without owner
    becomes one as soon as its LocalQueue is there, unless it asks for what can not be: `hindrance`.
    """
    if hindrance and not owned:
        text = f"holds no quota: {hindrance}"
        return [_condition("QuotaReserved", "False", "Inadmissible", text)]
    name = spec.get("queueName") or ""
    if owned or queue_found:
        why = "its owner is admitted through a workload of the hub's own"
        return [_condition("QuotaReserved", "False", "HasOwner", f"holds no quota: {why}")]
    queue = f"LocalQueue {name} does not exist" if name else "it names no queue"
    return [
        _condition(
            "QuotaReserved",
            "False",
            "QueueNotFound",
            f"holds no quota: no Job owns this Workload, and {queue}",
        )
    ]


def refused_workload_conditions(refusal: Rejected) -> list[Json]:
    """A held Workload whose queue is there, and that was refused as a unit of admission."""
    text = f"holds no quota: {refusal.detail}"
    return [_condition("QuotaReserved", "False", str(refusal.code), text)]


def with_conditions(
    status: JsonView | None, conditions: list[Json], now: dt.datetime, generation: int
) -> Json | None:
    """The status with these conditions; None if they are there already. Times of unchanged ones stay."""
    old = {each["type"]: each for each in (status or {}).get("conditions") or ()}
    merged = []
    for each in conditions:
        before = old.get(each["type"], {})
        same = before.get("status") == each["status"]
        at = before.get("lastTransitionTime") if same else stamp(now.replace(microsecond=0))
        merged.append({**each, "lastTransitionTime": at, "observedGeneration": generation})
    if merged == (status or {}).get("conditions"):
        return None
    return {**(status or {}), "conditions": merged}


def _put(changed: Json, row: StoredObject, conditions: list[Json], now: dt.datetime) -> None:
    status = with_conditions(row.status, conditions, now, row.generation)
    if status is not None:
        changed[row.uid] = status


def _condition(type_: str, status: str, reason: str, message: str) -> Json:
    return {"type": type_, "status": status, "reason": reason, "message": message}

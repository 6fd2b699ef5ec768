"""Who may be considered at all: what holds a workload back before quota is looked at (queueing 1.1, 2.1).

What is asked before a turn (`held_back`) keeps a workload out of the heap; what is asked in its turn
(`inadmissible`) sends it back with an outcome.
"""

from collections.abc import Mapping
from typing import NamedTuple

from hub.domain.plan import Reason
from hub.domain.queueing.requeue import Outcome, is_due
from hub.domain.quota.declared import ClusterQueue, LocalQueue
from hub.domain.quota.holders import PendingWorkload
from hub.domain.workloads.admission_checks import Fault

Namespaces = Mapping[str, Mapping[str, str]]  # labels by name
NAME_LABEL = "kubernetes.io/metadata.name"


class Hold(NamedTuple):
    """Why a workload is not considered, or not admitted when considered."""

    reason: Reason
    message: str
    outcome: Outcome = Outcome.GENERIC


def held_back(
    who: PendingWorkload,
    local_queue: LocalQueue | None,
    queue: ClusterQueue | None,
    inactive: Mapping[str, str],
    now: int,
) -> Hold | None:
    """Why its turn can not come. `inactive`: queue → why it can admit nothing."""
    if not who.active:
        return Hold(Reason.DEACTIVATED, "spec.active is false")
    if local_queue is None:
        return Hold(Reason.QUEUE_NOT_FOUND, f"LocalQueue {who.local_queue} doesn't exist")
    if queue is None:
        name = local_queue.cluster_queue
        return Hold(Reason.QUEUE_NOT_FOUND, f"ClusterQueue {name} doesn't exist")
    for kind, each in (("LocalQueue", local_queue), ("ClusterQueue", queue)):
        if each.stopped:
            message = f"{kind} {each.name} is stopped ({each.stop_policy})"
            return Hold(Reason.SUSPENDED, message)
    if queue.name in inactive:
        return Hold(Reason.MISCONFIGURED, f"ClusterQueue {queue.name}: {inactive[queue.name]}")
    if not is_due(who, now):
        why = "Requeued is False" if not who.requeued else "its back-off has not passed"
        return Hold(Reason.NOT_CONSIDERED, why)
    return None


def inadmissible(who: PendingWorkload, queue: ClusterQueue, namespaces: Namespaces) -> Hold | None:
    """Why it can not be admitted though its turn has come. A namespace has at least its name label."""
    if who.failed_checks:
        checks = ", ".join(who.failed_checks)
        return Hold(Reason.PENDING_EVALUATION, f"admission checks have failed: {checks}")
    labels = namespaces.get(who.namespace) or {NAME_LABEL: who.namespace}
    if queue.selector is None or not queue.selector.matches(labels):
        message = f"namespace {who.namespace} doesn't match the selector of {queue.name}"
        return Hold(Reason.MISCONFIGURED, message, Outcome.NAMESPACE_MISMATCH)
    return None


def inactive_reason(
    queue: ClusterQueue,
    flavors: Mapping[str, object],
    checks: Fault | None = None,
    cycle: tuple[str, ...] = (),
) -> str:
    """Why a ClusterQueue can admit nothing; "" where it can. `checks`: what is wrong with its checks."""
    if cycle:
        return f"CohortCycle: {' -> '.join(cycle)}"
    missing = [f for g in queue.groups for f in g.flavors if f not in flavors]
    if missing:
        return f"FlavorNotFound: {', '.join(missing)}"
    return f"{checks.reason}: {checks.message}" if checks else ""

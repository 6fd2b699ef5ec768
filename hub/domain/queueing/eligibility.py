"""Eligibility for admission: reasons that hold a workload back before quota is checked.

This module alone decides whether queues may admit, for the simulator, for the hub and for the conditions
of queue objects. If several reasons hold, Kueue's choice is returned: for a workload in the order
LocalQueue missing, LocalQueue stopped, ClusterQueue missing, ClusterQueue inactive, namespace not
selected; for a ClusterQueue in the order of `inactivity`.

The checks before a turn (`held_back`) keep a workload out of the heap; the checks in its turn
(`inadmissible`) return it with an outcome.
"""

from collections.abc import Container, Iterable, Mapping
from typing import Final, NamedTuple

from hub.domain.plan import Reason
from hub.domain.queueing.requeue import Outcome, is_due
from hub.domain.quota.declared import ClusterQueue, LocalQueue
from hub.domain.quota.holders import PendingWorkload
from hub.domain.workloads.admission_checks import Fault

Namespaces = Mapping[str, Mapping[str, str]]  # labels by name
NAME_LABEL = "kubernetes.io/metadata.name"
STOPPED = "Stopped"
TERMINATING = "Terminating"


class Inactive(NamedTuple):
    """The reason why a ClusterQueue admits nothing: Kueue's reason of its condition Active, and details."""

    reason: str
    detail: str


class QueueVerdict(NamedTuple):
    """May queues admit a workload? Without a reason they may.

    `condition`: the reason in condition Active of its LocalQueue, as Kueue has it.
    """

    reason: Reason | None = None
    message: str = ""
    condition: str = "Ready"

    @property
    def admits(self) -> bool:
        return self.reason is None

    @property
    def stopped(self) -> str:
        """The kind of queue that is stopped: LocalQueue or ClusterQueue; "": none is."""
        if self.reason != Reason.QUEUE_STOPPED:
            return ""
        return "LocalQueue" if self.condition == STOPPED else "ClusterQueue"


_MAY: Final = QueueVerdict()


class Hold(NamedTuple):
    """The reason why a workload is not considered, or not admitted when considered."""

    reason: Reason
    message: str
    outcome: Outcome = Outcome.GENERIC


# What Kueue says of a workload where the hub tells two cases apart.
KUEUE_SAYS: Mapping[Reason, Reason] = {
    Reason.QUEUE_STOPPED: Reason.SUSPENDED,
    Reason.NAMESPACE_MISMATCH: Reason.MISCONFIGURED,
}


def inactivity(
    stop_policy: str,
    cycle: tuple[str, ...],
    used: Iterable[str],
    flavors: Container[str],
    checks: Fault | None,
    *,
    terminating: bool = False,
) -> Inactive | None:
    """The reason why a ClusterQueue can admit nothing; None where it can.

    `cycle`: of the cohorts above it. `used`: flavors that it names, of which `flavors` are there.
    `checks`: what is wrong with its admission checks. `terminating`: it is being deleted.
    """
    if terminating:
        return Inactive(TERMINATING, "it is being deleted")
    if stop_policy != "None":
        return Inactive(STOPPED, stop_policy)
    if cycle:
        return Inactive("CohortCycle", " -> ".join(cycle))
    missing = [name for name in used if name not in flavors]
    if missing:
        return Inactive("FlavorNotFound", ", ".join(missing))
    return Inactive(checks.reason, checks.message) if checks else None


def may_admit(
    local_queue: LocalQueue | None,
    inactive: Inactive | None = None,
    *,
    named: str = "",
    exists: bool = True,
) -> QueueVerdict:
    """May the ClusterQueue of a LocalQueue admit what waits there, whatever it asks for?

    `named`: the requested LocalQueue. `exists`: is its ClusterQueue there? `inactive`: why that
    one can admit nothing.
    """
    if local_queue is None:
        return QueueVerdict(Reason.QUEUE_NOT_FOUND, f"LocalQueue {named} doesn't exist", "")
    if local_queue.stopped:
        message = f"LocalQueue {local_queue.name} is stopped ({local_queue.stop_policy})"
        return QueueVerdict(Reason.QUEUE_STOPPED, message, STOPPED)
    name = local_queue.cluster_queue
    if not exists:
        message = f"ClusterQueue {name} doesn't exist"
        return QueueVerdict(Reason.QUEUE_NOT_FOUND, message, "ClusterQueueDoesNotExist")
    if inactive is None:
        return _MAY
    if inactive.reason == STOPPED:
        message = f"ClusterQueue {name} is stopped ({inactive.detail})"
        return QueueVerdict(Reason.QUEUE_STOPPED, message, "ClusterQueueIsInactive")
    message = f"ClusterQueue {name}: {inactive.reason}: {inactive.detail}"
    return QueueVerdict(Reason.MISCONFIGURED, message, "ClusterQueueIsInactive")


def may_admit_from(namespace: str, queue: ClusterQueue, namespaces: Namespaces) -> QueueVerdict:
    """May a ClusterQueue admit what is in a namespace? A namespace has at least its name label."""
    labels = namespaces.get(namespace) or {NAME_LABEL: namespace}
    if queue.selector is not None and queue.selector.matches(labels):
        return _MAY
    message = f"namespace {namespace} doesn't match the selector of {queue.name}"
    return QueueVerdict(Reason.NAMESPACE_MISMATCH, message)


def held_back(who: PendingWorkload, queues: QueueVerdict, now: int) -> Hold | None:
    """The reason why a workload has no turn, although `queues` may admit its workloads."""
    if not who.active:
        return Hold(Reason.DEACTIVATED, "spec.active is false")
    if queues.reason is not None:
        return Hold(KUEUE_SAYS.get(queues.reason, queues.reason), queues.message)
    if not is_due(who, now):
        why = "Requeued is False" if not who.requeued else "its back-off has not passed"
        return Hold(Reason.NOT_CONSIDERED, why)
    return None


def inadmissible(who: PendingWorkload, queue: ClusterQueue, namespaces: Namespaces) -> Hold | None:
    """The reason why it can not be admitted in its turn."""
    if who.failed_checks:
        checks = ", ".join(who.failed_checks)
        return Hold(Reason.PENDING_EVALUATION, f"admission checks have failed: {checks}")
    verdict = may_admit_from(who.namespace, queue, namespaces)
    if verdict.reason is not None:
        said = KUEUE_SAYS[verdict.reason]
        return Hold(said, verdict.message, Outcome.NAMESPACE_MISMATCH)
    return None

"""Queues in figures: who waits, who reserves, who is admitted, and what of each flavor is taken.

*Reserving* are all that hold quota, *admitted* those of them that may run: what waits for admission
checks reserves and is not admitted (Kueue's flavorsReservation and flavorsUsage). Statuses in Kueue's
shape are made from these on every read; none is stored.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hub.domain.quota.declared import ClusterQueue, FlavorResource, read_cluster_queue, read_usage
from hub.domain.quota.dominant_share import dominant_share
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.tree import QuotaTree
from hub.domain.workloads.states import State
from hub.services.index import fair_usage
from hub.services.queues import quota_tree
from hub.store import jobs, objects, tallies
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared import quantity
from shared.documents import Json
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE

LocalQueueKey = tuple[str, str]  # namespace and name of a LocalQueue
STATUSES = frozenset({"ClusterQueue", "Cohort", "LocalQueue"})


@dataclass(slots=True)
class Figures:
    """Of one ClusterQueue or LocalQueue."""

    pending: int = 0
    reserving: int = 0
    admitted: int = 0
    reservation: dict[FlavorResource, int] = field(default_factory=dict)
    usage: dict[FlavorResource, int] = field(default_factory=dict)

    def add(self, charged: Mapping[FlavorResource, int], count: int, *, admitted: bool) -> None:
        """`count` workloads with equal charges."""
        self.reserving += count
        self.admitted += count if admitted else 0
        for of, amount in charged.items():
            total = quantity.clamp(amount * count)
            self.reservation[of] = quantity.add(self.reservation.get(of, 0), total)
            if admitted:
                self.usage[of] = quantity.add(self.usage.get(of, 0), total)


@dataclass(frozen=True, slots=True)
class Counted:
    """Everything, at one moment: figures, and the quota tree charged with what is reserved."""

    queues: Mapping[str, Figures]
    local_queues: Mapping[LocalQueueKey, Figures]
    tree: QuotaTree
    histories: Mapping[
        LocalQueueKey, Json
    ]  # admission fair sharing, of LocalQueues that take part

    def queue(self, name: str) -> Figures:
        return self.queues.get(name, Figures())

    def local_queue(self, namespace: str, name: str) -> Figures:
        return self.local_queues.get((namespace, name), Figures())

    def share(self, queue: str) -> int:
        """Weighted share of a ClusterQueue, in thousandths."""
        node = self.tree.queues.get(queue)
        return 0 if node is None else dominant_share(self.tree, node).reported()

    def cohort_share(self, cohort: str) -> int:
        """Weighted share of a cohort among its siblings."""
        node = self.tree.cohorts.get(cohort)
        return 0 if node is None else dominant_share(self.tree, node).reported()


def count(tx: Transaction) -> Counted:
    """All queues. Equal workloads are counted by the store, so this costs as much as there are kinds
    of them.
    """
    queues: dict[str, Figures] = defaultdict(Figures)
    local_queues: dict[LocalQueueKey, Figures] = defaultdict(Figures)
    leads_to = {
        (row.namespace, row.name): str((row.spec or {}).get("clusterQueue") or "")
        for row in objects.list_kind(tx, KUEUE, "LocalQueue")
    }
    for namespace, name, number in tallies.in_state(tx, State.PENDING):
        local_queue = (namespace, name or "default")
        local_queues[local_queue].pending += number
        queues[leads_to.get(local_queue, "")].pending += number
    for charge in jobs.charges(tx):
        admitted = charge.state != State.RESERVED
        charged = read_usage(charge.admission)
        queues[charge.cluster_queue].add(charged, charge.number, admitted=admitted)
        local_queues[(charge.namespace, charge.queue)].add(
            charged, charge.number, admitted=admitted
        )
    used = {name: figures.reservation for name, figures in queues.items() if figures.reservation}
    tree = Ledger(quota_tree.queues_of(tx), used, quota_tree.cohorts_of(tx)).tree
    return Counted(queues, local_queues, tree, fair_usage.fair_sharing_of(tx))


def with_statuses(tx: Transaction, rows: Sequence[StoredObject]) -> list[StoredObject]:
    """Rows of objects, those of queues and cohorts with what their status says at this moment."""
    if not any(row.api_group == KUEUE and row.kind in STATUSES for row in rows):
        return list(rows)
    counted = count(tx)
    return [row._replace(status=status_of(row, counted)) for row in rows]


def status_of(row: StoredObject, counted: Counted) -> Any:
    """The status of one object; of a kind without figures, or one that can not be read, as stored."""
    if row.api_group != KUEUE or row.kind not in STATUSES:
        return row.status
    stored: Json = dict(row.status or {})
    try:
        match row.kind:
            case "ClusterQueue":
                return stored | cluster_queue_status(row, counted)
            case "LocalQueue":
                return stored | local_queue_status(row, counted)
            case _:
                share = {"weightedShare": counted.cohort_share(row.name)}
                return stored | {"fairSharing": share}
    except Exception:  # noqa: BLE001 - the others are shown; its conditions say what is wrong
        return stored


def cluster_queue_status(row: StoredObject, counted: Counted) -> Json:
    """Counts, flavors and share of a ClusterQueue."""
    queue = read_cluster_queue(row.name, row.labels or {}, row.spec)
    figures = counted.queue(row.name)
    return {
        **_counts(figures),
        "flavorsReservation": _flavors(queue, figures.reservation, borrows=True),
        "flavorsUsage": _flavors(queue, figures.usage, borrows=True),
        "fairSharing": {"weightedShare": counted.share(row.name)},
    }


def local_queue_status(row: StoredObject, counted: Counted) -> Json:
    """Counts and flavors of a LocalQueue: those of its ClusterQueue, with its own totals."""
    figures = counted.local_queue(row.namespace, row.name)
    node = counted.tree.queues.get(str((row.spec or {}).get("clusterQueue") or ""))
    status = _counts(figures)
    if node is not None:
        queue = ClusterQueue(node.name, {}, (), node.quotas)
        status["flavorsReservation"] = _flavors(queue, figures.reservation, borrows=False)
        status["flavorsUsage"] = _flavors(queue, figures.usage, borrows=False)
    history = counted.histories.get((row.namespace, row.name))
    if history is not None:
        status["fairSharing"] = {"admissionFairSharingStatus": history}
    return status


def _counts(figures: Figures) -> Json:
    return {
        "pendingWorkloads": figures.pending,
        "reservingWorkloads": figures.reserving,
        "admittedWorkloads": figures.admitted,
    }


def _flavors(
    queue: ClusterQueue, taken: Mapping[FlavorResource, int], *, borrows: bool
) -> list[Json]:
    """`flavorsUsage`: per flavor in order of preference, each resource with total and borrowed."""
    flavors: dict[str, list[Json]] = {}
    for of, quota in queue.quotas.items():
        total = taken.get(of, 0)
        resource: Json = {"name": of.resource, "total": quantity.canonical(of.resource, total)}
        if borrows:
            beyond = max(0, total - quota.nominal)
            resource["borrowed"] = quantity.canonical(of.resource, beyond)
        flavors.setdefault(of.flavor, []).append(resource)
    return [{"name": name, "resources": resources} for name, resources in flavors.items()]

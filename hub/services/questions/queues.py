"""Queues as people see them: quota, what is charged, what waits, and what is not enforced yet."""

from collections.abc import Sequence

from hub.domain.queueing.eligibility import NAME_LABEL, Namespaces, may_admit_from
from hub.domain.quota.declared import ClusterQueue, read_cluster_queue
from hub.domain.quota.tree import Node
from hub.services.queues import quota_tree, usage
from hub.services.queues.conditions import not_enforced
from hub.services.queues.usage import Counted
from hub.store import objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared import quantity
from shared.conditions import find
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.reject_codes import RejectCode


def list_queues(tx: Transaction) -> Json:
    """All ClusterQueues with their LocalQueues, and cohorts: {"items", "cohorts"}.

    For who sees part of the fleet those that admit a namespace of theirs and that a LocalQueue there leads
    to, and no cohorts.
    """
    counted = usage.count(tx)
    local_queues = objects.list_kind(tx, KUEUE, "LocalQueue", shown=True)
    tree = counted.tree
    if not tx.scope.is_everything:
        found = _entered(tx, local_queues)
        return {"items": [_listed(row, local_queues, counted) for row in found], "cohorts": []}
    return {
        "items": [
            _listed(row, local_queues, counted)
            for row in objects.list_kind(tx, KUEUE, "ClusterQueue")
        ],
        "cohorts": [
            quota_tree.cohort_view(tree, node) | {"weightedShare": counted.cohort_share(name)}
            for name, node in sorted(tree.cohorts.items())
        ],
    }


def get_cluster_queue(tx: Transaction, name: str) -> Json:
    """One ClusterQueue. Raises Rejected: NotFound."""
    return _found(tx, name, usage.count(tx))


def get_with_cohorts(tx: Transaction, name: str) -> tuple[Json, list[Json]]:
    """One ClusterQueue, and its cohorts from its own to the root: none for who sees part of the fleet.

    Raises Rejected: NotFound.
    """
    counted = usage.count(tx)
    found, cohorts = _found(tx, name, counted), []
    node = counted.tree.queues[name].parent if tx.scope.is_everything else None
    while node is not None:
        cohorts.append(quota_tree.cohort_view(counted.tree, node))
        node = node.parent
    return found, cohorts


def _found(tx: Transaction, name: str, counted: Counted) -> Json:
    row = objects.find(tx, KUEUE, "ClusterQueue", "", name)
    local_queues = objects.list_kind(tx, KUEUE, "LocalQueue", shown=True)
    if row is not None and not tx.scope.is_everything:
        leading = [each for each in local_queues if _target(each) == name]
        row = next(iter(_entered(tx, leading)), None)
    if row is None:
        raise Rejected(RejectCode.NOT_FOUND, f"there is no ClusterQueue {name[:64]}")
    return _cluster_queue(row, local_queues, counted)


def _entered(tx: Transaction, local_queues: Sequence[StoredObject]) -> list[StoredObject]:
    """The ClusterQueues that these LocalQueues lead to and that admit the namespace of one of them.

    A LocalQueue may name any ClusterQueue; one that does not admit its namespace shows no figures there.
    """
    leading: dict[str, set[str]] = {}
    for each in local_queues:
        leading.setdefault(_target(each), set()).add(each.namespace)
    spaces = sorted(set().union(*leading.values()))
    known = objects.list_kind(tx, "", "Namespace", names=spaces)
    named = {row.name: {NAME_LABEL: row.name, **(row.labels or {})} for row in known}
    return [
        row
        for row in objects.list_kind(tx, KUEUE, "ClusterQueue", names=sorted(leading))
        if any(_admits(row, space, named) for space in leading[row.name])
    ]


def _admits(row: StoredObject, namespace: str, namespaces: Namespaces) -> bool:
    """True if a ClusterQueue admits a namespace; one that can not be read admits no namespace."""
    try:
        queue = read_cluster_queue(row.name, row.labels or {}, row.spec)
    except (Rejected, KeyError, TypeError, ValueError, AttributeError):
        return False
    return may_admit_from(namespace, queue, namespaces).admits


def get_local_queue(tx: Transaction, namespace: str, name: str) -> Json:
    """One LocalQueue. Raises Rejected: NotFound."""
    row = objects.find(tx, KUEUE, "LocalQueue", namespace, name)
    if row is None or not tx.scope.shows(namespace):
        raise Rejected(
            RejectCode.NOT_FOUND, f"there is no LocalQueue {namespace[:64]}/{name[:64]}"
        )
    told = _local_queue(row, usage.count(tx))
    return {"kind": "LocalQueue", **told}


def _listed(row: StoredObject, local_queues: Sequence[StoredObject], counted: Counted) -> Json:
    """A queue among others: one that can not be read says so and hides nobody."""
    try:
        return _cluster_queue(row, local_queues, counted)
    except Exception as fault:  # noqa: BLE001 - whatever is wrong with it, the others are shown
        return {
            "kind": "ClusterQueue",
            "name": row.name,
            "origin": row.origin,
            "strategy": "",
            "cohort": "",
            "stopPolicy": "",
            "state": "Inactive",
            "pending": 0,
            "reserving": 0,
            "admitted": 0,
            "weight": "1",
            "weightedShare": 0,
            "quotas": [],
            "localQueues": [],
            "notEnforced": [],
            "conditions": [],
            "error": f"it can not be read: {fault!r}; apply it again",
        }


def _cluster_queue(
    row: StoredObject, local_queues: Sequence[StoredObject], counted: Counted
) -> Json:
    queue = read_cluster_queue(row.name, row.labels or {}, row.spec)
    own = [_local_queue(d, counted) for d in local_queues if _target(d) == row.name]
    node = counted.tree.queues[row.name]
    figures = counted.queue(row.name)
    return {
        "kind": "ClusterQueue",
        "name": row.name,
        "origin": row.origin,
        "strategy": "StrictFIFO" if queue.strict else "BestEffortFIFO",
        "cohort": queue.cohort,
        "stopPolicy": queue.stop_policy,
        "state": _state(queue, node, counted, row.status),
        "pending": figures.pending,
        "reserving": figures.reserving,
        "admitted": figures.admitted,
        "weight": _weight(row.spec),
        "weightedShare": counted.share(row.name),
        "quotas": [
            quota_tree.quota_view(counted.tree, node, of)
            | {"admitted": quantity.canonical(of.resource, figures.usage.get(of, 0))}
            for of in queue.quotas
        ],
        "localQueues": own,
        "notEnforced": not_enforced(row.spec or {}),
        "conditions": (row.status or {}).get("conditions") or [],
    }


def _state(queue: ClusterQueue, node: Node, counted: Counted, status: Json | None) -> str:
    """Stopped, Inactive, OverQuota (its quota was lowered below what it has), or Ready."""
    if queue.stopped:
        return "Stopped"
    active = find((status or {}).get("conditions"), "Active")
    if active is not None and active["status"] == "False":
        return "Inactive"
    used = counted.tree.usage(queue.name)
    over = any(amount > node.potential.get(of, 0) for of, amount in used.items())
    return "OverQuota" if over else "Ready"


def _local_queue(row: StoredObject, counted: Counted) -> Json:
    figures = counted.local_queue(row.namespace, row.name)
    return {
        "namespace": row.namespace,
        "name": row.name,
        "clusterQueue": _target(row),
        "origin": row.origin,
        "pending": figures.pending,
        "reserving": figures.reserving,
        "admitted": figures.admitted,
        "fairSharing": {
            "weight": _weight(row.spec),
            "admissionFairSharingStatus": counted.histories.get((row.namespace, row.name)),
        },
        "conditions": (row.status or {}).get("conditions") or [],
    }


def _weight(spec: Json | None) -> str:
    """Of a queue in fair sharing, as it is declared."""
    weight = ((spec or {}).get("fairSharing") or {}).get("weight")
    return "1" if weight is None else str(weight)


def _target(row: StoredObject) -> str:
    return str((row.spec or {}).get("clusterQueue") or "")

"""Queues as people see them: quota, what is charged, what waits, and what is not enforced yet."""

from collections import defaultdict
from typing import Any

from hub.domain.cohort import QuotaTree
from hub.domain.quota import read_cluster_queue
from hub.services import consumption, quotas
from hub.services.queue_status import not_enforced
from hub.store import jobs, objects
from hub.store.unit import Unit
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE

Row = dict[str, Any]
Waiting = dict[tuple[str, str], dict[str, int]]
Histories = dict[tuple[str, str], Row]  # of LocalQueues, where usage decides the order


def list_queues(unit: Unit) -> Row:
    """All ClusterQueues with their LocalQueues, and cohorts: {"items", "cohorts"}."""
    waiting, tree = _waiting(unit), quotas.ledger_of(unit).tree
    doors = objects.list_kind(unit, KUEUE, "LocalQueue")
    histories = consumption.fair_sharing_of(unit)
    return {
        "items": [
            _listed(row, doors, waiting, tree, histories)
            for row in objects.list_kind(unit, KUEUE, "ClusterQueue")
        ],
        "cohorts": [quotas.cohort_view(tree, node) for _, node in sorted(tree.cohorts.items())],
    }


def get_cluster_queue(unit: Unit, name: str) -> Row:
    """One ClusterQueue. Raises Rejected: NotFound."""
    row = objects.find(unit, KUEUE, "ClusterQueue", "", name)
    if row is None:
        raise Rejected("NotFound", f"there is no ClusterQueue {name[:64]}")
    doors = objects.list_kind(unit, KUEUE, "LocalQueue")
    histories = consumption.fair_sharing_of(unit)
    return _cluster_queue(row, doors, _waiting(unit), quotas.ledger_of(unit).tree, histories)


def get_local_queue(unit: Unit, namespace: str, name: str) -> Row:
    """One LocalQueue. Raises Rejected: NotFound."""
    row = objects.find(unit, KUEUE, "LocalQueue", namespace, name)
    if row is None:
        raise Rejected("NotFound", f"there is no LocalQueue {namespace[:64]}/{name[:64]}")
    told = _local_queue(row, _waiting(unit), consumption.fair_sharing_of(unit))
    return {"kind": "LocalQueue", **told}


def _listed(
    row: Row, doors: list[Row], waiting: Waiting, tree: QuotaTree, histories: Histories
) -> Row:
    """A queue among others: one that can not be read says so and hides nobody."""
    try:
        return _cluster_queue(row, doors, waiting, tree, histories)
    except Exception as fault:  # noqa: BLE001 - whatever is wrong with it, the others are shown
        return {
            "kind": "ClusterQueue",
            "name": row["name"],
            "origin": row["origin"],
            "strategy": "",
            "cohort": "",
            "stopPolicy": "",
            "pending": 0,
            "admitted": 0,
            "quotas": [],
            "localQueues": [],
            "notEnforced": [],
            "conditions": [],
            "error": f"it can not be read: {fault!r}; apply it again",
        }


def _cluster_queue(
    row: Row, doors: list[Row], waiting: Waiting, tree: QuotaTree, histories: Histories
) -> Row:
    queue = read_cluster_queue(row["name"], row["labels"] or {}, row["spec"])
    own = [_local_queue(d, waiting, histories) for d in doors if _target(d) == row["name"]]
    node = tree.queues[row["name"]]
    return {
        "kind": "ClusterQueue",
        "name": row["name"],
        "origin": row["origin"],
        "strategy": "StrictFIFO" if queue.strict else "BestEffortFIFO",
        "cohort": queue.cohort,
        "stopPolicy": queue.stop_policy,
        "pending": sum(each["pending"] for each in own),
        "admitted": sum(each["admitted"] for each in own),
        "quotas": [quotas.quota_view(tree, node, of) for of in queue.quotas],
        "localQueues": own,
        "notEnforced": not_enforced(row["spec"] or {}),
        "conditions": (row["status"] or {}).get("conditions") or [],
    }


def _local_queue(row: Row, waiting: Waiting, histories: Histories) -> Row:
    counts = waiting.get((row["namespace"], row["name"]), {})
    weight = ((row["spec"] or {}).get("fairSharing") or {}).get("weight")
    return {
        "namespace": row["namespace"],
        "name": row["name"],
        "clusterQueue": _target(row),
        "origin": row["origin"],
        "pending": counts.get("pending", 0),
        "admitted": counts.get("admitted", 0),
        "fairSharing": {
            "weight": "1" if weight is None else str(weight),
            "admissionFairSharingStatus": histories.get((row["namespace"], row["name"])),
        },
        "conditions": (row["status"] or {}).get("conditions") or [],
    }


def _target(row: Row) -> str:
    return str((row["spec"] or {}).get("clusterQueue") or "")


def _waiting(unit: Unit) -> Waiting:
    """Per LocalQueue how many jobs wait and how many are admitted."""
    found: Waiting = defaultdict(lambda: {"pending": 0, "admitted": 0})
    for namespace, queue, state, count in jobs.count_by_queue(unit):
        part = "pending" if state in {"Pending", "Held"} else "admitted"
        found[(namespace, queue)][part] += count
    return found

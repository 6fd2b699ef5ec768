"""Further data of the queue and cluster pages, and previews of actions: bounded, within scope."""

from collections.abc import Sequence
from typing import Final

from hub.domain.workloads.states import State
from hub.services.questions import objects as shown
from hub.services.queues import class_values
from hub.store import front_page, workloads
from hub.store.records.lists import JobOnPage
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE

_MOST_CLASSES: Final = 100


def priority_classes(tx: Transaction) -> list[tuple[str, int]]:
    """WorkloadPriorityClasses with their values, the highest first."""
    found = class_values.values(tx).items()
    return sorted(found, key=lambda each: (-each[1], each[0]))[:_MOST_CLASSES]


def names_taken(tx: Transaction, namespace: str, names: Sequence[str]) -> set[str]:
    """Those of these names that a Job has."""
    return {name for _, name in workloads.live_by_name(tx, [(namespace, n) for n in names])}


def on_cluster(tx: Transaction, cluster: str, limit: int) -> list[JobOnPage]:
    """Jobs that a cluster may hold, the latest first."""
    return front_page.holding(tx, front_page.JobsPlace(cluster=cluster), limit)


def admitted(tx: Transaction, namespace: str, name: str, limit: int) -> list[JobOnPage]:
    """Jobs that hold quota of a ClusterQueue, or with `namespace` of a LocalQueue; the latest first.

    Those that are being withdrawn already are left out.
    """
    return front_page.holding(tx, _place(namespace, name), limit, but=(State.WITHDRAWING,))


def count_leaving(tx: Transaction, namespace: str, name: str) -> int:
    """How many jobs that hold quota there are being withdrawn already."""
    return front_page.count_unfinished(tx, "", _place(namespace, name), [State.WITHDRAWING])


def _place(namespace: str, name: str) -> front_page.JobsPlace:
    if namespace:
        return front_page.JobsPlace(namespace=namespace, queue=name)
    return front_page.JobsPlace(cluster_queue=name)


def queue_row(tx: Transaction, namespace: str, name: str) -> StoredObject:
    """The row of a queue that was seen already. Raises Rejected: NotFound."""
    kind = "LocalQueue" if namespace else "ClusterQueue"
    return shown.find(tx, KUEUE, kind, namespace, name)


def find_queue(tx: Transaction, namespace: str, name: str) -> StoredObject:
    """The row of a LocalQueue, or without `namespace` of a ClusterQueue. Raises Rejected: NotFound."""
    kind = "LocalQueue" if namespace else "ClusterQueue"
    return shown.find_shown(tx, KUEUE, kind, namespace, name)


def stop_policy(tx: Transaction, namespace: str, name: str) -> str:
    """None, Hold or HoldAndDrain, of a queue that was seen already. Raises Rejected: NotFound."""
    return stop_policy_of(queue_row(tx, namespace, name))


def stop_policy_of(row: StoredObject) -> str:
    """The content of a queue's specification."""
    return str((row.spec or {}).get("stopPolicy") or "None")

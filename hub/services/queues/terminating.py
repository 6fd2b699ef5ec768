"""ClusterQueues that are being deleted: they admit nothing, and go when what they have admitted has ended.

As in Kueue: Active=False, reason Terminating. Their quota stays in their cohort's tree until they go, for
what they have admitted is charged to it. The scheduler removes the row when no job is charged any more,
also if the object on the hub cluster is already gone because a person removed its finalizer.
"""

from collections.abc import Iterable
from typing import Final

from hub.domain.quota.declared import DRAIN
from hub.services.queues.refresh import refresh_queues
from hub.services.works.evict import evict
from hub.store import jobs, objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE

KIND: Final = (KUEUE, "ClusterQueue")


def is_terminating(row: StoredObject) -> bool:
    """Is it a ClusterQueue that waits for its jobs to go?"""
    return (row.api_group, row.kind) == KIND and row.deleted_at is not None


def begin(tx: Transaction, row: StoredObject) -> None:
    """Mark a ClusterQueue to which jobs are charged."""
    objects.change(tx, row.uid, deleted_at=tx.now)
    refresh_queues(tx)
    tx.say(
        row,
        "Terminating",
        "it is being deleted: it admits nothing, and goes when its jobs have ended",
    )


def drain(tx: Transaction, row: StoredObject) -> None:
    """Take back what a ClusterQueue has admitted, and whatever is found to be charged to it later."""
    message = f"ClusterQueue {row.name} is deleted: its workloads are drained"
    evict(tx, jobs.charged_to(tx, row.name), "ClusterQueueStopped", message)
    if (row.spec or {}).get("stopPolicy") != DRAIN:
        spec = {**(row.spec or {}), "stopPolicy": DRAIN}
        declared = {**(row.manifest.get("spec") or {}), "stopPolicy": DRAIN}
        objects.change(tx, row.uid, spec=spec, manifest={**row.manifest, "spec": declared})


def finish(tx: Transaction, names: Iterable[str], term: int) -> list[str]:
    """Remove those of these ClusterQueues that are Terminating and to which no job is charged: their uids.

    Raises StaleTerm.
    """
    tx.require_term(term)
    removed = []
    for name in names:
        row = objects.find(tx, *KIND, "", name)
        if row is None or row.deleted_at is None or jobs.charged_to(tx, name):
            continue
        objects.remove(tx, row.uid)
        refresh_queues(tx)
        tx.say(row, "Deleted", "its last job has left")
        removed.append(row.uid)
    return removed

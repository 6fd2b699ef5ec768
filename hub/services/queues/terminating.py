"""ClusterQueues that are being deleted: they admit nothing, and go when what they have admitted has ended.

As in Kueue: Active=False, reason Terminating. Their quota stays in their cohort's tree until they go, for
what they have admitted is charged to it.
"""

from hub.services.queues.refresh import refresh_queues
from hub.store import objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction


def begin(tx: Transaction, row: StoredObject) -> None:
    """Mark a ClusterQueue to which jobs are charged."""
    objects.change(tx, row.uid, deleted_at=tx.now)
    refresh_queues(tx)
    tx.say(
        row,
        "Terminating",
        "it is being deleted: it admits nothing, and goes when its jobs have ended",
    )

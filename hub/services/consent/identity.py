"""The id of each namespace of the hub: agents write it on the namespaces that they create.

It is the uid of the hub's Namespace. A Namespace that is deleted and made again gets another, so that its
Jobs and objects never use what a member still holds of the one before. The id stays when the hub itself makes
a Namespace of the hub cluster again, and when an administrator has the hub adopt another hub cluster. Each
other change of the uid there counts as a deletion (docs/explain/ownership.md).
"""

import datetime as dt

from hub.services.consent import namespaces as consents
from hub.store import objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction


def is_same(row: StoredObject, hub_cluster_uid: str) -> bool:
    """Is the hub's Namespace the one that the hub cluster has under this uid?"""
    return row.hub_cluster_uid in {None, hub_cluster_uid}


def read_there(tx: Transaction, row: StoredObject, hub_cluster_uid: str) -> None:
    """Remember which Namespace of the hub cluster the hub's is."""
    if row.hub_cluster_uid != hub_cluster_uid:
        objects.change(tx, row.uid, hub_cluster_uid=hub_cluster_uid)


def made_there(tx: Transaction, name: str, hub_cluster_uid: str) -> None:
    """The bridge has made the Namespace in the hub cluster: the id stays."""
    row = objects.find(tx, "", "Namespace", "", name)
    if row is not None:
        read_there(tx, row, hub_cluster_uid)


def restore(tx: Transaction, name: str, former: str, restored_at: dt.datetime | None) -> None:
    """Give a namespace that a restored store had lost its former id, as a Job that was adopted tells it.

    Not where the store knew the namespace, or the hub cluster has told the hub which one it is.
    """
    row = objects.find(tx, "", "Namespace", "", name)
    if row is None or restored_at is None or not former or row.uid == former:
        return
    knew = row.created_at < restored_at or row.hub_cluster_uid is not None
    if knew or objects.get(tx, former) is not None:
        return
    objects.remove(tx, row.uid)
    objects.add(tx, row._replace(uid=former))
    consents.renewed(tx, name)

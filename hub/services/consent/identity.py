"""The id of each namespace of the hub: agents write it on the namespaces that they create.

It is the uid of the hub's Namespace. A Namespace that is deleted and made again gets another, so that its
Jobs and objects never use what a member still holds of the one before. The id stays when the hub itself makes
a Namespace of the hub cluster again, and when an administrator has the hub adopt another hub cluster. Each
other change of the uid there counts as a deletion (docs/explain/ownership.md).
"""

import datetime as dt
import re
from typing import Final

from hub.domain.workloads.origin import Origin
from hub.services.consent import namespaces as consents
from hub.store import jobs, objects, workloads
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction

_UID: Final = re.compile(r"[0-9a-f][0-9a-f-]{7,62}[0-9a-f]")


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


def restore(
    tx: Transaction, name: str, former: str, restored_at: dt.datetime | None, only: int
) -> bool:
    """Give a namespace that a restored store had lost its former id, as a Job that was adopted tells it.

    Not where the store knew the namespace, the hub cluster tells which one it is, it is used since (more than
    `only` jobs, or objects), or something else has that uid. True if it has another id now.
    """
    row = objects.find(tx, "", "Namespace", "", name)
    if row is None or restored_at is None or row.uid == former or not _UID.fullmatch(former):
        return False
    knew = row.created_at < restored_at or row.hub_cluster_uid is not None
    inside = [each for each in objects.list_namespace(tx, name, 2) if each.origin != Origin.HUB]
    used = bool(inside) or jobs.count_in_namespace(tx, name) > only
    if knew or used or objects.get(tx, former) or workloads.get_many(tx, [former]):
        return False
    objects.remove(tx, row.uid)
    objects.add(tx, row._replace(uid=former))
    consents.renewed(tx, name)
    return True

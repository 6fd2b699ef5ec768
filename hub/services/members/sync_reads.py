"""What the exchange with agents reads from the store: as it begins, and when what it keeps was touched."""

import orjson

from hub.store import clusters, settings, works
from hub.store.records.works import Desired
from hub.store.transaction import Transaction
from shared.documents import Json


def at_start(tx: Transaction) -> tuple[list[Desired], Json]:
    """All desired works, and the pool keys."""
    return works.all_desired(tx), pool_keys(tx)


def pool_keys(tx: Transaction) -> Json:
    """The node label keys that agents group by, as the scheduler last set them."""
    stored: Json = settings.get(tx, "pool_keys") or {}
    return {"revision": stored.get("revision", 0), "keys": stored.get("keys", [])}


def queue_managers(tx: Transaction, cluster: str) -> frozenset[str]:
    """LocalQueues ("namespace/name") that were Active in a cluster when it last told."""
    found, _ = clusters.get_capacities(tx, [cluster]).get(cluster, (b"{}", None))
    return frozenset(orjson.loads(found).get("queue_managers") or ())

"""Objects that the hub provides itself: missing Namespaces, and the default queue.

Objects of origin `hub` yield to a user's object of the same name.
"""

from collections.abc import Collection, Iterable
from typing import Any

import orjson

from hub.domain.workloads.origin import Origin
from hub.domain.workloads.shape import decode
from hub.services.consent.namespaces import renewed
from hub.services.queues import conditions as queue_conditions
from hub.services.reading.draft import Draft, draft
from hub.store import clusters, manifests, objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.kinds.registry import is_typed, parse

_KUEUE_VERSION = f"{KUEUE}/v1beta2"
DEFAULT = "default"
_PLENTY = str(2**63 - 1)  # unlimited
_ALWAYS = ("cpu", "memory")
_MOST_SHAPES = 5000  # looked at in one transaction


def ensure_namespaces(tx: Transaction, names: Collection[str]) -> None:
    """Create the Namespaces among `names` that do not exist."""
    for name in sorted(set(names) - {""}):
        if not _namespace_exists(tx, name):
            store(tx, _made("v1", "Namespace", name), Origin.ANY)
            renewed(tx, name)


def local_queues(tx: Transaction, namespace: str) -> frozenset[str]:
    """Names of a namespace's LocalQueues."""
    return tx.remembered(
        "objects",
        ("local queues", namespace),
        lambda: frozenset(
            name for _, name in objects.names_of(tx, KUEUE, "LocalQueue", [namespace])
        ),
    )


def is_of_the_hub(tx: Transaction, namespace: str) -> bool:
    """True if the namespace's LocalQueue `default` is one that the hub provides."""

    def read() -> bool:
        found = objects.find(tx, KUEUE, "LocalQueue", namespace, DEFAULT)
        return found is not None and found.origin == Origin.HUB

    return tx.remembered("objects", ("default of the hub", namespace), read)


def is_administered(tx: Transaction) -> bool:
    """True if an administrator has made a ClusterQueue, and `default` is still the hub's own."""

    def read() -> bool:
        made = objects.names_by_others(tx, KUEUE, "ClusterQueue", Origin.HUB)
        return bool(made) and DEFAULT not in made

    return tx.remembered("objects", "administered queues", read)


def provides_default(tx: Transaction, unqueued_jobs: str) -> bool:
    """True if the hub provides a LocalQueue `default` for jobs that name no queue."""
    return unqueued_jobs == "Default" or (unqueued_jobs == "Auto" and not is_administered(tx))


def ensure_default_queue(
    tx: Transaction, namespaces: Iterable[str], resources: Collection[str]
) -> None:
    """See that each namespace has a LocalQueue `default`, and that `resources` have quota there.

    The first use creates flavor, ClusterQueue (no limit for any resource that a member or job names)
    and LocalQueue; later uses add what is missing. A user's objects of these names are left alone.
    """
    queue = tx.remembered(
        "objects",
        "default queue",
        lambda: objects.find(tx, KUEUE, "ClusterQueue", "", DEFAULT),
    )
    made = queue is None
    if queue is None:
        if objects.find(tx, KUEUE, "ResourceFlavor", "", DEFAULT) is None:
            store(tx, _made(_KUEUE_VERSION, "ResourceFlavor", DEFAULT, spec={}), Origin.HUB)
        covered = {*_ALWAYS, *resources, *_of_members(tx)}
        store(tx, _cluster_queue(covered), Origin.HUB)
    elif queue.origin == Origin.HUB:
        has = covered_resources(queue.spec or {})
        if not has.issuperset(resources) or _limits(queue.spec or {}):
            update(tx, queue, _cluster_queue(has | set(resources)))
    for namespace in sorted(set(namespaces)):
        if DEFAULT not in local_queues(tx, namespace):
            spec = {"clusterQueue": DEFAULT}
            local_queue = _made(
                _KUEUE_VERSION, "LocalQueue", DEFAULT, namespace=namespace, spec=spec
            )
            store(tx, local_queue, Origin.HUB)
            made = True
    if made:
        queue_conditions.refresh(tx)


def forget_resources(tx: Transaction) -> None:
    """Resources that neither a member has nor a job asks for, such as misspelt ones, lose their quota."""
    queue = objects.find(tx, KUEUE, "ClusterQueue", "", DEFAULT)
    if queue is None or queue.origin != Origin.HUB or queue.deleted_at is not None:
        return
    stored = manifests.every_shape(tx, _MOST_SHAPES)
    if stored is None:
        return
    asked = {name for pod_sets in map(decode, stored) for p in pod_sets for name in p.requests}
    has = covered_resources(queue.spec or {})
    kept = has & ({*_ALWAYS} | asked | _of_members(tx))
    if kept != has:
        update(tx, queue, _cluster_queue(kept))


def store(tx: Transaction, manifest: Json, origin: str) -> StoredObject:
    """Insert an object from a manifest that holds; the row."""
    row = row_of(draft(parse(manifest), tx.now, origin=origin), tx)
    objects.add(tx, row)
    return row


def update(tx: Transaction, row: StoredObject, manifest: Json) -> None:
    """Replace the manifest of an object that the hub itself provides."""
    new = row_of(draft(parse(manifest), tx.now, origin=row.origin), tx)
    objects.change(
        tx,
        row.uid,
        manifest=new.manifest,
        spec=new.spec,
        hash=new.hash,
        generation=row.generation + 1,
        updated_at=tx.now,
    )


def row_of(given: Draft, tx: Transaction) -> StoredObject:
    """The row of a new object."""
    parsed = given.parsed
    return StoredObject(
        uid=given.uid,
        api_group=parsed.group,
        api_version=parsed.api_version,
        kind=parsed.kind,
        namespace=parsed.namespace,
        name=given.name,
        origin=given.origin,
        generation=1,
        labels=dict(parsed.labels),
        annotations={
            **(given.manifest["metadata"].get("annotations") or {}),
            **given.hub_annotations,
        },
        spec=parsed.spec if is_typed(parsed.api_version, parsed.kind) else given.schedule,
        manifest=given.manifest,
        hash=given.hash,
        status=None,
        created_at=given.created_at or tx.now,
        updated_at=tx.now,
        deleted_at=None,
        hub_cluster_uid=given.hub_cluster_uid,
    )


def covered_resources(spec: Json) -> set[str]:
    """Resources that a ClusterQueue's normalised spec has quota for."""
    return {
        name
        for group in spec.get("resourceGroups") or ()
        for name in group.get("coveredResources") or ()
    }


def _limits(spec: Json) -> bool:
    """Does a ClusterQueue bound anything?"""
    return any(
        resource.get("nominalQuota") != _PLENTY
        for group in spec.get("resourceGroups") or ()
        for flavor in group.get("flavors") or ()
        for resource in flavor.get("resources") or ()
    )


def _namespace_exists(tx: Transaction, name: str) -> bool:
    return tx.remembered(
        "objects",
        ("namespace", name),
        lambda: objects.find(tx, "", "Namespace", "", name) is not None,
    )


def _cluster_queue(resources: Collection[str]) -> Json:
    names = sorted(resources)
    quotas = [{"name": name, "nominalQuota": _PLENTY} for name in names]
    return _made(
        _KUEUE_VERSION,
        "ClusterQueue",
        DEFAULT,
        spec={
            "namespaceSelector": {},
            "queueingStrategy": "BestEffortFIFO",
            "resourceGroups": [
                {
                    "coveredResources": names,
                    "flavors": [{"name": DEFAULT, "resources": quotas}],
                }
            ],
        },
    )


def _made(api_version: str, kind: str, name: str, **parts: Any) -> Json:
    metadata = {"name": name}
    if "namespace" in parts:
        metadata["namespace"] = parts.pop("namespace")
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}


def _of_members(tx: Transaction) -> set[str]:
    """Resources that any member's nodes have."""
    found: set[str] = set()
    for capacity, _at in clusters.get_capacities(tx).values():
        for pool in orjson.loads(capacity).get("pools") or ():
            found.update(pool.get("resources") or ())
    return found

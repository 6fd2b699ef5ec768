"""Requests that write mirrors: each names exactly the observed object and version."""

from hub.bridge import shown
from hub.bridge.slimming import is_too_large
from hub.bridge.sources import Source
from hub.services.consent import identity
from hub.services.context.hub import Hub
from hub.services.mirror import shown as store
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from shared import labels
from shared.documents import Json
from shared.failpoints import failpoint
from shared.kinds.placement_status import STATUS_COPY
from shared.kube import errors
from shared.kube.client import KubeClient, Object

_BY = labels.BRIDGE_FIELD_MANAGER


async def create(client: KubeClient, wanted: Json, hub: Hub, making: set[str]) -> Object:
    """Make a mirror, and its namespace where that is missing, as the hub has it. Raises KubeError.

    Not for what is told of a placement there: it goes with its namespace. `making`: names of Namespaces that
    the bridge makes just now.
    """
    failpoint("H25")
    try:
        made = await client.create(wanted, field_manager=_BY)
    except errors.NotFound as missing:
        if not missing.of_namespace or wanted["kind"] == STATUS_COPY:
            raise
        await _make_namespace(client, wanted["metadata"]["namespace"], hub, making)
        made = await client.create(wanted, field_manager=_BY)
    failpoint("H26")
    return made


async def change(
    client: KubeClient, row: StoredObject | Workload, source: Source, live: Object, wanted: Json
) -> Object:
    """Bring a mirror to `wanted`; of a Job, what can be changed of it. Raises KubeError."""
    failpoint("H27")
    if isinstance(row, StoredObject):
        return await client.replace(shown.replacement(wanted, live), field_manager=_BY)
    metadata = live["metadata"]
    return await client.merge_patch(
        source.informer.api_version,
        source.kind.kind,
        metadata.get("namespace") or "",
        metadata["name"],
        shown.job_patch(wanted, live),
        field_manager=_BY,
    )


async def remove(client: KubeClient, source: Source, live: Object) -> None:
    """Take a mirror away. Raises KubeError."""
    failpoint("H24")
    metadata = live["metadata"]
    await client.delete(
        source.informer.api_version,
        source.kind.kind,
        metadata.get("namespace") or "",
        metadata["name"],
        uid=metadata["uid"],
    )


async def hand_over(client: KubeClient, source: Source, live: Object) -> None:
    """Make a mirror the hub cluster's own. Raises KubeError."""
    failpoint("H28")
    metadata = live["metadata"]
    if is_too_large(metadata):  # of its labels the cache has a part
        where = metadata.get("namespace") or "", metadata["name"]
        live = await client.get(source.informer.api_version, source.kind.kind, *where)
    made = shown.own_object(live, finalized=source.kind.finalized)
    await client.replace(made, field_manager=_BY)


async def _make_namespace(client: KubeClient, name: str, hub: Hub, making: set[str]) -> None:
    """Make a Namespace; the hub knows that it is its own before it reads it back.

    Selectors of queues go by the labels of what is read back.
    """
    metadata = {"name": name, "labels": dict(await hub.read(store.labels_of_namespace, name))}
    wanted = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    making.add(name)
    try:
        made = await client.create(wanted, field_manager=_BY)
        await hub.write(identity.made_there, name, made["metadata"]["uid"])
    except errors.AlreadyExists:
        return
    finally:
        making.discard(name)

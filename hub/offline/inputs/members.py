"""Member clusters of a scene, as manifests describe them.

A MemberCluster's node pools stand in `status.pools` or `spec.pools` in the shape of a members file
(`[{name, count, labels, taints, allocatable}]`); one without pools has unlimited room.
"""

from collections.abc import Iterable
from typing import Final

from hub.domain import selectors
from hub.domain.fleet.clusters import (
    MOST_NEW_NODES,
    Cluster,
    GrowingPool,
    Pool,
    labels_of,
    pool as node_pool,
)
from hub.domain.instants import from_micros
from hub.domain.quota.declared import Flavor
from hub.offline.inputs.documents import Document
from shared import quantity
from shared.documents import JsonView
from shared.errors import Rejected

_PLENTY: Final = 1 << 60
_USUAL: Final = ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "amd.com/gpu")


def read_cluster(document: Document, flavors: Iterable[Flavor], now: int) -> Cluster:
    """A member as declared, online, with all of its nodes free. Raises `Unreadable`."""
    declared = next(
        (
            (path, listed)
            for path in (("status", "pools"), ("spec", "pools"), ("spec", "nodePools"))
            if (listed := document.objects(*path))
        ),
        None,
    )
    growing: tuple[GrowingPool, ...] = ()
    if declared is None:
        pools = _unlimited(flavors)
    else:
        path, given = declared
        field = ".".join(path)
        named = [(pool, f"{field}[{i}]") for i, pool in enumerate(given)]
        pools = tuple(_pool(document, pool, place) for pool, place in named)
        may_grow = (_growing(document, pool, place) for pool, place in named)
        growing = tuple(pool for pool in may_grow if pool is not None)
    totals: dict[str, int] = {}
    for pool in pools:
        for resource, column in zip(pool.resources, pool.allocatable.T.tolist(), strict=True):
            totals[resource] = quantity.clamp(totals.get(resource, 0) + sum(column))
    return Cluster(
        name=document.name,
        labels=labels_of(document.name, document.parsed.labels),
        taints=selectors.read_taints(document.parsed.spec.get("taints")),
        heartbeat_at=from_micros(now),
        pools=pools,
        properties={
            name: str(p.get("value"))
            for name, p in document.mapping("status", "properties").items()
            if isinstance(p, dict)
        },
        allocatable=totals,
        free=dict(totals),
        node_count=sum(len(p.nodes) for p in pools),
        growing=growing,
    )


def _pool(document: Document, given: JsonView, field: str) -> Pool:
    allocatable = _allocatable(document, given, field)
    count = _count(document, given, f"{field}.count", 1)
    name = str(given.get("name") or "pool")
    amounts = [min(a, _PLENTY) for a in allocatable.values()]
    return node_pool(
        given.get("labels") or {},
        tuple(allocatable),
        {f"{name}-{i}": (amounts, amounts) for i in range(count)},
        selectors.read_taints(given.get("taints")),
    )


def _growing(document: Document, given: JsonView, field: str) -> GrowingPool | None:
    """Nodes that an autoscaled pool (`maxNodes`) may add to the existing ones; None where it may not."""
    most = _count(document, given, f"{field}.maxNodes", 0)
    more = min(most - _count(document, given, f"{field}.count", 1), MOST_NEW_NODES)
    if more <= 0:
        return None
    amounts = _allocatable(document, given, field)
    return GrowingPool(
        name=str(given.get("name") or "pool"),
        labels=given.get("labels") or {},
        taints=selectors.read_taints(given.get("taints")),
        shape={resource: min(amount, _PLENTY) for resource, amount in amounts.items()},
        nodes=more,
    )


def _allocatable(document: Document, given: JsonView, field: str) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for resource, text in (given.get("allocatable") or {}).items():
        try:
            amounts[str(resource)] = quantity.parse(resource, text)
        except Rejected as refusal:
            place = f"{field}.allocatable.{resource}"
            raise document.fault(place, f"{refusal.code}: {refusal.detail}") from None
    return amounts


def _count(document: Document, given: JsonView, field: str, default: int) -> int:
    count = given.get(field.rpartition(".")[2], default)
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= 100_000:
        raise document.fault(field, "must be a whole number up to 100000")
    return count


def _unlimited(flavors: Iterable[Flavor]) -> tuple[Pool, ...]:
    """One node of everything for each flavor's labels."""
    kinds = {f.labels for f in flavors} | {()}
    amounts = [_PLENTY] * len(_USUAL)
    return tuple(
        node_pool(dict(labels), _USUAL, {f"node-{i}": (amounts, amounts)})
        for i, labels in enumerate(sorted(kinds))
    )

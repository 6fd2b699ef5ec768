"""One keyword-only builder per noun of the domain; what a test does not name does not matter."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.cycle.cycle import schedule
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.clusters import Cluster, GrowingPool, Pool, pool
from hub.domain.fleet.free_capacity import Layout, Room
from hub.domain.plan import Plan, Refusal
from hub.domain.queueing.lanes import Entry, Lane
from hub.domain.quota.declared import ClusterQueue, Flavor, FlavorResource, Quota, ResourceGroup
from hub.domain.quota.ledger import Ledger
from hub.domain.selectors import Taint
from hub.domain.workloads.demand import Constraints, Demand
from shared import quantity
from shared.resources import PodSet, Resources, Toleration

NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
PLENTY = "1P"


def amounts(given: Mapping[str, str | int]) -> dict[str, int]:
    """`{"cpu": "4", "gpu": 8}` as exact amounts; gpu is nvidia.com/gpu."""
    named = {"nvidia.com/gpu" if n == "gpu" else n: v for n, v in given.items()}
    return {n: quantity.parse(n, v) for n, v in named.items()}


def a_pool(
    *,
    nodes: int = 1,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Taint] = (),
    used: Mapping[str, str | int] | None = None,
    **given: str | int,
) -> Pool:
    """Equal nodes with these amounts, of each of which `used` is not free."""
    has = amounts(given)
    taken = amounts(used or {})
    free = [amount - taken.get(name, 0) for name, amount in has.items()]
    rows = {f"node-{n}": (list(has.values()), free) for n in range(nodes)}
    return pool(labels or {}, tuple(has), rows, tuple(taints))


def growing(nodes: int = 2, name: str = "x", **given: Any) -> GrowingPool:
    """A pool that may add `nodes` nodes; `labels`, `taints`, and amounts of one node (4 cpu)."""
    labels, taints = given.pop("labels", {}), given.pop("taints", ())
    shape = amounts(given or {"cpu": 4})
    return GrowingPool(name, labels, tuple(taints), shape, nodes)


def a_cluster(*pools: Pool, name: str = "c", **given: object) -> Cluster:
    """A joined cluster, heard of just now."""
    free: dict[str, int] = {}
    allocatable: dict[str, int] = {}
    for each in pools:
        for at, resource in enumerate(each.resources):
            free[resource] = free.get(resource, 0) + int(each.free[:, at].sum())
            allocatable[resource] = allocatable.get(resource, 0) + int(
                each.allocatable[:, at].sum()
            )
    cluster = Cluster(name=name, heartbeat_at=NOW, pools=pools, free=free, allocatable=allocatable)
    return replace(cluster, **given)  # type: ignore[arg-type]  # names are the record's


def a_pod_set(*, count: int = 1, name: str = "main", **given: object) -> PodSet:
    """`requests={"cpu": "1"}` per pod; further fields by name."""
    requests = given.pop("requests", {"cpu": "1"})
    assert isinstance(requests, Mapping)
    return PodSet(name, count, Resources(amounts(requests)), **given)  # type: ignore[arg-type]


def a_demand(*pod_sets: PodSet, queue: str = "q", priority: int = 0, **given: object) -> Demand:
    """A class of workloads with these pod sets (one pod of 1 cpu)."""
    sets = pod_sets or (a_pod_set(),)
    shape = repr(sets)
    constraints = given.pop("constraints", Constraints())
    assert isinstance(constraints, Constraints)
    key = f"{queue}/{priority}/{shape}/{constraints}"
    named = dict(given)  # names are the record's
    return Demand(key, queue, priority, shape, sets, constraints, **named)  # type: ignore[arg-type]  # as above


def a_queue(
    *, name: str = "q", strict: bool = False, flavors: Sequence[str] = ("any",), **quota: str | int
) -> ClusterQueue:
    """One resource group; quota per resource is that of each flavor (default: plenty of cpu)."""
    given = amounts(quota or {"cpu": PLENTY})
    return ClusterQueue(
        name=name,
        labels={},
        groups=(ResourceGroup(tuple(given), tuple(flavors)),),
        quotas={FlavorResource(f, r): Quota(a) for f in flavors for r, a in given.items()},
        strict=strict,
    )


def a_flavor(name: str = "any", **labels: str) -> Flavor:
    """A flavor of nodes with these labels."""
    return Flavor(name, tuple(sorted(labels.items())))


def a_lane(demand: Demand, *uids: str, since: int = 0) -> Lane:
    """Workloads in order, a microsecond apart."""
    return Lane(demand, [Entry(since + at, uid, 0) for at, uid in enumerate(uids)])


def a_snapshot(
    lanes: Sequence[Lane],
    clusters: Sequence[Cluster],
    *queues: ClusterQueue,
    flavors: Sequence[Flavor] = (),
    used: Mapping[str, Mapping[FlavorResource, int]] | None = None,
    key_revisions: Mapping[str, int] | None = None,
) -> Snapshot:
    """Lanes go to the queue that their demand names."""
    known = queues or (a_queue(),)
    fleet = {c.name: c for c in clusters}
    exist = flavors or [a_flavor(f) for q in known for g in q.groups for f in g.flavors]
    return Snapshot(
        queues=[(q, [lane for lane in lanes if lane.demand.queue == q.name]) for q in known],
        ledger=Ledger(known, used),
        catalog=FlavorCatalog({f.name: f for f in exist}, key_revisions or {}),
        clusters=fleet,
        room=Room.of(Layout(clusters), fleet),
    )


def decide(snapshot: Snapshot, profile: Profile | None = None) -> Plan:
    """One cycle at NOW."""
    return schedule(snapshot, NOW, profile or Profile())


def where(plan: Plan) -> dict[str, str]:
    """uid → cluster."""
    return {p.uid: p.cluster for p in plan.placements}


def refusal(plan: Plan) -> Refusal:
    """The only refusal."""
    (only,) = plan.refusals
    return only


TOLERATE_ALL = Toleration(operator="Exists")

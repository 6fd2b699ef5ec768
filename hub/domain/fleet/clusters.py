"""Member clusters as the hub knows them: what was declared, and what the agent last reported.

Records only; `hub.domain.fleet.free_capacity` lays the free vectors of all nodes out as arrays and
counts what the hub has promised meanwhile. Amounts are exact int64 (milli-cores for cpu, base units
otherwise).
"""

import contextlib
import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt

from hub.domain import selectors
from hub.domain.fleet.create_window import CreateAnswers, read_answers
from hub.domain.selectors import Taint
from shared import properties, quantity
from shared.consent import CLOSED, NOT_ACCEPTED
from shared.documents import JsonView
from shared.errors import Rejected

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]

# KubeFleet's own labels of members, by which its manifests select one by its name.
MEMBER_NAME: Final = "kubernetes-fleet.io/member-name"
CLUSTER_ALIAS: Final = "kubefleet.dev/cluster-alias"
MOST_NEW_NODES: Final = 1000  # of one pool that are counted with, however many it may add
_MOST: Final = 1 << 62


def labels_of(name: str, labels: Mapping[str, str]) -> dict[str, str]:
    """By which a member is selected: its own, and its name under KubeFleet's two keys.

    No report can give a member the name of another; an alias of its own stays.
    """
    return {CLUSTER_ALIAS: name, **labels, MEMBER_NAME: name}


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Nodes that agree in the labels that matter and in their taints."""

    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    resources: tuple[str, ...]
    nodes: tuple[str, ...]
    allocatable: IntArray  # nodes × resources
    free: IntArray  # nodes × resources; negative where a node is overcommitted

    def alike(self, other: "Pool") -> bool:
        """Same nodes grouped the same way: only amounts may differ."""
        return (
            self.nodes == other.nodes
            and self.resources == other.resources
            and self.labels == other.labels
            and self.taints == other.taints
        )


@dataclass(frozen=True, slots=True)
class GrowingPool:
    """An autoscaled pool: `nodes` more nodes of this shape may come (maxNodes less those present)."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    shape: Mapping[str, int]  # allocatable of one node
    nodes: int


@dataclass(frozen=True, slots=True)
class BoundPods:
    """Pods of one work, from the same snapshot as the pools: on a node, and already succeeded.

    `nodes`: numbers of nodes, in the order of the pools, each with the bound pods there; None: not told.
    """

    bound: int
    succeeded: int
    nodes: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """One member. `reserved` is what the hub has promised beyond what the report shows."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    cordoned: bool = False
    joined: bool = True
    heartbeat_at: dt.datetime | None = None
    pools: tuple[Pool, ...] = ()
    pools_revision: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    property_faults: tuple[str, ...] = ()  # what its administrator wrote and can not be read
    allocatable: Mapping[str, int] = field(default_factory=dict)
    free: Mapping[str, int] = field(default_factory=dict)
    total: Mapping[str, int] = field(default_factory=dict)  # where it differs from allocatable
    reserved: Mapping[str, int] = field(default_factory=dict)
    bound: Mapping[tuple[str, int], BoundPods] = field(default_factory=dict)
    kinds: frozenset[str] | None = None  # "apiVersion/Kind" served; None = not told
    unread_kinds: frozenset[str] = frozenset()  # those of them that its agent may not list
    protocol: int = 0  # that its agent spoke last; 0: none has spoken
    queue_managers: frozenset[str] = frozenset()  # "namespace/name" of LocalQueues served there
    stopped_queues: frozenset[str] = frozenset()  # those of them that are stopped
    # States of namespaces (`shared.wire.consent`); None: its agent reports none.
    consent: Mapping[str, str] | None = None
    consent_revision: int = 0  # of the names and ids that this report answers
    jobs_forbidden_in: frozenset[str] = (
        frozenset()
    )  # namespaces: its agent may create no Jobs there
    node_count: int = 0
    growing: tuple[GrowingPool, ...] = ()  # those that may add nodes
    down: str = ""  # why its API server does not answer or refuses its agent; "": it does
    down_cause: str = "NoAnswer"  # … or Unauthorized, Forbidden: it refuses the agent
    creates: CreateAnswers | None = None  # None: its API server is not overloaded
    told: Mapping[str, Decimal] | None = (
        None  # exact figures of usage by property; None: those above
    )

    def available(self, resource: str) -> int | None:
        """The room that is free beyond all promises; None where no node of it has the resource."""
        free = self.free.get(resource)
        return None if free is None else max(0, free - self.reserved.get(resource, 0))

    def measure(self, name: str) -> Decimal | None:
        """The number of a property; None when it is missing or does not parse (see `unreadable`)."""
        if name.startswith(properties.USAGE_PREFIX):
            if self.told is not None:
                return self.told.get(name)
            return self._measure_resource(name.removeprefix(properties.USAGE_PREFIX))
        text = self.properties.get(name)
        if text is None:
            counted = name == properties.NODE_COUNT and self.node_count
            return Decimal(self.node_count) if counted else None
        try:
            return properties.number(name, text)
        except Rejected:
            return None

    def value(self, name: str) -> Decimal | str | None:
        """Operands of requirements: texts for the location, numbers otherwise."""
        return self.properties.get(name) if properties.is_location(name) else self.measure(name)

    def shown(self, name: str) -> str:
        """The value of a property as people read it."""
        text = self.properties.get(name)
        number = self.measure(name)
        if number is not None and (text is None or name != properties.VERSION):
            return f"{number.normalize():f}"
        return (
            "missing" if text is None else text if self.value(name) is not None else "unreadable"
        )

    def _measure_resource(self, rest: str) -> Decimal | None:
        # The resource's name may itself hold dashes (ephemeral-storage) and slashes.
        kind, _, resource = rest.partition("-")
        match kind:
            case "available":
                amount = self.available(resource)
            case "total":  # where it is not told, what is allocatable stands for both
                amount = self.total.get(resource, self.allocatable.get(resource))
            case "allocatable":
                amount = self.allocatable.get(resource)
            case _:
                return None
        return None if amount is None else in_units(resource, amount)

    def unreadable(self, name: str) -> bool:
        """Is the property there with a value that is no quantity?"""
        return name in self.properties and self.value(name) is None


def accepts(cluster: Cluster, namespace: str) -> bool:
    """May the hub use a namespace of the cluster, as its agent reports?"""
    states = cluster.consent
    return states is None or states.get(namespace, NOT_ACCEPTED) not in CLOSED


def takes_jobs(cluster: Cluster, namespace: str) -> bool:
    """May the hub use the namespace, and its agent create Jobs there?"""
    return namespace not in cluster.jobs_forbidden_in and accepts(cluster, namespace)


def changed_for_jobs(before: Cluster | None, after: Cluster | None) -> frozenset[str] | None:
    """Namespaces that two reports of one member tell differently; None: any."""
    told, tells = before or Cluster(""), after or Cluster("")
    changed = changed_namespaces(told.consent, tells.consent)
    rights = told.jobs_forbidden_in ^ tells.jobs_forbidden_in
    return None if changed is None else changed | rights


def as_of(cluster: Cluster, renewed: Mapping[str, int]) -> Cluster:
    """The cluster without states that it reported of namespaces which were made again since.

    `renewed`: since which revision of the names a namespace has its present id.
    """
    told, revision = cluster.consent or {}, cluster.consent_revision
    stale = {name for name, since in renewed.items() if name in told and revision < since}
    if not stale:
        return cluster
    return replace(cluster, consent={n: state for n, state in told.items() if n not in stale})


def changed_namespaces(
    before: Mapping[str, str] | None, after: Mapping[str, str] | None
) -> frozenset[str] | None:
    """Namespaces whose state two reports tell differently; None: any, as only one of them reports consent."""
    if before is None or after is None:
        return frozenset() if before is after else None
    return frozenset(name for name in before.keys() | after if before.get(name) != after.get(name))


def _consent(told: JsonView | None) -> Mapping[str, str] | None:
    return None if told is None else dict(told.get("states") or {})


def in_units(resource: str, amount: int) -> Decimal:
    """An amount as Kubernetes' number: cores rather than milli-cores."""
    return Decimal(amount).scaleb(-3) if resource == "cpu" else Decimal(amount)


def dynamic_resource(name: str) -> str | None:
    """The resource whose availability a property name means: it shrinks as the hub promises room."""
    prefix = properties.USAGE_PREFIX + "available-"
    return name.removeprefix(prefix) if name.startswith(prefix) else None


def growing_pools(
    declared: Sequence[JsonView],
    capacity: JsonView,
    key_revisions: Mapping[str, int],
) -> tuple[GrowingPool, ...]:
    """Pools that may add nodes: what the administrator declared goes before what nodes' labels say.

    `declared`: `spec.pools` of a MemberCluster. Present are all nodes with a pool's labels, ready or not.
    """
    found: dict[str, GrowingPool] = {}
    for told in capacity.get("growing") or ():
        amounts = zip(told["resources"], told["shape"], strict=True)
        left = max(0, int(told["max_nodes"]) - int(told["nodes"]))
        found[told["name"]] = _growing(told, dict(amounts), left)
    revision = int(capacity.get("pools_revision") or 0)
    for pool in declared:
        name, labels = str(pool.get("name") or "pool"), pool.get("labels") or {}
        known = all(key_revisions.get(key, revision + 1) <= revision for key in labels)
        present = sum(
            len(p.get("nodes") or ()) + int(p.get("unusable") or 0)
            for p in capacity.get("pools") or ()
            if labels.items() <= (p.get("labels") or {}).items()
        )
        left = max(0, int(pool.get("maxNodes") or 0) - present) if known else 0
        allocatable = pool.get("allocatable") or {}
        shape = {r: quantity.parse(r, text) for r, text in allocatable.items()}
        found[name] = _growing({**pool, "name": name}, shape, left)
    return tuple(p for _, p in sorted(found.items()) if p.nodes and p.shape)


def _growing(told: JsonView, shape: Mapping[str, int], nodes: int) -> GrowingPool:
    return GrowingPool(
        name=told["name"],
        labels=dict(told.get("labels") or {}),
        taints=selectors.read_taints(told.get("taints")),
        shape={resource: min(amount, _MOST) for resource, amount in shape.items()},
        nodes=min(nodes, MOST_NEW_NODES),
    )


def with_report(
    cluster: Cluster,
    capacity: JsonView,
    declared: Sequence[JsonView] = (),
    key_revisions: Mapping[str, int] | None = None,
) -> Cluster:
    """A cluster as its last report (`agent_v1.Capacity`, decoded JSON) and its declared pools have it.

    Of a declared pool is known how many nodes are there once a report groups nodes by the pool's
    labels: `key_revisions` says since which revision each label key is grouped by.
    """
    pools = tuple(_pool(p) for p in capacity.get("pools") or ())
    size = sum(len(p.nodes) for p in pools)
    kinds = capacity.get("kinds")
    told: dict[str, str] = capacity.get("properties") or {}
    version = str(capacity.get("kubernetes_version") or "")
    down: JsonView = capacity.get("api_server") or {}
    return replace(
        cluster,
        pools=pools,
        pools_revision=int(capacity.get("pools_revision") or 0),
        properties={properties.VERSION: version, **told} if version else told,
        property_faults=tuple(capacity.get("property_faults") or ()),
        total=_total(told),
        allocatable=_totals(pools, lambda pool: pool.allocatable),
        free=_totals(pools, lambda pool: pool.free),
        bound={
            (b["uid"], b["epoch"]): BoundPods(
                b["bound"], b["succeeded"], _nodes(b.get("nodes"), size)
            )
            for b in capacity.get("bound") or ()
        },
        kinds=None if kinds is None else frozenset(kinds),
        unread_kinds=frozenset(capacity.get("unread_kinds") or ()),
        queue_managers=frozenset(capacity.get("queue_managers") or ()),
        stopped_queues=frozenset(capacity.get("stopped_queues") or ()),
        down=str(down.get("reason") or ""),
        creates=read_answers(capacity.get("creates")),
        down_cause=str(down.get("cause") or "NoAnswer"),
        consent=_consent(capacity.get("consent")),
        consent_revision=int((capacity.get("consent") or {}).get("revision") or 0),
        jobs_forbidden_in=frozenset(capacity.get("jobs_forbidden_in") or ()),
        node_count=int(capacity.get("node_count") or 0) or size,
        growing=growing_pools(declared, capacity, key_revisions or {}),
    )


def _nodes(told: Sequence[int] | None, size: int) -> tuple[tuple[int, int], ...] | None:
    """Nodes that no pool lists are left out: an older hub took such a report."""
    if told is None:
        return None
    pairs = zip(told[::2], told[1::2], strict=False)
    return tuple((node, pods) for node, pods in pairs if 0 <= node < size)


def _total(told: Mapping[str, str]) -> dict[str, int]:
    """Sums over all nodes, cordoned ones included; a figure that does not parse is missing."""
    found = {}
    for name, text in told.items():
        if name.startswith(properties.TOTAL_PREFIX):
            resource = name.removeprefix(properties.TOTAL_PREFIX)
            with contextlib.suppress(Rejected):
                found[resource] = quantity.parse(resource, text)
    return found


def pool(
    labels: Mapping[str, str],
    resources: Sequence[str],
    nodes: Mapping[str, tuple[Sequence[int], Sequence[int]]],
    taints: tuple[Taint, ...] = (),
) -> Pool:
    """A pool from node name → (allocatable, free), amounts in the order of `resources`."""
    return Pool(
        labels=dict(labels),
        taints=taints,
        resources=tuple(resources),
        nodes=tuple(nodes),
        allocatable=_table([n[0] for n in nodes.values()], len(resources)),
        free=_table([n[1] for n in nodes.values()], len(resources)),
    )


def _table(rows: list[Sequence[int]], width: int) -> IntArray:
    """Rows as int64; an amount beyond 63 bits counts as the largest that fits."""
    try:
        table = np.array(rows, dtype=np.int64)
    except OverflowError:
        table = np.array([[quantity.clamp(v) for v in row] for row in rows], dtype=np.int64)
    table = table.reshape((len(rows), width))
    table.setflags(write=False)  # a report is shared by everybody who looks at it
    return table


def _pool(reported: JsonView) -> Pool:
    nodes = {n["name"]: (n["allocatable"], n["free"]) for n in reported.get("nodes") or ()}
    return pool(
        reported.get("labels") or {},
        reported.get("resources") or (),
        nodes,
        selectors.read_taints(reported.get("taints")),
    )


def _totals(pools: Sequence[Pool], amounts: Callable[[Pool], IntArray]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for each in pools:
        columns = amounts(each).T.tolist()  # summed as Python integers: no wrap-around
        for resource, column in zip(each.resources, columns, strict=True):
            totals[resource] = quantity.clamp(totals.get(resource, 0) + sum(column))
    return totals

"""Plausibility of a capacity report: structure and limits of its amounts. Pure.

A report that fails is refused as a whole (`CapacityInvalid`) and the last good one stays: half a
report would let the scheduler promise room that is not there.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from shared import properties, quantity
from shared.kinds import names
from shared.kinds.selectors import LABEL_BYTES, are_labels_too_large
from shared.quantity import shown
from shared.wire.agent_v1 import MOST_FORBIDDEN, MOST_POD_NODES, Capacity, GrowingPool, Pool

MAX_NODES: Final = 20_000
MAX_PROPERTIES: Final = 1000
MAX_FAULTS: Final = 100
LONGEST_FAULT: Final = 1000
_LONGEST_KIND: Final = 400


def check_capacity(capacity: Capacity) -> str | None:
    """The fault of a report, or None."""
    if sum(len(pool.nodes) for pool in capacity.pools) > MAX_NODES:
        return f"more than {MAX_NODES} nodes"
    for pool in capacity.pools:
        fault = _check_pool(pool)
        if fault is not None:
            return fault
    for growing in capacity.growing:
        fault = _check_growing(growing)
        if fault is not None:
            return fault
    for bound in capacity.bound:
        if bound.bound < 0 or bound.succeeded < 0:
            return f"work {bound.uid}: the number of pods is negative"
    return _check_nodes(capacity) or _check_properties(capacity) or _check_rights(capacity)


def _check_nodes(capacity: Capacity) -> str | None:
    """Each node is listed once; pods are on these, no more than are bound; the pairs are not too many."""
    listed = Counter(node.name for pool in capacity.pools for node in pool.nodes)
    nodes = listed.total()
    if len(listed) < nodes:
        return f"node {shown(listed.most_common(1)[0][0])} is listed twice"
    pairs = 0
    for bound in capacity.bound:
        told = bound.nodes or ()
        where, counts = told[::2], told[1::2]
        pairs += len(where)
        if len(where) != len(counts) or len(set(where)) != len(where):
            return f"work {bound.uid}: each node once, and how many pods are there"
        if not all(0 <= node < nodes for node in where):
            return f"work {bound.uid}: a pod is on a node that no pool lists"
        if not all(count > 0 for count in counts) or sum(counts) > bound.bound:
            return f"work {bound.uid}: the pods on nodes are not the bound pods"
    return f"more than {MOST_POD_NODES} nodes of pods" if pairs > MOST_POD_NODES else None


def _check_pool(pool: Pool) -> str | None:
    width = len(pool.resources)
    odd = _odd(pool.resources)
    if odd is not None:
        return f"a pool has {shown(odd)}: no resource name"
    if are_labels_too_large(pool.labels):
        return f"a pool's labels take more than {LABEL_BYTES} bytes"
    if len(set(pool.resources)) != width:
        return "a pool names a resource twice"
    for node in pool.nodes:
        if len(node.allocatable) != width or len(node.free) != width:
            return f"node {node.name}: {width} amounts expected, one per resource"
        for name, has, free in zip(pool.resources, node.allocatable, node.free, strict=True):
            if not 0 <= has <= quantity.MAX:
                return f"node {node.name}: allocatable {name} is {has}"
            if not quantity.MIN <= free <= has:
                return f"node {node.name}: {free} of {has} {name} is free"
    return None


def _check_growing(growing: GrowingPool) -> str | None:
    odd = _odd(growing.resources)
    if odd is not None:
        return f"pool {growing.name[:63]}: {shown(odd)} is no resource name"
    if are_labels_too_large(growing.labels):
        return f"pool {growing.name[:63]}: its labels take more than {LABEL_BYTES} bytes"
    if len(growing.resources) != len(growing.shape):
        return f"pool {growing.name[:63]}: one amount expected per resource"
    if growing.max_nodes < 0 or growing.nodes < 0:
        return f"pool {growing.name[:63]}: the number of nodes is negative"
    if not all(0 <= amount <= quantity.MAX for amount in growing.shape):
        return f"pool {growing.name[:63]}: an amount is out of bounds"
    return None


def _check_rights(capacity: Capacity) -> str | None:
    """Namespaces in which the agent may not create Jobs are names, and few; so are kinds without a right."""
    if len(capacity.unread_kinds) > MOST_FORBIDDEN:
        return f"more than {MOST_FORBIDDEN} kinds without a right"
    if any(len(each) > _LONGEST_KIND for each in capacity.unread_kinds):
        return f"a kind without a right has more than {_LONGEST_KIND} characters"
    forbidden = capacity.jobs_forbidden_in or ()
    if len(forbidden) > MOST_FORBIDDEN:
        return f"more than {MOST_FORBIDDEN} namespaces without a right"
    odd = next((each for each in forbidden if not names.is_dns_label(each)), None)
    return None if odd is None else f"{shown(odd)} is no namespace"


def _odd(resources: Sequence[str]) -> str | None:
    """The first that no API server would take for a resource."""
    return next((name for name in resources if not names.is_quota_resource(name)), None)


def _check_properties(capacity: Capacity) -> str | None:
    """Properties may be anything readable; what does not parse counts as missing (`clusters.measure`)."""
    if len(capacity.properties) > MAX_PROPERTIES:
        return f"more than {MAX_PROPERTIES} properties"
    for name, text in capacity.properties.items():
        if len(name) > properties.LONGEST_NAME or len(text) > properties.LONGEST_VALUE:
            return f"property {name[:64]}: too long"
    if len(capacity.property_faults) > MAX_FAULTS:
        return f"more than {MAX_FAULTS} faults of properties"
    if any(len(fault) > LONGEST_FAULT for fault in capacity.property_faults):
        return "the message of a property's fault is too long"
    return None

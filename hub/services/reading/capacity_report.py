"""Whether a capacity report can be believed: shape and bounds of its amounts. Pure.

A report that fails is refused as a whole (`CapacityInvalid`) and the last good one stays: half a
report would let the scheduler promise room that is not there.
"""

from collections.abc import Sequence
from typing import Final

from shared import properties, quantity
from shared.kinds import names
from shared.kinds.selectors import LABEL_BYTES, are_labels_too_large
from shared.quantity import shown
from shared.wire.agent_v1 import MOST_FORBIDDEN, Capacity, GrowingPool, Pool

MAX_NODES: Final = 20_000
MAX_PROPERTIES: Final = 1000
MAX_FAULTS: Final = 100
LONGEST_FAULT: Final = 1000


def check_capacity(capacity: Capacity) -> str | None:
    """What is wrong with a report, or None."""
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
            return f"work {bound.uid}: pods can not be fewer than none"
    return _check_properties(capacity) or _check_rights(capacity)


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
        return f"pool {growing.name[:63]}: nodes can not be fewer than none"
    if not all(0 <= amount <= quantity.MAX for amount in growing.shape):
        return f"pool {growing.name[:63]}: an amount is out of bounds"
    return None


def _check_rights(capacity: Capacity) -> str | None:
    """Namespaces in which the agent may not create Jobs are names, and few."""
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
        return "a fault of a property is told at too great length"
    return None

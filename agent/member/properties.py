"""Properties of the member: those that its nodes tell, and those that its administrator adds. Pure.

An administrator writes them into ConfigMap `roadstead-properties` in the agent's own namespace, into which
no hub writes: under any key, one `NAME=VALUE` in a line, since keys of a ConfigMap can hold no `/`. Faulty
lines are reported with their number; the others count.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from shared import properties, quantity
from shared.errors import Rejected
from shared.kinds import names

CONFIG_MAP: Final = "roadstead-properties"
SHAPE_LABEL: Final = "node.kubernetes.io/instance-type"
MOST: Final = 100  # properties that an administrator may add, and shapes of nodes that are counted
MOST_FAULTS: Final = 20
MOST_CHARS: Final = 300  # of a reported one


class Node(Protocol):
    """The fields read of a node."""

    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def capacity(self) -> Mapping[str, int]: ...


@dataclass(frozen=True, slots=True)
class Declared:
    """An administrator's properties, and the faults of refused ones, in words."""

    values: dict[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()


def of_nodes(nodes: Iterable[Node]) -> dict[str, str]:
    """Totals of each resource, how many nodes there are, of which shapes, and where all of them are."""
    known = list(nodes)
    totals: dict[str, int] = defaultdict(int)
    for node in known:
        for name, amount in node.capacity.items():
            totals[name] += amount
    found = {
        properties.TOTAL_PREFIX + name: quantity.canonical(name, amount)
        for name, amount in sorted(totals.items())
    }
    found[properties.NODE_COUNT] = str(len(known))
    shapes = Counter(node.labels.get(SHAPE_LABEL, "") for node in known)
    shapes.pop("", None)
    for shape, count in sorted(shapes.items(), key=lambda s: (-s[1], s[0]))[:MOST]:
        found[properties.shape_count(shape)] = str(count)
    for place in properties.LOCATIONS:
        told = {node.labels.get(place, "") for node in known}
        if len(told) == 1 and "" not in told:
            found[place] = told.pop()
    return found


def read_declared(config_map: Mapping[str, Any] | None) -> Declared:
    """The ConfigMap's properties; of a repeated name the first counts."""
    values: dict[str, str] = {}
    faults: list[str] = []
    data = (config_map or {}).get("data") or {}
    for key in sorted(data):
        for number, line in enumerate(str(data[key]).splitlines(), start=1):
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            name, value, fault = _pair(text)
            if not fault and name in values:
                fault = "it is given already"
            if not fault and len(values) == MOST:
                fault = f"more than {MOST} properties"
            if not fault:
                values[name] = value
                fault = _unusable(name, value)
            if fault:
                shown = quantity.shown(name)
                faults.append(f"{CONFIG_MAP}, {key}, line {number}: {shown}: {fault}")
    told = [each[:MOST_CHARS] for each in faults[:MOST_FAULTS]]
    if len(faults) > MOST_FAULTS:
        told[-1] = f"and {len(faults) - MOST_FAULTS + 1} more"
    return Declared(values, tuple(told))


def _pair(text: str) -> tuple[str, str, str]:
    """Name, value, and why the line can not be taken ("" where it can)."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not value:
        return name, value, "expected NAME=VALUE"
    if not names.is_property_name(name):
        return name, value, "no name of a property, such as example.com/power-cost"
    if name.startswith(properties.USAGE_PREFIX) or name in _MEASURED:
        return name, value, "the agent measures it itself"
    if len(value) > properties.LONGEST_VALUE:
        return name, value, f"longer than {properties.LONGEST_VALUE} characters"
    return name, value, ""


def _unusable(name: str, value: str) -> str:
    """The reason why placements can not compare a value that is reported all the same; "" if they can."""
    if properties.is_location(name):
        return ""
    try:
        properties.number(name, value)
    except Rejected as refusal:
        return f"no quantity, placements count it as missing ({refusal.detail})"
    return ""


_MEASURED: Final = frozenset({properties.NODE_COUNT, properties.VERSION})

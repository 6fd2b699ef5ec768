"""The columns of each kind, as `kubectl get` prints them (`-o wide` shows those of priority 1).

Formats follow Kubernetes' printers (pkg/printers/internalversion). A CRD brings its own columns.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shared.kubesim.apimachinery import metadata

Object = dict[str, Any]
Cell = Callable[[Object, dt.datetime], Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its definition and how to fill it."""

    name: str
    cell: Cell
    type: str = "string"
    priority: int = 0
    format: str = ""
    description: str = ""

    def definition(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description or self.name,
            "priority": self.priority,
        }


def human_duration(seconds: float) -> str:
    """A duration as kubectl shows ages: `90s`, `3m12s`, `5h`, `2d3h`, `1y20d`."""
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole >= -1 else "<invalid>"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 120:
        return f"{whole}s"
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    if days < 2920:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(first: int, first_unit: str, second: int, second_unit: str) -> str:
    return f"{first}{first_unit}{second}{second_unit}" if second else f"{first}{first_unit}"


def since(text: Any, now: dt.datetime) -> str:
    """The time since a stamp, `<unknown>` if there is none."""
    if not isinstance(text, str) or not text:
        return "<unknown>"
    try:
        return human_duration((now - metadata.parse_stamp(text)).total_seconds())
    except ValueError:
        return "<invalid>"


def age(obj: Object, now: dt.datetime) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now)


def name_cell(obj: Object, now: dt.datetime) -> str:
    name: str = obj["metadata"]["name"]
    return name


NAME = Column("Name", name_cell, format="name")
AGE = Column("Age", age)
CREATED_AT = Column(
    "Created At", lambda obj, now: obj["metadata"].get("creationTimestamp"), type="date"
)

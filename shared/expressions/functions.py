"""Functions that CEL has not and expressions here may call. Pure; none of them raises.

The library would print an exception of a function to standard error: the fault is noted instead.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

Object = Mapping[str, Any]
_MOST_CONDITIONS: Final = 200  # are looked through


class HostFunctions:
    """One evaluation's functions over one object; `fault`: what a function could not do, "" if none.

    `lacking`: the last condition that was asked for and is not True, {} where it is not there.
    """

    __slots__ = ("_object", "fault", "lacking")

    def __init__(self, obj: Object) -> None:
        self._object = obj
        self.fault = ""
        self.lacking: tuple[str, Mapping[str, Any]] | None = None

    def cond(self, kind: object) -> bool:
        """True if a condition of this type is True, and not of an earlier generation of the object."""
        found = self._condition(kind)
        if found.get("status") == "True" and not is_stale(found, self._object):
            return True
        self.lacking = (str(kind), found)
        return False

    def reason(self, kind: object) -> str:
        """The reason of a condition, whatever its status; "" where it is not there."""
        return str(self._condition(kind).get("reason") or "")

    def _condition(self, kind: object) -> Mapping[str, Any]:
        status = self._object.get("status")
        held = status.get("conditions") if isinstance(status, dict) else None
        for each in held[:_MOST_CONDITIONS] if isinstance(held, list) else ():
            if isinstance(each, dict) and each.get("type") == kind:
                return each
        return {}

    def sum(self, values: object) -> int | float:
        """Of numbers in a list; of none, 0."""
        return sum(self._numbers("sum", values))

    def max(self, values: object) -> int | float:
        """Of numbers in a list; of none, 0."""
        return max(self._numbers("max", values), default=0)

    def min(self, values: object) -> int | float:
        """Of numbers in a list; of none, 0."""
        return min(self._numbers("min", values), default=0)

    def _numbers(self, name: str, values: object) -> list[int | float]:
        if not isinstance(values, list):
            self.fault = f"{name} takes a list of numbers"
            return []
        if any(isinstance(each, bool) or not isinstance(each, int | float) for each in values):
            self.fault = f"{name} takes numbers"
            return []
        return values

    def named(self, name: str) -> Callable[..., Any]:
        """The function of a name in `reading.HOSTED`."""
        return _ALL[name].__get__(self)  # type: ignore[no-any-return]  # a bound method


def is_stale(told: Mapping[str, Any], obj: Object) -> bool:
    """True if a status or condition belongs to an earlier generation."""
    seen = told.get("observedGeneration")
    metadata = obj.get("metadata")
    generation = metadata.get("generation") if isinstance(metadata, dict) else None
    if isinstance(seen, bool) or not isinstance(seen, int) or not isinstance(generation, int):
        return False
    return seen < generation


_ALL: Final[Mapping[str, Any]] = {
    "cond": HostFunctions.cond,
    "max": HostFunctions.max,
    "min": HostFunctions.min,
    "reason": HostFunctions.reason,
    "sum": HostFunctions.sum,
}

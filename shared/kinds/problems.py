"""Collects everything wrong with one manifest, so that a user mends it in one go.

Rules call `add` with the path, a stable code and a sentence; `raise_if_any` makes the refusal.
"""

import difflib
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from shared.errors import FieldError, Rejected
from shared.quantity import shown
from shared.reject_codes import RejectCode

MOST_REPORTED: Final = 50


class Problems:
    """The faults found so far. `strict` off means that unknown fields are passed over.

    `hindrance`: why what is no fault can not be admitted as it is; the first one found.
    """

    __slots__ = ("found", "hindrance", "strict")

    def __init__(self, *, strict: bool = True) -> None:
        self.found: list[FieldError] = []
        self.hindrance: FieldError | None = None
        self.strict = strict

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(self, field: str, code: RejectCode, message: str) -> None:
        if len(self.found) < MOST_REPORTED:
            self.found.append(FieldError(field, code, message))

    def take(self, refusal: Rejected, field: str = "") -> None:
        """Note a refusal raised by a deeper layer."""
        for error in refusal.errors or (FieldError(field, refusal.code, refusal.detail),):
            self.add(error.field or field, error.code, error.message)

    def unknown(self, present: Iterable[str], known: frozenset[str], field: str) -> None:
        """Note each name that `known` lacks, with the nearest name that it has."""
        if not self.strict:
            return
        room = MOST_REPORTED - len(self.found)  # looking for a near name takes time
        absent = (str(name) for name in present if name not in known)
        for name in sorted(islice(absent, room)):
            self.add(join(field, name), RejectCode.UNKNOWN_FIELD, unknown_name(name, known))

    def raise_if_any(self) -> None:
        """Raise `Rejected` with all faults; its code is that of the first."""
        if not self.found:
            return
        first = self.found[0]
        detail = f"{first.field}: {first.message}" if first.field else first.message
        if len(self.found) > 1:
            detail += f" (and {len(self.found) - 1} more)"
        raise Rejected(first.code, detail, first.field, tuple(self.found))


def unknown_name(name: str, known: Iterable[str]) -> str:
    """The sentence for a name that is not known, with the nearest one that is."""
    near = difflib.get_close_matches(name[:80], known, n=1, cutoff=0.6)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"unknown field {shown(name)}{hint}"


def join(field: str, name: str) -> str:
    """The path of `name` below `field`; names that hold dots or slashes go into brackets."""
    if "." in name or "/" in name or len(name) > 80:
        return f"{field}[{name[:80]}]"
    return f"{field}.{name}" if field else name


def is_mapping(value: object, field: str, problems: Problems) -> bool:
    """True if `value` is an object; notes it otherwise. None counts as no object, silently."""
    if isinstance(value, dict):
        return True
    if value is not None:
        problems.add(field, RejectCode.INVALID_TYPE, f"must be an object, not {type_name(value)}")
    return False


def listed(value: object, field: str, problems: Problems, most: int | None = None) -> list[Any]:
    """`value` as a list (empty for None); notes it and gives an empty one if it is none."""
    if value is None:
        return []
    if not isinstance(value, list):
        problems.add(field, RejectCode.INVALID_TYPE, f"must be a list, not {type_name(value)}")
        return []
    if most is not None and len(value) > most:
        problems.add(
            field, RejectCode.TOO_MANY_ITEMS, f"has {len(value)} items; at most {most} are allowed"
        )
        return []
    return value


def objects(
    value: object, field: str, problems: Problems, most: int | None = None
) -> list[tuple[str, Mapping[str, Any]]]:
    """The objects of a list with their paths; notes what is no list and what is no object."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    if value is None:
        return found
    for index, item in enumerate(listed(value, field, problems, most)):
        path = f"{field}[{index}]"
        if isinstance(item, dict):
            found.append((path, item))
        else:
            problems.add(
                path, RejectCode.INVALID_TYPE, f"must be an object, not {type_name(item)}"
            )
    return found


def type_name(value: object) -> str:
    """JSON's name for the type of `value`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"

"""The types of a Job's pods and policies, as deep as they go: what no API server could decode is refused.

`shapes.json` has them from Kubernetes 1.36 (made by `shared.kubesim.schema.generate_shapes`). Names
that it does not know are passed over: a newer member may know them.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from shared import quantity
from shared.errors import Rejected
from shared.kinds.problems import Problems, join
from shared.reject_codes import RejectCode

_FILE: Final = Path(__file__).with_name("shapes.json")
_SCALARS: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "string": ((str,), "a string"),
    "time": ((str,), "a string"),
    "bool": ((bool,), "true or false"),
    "int32": ((int,), "a whole number"),
    "int64": ((int,), "a whole number"),
    "intstr": ((int, str), "a whole number or a string"),
    "quantity": ((int, float, str), "an amount"),
}
_BITS: Final = {"int32": 31, "int64": 63, "intstr": 31}


@functools.cache
def _shapes() -> dict[str, dict[str, str]]:
    read: dict[str, dict[str, str]] = json.loads(_FILE.read_text())
    return read


def check_fields(value: Mapping[str, Any], shape: str, field: str, problems: Problems) -> None:
    """Note each value below `value` whose type is not that of definition `shape`.

    A field with a noted fault, or one below it, is skipped: each is reported once.
    """
    told = tuple(one.field for one in problems.found)
    faults = Problems()
    _check_object(value, shape, field, faults)
    for one in faults.found:
        if not any(_is_at_or_below(one.field, known) for known in told):
            problems.add(one.field, one.code, one.message)


def _is_at_or_below(field: str, known: str) -> bool:
    return field == known or field.startswith((f"{known}.", f"{known}["))


def _check_object(value: Mapping[str, Any], shape: str, field: str, problems: Problems) -> None:
    fields = _shapes()[shape]
    for name, inner in value.items():
        wanted = fields.get(name)
        if inner is not None and wanted is not None:
            _check(inner, wanted, f"{field}.{name}", problems)


def _check(value: Any, wanted: str, field: str, problems: Problems) -> None:
    if value is None or wanted == "any":
        return
    match wanted[0]:
        case "[":
            if not isinstance(value, list):
                problems.add(field, RejectCode.INVALID_TYPE, "must be a list")
                return
            for index, item in enumerate(value):
                _check(item, wanted[1:], f"{field}[{index}]", problems)
        case "{" | "@" if not isinstance(value, dict):
            problems.add(field, RejectCode.INVALID_TYPE, "must be an object")
        case "{":
            for name, item in value.items():
                _check(item, wanted[1:], join(field, str(name)), problems)
        case "@":
            _check_object(value, wanted[1:], field, problems)
        case _:
            _check_scalar(value, wanted, field, problems)


def _check_scalar(value: Any, wanted: str, field: str, problems: Problems) -> None:
    types, rule = _SCALARS[wanted]
    fits: bool = isinstance(value, types) and (wanted == "bool" or not isinstance(value, bool))
    if not fits:
        problems.add(field, RejectCode.INVALID_TYPE, f"must be {rule}")
    elif wanted in _BITS and isinstance(value, int):
        if not -(2 ** _BITS[wanted]) <= value < 2 ** _BITS[wanted]:
            problems.add(
                field, RejectCode.OUT_OF_RANGE, f"{value} does not fit in {_BITS[wanted] + 1} bits"
            )
    elif wanted == "quantity":
        try:
            quantity.nanos(value)
        except Rejected as refusal:
            problems.add(field, refusal.code, refusal.detail)

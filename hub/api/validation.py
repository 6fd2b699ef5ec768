"""Converts FastAPI's errors on parameters and bodies to the hub's error codes and messages."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel

from shared.documents import JsonView
from shared.errors import FieldError, Rejected
from shared.reject_codes import RejectCode

_CODES: Final[Mapping[str, RejectCode]] = {
    "missing": RejectCode.REQUIRED,
    "extra_forbidden": RejectCode.UNKNOWN_FIELD,
    "literal_error": RejectCode.INVALID_VALUE,
    "enum": RejectCode.INVALID_VALUE,
    "greater_than_equal": RejectCode.OUT_OF_RANGE,
    "less_than_equal": RejectCode.OUT_OF_RANGE,
    "less_than": RejectCode.OUT_OF_RANGE,
    "string_too_long": RejectCode.TOO_LONG,
    "too_long": RejectCode.TOO_MANY_ITEMS,
}
_SAID: Final[Mapping[RejectCode, str]] = {
    RejectCode.REQUIRED: "is required",
    RejectCode.INVALID_TYPE: "has the wrong type",
}
_MOST: Final = 20  # faults that one refusal names


def refusal_of(error: RequestValidationError, body: Any = None) -> Rejected:
    """Every field that is wrong, by its path in the body or its name in the query.

    `body`: the model of the route's body, whose fields are named where one is not known.
    """
    if any(each["loc"] == ("body",) and each["type"] == "missing" for each in error.errors()):
        return Rejected(RejectCode.EMPTY_BODY, "the body is empty: send a JSON object")
    faults = tuple(_fault(each, body) for each in error.errors()[:_MOST])
    first = faults[0]
    detail = f"{first.field}: {first.message}" if first.field else first.message
    return Rejected(first.code, detail, errors=faults)


def _fault(error: JsonView, body: object) -> FieldError:
    code, place = _code_of(error["type"]), error["loc"]
    said = _SAID.get(code, error["msg"])
    if code is RejectCode.UNKNOWN_FIELD:
        said = f"expected one of {', '.join(_fields(body, place[1:-1]))}"
    return FieldError(_path(place), code, said)


def _code_of(kind: str) -> RejectCode:
    """A code of ours stands as it is (`hub.api.models.base.refused_as`)."""
    if kind[:1].isupper():
        return RejectCode(kind)
    other = RejectCode.INVALID_TYPE if kind.endswith("_type") else RejectCode.INVALID
    return _CODES.get(kind, other)


def _path(place: Sequence[int | str]) -> str:
    """`("body", "taints", 0, "key")` is `taints[0].key`; the body itself is `""`."""
    path = ""
    for step in place[1:]:
        path += f"[{step}]" if isinstance(step, int) else f".{str(step)[:80]}"
    return path.removeprefix(".")


def _fields(model: object, steps: Sequence[int | str]) -> list[str]:
    """The fields that the object at this place may have."""
    found = _model_in(model)
    for step in steps:
        if found is None or isinstance(step, int):
            continue
        fields = found.model_fields.items()
        inner = [each for name, each in fields if step in (name, each.alias)]
        found = _model_in(inner[0].annotation) if inner else None
    return [] if found is None else [f.alias or name for name, f in found.model_fields.items()]


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The model of `Model`, `Model | None` or `list[Model]`."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)

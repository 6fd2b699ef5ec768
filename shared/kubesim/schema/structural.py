"""Structural schemas of CRDs: validation and defaulting of custom objects, and their field types.

The subset of OpenAPI v3 that `apiextensions.k8s.io/v1` allows. Faults are worded as by the real
server (kube-openapi's validation). Rules in CEL (`x-kubernetes-validations`) are not evaluated.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from shared.kubesim.apimachinery import errors
from shared.kubesim.apimachinery.errors import Cause
from shared.kubesim.schema import fieldset
from shared.kubesim.schema.field_types import ANY, Schema, object_meta

Raw = Mapping[str, Any]
_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_INT_BOUNDS = {"int32": 2**31, "int64": 2**63}


def validate(raw: Raw, value: Any, path: str = "") -> list[Cause]:
    """All faults of a value."""
    return list(_faults(raw, value, path))


def _faults(raw: Raw, value: Any, path: str) -> Iterable[Cause]:
    if value is None:
        if not raw.get("nullable"):
            yield errors.bad_value(path, "null", _must_be(path, raw.get("type", "object"), "null"))
        return
    if not _has_type(raw, value):
        wanted = "integer,string" if raw.get("x-kubernetes-int-or-string") else raw["type"]
        yield errors.bad_value(path, _kind(value), _must_be(path, wanted, _kind(value)))
        return
    yield from _typed_faults(raw, value, path)
    allowed = raw.get("enum")
    if allowed is not None and value not in allowed:
        yield errors.not_supported(path, value, [str(one) for one in allowed])
    yield from _logic_faults(raw, value, path)


def _typed_faults(raw: Raw, value: Any, path: str) -> Iterable[Cause]:
    if isinstance(value, dict):
        yield from _object_faults(raw, value, path)
    elif isinstance(value, list):
        yield from _list_faults(raw, value, path)
    elif isinstance(value, str):
        yield from _string_faults(raw, value, path)
    elif not isinstance(value, bool):
        yield from _number_faults(raw, value, path)


def _must_be(path: str, wanted: str, found: str) -> str:
    return f'{path} in body must be of type {wanted}: "{found}"'


def _kind(value: Any) -> str:
    for name in ("boolean", "integer", "number", "string", "array", "object"):
        if isinstance(value, _JSON_TYPES[name]):
            return name
    return "null"


def _has_type(raw: Raw, value: Any) -> bool:
    if raw.get("x-kubernetes-int-or-string"):
        return isinstance(value, int | str) and not isinstance(value, bool)
    wanted = raw.get("type")
    if not wanted:
        return True
    if isinstance(value, bool):
        return bool(wanted == "boolean")
    if wanted == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _JSON_TYPES.get(wanted, (object,)))


def _object_faults(raw: Raw, value: dict[str, Any], path: str) -> Iterable[Cause]:
    for name in raw.get("required", ()):
        if name not in value:
            yield errors.required(_join(path, name))
    known = raw.get("properties") or {}
    further = raw.get("additionalProperties")
    for name, item in value.items():
        inner = known.get(name)
        if inner is None and isinstance(further, dict):
            inner = further
        if inner is not None:
            yield from _faults(inner, item, _join(path, name))
    count = len(value)
    if count < raw.get("minProperties", 0):
        why = f"{path} in body should have at least {raw['minProperties']} properties"
        yield errors.bad_value(path, count, why)
    if count > raw.get("maxProperties", count):
        why = f"must have at most {raw['maxProperties']} items"
        yield Cause(path, "FieldValueTooMany", f"Too many: {count}: {why}")


def _list_faults(raw: Raw, value: list[Any], path: str) -> Iterable[Cause]:
    count = len(value)
    if count < raw.get("minItems", 0):
        why = f"{path} in body should have at least {raw['minItems']} items"
        yield errors.bad_value(path, count, why)
    if count > raw.get("maxItems", count):
        yield Cause(
            path,
            "FieldValueTooMany",
            f"Too many: {count}: must have at most {raw['maxItems']} items",
        )
    inner = raw.get("items")
    if isinstance(inner, dict):
        for index, item in enumerate(value):
            yield from _faults(inner, item, f"{path}[{index}]")
    yield from _duplicate_faults(raw, value, path)


def _duplicate_faults(raw: Raw, value: list[Any], path: str) -> Iterable[Cause]:
    kind = raw.get("x-kubernetes-list-type")
    if kind not in ("set", "map"):
        return
    keys = tuple(raw.get("x-kubernetes-list-map-keys", ()))
    defaults = {
        name: inner.get("default")
        for name, inner in ((raw.get("items") or {}).get("properties") or {}).items()
        if name in keys
    }
    seen = set()
    for index, item in enumerate(value):
        if kind == "set":
            element: str | None = fieldset.value_element(item)
        else:
            element = fieldset.key_element(item, keys, defaults)
        if element is not None and element in seen:
            shown = item if kind == "set" else orjson.loads(element[2:])
            yield errors.duplicate(f"{path}[{index}]", shown)
        seen.add(element)


def _string_faults(raw: Raw, value: str, path: str) -> Iterable[Cause]:
    if len(value) < raw.get("minLength", 0):
        why = f"{path} in body should be at least {raw['minLength']} chars long"
        yield errors.bad_value(path, value, why)
    if len(value) > raw.get("maxLength", len(value)):
        why = f"Too long: may not be more than {raw['maxLength']} bytes"
        yield Cause(path, "FieldValueTooLong", why)
    pattern = raw.get("pattern")
    if pattern and not _compiled(pattern).search(value):
        why = f"{path} in body should match '{pattern}'"
        yield errors.bad_value(path, value, why)
    if raw.get("format") in ("date-time", "date") and not _is_stamp(value, raw["format"]):
        why = f"{path} in body must be of type {raw['format']}: {errors.quoted(value)}"
        yield errors.bad_value(path, value, why)


@lru_cache(maxsize=2048)
def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(re.sub(r"\\z$", r"\\Z", pattern))
    except re.error:
        return re.compile("")  # not in Python's dialect: not checked


def _is_stamp(text: str, form: str) -> bool:
    try:
        if form == "date":
            dt.date.fromisoformat(text)
        else:
            dt.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _number_faults(raw: Raw, value: float, path: str) -> Iterable[Cause]:
    bound = _INT_BOUNDS.get(raw.get("format", ""))
    if bound is not None and not -bound <= value < bound:
        yield errors.bad_value(
            path, value, f'{path} in body must be of type {raw["format"]}: "{value}"'
        )
    least, most = raw.get("minimum"), raw.get("maximum")
    if least is not None and (value <= least if raw.get("exclusiveMinimum") else value < least):
        word = "greater than" if raw.get("exclusiveMinimum") else "greater than or equal to"
        yield errors.bad_value(path, value, f"{path} in body should be {word} {least}")
    if most is not None and (value >= most if raw.get("exclusiveMaximum") else value > most):
        word = "less than" if raw.get("exclusiveMaximum") else "less than or equal to"
        yield errors.bad_value(path, value, f"{path} in body should be {word} {most}")
    step = raw.get("multipleOf")
    if step and value % step:
        yield errors.bad_value(path, value, f"{path} in body should be a multiple of {step}")


def _logic_faults(raw: Raw, value: Any, path: str) -> Iterable[Cause]:
    for inner in raw.get("allOf", ()):
        yield from _faults({**inner, "nullable": True}, value, path)
    if raw.get("anyOf") and all(validate(inner, value, path) for inner in raw["anyOf"]):
        why = f"{path} in body must validate at least one schema (anyOf)"
        yield errors.bad_value(path, _kind(value), why)
    if raw.get("oneOf"):
        valid = sum(1 for inner in raw["oneOf"] if not validate(inner, value, path))
        if valid != 1:
            detail = "Found none valid" if valid == 0 else f"Found {valid} valid alternatives"
            why = f"{path} in body must validate one and only one schema (oneOf). {detail}"
            yield errors.bad_value(path, _kind(value), why)
    if raw.get("not") and not validate(raw["not"], value, path):
        yield errors.bad_value(
            path, _kind(value), f"{path} in body must not validate the schema (not)"
        )


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


# --- defaults ------------------------------------------------------------------------------------


def with_defaults(raw: Raw, value: Any) -> Any:
    """`value` with the defaults of its schema filled in; the same object if none was missing.

    A null where null is not allowed gives way to the default, as in the real server.
    """
    if isinstance(value, dict):
        return _defaulted_object(raw, value)
    if isinstance(value, list) and isinstance(raw.get("items"), dict):
        items = [with_defaults(raw["items"], item) for item in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value


def _defaulted_object(raw: Raw, value: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    known = raw.get("properties") or {}
    for name, inner in known.items():
        item = value.get(name)
        missing = name not in value or (item is None and not inner.get("nullable"))
        if missing and inner.get("default") is not None:
            changes[name] = with_defaults(inner, inner["default"])
        elif item is not None:
            filled = with_defaults(inner, item)
            if filled is not item:
                changes[name] = filled
    further = raw.get("additionalProperties")
    if isinstance(further, dict):
        for name, item in value.items():
            if name not in known and with_defaults(further, item) is not item:
                changes[name] = with_defaults(further, item)
    return {**value, **changes} if changes else value


# --- field types ---------------------------------------------------------------------------------


def object_schema(raw: Raw) -> Schema:
    """The types of a whole custom object: its schema, and the metadata of any object."""
    root = field_types({**raw, "type": "object"})
    fields = dict(root.fields)
    fields["apiVersion"] = fields["kind"] = Schema("string")
    fields["metadata"] = object_meta()
    whole = Schema("object", fields=fields)
    whole.preserve = root.preserve
    return whole


def field_types(raw: Raw) -> Schema:
    """The types of a node, for server-side apply and pruning."""
    if raw.get("x-kubernetes-embedded-resource") and not raw.get("properties"):
        return ANY
    preserve = bool(raw.get("x-kubernetes-preserve-unknown-fields"))
    atomic = raw.get("x-kubernetes-map-type") == "atomic"
    properties, further = raw.get("properties"), raw.get("additionalProperties")
    if raw.get("type") == "array":
        node = Schema("list", element=field_types(raw.get("items") or {}))
        node.list_type = raw.get("x-kubernetes-list-type", "atomic")
        node.keys = tuple(raw.get("x-kubernetes-list-map-keys", ()))
    elif properties or (raw.get("type") == "object" and not further):
        node = Schema("object", load=_loader(properties or {}))
        node.preserve = preserve
    elif further:
        node = Schema("map", element=field_types(further) if isinstance(further, dict) else ANY)
    elif preserve or raw.get("x-kubernetes-int-or-string") or not raw.get("type"):
        node = Schema("any")
    else:
        node = Schema(str(raw["type"]))
    node.atomic = atomic
    node.default = raw.get("default")
    return node


def _loader(properties: Mapping[str, Raw]) -> Callable[[], dict[str, Schema]]:
    return lambda: {name: field_types(inner) for name, inner in properties.items()}

"""Decoding by type: unknown fields found and dropped, nulls dropped, values checked and normalised.

What the real server does when it reads JSON into Go types. Objects of custom kinds are pruned in the
same walk; whether their values are valid is for the CRD's schema to say.
"""

import base64
import binascii
from collections.abc import Callable
from typing import Any

from shared.kubesim.apimachinery import errors, metadata
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.requests.call import Call
from shared.kubesim.schema.field_types import ANY, Schema
from shared.kubesim.schema.quantities import canonical_text

_POLICIES = ("", "Ignore", "Warn", "Strict")
_MOST_REPORTED = 20


class _WrongTypeError(Exception):
    def __init__(self, path: str, value: Any, wanted: str) -> None:
        super().__init__(path)
        self.path = path
        self.value = value
        self.wanted = wanted


class FieldChecker:
    """Checks the fields of what clients send."""

    def __init__(self, schema_of: Callable[[Resource], Schema]) -> None:
        self._schema_of = schema_of

    def __call__(
        self, call: Call, resource: Resource, obj: Object, known: Object | None = None
    ) -> Object:
        """The object as the server understands it. ApiError 400 on wrong types or, if asked for,
        on unknown fields; else a warning for each of them.

        `known`: a version that was checked before; what `obj` shares with it is not looked at again.
        """
        policy = call.arg("fieldValidation")
        if policy not in _POLICIES:
            cause = errors.not_supported("fieldValidation", policy, _POLICIES[1:])
            raise errors.invalid("Options", "meta.k8s.io", "", [cause])
        schema = self._schema_of(resource)
        if schema is ANY:
            return obj
        walk = Walk(strict_types=not resource.custom)
        try:
            checked: Object = walk.decode(schema, obj, "", None if resource.custom else known)
        except _WrongTypeError as fault:
            raise errors.bad_request(
                f'{resource.kind} in version "{resource.version}" cannot be handled as a'
                f" {resource.kind}: json: cannot unmarshal {json_type(fault.value)} into Go struct"
                f" field {resource.kind}.{fault.path} of type {fault.wanted}"
            ) from None
        if walk.unknown and policy != "Ignore":
            shown = [f'unknown field "{path}"' for path in walk.unknown[:_MOST_REPORTED]]
            if policy == "Strict":
                raise errors.bad_request(
                    f'{resource.kind} in version "{resource.version}" cannot be handled as a'
                    f" {resource.kind}: strict decoding error: {', '.join(shown)}"
                )
            call.warnings += shown
        return checked


class Walk:
    """One pass over an object. `unknown` collects the paths that its schema does not know."""

    def __init__(self, *, strict_types: bool) -> None:
        self._strict = strict_types
        self.unknown: list[str] = []

    def decode(self, schema: Schema, value: Any, path: str, known: Any = None) -> Any:
        """`value` as its type wants it; the same object if nothing changed."""
        if value is known:
            return value
        kind = schema.type
        if kind == "any" or value is None:
            return value
        if kind == "object":
            return self._object(schema, value, path, known if isinstance(known, dict) else {})
        if kind == "list":
            return self._list(schema, value, path)
        if kind == "map":
            return self._map(schema, value, path)
        if not self._strict:
            return value
        return _scalar(kind, value, path)

    def _object(self, schema: Schema, value: Any, path: str, known: Object) -> Any:
        if not isinstance(value, dict):
            return self._mismatch(value, path, schema.definition.rpartition(".")[2] or "object")
        decoded: dict[str, Any] = {}
        changed = False
        for name, item in value.items():
            field = schema.field(name)
            if field is None:
                self.unknown.append(f"{path}.{name}" if path else name)
                changed = True
                continue
            if item is None and self._strict:
                changed = True
                continue
            before = known.get(name)
            below = self.decode(field, item, f"{path}.{name}" if path else name, before)
            changed = changed or below is not item
            decoded[name] = below
        return decoded if changed else value

    def _list(self, schema: Schema, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            return self._mismatch(value, path, "[]")
        element = schema.element or ANY
        decoded = [
            self.decode(element, item, f"{path}[{index}]") for index, item in enumerate(value)
        ]
        same = all(new is old for new, old in zip(decoded, value, strict=True))
        return value if same else decoded

    def _map(self, schema: Schema, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            return self._mismatch(value, path, f"map[string]{(schema.element or ANY).type}")
        element = schema.element or ANY
        decoded = {}
        for name, item in value.items():
            if item is None and self._strict and element.type == "string":
                decoded[name] = ""
                continue
            decoded[name] = self.decode(element, item, f"{path}.{name}")
        same = all(decoded[name] is item for name, item in value.items())
        return value if same else decoded

    def _mismatch(self, value: Any, path: str, wanted: str) -> Any:
        if self._strict:
            raise _WrongTypeError(path, value, wanted)
        return value  # left to validation, which words it


def _scalar(kind: str, value: Any, path: str) -> Any:
    match kind:
        case "string":
            good = isinstance(value, str)
        case "bool":
            good = isinstance(value, bool)
        case "int32":
            good = _is_int(value) and -(2**31) <= value < 2**31
        case "int64":
            good = _is_int(value) and -(2**63) <= value < 2**63
        case "double":
            good = _is_int(value) or isinstance(value, float)
        case "intstr":
            good = isinstance(value, str) or _is_int(value)
        case _:
            return _formatted(kind, value, path)
    if not good:
        raise _WrongTypeError(path, value, kind)
    return value


def _formatted(kind: str, value: Any, path: str) -> Any:
    """Quantities, stamps and bytes: normalised, or refused."""
    try:
        if kind == "quantity":
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise _WrongTypeError(path, value, "resource.Quantity")
            text = canonical_text(value if isinstance(value, str) else repr(value))
            return value if text == value else text
        if not isinstance(value, str):
            raise _WrongTypeError(path, value, kind)
        if kind == "time":
            return _whole_seconds(value)
        if kind == "microtime":
            return metadata.micro_stamp(metadata.parse_stamp(value).astimezone(metadata.UTC))
        if kind == "bytes":
            base64.b64decode(value, validate=True)
    except (ValueError, binascii.Error) as fault:
        raise errors.bad_request(f"error decoding the field {path}: {fault}") from fault
    return value


def _whole_seconds(text: str) -> str:
    if len(text) == 20 and text.endswith("Z") and text[10] == "T":
        metadata.parse_stamp(text)
        return text
    return metadata.stamp(metadata.parse_stamp(text).astimezone(metadata.UTC))


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def json_type(value: Any) -> str:
    """A JSON value's type as Go names it in messages."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    return "string" if isinstance(value, str) else "number"

"""Reads the protocol buffers that Go clients send for built-in kinds (kubectl create, auth can-i).

An envelope of four magic bytes and a `runtime.Unknown` holds the kind's message, read by the field
numbers and types of `builtin_schemas.json`. Replies are JSON, which those clients accept too.
"""

import base64
import datetime as dt
import struct
from collections.abc import Iterator
from typing import Any

import orjson

from shared.kubesim.apimachinery import errors, metadata
from shared.kubesim.schema import field_types
from shared.kubesim.schema.field_types import Schema

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# Go leaves a plain field's zero value out of JSON; of a pointer it means what it says.
_POINTERS = frozenset(
    {
        "replicas",
        "parallelism",
        "completions",
        "backoffLimit",
        "backoffLimitPerIndex",
        "suspend",
        "ttlSecondsAfterFinished",
        "activeDeadlineSeconds",
        "terminationGracePeriodSeconds",
        "gracePeriodSeconds",
        "orphanDependents",
        "progressDeadlineSeconds",
        "revisionHistoryLimit",
        "immutable",
        "optional",
        "minAvailable",
        "maxUnavailable",
        "value",
        "automountServiceAccountToken",
        "successfulJobsHistoryLimit",
        "failedJobsHistoryLimit",
    }
)
_META = "apimachinery.pkg.apis.meta.v1."


def decode(body: bytes) -> dict[str, Any]:
    """The object in an envelope. ApiError 400 if it cannot be read, 415 for unknown kinds."""
    if not body.startswith(_MAGIC):
        raise errors.bad_request("the body is no protobuf envelope of Kubernetes")
    try:
        api_version = kind = ""
        raw = b""
        for number, value in _fields(body[len(_MAGIC) :]):
            if number == 1:
                for inner, text in _fields(value):
                    if inner == 1:
                        api_version = text.decode()
                    elif inner == 2:
                        kind = text.decode()
            elif number == 2:
                raw = value
        name = field_types.kind_definition(api_version, kind) or _options(kind)
        if name is None:
            message = f"{api_version} {kind} cannot be read as protobuf; send JSON"
            raise errors.unsupported_media_type(message)
        return {"apiVersion": api_version, "kind": kind, **_message(name, raw)}
    except (IndexError, struct.error, UnicodeDecodeError, ValueError) as fault:
        raise errors.bad_request(f"error decoding protobuf: {fault}") from fault


def _options(kind: str) -> str | None:
    return f"{_META}DeleteOptions" if kind == "DeleteOptions" else None


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """(field number, value): ints of varints and fixed widths, bytes of the rest."""
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield number, value
        elif wire == _BYTES:
            length, position = _varint(data, position)
            if position + length > end:
                raise ValueError("truncated field")
            yield number, data[position : position + length]
            position += length
        elif wire in (_FIXED64, _FIXED32):
            width = 8 if wire == _FIXED64 else 4
            yield number, data[position : position + width]
            position += width
        else:
            raise ValueError(f"wire type {wire}")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("varint too long")


def _message(name: str, data: bytes, within: Schema | None = None) -> dict[str, Any]:
    """The fields of a message. `within` is the definition that an embedded message belongs to."""
    numbers = field_types.messages().get(name, {})
    fields = (within or field_types.definition(name)).fields
    result: dict[str, Any] = {}
    for number, value in _fields(data):
        entry = numbers.get(str(number))
        if entry is None:
            continue
        if entry.startswith("<"):
            result.update(_message(entry[1:], value, within or field_types.definition(name)))
            continue
        field = fields[entry]
        if field.type == "list":
            result.setdefault(entry, []).append(_value(field.element, value, entry))
        elif field.type == "map":
            key, item = _pair(field, value)
            result.setdefault(entry, {})[key] = item
        else:
            found = _value(field, value, entry)
            if found or (found == 0 and entry in _POINTERS):
                result[entry] = found
    return result


def _pair(field: Schema, data: bytes) -> tuple[str, Any]:
    key, item = "", b""
    for number, value in _fields(data):
        if number == 1:
            key = value.decode()
        else:
            item = value
    element = field.element or field_types.ANY
    if element.type == "list":  # wrapped: a message with the items as its first field
        return key, [_value(element.element, one, key) for _, one in _fields(item)]
    return key, _value(element, item, key)


def _value(field: Schema | None, value: Any, name: str) -> Any:
    kind = field.type if field else "any"
    match kind:
        case "object":
            return _message(field.definition if field else "", value)
        case "string":
            return value.decode()
        case "bool":
            return bool(value)
        case "int32" | "int64":
            return value - (1 << 64) if value >= 1 << 63 else value
        case "double":
            return struct.unpack("<d", value)[0]
        case "bytes":
            return base64.b64encode(value).decode()
        case "quantity":
            return next((text.decode() for number, text in _fields(value) if number == 1), "0")
        case "intstr":
            parts = dict(_fields(value))
            return parts.get(3, b"").decode() if parts.get(1) else parts.get(2, 0)
        case "time" | "microtime":
            return _stamp(value, micro=kind == "microtime")
        case _:
            return _raw(value)


def _stamp(data: bytes, *, micro: bool) -> str | None:
    parts = dict(_fields(data))
    if not parts.get(1):
        return None
    instant = dt.datetime.fromtimestamp(parts[1], dt.UTC)
    if micro:
        return metadata.micro_stamp(instant + dt.timedelta(microseconds=parts.get(2, 0) // 1000))
    return metadata.stamp(instant)


def _raw(data: bytes) -> Any:
    """FieldsV1 and RawExtension hold JSON as their first field."""
    for number, value in _fields(data):
        if number == 1 and value:
            return orjson.loads(value)
    return None

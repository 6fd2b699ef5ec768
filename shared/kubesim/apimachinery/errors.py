"""The API server's refusals, as `metav1.Status` knows them.

Everything below the HTTP layer raises `ApiError`; the server turns it into a Status body. Reasons
and messages are those of Kubernetes, because clients match on both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Cause:
    """One field's fault. `reason` is a `metav1.CauseType` such as `FieldValueInvalid`."""

    field: str
    reason: str
    message: str


class ApiError(Exception):
    """A refused request: HTTP `status`, machine-readable `reason`, `message` for people."""

    def __init__(
        self, status: int, reason: str, message: str, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.details = details

    def body(self) -> dict[str, Any]:
        """The `metav1.Status` document that the client gets."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if self.details:
            body["details"] = self.details
        return {**body, "code": self.status}


def _details(plural: str, group: str, name: str) -> dict[str, Any]:
    details: dict[str, Any] = {"name": name, "kind": plural}
    if group:
        details["group"] = group
    return details


def _qualified(plural: str, group: str) -> str:
    return f"{plural}.{group}" if group else plural


def not_found(plural: str, group: str, name: str) -> ApiError:
    message = f'{_qualified(plural, group)} "{name}" not found'
    return ApiError(404, "NotFound", message, _details(plural, group, name))


def no_such_path() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(plural: str, group: str, name: str) -> ApiError:
    message = f'{_qualified(plural, group)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, _details(plural, group, name))


def conflict(plural: str, group: str, name: str, why: str) -> ApiError:
    what = f'Operation cannot be fulfilled on {_qualified(plural, group)} "{name}": {why}'
    return ApiError(409, "Conflict", what, _details(plural, group, name))


def stale(plural: str, group: str, name: str) -> ApiError:
    return conflict(
        plural,
        group,
        name,
        "the object has been modified; please apply your changes to the latest version"
        " and try again",
    )


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> ApiError:
    """422 with one cause per field. The message joins them as the real server does."""
    parts = [
        f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes
    ]
    text = parts[0] if len(parts) == 1 else "[" + ", ".join(parts) + "]"
    details = _details(kind, group, name)
    details["causes"] = [
        {"reason": cause.reason, "message": cause.message, "field": cause.field}
        for cause in causes
    ]
    qualified = f"{kind}.{group}" if group else kind
    return ApiError(422, "Invalid", f'{qualified} "{name}" is invalid: {text}', details)


def gone(message: str = "The resourceVersion for the provided watch is too old.") -> ApiError:
    return ApiError(410, "Expired", message)


def forbidden(plural: str, group: str, name: str, why: str) -> ApiError:
    message = f'{_qualified(plural, group)} "{name}" is forbidden: {why}'
    return ApiError(403, "Forbidden", message, _details(plural, group, name))


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unsupported_media_type(message: str) -> ApiError:
    return ApiError(415, "UnsupportedMediaType", message)


def method_not_allowed(
    message: str = "the server does not allow this method on the requested resource",
) -> ApiError:
    return ApiError(405, "MethodNotAllowed", message)


# --- the field errors of apimachinery's field package, in its words ------------------------------


def required(field: str, why: str = "") -> Cause:
    return Cause(field, "FieldValueRequired", f"Required value{': ' + why if why else ''}")


def bad_value(field: str, value: object, why: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f"Invalid value: {quoted(value)}: {why}")


def not_supported(field: str, value: object, allowed: Sequence[str]) -> Cause:
    choices = ", ".join(f'"{item}"' for item in allowed)
    message = f"Unsupported value: {quoted(value)}: supported values: {choices}"
    return Cause(field, "FieldValueNotSupported", message)


def duplicate(field: str, value: object) -> Cause:
    return Cause(field, "FieldValueDuplicate", f"Duplicate value: {quoted(value)}")


def forbidden_field(field: str, why: str) -> Cause:
    return Cause(field, "FieldValueForbidden", f"Forbidden: {why}")


def quoted(value: object) -> str:
    """A value as the API server prints it in a message: strings quoted, the rest as JSON-like text."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, dict | list):
        return orjson.dumps(value).decode()
    return str(value)

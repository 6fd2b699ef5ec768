"""Refusals as HTTP: ONE table from code to status, one body (problem+json), never a traceback."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
from starlette.responses import Response

from shared.errors import FieldError, Rejected
from shared.manifests import UNREADABLE

PROBLEM_TYPE: Final = "application/problem+json"
DEFAULT_STATUS: Final = 422  # parsed but invalid

STATUS: Final[Mapping[str, int]] = {
    **dict.fromkeys(UNREADABLE, 400),
    "BadContinue": 400,
    "InvalidJSON": 400,
    "BadRequest": 400,
    "TooManyParameters": 400,
    "Unauthenticated": 401,
    "TokenUsed": 401,
    "TokenExpired": 401,
    "Revoked": 401,
    "Forbidden": 403,
    "IdentityMismatch": 403,
    "NotFound": 404,
    "MethodNotAllowed": 405,
    "NotAcceptable": 406,
    "RequestTimeout": 408,
    "AlreadyEnded": 409,
    "AlreadyExists": 409,
    "AnsweredByHub": 409,
    "BeingDeleted": 409,
    "BridgeNotStopped": 409,
    "BridgeWaits": 409,
    "ClusterAlive": 409,
    "ClusterAlreadyJoined": 409,
    "ClusterIdentityChanged": 409,
    "ClusterNotEmpty": 409,
    "ConfirmationMismatch": 422,
    "HubRolledBack": 409,
    "NamespaceNotEmpty": 409,
    "NotReserved": 409,
    "NotRolledBack": 409,
    "OwnedElsewhere": 409,
    "QueueNotEmpty": 409,
    "PreconditionFailed": 409,
    "StaleSequence": 409,
    "SessionSuperseded": 409,
    "Expired": 410,
    "Conflict": 412,
    "BodyTooLarge": 413,
    "TooManyDocuments": 413,
    "TooManyValues": 413,
    "UrlTooLong": 414,
    "EncodingNotSupported": 415,
    "UnsupportedMediaType": 415,
    "UpgradeRequired": 426,
    "TooManyRequests": 429,
    "TooManyStreams": 429,
    "HeaderTooLarge": 431,
    "Internal": 500,
    "TooManyConnections": 503,
    "Unavailable": 503,
}
_RETRY_AFTER_S: Final = {429: "1", 503: "1"}


def status_of(code: str) -> int:
    """The HTTP status of a refusal's code."""
    return STATUS.get(code, DEFAULT_STATUS)


def problem(
    code: str,
    detail: str,
    request_id: str,
    *,
    errors: Sequence[FieldError] = (),
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Response:
    """A problem+json reply (RFC 9457) with the fields this hub promises, and `more`."""
    status = status_of(code)
    body = {
        "type": f"https://roadstead.dev/problems/{code}",
        "status": status,
        "code": code,
        "detail": detail,
        "errors": [
            {"field": each.field, "code": each.code, "message": each.message} for each in errors
        ],
        "requestId": request_id,
        **(more or {}),
    }
    sent = dict(headers or {})
    if status in _RETRY_AFTER_S:
        sent.setdefault("Retry-After", _RETRY_AFTER_S[status])
    if status == 401:
        sent.setdefault("WWW-Authenticate", 'Bearer realm="roadstead"')
    # A name may hold a lone surrogate that came through a URL: never fail while refusing.
    content = orjson.dumps(_printable(body))
    return Response(content, status, sent, PROBLEM_TYPE)


def refused(error: Rejected, request_id: str) -> Response:
    """A refusal as problem+json, with `uid` and Retry-After where the refusal knows them."""
    uid = getattr(error, "uid", "")
    more = {"uid": uid} if uid else None
    wait = getattr(error, "retry_after_s", None)
    headers = None if wait is None else {"Retry-After": str(math.ceil(wait))}
    return problem(
        error.code, error.detail, request_id, errors=error.errors, headers=headers, more=more
    )


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {key: _printable(each) for key, each in value.items()}
    return [_printable(each) for each in value] if isinstance(value, list) else value

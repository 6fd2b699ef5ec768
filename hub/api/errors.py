"""Refusals as HTTP: one body (problem+json), never a traceback."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
from starlette.responses import Response

from shared.errors import FieldError, Rejected
from shared.reject_codes import RejectCode

PROBLEM_TYPE: Final = "application/problem+json"
_RETRY_AFTER_S: Final = {429: "1", 503: "1"}


def problem(
    code: RejectCode,
    detail: str,
    request_id: str,
    *,
    errors: Sequence[FieldError] = (),
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Response:
    """A problem+json reply (RFC 9457) with the fields this hub promises, and `more`."""
    status = code.status
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

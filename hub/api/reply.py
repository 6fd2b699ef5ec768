"""Replies and request bodies: JSON as bytes, no models between the wire and the services."""

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from hub.api.bodies import off_loop
from hub.api.policy import caller, hub_of
from hub.services.context.paging import Pager
from shared.errors import FieldError, Rejected
from shared.manifests import media_type_of, read_bounded
from shared.reject_codes import RejectCode

MAX_LIMIT, DEFAULT_LIMIT = 500, 100
_LONGEST_KEY = 200


class Json(Response):
    """JSON, from any value or from bytes that are JSON already."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return content if isinstance(content, bytes) else orjson.dumps(content)


async def read_object(
    request: Request, fields: Mapping[str, type | tuple[type, ...]]
) -> dict[str, Any]:
    """A small JSON object with these optional fields; {} for no body. Raises Rejected."""
    body = await request.body()
    if not body.strip():
        return {}
    if media_type_of(request.headers.get("content-type", "")) != "application/json":
        raise Rejected(RejectCode.UNSUPPORTED_MEDIA_TYPE, "send application/json")
    given = await off_loop(
        request, len(body), read_bounded, body, hub_of(request).settings.api.bounds
    )
    if not isinstance(given, dict):
        raise Rejected(RejectCode.EXPECTED_OBJECT, "the body must be a JSON object")
    wrong = [
        FieldError(name, RejectCode.UNKNOWN_FIELD, f"expected one of {', '.join(fields)}")
        for name in sorted(set(given) - set(fields))
    ] + [
        FieldError(name, RejectCode.INVALID_TYPE, "has the wrong type")
        for name, expected in fields.items()
        if given.get(name) is not None and not isinstance(given[name], expected)
    ]
    if wrong:
        raise Rejected(wrong[0].code, f"{wrong[0].field}: {wrong[0].message}", errors=tuple(wrong))
    return {name: value for name, value in given.items() if value is not None}


async def expected_uid(request: Request) -> str:
    """The uid that a body's `preconditions` want, or "". Raises Rejected for any other precondition."""
    wanted = (await read_object(request, {"preconditions": dict})).get("preconditions", {})
    for name in sorted(set(wanted) - {"uid"}):
        detail = "only uid can be a condition; nothing was deleted"
        raise Rejected(RejectCode.UNKNOWN_FIELD, detail, f"preconditions.{name[:80]}")
    uid = wanted.get("uid")
    if uid is not None and (not isinstance(uid, str) or not uid):
        raise Rejected(RejectCode.INVALID_TYPE, "must be a uid", "preconditions.uid")
    return uid or ""


def query(request: Request, *known: str) -> dict[str, str]:
    """The query's parameters. Raises Rejected for one that is not known or is given twice."""
    given: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in known:
            raise Rejected(
                RejectCode.UNKNOWN_PARAMETER,
                f"expected one of {', '.join(sorted(known))}",
                name[:80],
            )
        if name in given:
            raise Rejected(RejectCode.REPEATED_PARAMETER, "give it once", name)
        if value:
            given[name] = value
        elif name == "limit":
            raise _no_limit(value)
    return given


def limit_of(given: dict[str, str], default: int = DEFAULT_LIMIT) -> int:
    """The page size asked for. Raises Rejected: InvalidLimit."""
    text = given.get("limit")
    if text is None:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise _no_limit(text)
    if not 1 <= int(text) <= MAX_LIMIT:
        raise _no_limit(text)
    return int(text)


def _no_limit(text: str) -> Rejected:
    return Rejected(
        RejectCode.INVALID_LIMIT, f"must be a whole number from 1 to {MAX_LIMIT}", "limit"
    )


def number_of(given: dict[str, str], name: str) -> int | None:
    """A whole number from the query. Raises Rejected: InvalidNumber."""
    text = given.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise Rejected(RejectCode.INVALID_NUMBER, "must be a whole number", name)
    return int(text)


def pager(request: Request, filters: dict[str, Any]) -> Pager:
    """Continue tokens for the caller's list."""
    hub = hub_of(request)
    question = {**filters, "path": request.scope["path"]}
    return Pager(
        hub.page_key,
        caller(request).id,
        question,
        hub.clock.now(),
        hub.settings.api.continue_kept,
    )


def idempotency_key(request: Request) -> tuple[str, str] | None:
    """(principal, Idempotency-Key), or None. Raises Rejected: InvalidIdempotencyKey."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not key or len(key) > _LONGEST_KEY or not key.isascii() or not key.isprintable():
        raise Rejected(
            RejectCode.INVALID_IDEMPOTENCY_KEY,
            f"must be 1 to {_LONGEST_KEY} printable ASCII characters",
            "Idempotency-Key",
        )
    return caller(request).id, key

"""Replies: JSON as bytes, ready-made; and what a request says of pages and of being repeated."""

from collections.abc import Callable

import orjson
from starlette.requests import Request
from starlette.responses import Response

from hub.api.policy import caller, client_of, hub_of
from hub.services.context.paging import Pager
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode

_LONGEST_KEY = 200


class JsonResponse(Response):
    """JSON, from any value or from bytes that are JSON already."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return content if isinstance(content, bytes) else orjson.dumps(content)


async def listed(
    request: Request, fn: Callable[..., object], *args: object, **kwargs: object
) -> JsonResponse:
    """The answer of a list: read and encoded beside the event loop, when it is the caller's turn.

    Raises Rejected: TooManyRequests; ClientGone; and what `fn` raises.
    """
    async with hub_of(request).lists.turn(caller(request).id, client_of(request)):
        return await encoded(request, fn, *args, **kwargs)


async def encoded(
    request: Request, fn: Callable[..., object], *args: object, **kwargs: object
) -> JsonResponse:
    """The answer of one object that may be large: read and encoded beside the event loop."""
    return JsonResponse(await hub_of(request).read_json(fn, *args, **kwargs))


def pager(request: Request, filters: Json) -> Pager:
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

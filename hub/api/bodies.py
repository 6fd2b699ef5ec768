"""Bodies of requests, read within bounds and never for long on the event loop.

A usual body is read where it stands: a thread would cost more than the reading. Reads that may take longer
than a few milliseconds run beside the loop.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, ParamSpec, TypeVar

from starlette.requests import Request

from hub.api.policy import client_of, hub_of
from hub.services.kinds.declared_kinds import OnEventLoop
from shared.documents import Json
from shared.errors import Rejected
from shared.manifests import (
    YAML_TYPES,
    media_type_of,
    read_bounded,
    read_document,
    read_documents,
)
from shared.reject_codes import RejectCode

P = ParamSpec("P")
T = TypeVar("T")
# Sizes in bytes that are read at once: a few milliseconds of the worst that fits in.
AT_ONCE: Final = 16 << 10
YAML_AT_ONCE: Final = 4 << 10
OBJECT: Final = ("application/json",)
PATCH: Final = ("application/json", "application/merge-patch+json")


async def read_one(request: Request, fn: Callable[[Any], T]) -> tuple[bytes, T]:
    """The body, and what `fn` makes of its one document. Raises Rejected."""
    body = await request.body()
    content_type = request.headers.get("content-type", "")
    bounds = hub_of(request).settings.api.bounds

    def made() -> T:
        return fn(read_document(body, content_type, bounds))

    return body, await off_loop(request, len(body), made)


async def read_many(request: Request, *, of_any_kind: bool = False) -> list[tuple[int, Any]]:
    """The documents of the body, numbered from 0. `of_any_kind`: they may be larger. Raises Rejected."""
    body = await request.body()
    content_type = request.headers.get("content-type", "")
    api = hub_of(request).settings.api
    bounds = api.bulk_bounds if of_any_kind else api.bounds
    return await off_loop(request, len(body), read_documents, body, content_type, bounds)


async def read_object(request: Request, media_types: Sequence[str] = OBJECT) -> Json | None:
    """The body's one JSON object, or None for no body. Raises Rejected."""
    body = await request.body()
    if not body.strip():
        return None
    if media_type_of(request.headers.get("content-type", "")) not in media_types:
        raise Rejected(RejectCode.UNSUPPORTED_MEDIA_TYPE, f"send {' or '.join(media_types)}")
    bounds = hub_of(request).settings.api.bounds
    found = await off_loop(request, len(body), read_bounded, body, bounds)
    if not isinstance(found, dict):
        raise Rejected(RejectCode.EXPECTED_OBJECT, "the body must be a JSON object")
    return found


async def off_loop(
    request: Request, size: int, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call `fn`, which reads `size` bytes: here, or beside the loop where that may take long.

    It is called once more there if it raises OnEventLoop here.

    There one person's bodies are read one at a time: each of them holds the interpreter for milliseconds.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if size <= (YAML_AT_ONCE if media_type in YAML_TYPES else AT_ONCE):
        try:
            return fn(*args, **kwargs)
        except OnEventLoop:  # an administrator's kind: read again, where it may take its time
            pass
    hub = hub_of(request)
    who = getattr(request.state, "principal", None)
    async with hub.bodies.turn("" if who is None else who.id, client_of(request)):
        return await hub.beside(fn, *args, **kwargs)

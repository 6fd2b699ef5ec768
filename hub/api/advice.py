"""Warnings beside an answer, as an API server gives them: in the body, and as header `Warning`."""

from collections.abc import Sequence
from typing import Any

import orjson
from starlette.requests import Request

from hub.api.policy import find_index_of, hub_of
from hub.services.context import timeline
from hub.services.explain.never_fits import Warnings
from hub.services.reading.draft import Draft
from shared.documents import Json
from shared.errors import Rejected


def warnings_of(request: Request, drafts: Sequence[Draft | Rejected]) -> dict[int, str]:
    """Messages by place of those of `drafts` that will not start."""
    if not hub_of(request).stopped:
        return _never(request).of(drafts)
    return {
        place: f"{timeline.CODE}: {timeline.BRIEFLY}"
        for place, given in enumerate(drafts)
        if not isinstance(given, Rejected) and given.is_job
    }


def _never(request: Request) -> Warnings:
    """The index that knows which jobs no member could hold; a replica that does not lead has none."""
    state = request.app.state
    found: Warnings | None = getattr(state, "warnings", None)
    if found is None:
        found = state.warnings = Warnings(find_index_of(request))
    return found


def with_warnings(body: bytes, said: Sequence[Any]) -> bytes:
    """The JSON object of `body` with these among its `warnings`, where there are any."""
    if not said:
        return body
    told: Json = orjson.loads(body)
    told["warnings"] = [*(told.get("warnings") or ()), *said]
    return orjson.dumps(told)


def warning_header(said: Sequence[str]) -> dict[str, str]:
    """The first warning as RFC 7234 has it."""
    if not said:
        return {}
    text = said[0].encode("ascii", "replace").decode().replace("\\", "").replace('"', "'")
    return {"Warning": f'299 - "{text[:1000]}"'}

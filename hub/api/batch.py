"""`POST /v1/jobs:batch`: many Jobs in one request, each with its own result.

The body is cut into chunks; a chunk is one item of the shared transaction, so large batches and
single requests take turns and share commits.
"""

import hashlib
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from hub.api.policy import ADMINISTRATOR, allow, hub_of, new_router
from hub.api.reply import Json, idempotency_key, query
from hub.services.bare_patch import parse_unit
from hub.services.drafts import Draft, draft
from hub.services.hub import Hub
from hub.services.submissions import Submission, submit
from shared.errors import Rejected
from shared.manifests import (
    JSON_TYPES,
    NDJSON_TYPES,
    YAML_TYPES,
    read_documents,
    read_ndjson,
)

router = new_router()
CHUNK: Final = 500
Entry = tuple[int, Any]


@router.post("/v1/jobs:batch")
@allow(ADMINISTRATOR)
async def submit_batch(request: Request) -> Response:
    """Submit a JSON list, NDJSON lines or YAML documents of Jobs, at most 16 MiB.

    200 with {"items": [...], "accepted", "rejected"}: one result per Job, in order; a refused one
    has `code` and `detail`. With an Idempotency-Key, parts already taken are answered again.
    """
    key = idempotency_key(request)
    query(request)
    content_type = request.headers.get("content-type", "")
    entries = _entries(await request.body(), content_type)
    hub = hub_of(request)
    parts: list[bytes] = []
    first = 0
    while chunk := list(islice(entries, CHUNK)):
        drafts = await run_in_threadpool(_drafts, hub, chunk)
        submission = Submission(
            drafts=drafts,
            intake=hub.limits.intake,
            single=False,
            first=first,
            key=None if key is None else (key[0], f"{key[1]}#{first}"),
            request_hash=_hash(drafts) if key else "",
        )
        parts.append((await hub.write_shared(submit, submission)).body[1:-1])
        first += len(chunk)
    return Json(_answer(parts, first))


def _entries(body: bytes, content_type: str) -> Iterator[Entry]:
    """The Jobs of a body in order; a line that can not be read is a refusal. Raises Rejected."""
    media_type = content_type.partition(";")[0].strip().lower()
    if not body.strip() and media_type in JSON_TYPES | NDJSON_TYPES | YAML_TYPES:
        raise Rejected("EmptyBody", "the body is empty")
    if media_type in NDJSON_TYPES:
        return iter(read_ndjson(body))
    return iter(read_documents(body, content_type))


def _drafts(hub: Hub, chunk: list[Entry]) -> tuple[Draft | Rejected, ...]:
    now = hub.clock.now()
    return tuple(_draft(value, now) for _, value in chunk)


def _draft(value: Any, now: Any) -> Draft | Rejected:
    if isinstance(value, Rejected):
        return value
    try:
        return draft(parse_unit(value), now)
    except Rejected as refusal:
        return refusal


def _hash(drafts: tuple[Draft | Rejected, ...]) -> str:
    """What one chunk asks for: generated names do not count."""
    hashed = hashlib.sha256()
    for given in drafts:
        if isinstance(given, Rejected):
            hashed.update(str(given).encode(errors="replace"))
        else:
            hashed.update(given.parsed.generate_name.encode() or given.hash.encode())
    return hashed.hexdigest()


def _answer(parts: list[bytes], count: int) -> bytes:
    items = b",".join(part for part in parts if part)
    refused = items.count(b'"detail":')
    return b'{"items":[%b],"accepted":%d,"rejected":%d}' % (items, count - refused, refused)

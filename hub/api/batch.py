"""`POST /v1/jobs:batch`: many Jobs in one request, each with its own result.

The body is cut into chunks; a chunk is one item of the shared transaction, so large batches and
single requests take turns and share commits.
"""

import datetime as dt
import hashlib
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from hub.api import openapi_parts
from hub.api.advice import warnings_of, with_warnings
from hub.api.bodies import AT_ONCE, off_loop, read_many
from hub.api.models.jobs import BatchResult
from hub.api.models.objects import JobManifest
from hub.api.openapi_parts import A_JOB, IDEMPOTENCY_KEY, JSON, NDJSON, REPLAY, YAML, listed, ref
from hub.api.policy import ADMINISTRATOR, allow, caller, grants, hub_of
from hub.api.reply import JsonResponse, idempotency_key
from hub.api.rights import judged
from hub.api.routing import new_router
from hub.domain.access import Noun, Verb
from hub.services.context.hub import Hub
from hub.services.jobs.bare_patch import parse_unit
from hub.services.jobs.submit import Reply, Submission, submit
from hub.services.kinds.declared_kinds import DeclaredKinds
from hub.services.reading.draft import Draft, draft
from hub.services.reading.hidden import refuse_hidden
from shared.documents import Json
from shared.errors import Rejected
from shared.manifests import (
    JSON_TYPES,
    NDJSON_TYPES,
    YAML_TYPES,
    read_ndjson,
)
from shared.reject_codes import RejectCode

router = new_router("jobs")
CHUNK: Final = 500
Entry = tuple[int, Any]


@router.post(
    "/v1/jobs:batch",
    response_model=BatchResult,
    responses={200: {"headers": REPLAY}},
    openapi_extra=openapi_parts.body(
        {JSON: listed(JobManifest), NDJSON: ref(JobManifest), YAML: ref(JobManifest)},
        [A_JOB],
        [IDEMPOTENCY_KEY],
    ),
)
@allow(ADMINISTRATOR)
@grants(Verb.CREATE, Noun.JOBS)
async def submit_batch(request: Request) -> Response:
    """Submit a JSON list, NDJSON lines or YAML documents of Jobs, at most 16 MiB.

    200 with {"items": [...], "accepted", "rejected"}: one result per Job, in order; a refused one
    has `code` and `detail`. `warnings`, where there are any, name by `index` what no member could ever
    hold. With an Idempotency-Key, parts already taken are answered again; the header
    `Idempotent-Replay: true` says that all of them were.
    """
    key = idempotency_key(request)
    hub = hub_of(request)
    size, who = len(await request.body()), caller(request).name
    async with hub.bulk:
        entries = await _entries(request)
        parts: list[Reply] = []
        said: list[Json] = []
        first = 0
        # A turn takes from the entries and is not repeated: administrators' kinds are read beside the loop.
        least = AT_ONCE + 1 if hub.kinds else 0
        while drafts := await off_loop(request, max(size, least), _drafts, hub, entries, who):
            drafts = tuple(judged(request, drafts))
            submission = Submission(
                drafts=drafts,
                intake=hub.settings.intake,
                single=False,
                first=first,
                key=None if key is None else (key[0], f"{key[1]}#{first}"),
                request_hash=_hash(drafts) if key else "",
            )
            parts.append(await hub.write_shared(submit, submission))
            said += [
                {"index": first + place, "message": message}
                for place, message in warnings_of(request, drafts).items()
            ]
            first += len(drafts)
    replayed = bool(parts) and all(part.replayed for part in parts)
    headers = {"Idempotent-Replay": "true"} if replayed else None
    body = _answer([part.body[1:-1] for part in parts], first)
    return JsonResponse(with_warnings(body, said), 200, headers)


async def _entries(request: Request) -> Iterator[Entry]:
    """The Jobs of the body in order; a line that can not be read is a refusal. Raises Rejected."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if not body.strip() and media_type in JSON_TYPES | NDJSON_TYPES | YAML_TYPES:
        raise Rejected(RejectCode.EMPTY_BODY, "the body is empty")
    if media_type in NDJSON_TYPES:
        bounds = hub_of(request).settings.api.bounds
        return await off_loop(request, len(body), read_ndjson, body, bounds)
    return iter(await read_many(request))


def _drafts(hub: Hub, entries: Iterator[Entry], who: str) -> tuple[Draft | Rejected, ...]:
    """The next Jobs, as many as share a transaction."""
    now = hub.clock.now()
    return tuple(_draft(value, now, who, hub.kinds) for _, value in islice(entries, CHUNK))


def _draft(value: Any, now: dt.datetime, who: str, kinds: DeclaredKinds) -> Draft | Rejected:
    if isinstance(value, Rejected):
        return value
    try:
        given = draft(parse_unit(value, kinds), now, submitted_by=who, kinds=kinds)
        return refuse_hidden(given)
    except Rejected as refusal:
        return refusal


def _hash(drafts: tuple[Draft | Rejected, ...]) -> str:
    """Hash of one chunk's request: generated names do not count."""
    hashed = hashlib.sha256()
    for given in drafts:
        if isinstance(given, Rejected):
            hashed.update(str(given).encode(errors="replace"))
        else:
            hashed.update(_hash_as_sent(given).encode())
    return hashed.hexdigest()


def _hash_as_sent(given: Draft) -> str:
    """The hash of a manifest, without the name that was made up for it."""
    if not given.parsed.generate_name or given.parsed.name:
        return given.hash
    metadata = {**given.manifest["metadata"], "name": given.parsed.generate_name}
    body = orjson.dumps({**given.manifest, "metadata": metadata}, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(body).hexdigest()


def _answer(parts: list[bytes], count: int) -> bytes:
    items = b",".join(part for part in parts if part)
    refused = items.count(b'"detail":')
    return b'{"items":[%b],"accepted":%d,"rejected":%d}' % (items, count - refused, refused)

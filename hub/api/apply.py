"""`POST /v1/apply`: what `kubectl apply` takes, document by document.

The hub reads all of a body before it applies any of it; then it applies parts, a transaction each, so that
other writers wait for one part at most. Long parsing and rendering runs beside the event loop.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import orjson
from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api import openapi_parts
from hub.api.advice import warnings_of
from hub.api.bodies import off_loop, read_many
from hub.api.errors import PROBLEM_TYPE, problem
from hub.api.models.objects import ApplyResult, Manifest
from hub.api.openapi_parts import A_JOB, JSON, NDJSON, YAML, listed, ref
from hub.api.policy import ADMINISTRATOR, allow, caller, grants
from hub.api.reply import JsonResponse
from hub.api.rights import applying, judged
from hub.api.routing import new_router, refuses
from hub.domain.access import Noun, Verb
from hub.services.context import rendering
from hub.services.context.hub import Hub
from hub.services.kinds import declared_kinds
from hub.services.kinds.declared_kinds import DeclaredKinds
from hub.services.kinds.definitions import is_definition
from hub.services.objects.apply import REJECTED, Applied, apply_for
from hub.services.reading.draft import Draft, draft
from hub.services.reading.hidden import refuse_hidden
from shared.documents import Json
from shared.errors import FieldError, Rejected
from shared.kinds import unheeded
from shared.kinds.dispatched import unqueued_notice
from shared.kinds.names import LABEL_RULE, is_dns_label
from shared.kinds.parsed import Parsed
from shared.kinds.registry import parse
from shared.kinds.scopes import unknown_kind
from shared.reject_codes import RejectCode

router = new_router("objects")
PART: Final = 200  # documents of one transaction
MOST_ERRORS: Final = 1000  # of all documents of one answer together
# Possible refusals of one document alone, besides its fields.
REFUSES: Final = (
    RejectCode.ALREADY_EXISTS,
    RejectCode.BEING_DELETED,
    RejectCode.CLUSTER_NOT_EMPTY,
    RejectCode.FORBIDDEN,
    RejectCode.KIND_IN_USE,
    RejectCode.NOT_FOUND,
    RejectCode.OWNED_ELSEWHERE,
    RejectCode.QUEUE_NOT_EMPTY,
    RejectCode.CONFLICT,
)
Read = tuple[int, Any]


@dataclass(slots=True)
class _ApplyAnswer:
    """The results of the documents, part by part."""

    items: list[bytes] = field(default_factory=list)
    taken: int = 0
    refused: int = 0
    first: Rejected | None = None
    errors: list[FieldError] = field(default_factory=list)
    partial: bool = True  # is partial admission on?


@router.post(
    "/v1/apply",
    response_model=ApplyResult,
    responses={207: {"model": ApplyResult, "description": "Some documents were refused."}},
    openapi_extra=openapi_parts.body(
        {
            JSON: {"anyOf": [ref(Manifest), listed(Manifest)]},
            NDJSON: ref(Manifest),
            YAML: ref(Manifest),
        },
        A_JOB,
    ),
)
@allow(ADMINISTRATOR)
@grants(Verb.CREATE, Noun.JOBS)
@refuses(*REFUSES)
async def apply_documents(
    request: Request, namespace: Annotated[str, Query()] = "default"
) -> Response:
    """Apply documents of any kind: YAML (several), JSON (one, a list, or a `List`), or NDJSON.

    {"items": [...]}: per document kind, namespace, name, uid and `result` created, configured,
    unchanged or rejected (then with code and detail), and `warnings` about what is stored and changes
    nothing. The status is 200 if all were taken, 207 if some were; if none was, that of the first
    refusal, as a problem that has `items` too. `namespace` is for documents that name none. A document
    with `metadata.resourceVersion` changes the object of that version alone; of another it is a Conflict.
    """
    namespace = namespace or "default"
    if not is_dns_label(namespace):
        raise Rejected(RejectCode.INVALID_NAME, LABEL_RULE, "namespace")
    hub = applying(request)
    answer = _ApplyAnswer(partial=hub.settings.intake.partial_admission)
    size, who = len(await request.body()), caller(request).name
    async with hub.bulk:
        read = await read_many(request, of_any_kind=True)
        now = hub.clock.now()
        for part in _parts(read):
            read_part = await off_loop(
                request, size, _drafts, part, namespace, now, who, hub.kinds
            )
            drafts = judged(request, read_part)
            applied: list[Applied] = await hub.write(apply_for, drafts, hub.settings.intake, who)
            await _follow_kinds(hub, drafts)
            warned = warnings_of(request, drafts)
            await off_loop(request, size, _say, answer, applied, part, warned)
    items = b'"items":[%b]}' % b",".join(answer.items)
    refusal = answer.first
    if answer.taken or refusal is None:
        return JsonResponse(b"{" + items, 207 if answer.refused else 200)
    told = problem(refusal.code, refusal.detail, request.state.request_id, errors=answer.errors)
    return Response(
        bytes(told.body)[:-1] + b"," + items, told.status_code, media_type=PROBLEM_TYPE
    )


async def _follow_kinds(hub: Hub, drafts: Sequence[Draft | Rejected]) -> None:
    """Have the hub read by the kinds that were just defined, before it answers."""
    parsed = [each.parsed for each in drafts if isinstance(each, Draft)]
    if any(is_definition(each.group, each.kind) for each in parsed):
        await declared_kinds.load(hub.db, hub.kinds)


def _parts(read: Sequence[Read]) -> Iterator[Sequence[Read]]:
    return (read[first : first + PART] for first in range(0, len(read), PART))


def _drafts(
    part: Sequence[Read], namespace: str, now: dt.datetime, who: str, kinds: DeclaredKinds
) -> list[Draft | Rejected]:
    documents: list[Draft | Rejected] = []
    for index, value in part:
        try:
            manifest, version = _version_of(value)
            parsed = parse(manifest, default_namespace=namespace, declared=kinds)
            made = draft(
                parsed,
                now,
                index=index,
                submitted_by=who,
                resource_version=version,
                kinds=kinds,
                stands=True,
            )
            documents.append(refuse_hidden(made))
        except Rejected as refusal:
            documents.append(refusal)
    return documents


def _version_of(value: object) -> tuple[object, str]:
    """A declaration without the version that it is to replace, and that version; Jobs have none."""
    if not isinstance(value, dict) or value.get("kind") in ("Job", "Workload"):
        return value, ""
    metadata = value.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(version, str):
        return value, ""
    rest = {key: each for key, each in metadata.items() if key != "resourceVersion"}
    return {**value, "metadata": rest}, version


def _say(
    answer: _ApplyAnswer,
    applied: Sequence[Applied],
    part: Sequence[Read],
    warned: Mapping[int, str],
) -> None:
    """Add the result of one part. `warned`: by place, why a job will not start."""
    for place, (each, (index, value)) in enumerate(zip(applied, part, strict=True)):
        room = len(answer.errors) < MOST_ERRORS
        if each.result == REJECTED and each.error is not None:
            answer.refused += 1
            answer.first = answer.first or each.error
            answer.errors += _errors(index, each.error)[: MOST_ERRORS - len(answer.errors)]
        else:
            answer.taken += 1
        item = _item(index, each, value, with_errors=room, partial=answer.partial)
        if place in warned and each.result != REJECTED:
            item["warnings"] = [*item.get("warnings", ()), warned[place]]
        answer.items.append(orjson.dumps(item))


def _errors(place: int, refusal: Rejected) -> list[FieldError]:
    return [
        FieldError(
            f"[{place}].{each.field}" if each.field else f"[{place}]", each.code, each.message
        )
        for each in refusal.errors or (FieldError("", refusal.code, refusal.detail),)
    ]


def _item(
    index: int, applied: Applied, value: object, *, with_errors: bool, partial: bool
) -> Json:
    given = applied.draft
    raw = value if isinstance(value, dict) else {}
    named = raw.get("metadata")
    metadata: Json = named if isinstance(named, dict) else {}
    item = {
        "index": index,
        "apiVersion": _text(raw.get("apiVersion")),
        "kind": _text(raw.get("kind")),
        "namespace": given.parsed.namespace if given else _text(metadata.get("namespace")),
        "name": given.name if given else _text(metadata.get("name")),
        "uid": applied.uid,
        "result": applied.result,
    }
    if not applied.error:
        said = [*(_warnings(given.parsed, partial=partial) if given else ()), *applied.warnings]
        return {**item, "warnings": said} if said else item
    told = rendering.refusal(applied.error)
    return {**item, **told} if with_errors else {**item, **told, "errors": []}


def _warnings(parsed: Parsed, *, partial: bool) -> list[str]:
    """Warnings about fields of a document that are stored without effect, or are probably mistakes."""
    why = parsed.hindrance
    waits = (
        [] if why is None else [f"{why.field}: {why.message}: in this form it is never admitted"]
    )
    odd = unknown_kind(parsed.group, parsed.kind)
    idle = unqueued_notice(parsed.api_version, parsed.kind, parsed.raw.get("metadata"))
    return [*unheeded.warnings(parsed, partial=partial), *waits, *filter(None, (odd, idle))]


def _text(value: object) -> str:
    return value[:253] if isinstance(value, str) else ""

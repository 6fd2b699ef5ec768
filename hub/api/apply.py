"""`POST /v1/apply`: what `kubectl apply` takes, document by document."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from hub.api.errors import problem
from hub.api.policy import ADMINISTRATOR, allow, caller, hub_of, new_router
from hub.api.reply import Json, query
from hub.services import views
from hub.services.apply import REJECTED, Applied, apply_for
from hub.services.drafts import Draft, draft
from shared.errors import FieldError, Rejected
from shared.kinds.names import LABEL_RULE, is_dns_label
from shared.kinds.registry import parse
from shared.manifests import read_documents

router = new_router()


@router.post("/v1/apply")
@allow(ADMINISTRATOR)
async def apply(request: Request) -> Response:
    """Apply documents of any kind: YAML (several), JSON (one, a list, or a `List`), or NDJSON.

    {"items": [...]}: per document kind, namespace, name, uid and `result` created, configured,
    unchanged or rejected (then with code and detail). The status is 200 if all were taken, 207 if
    some were; if none was, that of the first refusal, as a problem that has `items` too. `namespace`
    is for documents that name none.
    """
    namespace = query(request, "namespace").get("namespace", "default")
    if not is_dns_label(namespace):
        raise Rejected("InvalidName", LABEL_RULE, "namespace")
    read = read_documents(await request.body(), request.headers.get("content-type", ""))
    hub = hub_of(request)
    now = hub.clock.now()
    documents: list[Draft | Rejected] = []
    for index, value in read:
        try:
            parsed = parse(value, default_namespace=namespace)
            documents.append(draft(parsed, now, index=index))
        except Rejected as refusal:
            documents.append(refusal)
    applied: list[Applied] = await hub.write(
        apply_for, documents, hub.limits.intake, caller(request).name
    )
    items = [_item(each, value) for each, (_, value) in zip(applied, read, strict=True)]
    refusals = [each.error for each in applied if each.result == REJECTED and each.error]
    if len(refusals) < len(items) or not items:
        return Json({"items": items}, 207 if refusals else 200)
    return _problem(request, refusals, items)


def _problem(
    request: Request, refusals: Sequence[Rejected], items: list[dict[str, Any]]
) -> Response:
    errors = [
        FieldError(
            f"[{place}].{each.field}" if each.field else f"[{place}]", each.code, each.message
        )
        for place, refusal in enumerate(refusals)
        for each in refusal.errors or (FieldError("", refusal.code, refusal.detail),)
    ]
    return problem(
        refusals[0].code,
        refusals[0].detail,
        request.state.request_id,
        errors=errors,
        more={"items": items},
    )


def _item(applied: Applied, value: Any) -> dict[str, Any]:
    given = applied.draft
    raw = value if isinstance(value, dict) else {}
    named = raw.get("metadata")
    metadata: dict[str, Any] = named if isinstance(named, dict) else {}
    item = {
        "index": applied.index,
        "apiVersion": _text(raw.get("apiVersion")),
        "kind": _text(raw.get("kind")),
        "namespace": given.parsed.namespace if given else _text(metadata.get("namespace")),
        "name": given.name if given else _text(metadata.get("name")),
        "uid": applied.uid,
        "result": applied.result,
    }
    return {**item, **views.refusal(applied.error)} if applied.error else item


def _text(value: Any) -> str:
    return value[:253] if isinstance(value, str) else ""

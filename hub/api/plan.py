"""Previews: where documents would go if applied now, and where a placement's objects would go if picked
again.
"""

import datetime as dt
import functools
from collections.abc import Sequence
from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api import openapi_parts
from hub.api.apply import Read
from hub.api.bodies import off_loop, read_many
from hub.api.inside import tell_inside
from hub.api.models.objects import Manifest
from hub.api.models.plan import (
    EvictionAnswer,
    EvictionWish,
    FoundPlan,
    Rebalanced,
    RebalanceWish,
    RenderedPlacement,
)
from hub.api.openapi_parts import A_JOB, JSON, NDJSON, YAML, listed, ref
from hub.api.policy import ADMINISTRATOR, allow, caller, find_index_of, grants, hub_of
from hub.api.reply import JsonResponse
from hub.api.rights import require
from hub.api.routing import new_router
from hub.domain.access import Noun, Verb
from hub.services.explain.plan import MOST_DOCUMENTS, WantedManifests, plan
from hub.services.kinds.declared_kinds import DeclaredKinds
from hub.services.objects.evict_placement import evict_placement
from hub.services.placements.manifests.render import render_placement
from hub.services.placements.rebalance import rebalance
from hub.services.reading.draft import Draft, draft
from hub.services.reading.hidden import refuse_hidden
from shared.errors import FieldError, Rejected
from shared.kinds.names import LABEL_RULE, is_dns_label
from shared.kinds.registry import parse
from shared.reject_codes import RejectCode

router = new_router("objects")


@router.post(
    "/v1/plan",
    response_model=FoundPlan,
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
async def plan_documents(
    request: Request,
    namespace: Annotated[str, Query()] = "default",
    manifests: Annotated[bool, Query()] = False,
    cluster: Annotated[str, Query()] = "",
) -> Response:
    """Preview where placements and Jobs in documents would go now: every cluster's score or rejection.

    Takes what `/v1/apply` takes, at most 200 documents, and stores nothing. Placements are decided with
    the other documents as if they existed; each Job is evaluated alone, with the queues that the hub has.
    A document that can not be read refuses the whole. `namespace` is for documents that name none.
    A user who may not apply everything plans only documents that they may submit.
    `manifests` tells what each picked cluster would get, as overrides and envelopes make it, and what they
    can not make; `cluster` tells it of that one alone.
    """
    namespace = namespace or "default"
    if not is_dns_label(namespace):
        raise Rejected(RejectCode.INVALID_NAME, LABEL_RULE, "namespace")
    hub = hub_of(request)
    async with hub.bulk:
        read = await read_many(request, of_any_kind=True)
        if len(read) > MOST_DOCUMENTS:
            text = f"{len(read)} documents; a plan takes {MOST_DOCUMENTS}"
            raise Rejected(RejectCode.TOO_MANY_DOCUMENTS, text)
        size = len(await request.body())
        drafts = await off_loop(
            request, size, _drafts, read, namespace, hub.clock.now(), hub.kinds
        )
        drafts = [require(request, each) for each in drafts]
        wanted = WantedManifests(manifests, cluster)
        told = await plan(hub, drafts, find_index_of(request), wanted)
    lost = [member for each in told["placements"] for member in each.get("members", ())]
    await tell_inside(request, caller(request).id, lost)
    return JsonResponse(told)


@router.get(
    "/v1/placements/{name}/manifests", response_model=RenderedPlacement, tags=["placements"]
)
@allow(ADMINISTRATOR)
async def render_cluster_placement(
    request: Request, name: str, cluster: Annotated[str, Query()]
) -> Response:
    """Render the manifests of a ClusterResourcePlacement for a cluster, picked or not; without Jobs."""
    found = hub_of(request).read(render_placement, "", name, cluster)
    return JsonResponse(await found)


@router.get(
    "/v1/placements/{namespace}/{name}/manifests",
    response_model=RenderedPlacement,
    tags=["placements"],
)
@allow(ADMINISTRATOR)
async def render_namespaced_placement(
    request: Request, namespace: str, name: str, cluster: Annotated[str, Query()]
) -> Response:
    """Render the manifests of a ResourcePlacement for a cluster, picked or not; without Jobs."""
    found = hub_of(request).read(render_placement, namespace, name, cluster)
    return JsonResponse(await found)


@router.post("/v1/placements/{name}/rebalance", response_model=Rebalanced, tags=["placements"])
@allow(ADMINISTRATOR)
async def rebalance_cluster_placement(
    request: Request, name: str, asked: RebalanceWish | None = None
) -> Response:
    """Preview a new pick of a ClusterResourcePlacement; `carryOut` moves its objects.

    Objects of PickN alone: Jobs that run are never moved.
    """
    return await _rebalance(request, "", name, asked)


@router.post(
    "/v1/placements/{namespace}/{name}/rebalance", response_model=Rebalanced, tags=["placements"]
)
@allow(ADMINISTRATOR)
async def rebalance_placement(
    request: Request, namespace: str, name: str, asked: RebalanceWish | None = None
) -> Response:
    """Preview a new pick of a ResourcePlacement; `carryOut` moves its objects."""
    return await _rebalance(request, namespace, name, asked)


@router.post("/v1/placements/{name}/evict", response_model=EvictionAnswer, tags=["placements"])
@allow(ADMINISTRATOR)
async def evict_cluster_placement(request: Request, name: str, asked: EvictionWish) -> Response:
    """Evict a ClusterResourcePlacement from one cluster, if its disruption budget allows it.

    Makes a ClusterResourcePlacementEviction, which is carried out once. With `dryRun` nothing is made.
    """
    return await _evict(request, "", name, asked)


@router.post(
    "/v1/placements/{namespace}/{name}/evict", response_model=EvictionAnswer, tags=["placements"]
)
@allow(ADMINISTRATOR)
async def evict_placement_of_namespace(
    request: Request, namespace: str, name: str, asked: EvictionWish
) -> Response:
    """Evict a ResourcePlacement from one cluster, if its disruption budget allows it."""
    return await _evict(request, namespace, name, asked)


async def _evict(request: Request, namespace: str, name: str, asked: EvictionWish) -> Response:
    hub = hub_of(request)
    carry_out = not asked.dry_run
    do = functools.partial(evict_placement, carry_out=carry_out)
    given = (namespace, name, asked.cluster, hub.settings, caller(request).name)
    told = await (hub.write if carry_out else hub.read)(do, *given)
    if not carry_out:
        await tell_inside(request, caller(request).id, told["members"])
    return JsonResponse(told)


async def _rebalance(
    request: Request, namespace: str, name: str, asked: RebalanceWish | None
) -> Response:
    hub = hub_of(request)
    index = find_index_of(request)()
    promised = {} if index is None else index.members.all_promised()
    carry_out = bool(asked and asked.carry_out)
    do = functools.partial(rebalance, carry_out=carry_out)
    given = (namespace, name, promised, hub.settings, caller(request).name)
    return JsonResponse(await (hub.write if carry_out else hub.read)(do, *given))


def _drafts(
    read: Sequence[Read], namespace: str, now: dt.datetime, kinds: DeclaredKinds
) -> list[Draft]:
    drafts: list[Draft] = []
    for index, value in read:
        try:
            parsed = parse(value, default_namespace=namespace, declared=kinds)
            drafts.append(refuse_hidden(draft(parsed, now, index=index, kinds=kinds)))
        except Rejected as refusal:
            raise _at(index, value, refusal) from None
    return drafts


def _at(index: int, value: object, refusal: Rejected) -> Rejected:
    """The same refusal, which says of which document it is: by its place, kind and name."""
    given = value if isinstance(value, dict) else {}
    metadata = given.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    place = "/".join(str(named[key])[:64] for key in ("namespace", "name") if named.get(key))
    what = " ".join(part for part in (str(given.get("kind") or "")[:64], place) if part)
    which = f"document {index + 1} ({what})" if what else f"document {index + 1}"
    errors = refusal.errors or (FieldError("", refusal.code, refusal.detail),)
    fields = tuple(
        FieldError(f"[{index}].{e.field}".rstrip("."), e.code, e.message) for e in errors
    )
    return Rejected(refusal.code, f"{which}: {refusal.detail}", fields[0].field, fields)

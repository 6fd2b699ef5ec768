"""Placements' records: revisions and going back to one, decisions for clusters, what clusters are given."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api.models.placed import (
    BindingList,
    RevisionList,
    RollbackWish,
    RolledBack,
    WorkList,
)
from hub.api.parameters import BindingFilters, RevisionFilters, WorkFilters
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, grants, hub_of
from hub.api.reply import JsonResponse, listed, pager
from hub.api.routing import new_router, refuses
from hub.domain.access import Noun, Verb
from hub.services.placements.history import revisions
from hub.services.questions import placed
from shared.errors import Rejected
from shared.reject_codes import RejectCode

router = new_router("placements")


@router.get("/v1/revisions", response_model=RevisionList)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.PLACEMENTS)
@refuses(RejectCode.NOT_FOUND)
async def list_revisions(request: Request, asked: Annotated[RevisionFilters, Query()]) -> Response:
    """Revisions of a placement's objects, newest first: changes, and the clusters that have each."""
    return await listed(request, revisions.list_revisions, asked.placement, asked.limit)


@router.get("/v1/bindings", response_model=BindingList)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.PLACEMENTS)
@refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED, RejectCode.NOT_FOUND)
async def list_bindings(request: Request, asked: Annotated[BindingFilters, Query()]) -> Response:
    """Decisions of placements per cluster, with scores, reasons and revision."""
    page, of = pager(request, asked.given()), placed.Of(asked.placement, asked.cluster)
    token = asked.continue_ or None
    return await listed(request, placed.list_bindings, of, page, token, asked.limit)


@router.get("/v1/works", response_model=WorkList)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.PLACEMENTS)
@refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED, RejectCode.NOT_FOUND)
async def list_works(request: Request, asked: Annotated[WorkFilters, Query()]) -> Response:
    """Desired objects and Jobs of clusters, with their agents' reports."""
    page, of = pager(request, asked.given()), placed.Of(asked.placement, asked.cluster)
    token = asked.continue_ or None
    return await listed(
        request, placed.list_works, of, page, token, asked.limit, failed=asked.failed
    )


@router.post("/v1/placements/{name}/rollback", response_model=RolledBack)
@allow(ADMINISTRATOR)
@refuses(RejectCode.INVALID_STATE, RejectCode.REQUIRED, RejectCode.MUTUALLY_EXCLUSIVE)
async def roll_back_cluster_placement(
    request: Request, name: str, asked: RollbackWish
) -> Response:
    """Roll a ClusterResourcePlacement back to an older revision, or (`release`) forward to the newest.

    It goes by the placement's own strategy, and stays so until what is selected changes. `dryRun` shows it.
    """
    return await _roll_back(request, "", name, asked)


@router.post("/v1/placements/{namespace}/{name}/rollback", response_model=RolledBack)
@allow(ADMINISTRATOR)
@refuses(RejectCode.INVALID_STATE, RejectCode.REQUIRED, RejectCode.MUTUALLY_EXCLUSIVE)
async def roll_back_placement(
    request: Request, namespace: str, name: str, asked: RollbackWish
) -> Response:
    """Roll a ResourcePlacement back to an older revision, or (`release`) forward to the newest."""
    return await _roll_back(request, namespace, name, asked)


async def _roll_back(request: Request, namespace: str, name: str, asked: RollbackWish) -> Response:
    if asked.to is None and not asked.release:
        raise Rejected(RejectCode.REQUIRED, "index of the revision to go back to", "to")
    if asked.to is not None and asked.release:
        text = "the newest rolls out again: leave out the other"
        raise Rejected(RejectCode.MUTUALLY_EXCLUSIVE, text, "release")
    hub, wish = hub_of(request), revisions.RollbackTo(asked.to, dry_run=bool(asked.dry_run))
    given = (namespace, name, wish, caller(request).name)
    done = await (hub.read if wish.dry_run else hub.write)(revisions.roll_back, *given)
    return JsonResponse(done)

"""Read-only views of the fleet: queues, placements, drift, events, overview, audit."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api.models.clusters import Incarnation, Restored
from hub.api.models.fleet import (
    AuditList,
    DriftList,
    EventList,
    Overview,
    PlacementFigures,
    PlacementList,
)
from hub.api.models.queues import ClusterQueueFigures, LocalQueueDetail, QueueList
from hub.api.parameters import EventFilters, ObjectPages, Paged
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, hub_of
from hub.api.reply import Json, pager
from hub.api.routing import new_router, refuses
from hub.services.questions import jobs, overview, queues
from hub.services.works import restored
from shared.reject_codes import RejectCode

router = new_router("fleet")


@router.get("/v1/overview", response_model=Overview)
@allow(ADMINISTRATOR, VIEWER)
async def get_overview(request: Request) -> Response:
    """Counts of jobs and clusters by state, and the clusters' room."""
    hub = hub_of(request)
    return Json(await hub.read(overview.overview, hub.settings))


@router.get("/v1/restored", response_model=Restored)
@allow(ADMINISTRATOR, VIEWER)
async def get_restored(request: Request) -> Response:
    """Why nothing is dispatched since the store went back, and Jobs from before: {"stopped", "items"}."""
    return Json(await hub_of(request).read(overview.restored))


@router.post("/v1/restored:accept", response_model=Incarnation)
@allow(ADMINISTRATOR)
@refuses(RejectCode.NOT_ROLLED_BACK)
async def accept_restored(request: Request) -> Response:
    """Go on from a store that is older than what the hub once said: {"incarnation"}."""
    incarnation = await hub_of(request).write(restored.accept, caller(request).name)
    return Json({"incarnation": incarnation})


@router.get("/v1/queues", tags=["queues"], response_model=QueueList)
@allow(ADMINISTRATOR, VIEWER)
async def list_queues(request: Request) -> Response:
    """Every ClusterQueue with quota, what is charged, what waits, and its LocalQueues."""
    return Json(await hub_of(request).read(queues.list_queues))


@router.get("/v1/queues/{name}", tags=["queues"], response_model=ClusterQueueFigures)
@allow(ADMINISTRATOR, VIEWER)
async def get_cluster_queue(request: Request, name: str) -> Response:
    """One ClusterQueue."""
    return Json(await hub_of(request).read(queues.get_cluster_queue, name))


@router.get("/v1/queues/{namespace}/{name}", tags=["queues"], response_model=LocalQueueDetail)
@allow(ADMINISTRATOR, VIEWER)
async def get_local_queue(request: Request, namespace: str, name: str) -> Response:
    """One LocalQueue."""
    return Json(await hub_of(request).read(queues.get_local_queue, namespace, name))


@router.get("/v1/placements", tags=["placements"], response_model=PlacementList)
@allow(ADMINISTRATOR, VIEWER)
async def list_placements(request: Request) -> Response:
    """Every placement with its policy, conditions and clusters."""
    return Json(await hub_of(request).read(overview.list_placements))


@router.get("/v1/placements/{name}", tags=["placements"], response_model=PlacementFigures)
@allow(ADMINISTRATOR, VIEWER)
async def get_cluster_placement(request: Request, name: str) -> Response:
    """One ClusterResourcePlacement."""
    return Json(await hub_of(request).read(overview.get_placement, "", name))


@router.get(
    "/v1/placements/{namespace}/{name}", tags=["placements"], response_model=PlacementFigures
)
@allow(ADMINISTRATOR, VIEWER)
async def get_placement(request: Request, namespace: str, name: str) -> Response:
    """One ResourcePlacement."""
    return Json(await hub_of(request).read(overview.get_placement, namespace, name))


@router.get("/v1/drift", response_model=DriftList)
@allow(ADMINISTRATOR, VIEWER)
@refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED)
async def list_drift(request: Request, asked: Annotated[ObjectPages, Query()]) -> Response:
    """Fields that no longer are as the hub wants them: cluster, object, path and both values."""
    page, token = pager(request, {}), asked.continue_ or None
    return Json(await hub_of(request).read(overview.list_drift, page, token, asked.limit))


@router.get("/v1/events", response_model=EventList)
@allow(ADMINISTRATOR, VIEWER)
@refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED)
async def list_events(request: Request, asked: Annotated[EventFilters, Query()]) -> Response:
    """What happened, the newest page, oldest first; `continue` goes back in time."""
    filters, token = asked.given(), asked.continue_ or None
    page = pager(request, filters)
    return Json(await hub_of(request).read(jobs.list_events, filters, page, token, asked.limit))


@router.get("/v1/audit", response_model=AuditList)
@allow(ADMINISTRATOR)
@refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED)
async def list_audit(request: Request, asked: Annotated[Paged, Query()]) -> Response:
    """Who did what, newest first."""
    page, token = pager(request, {}), asked.continue_ or None
    return Json(await hub_of(request).read(overview.list_audit, page, token, asked.limit))

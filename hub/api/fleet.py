"""Read-only views of the fleet: queues, placements, drift, events, overview, audit."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api.models.clusters import (
    DecidedLeftover,
    Incarnation,
    LeftoverAdoption,
    LeftoverDecision,
)
from hub.api.models.fleet import (
    DriftDecision,
    DriftList,
    EventList,
    Overview,
    PlacementFigures,
    PlacementList,
    RetentionList,
    RetentionRun,
    SettledDrift,
)
from hub.api.models.leftovers import DecidedObjects, LeftObjectsDecision, Restored
from hub.api.models.queues import ClusterQueueFigures, LocalQueueDetail, QueueList
from hub.api.parameters import EventFilters, ObjectPages
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, grants, hub_of
from hub.api.reply import JsonResponse, listed, pager
from hub.api.routing import new_router, refuses
from hub.domain.access import Noun, Verb
from hub.services.jobs import adopt, retention
from hub.services.objects import drift
from hub.services.questions import jobs, overview, placements, queues
from hub.services.removals.decide import Chosen, Deciding, decide
from hub.services.works import restored
from shared.reject_codes import RejectCode

router = new_router("fleet")


@router.get("/v1/overview", response_model=Overview)
@allow(ADMINISTRATOR, VIEWER)
async def get_overview(request: Request) -> Response:
    """Counts of jobs and clusters by state, and the clusters' capacity."""
    hub = hub_of(request)
    return await listed(request, overview.overview, hub.settings)


@router.get("/v1/restored", response_model=Restored)
@allow(ADMINISTRATOR, VIEWER)
async def get_restored(request: Request) -> Response:
    """The reason why the hub pauses after a rollback of its store, and Jobs and objects from before."""
    return await listed(request, overview.restored)


@router.post("/v1/restored:accept", response_model=Incarnation)
@allow(ADMINISTRATOR)
@refuses(RejectCode.NOT_ROLLED_BACK)
async def accept_restored(request: Request) -> Response:
    """Accept a rolled-back store and resume dispatching: {"incarnation"}."""
    incarnation = await hub_of(request).write(restored.accept, caller(request).name)
    return JsonResponse({"incarnation": incarnation})


@router.post("/v1/restored/{uid}/adopt", response_model=DecidedLeftover)
@allow(ADMINISTRATOR)
@refuses(RejectCode.ALREADY_ENDED, RejectCode.INVALID_STATE, RejectCode.MANIFEST_AWAITED)
async def adopt_leftover(
    request: Request, uid: str, asked: LeftoverAdoption | None = None
) -> Response:
    """Take over a Job that a member holds from before the store was restored."""
    hub, given = hub_of(request), asked or LeftoverAdoption()
    by = (given.cluster, caller(request).name, hub.settings.intake, given.owner)
    return JsonResponse(await hub.write(adopt.adopt_job, uid, *by, kinds=hub.kinds))


@router.post("/v1/restored/{uid}/forget", response_model=DecidedLeftover)
@allow(ADMINISTRATOR)
@refuses(RejectCode.INVALID_STATE)
async def forget_leftover(
    request: Request, uid: str, asked: LeftoverDecision | None = None
) -> Response:
    """Make its member remove a Job from before the store was restored."""
    cluster, name = asked.cluster if asked else "", caller(request).name
    return JsonResponse(await hub_of(request).write(adopt.forget_job, uid, cluster, name))


@router.post("/v1/restored:remove", response_model=DecidedObjects)
@allow(ADMINISTRATOR)
@refuses(RejectCode.INVALID_STATE, RejectCode.NOT_FOUND, RejectCode.REQUIRED)
async def remove_left_objects(request: Request, asked: LeftObjectsDecision) -> Response:
    """Have members remove objects that the hub has no work for: deleted if created, else released."""
    return await _decide(request, "Remove", asked)


@router.post("/v1/restored:abandon", response_model=DecidedObjects)
@allow(ADMINISTRATOR)
@refuses(RejectCode.INVALID_STATE, RejectCode.NOT_FOUND, RejectCode.REQUIRED)
async def abandon_left_objects(request: Request, asked: LeftObjectsDecision) -> Response:
    """Have members keep objects that the hub has no work for, without Roadstead's marks and ownership."""
    return await _decide(request, "Abandon", asked)


async def _decide(request: Request, how: Deciding, asked: LeftObjectsDecision) -> Response:
    hub, name = hub_of(request), caller(request).name
    chosen = Chosen(asked.object_uid, asked.cluster, asked.namespace, asked.placement)
    decided = await hub.write(decide, how, chosen, name, dry_run=bool(asked.dry_run))
    return JsonResponse(decided)


@router.get("/v1/retention", response_model=RetentionList)
@allow(ADMINISTRATOR)
async def get_retention(request: Request) -> Response:
    """Retention and row count of each table. Counts every row."""
    hub = hub_of(request)
    return JsonResponse(await hub.read(retention.show, hub.settings))


@router.post("/v1/retention:run", response_model=RetentionRun)
@allow(ADMINISTRATOR)
async def run_retention(request: Request) -> Response:
    """Delete expired rows now, a bounded number: {"removed"}."""
    hub = hub_of(request)
    await hub.write(retention.note_run, caller(request).name)
    removed = {step.__name__: await hub.write(step, hub.settings) for step in retention.STEPS}
    return JsonResponse({"removed": removed})


@router.get("/v1/queues", tags=["queues"], response_model=QueueList)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.QUEUES)
async def list_queues(request: Request) -> Response:
    """Every ClusterQueue with quota, usage, waiting jobs, and its LocalQueues."""
    return await listed(request, queues.list_queues)


@router.get("/v1/queues/{name}", tags=["queues"], response_model=ClusterQueueFigures)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.QUEUES)
async def get_cluster_queue(request: Request, name: str) -> Response:
    """One ClusterQueue."""
    return JsonResponse(await hub_of(request).read(queues.get_cluster_queue, name))


@router.get("/v1/queues/{namespace}/{name}", tags=["queues"], response_model=LocalQueueDetail)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.QUEUES)
async def get_local_queue(request: Request, namespace: str, name: str) -> Response:
    """One LocalQueue."""
    return JsonResponse(await hub_of(request).read(queues.get_local_queue, namespace, name))


@router.get("/v1/placements", tags=["placements"], response_model=PlacementList)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.PLACEMENTS)
@refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED)
async def list_placements(request: Request, asked: Annotated[ObjectPages, Query()]) -> Response:
    """Placements with their policy, conditions and clusters, page by page."""
    page, token = pager(request, {}), asked.continue_ or None
    return await listed(request, placements.list_placements, page, token, asked.limit)


@router.get("/v1/placements/{name}", tags=["placements"], response_model=PlacementFigures)
@allow(ADMINISTRATOR, VIEWER)
async def get_cluster_placement(request: Request, name: str) -> Response:
    """One ClusterResourcePlacement."""
    return JsonResponse(await hub_of(request).read(placements.get_placement, "", name))


@router.get(
    "/v1/placements/{namespace}/{name}", tags=["placements"], response_model=PlacementFigures
)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.PLACEMENTS)
async def get_placement(request: Request, namespace: str, name: str) -> Response:
    """One ResourcePlacement."""
    return JsonResponse(await hub_of(request).read(placements.get_placement, namespace, name))


@router.get("/v1/drift", response_model=DriftList)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.DRIFT)
@refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED)
async def list_drift(request: Request, asked: Annotated[ObjectPages, Query()]) -> Response:
    """Drifted fields: cluster, object, path and both values."""
    page, token = pager(request, {}), asked.continue_ or None
    return await listed(request, overview.list_drift, page, token, asked.limit)


@router.post("/v1/drift:settle", response_model=SettledDrift)
@allow(ADMINISTRATOR)
@refuses(
    RejectCode.BEING_DELETED,
    RejectCode.INVALID_STATE,
    RejectCode.NOT_FOUND,
    RejectCode.OWNED_ELSEWHERE,
)
async def settle_drift(request: Request, asked: DriftDecision) -> Response:
    """Settle drift in a member: accept it, restore the hub's values, or ignore it."""
    hub, name = hub_of(request), caller(request).name
    what = drift.DriftedObject(asked.cluster, asked.kind, asked.namespace, asked.name, asked.path)
    return JsonResponse(
        await hub.write(drift.settle_drift, asked.how, what, name, hub.settings.intake)
    )


@router.get("/v1/events", response_model=EventList)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.EVENTS)
@refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED)
async def list_events(request: Request, asked: Annotated[EventFilters, Query()]) -> Response:
    """Events: the newest page, oldest first; `continue` goes back in time."""
    filters, token = asked.given(), asked.continue_ or None
    page = pager(request, filters)
    return await listed(request, jobs.list_events, filters, page, token, asked.limit)

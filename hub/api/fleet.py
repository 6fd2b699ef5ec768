"""Read-only views of the fleet: queues, placements, drift, events, overview, audit."""

from starlette.requests import Request
from starlette.responses import Response

from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, hub_of, new_router
from hub.api.reply import MAX_LIMIT, Json, limit_of, pager, query
from hub.services.questions import jobs, overview, queues
from hub.services.works import restored

router = new_router()
_EVENT_FILTERS = ("uid", "namespace", "kind", "name")


@router.get("/v1/overview")
@allow(ADMINISTRATOR, VIEWER)
async def get_overview(request: Request) -> Response:
    """Counts of jobs and clusters by state, and the clusters' room."""
    hub = hub_of(request)
    return Json(await hub.read(overview.overview, hub.settings))


@router.get("/v1/restored")
@allow(ADMINISTRATOR, VIEWER)
async def get_restored(request: Request) -> Response:
    """Why nothing is dispatched since the store went back, and Jobs from before: {"stopped", "items"}."""
    return Json(await hub_of(request).read(overview.restored))


@router.post("/v1/restored:accept")
@allow(ADMINISTRATOR)
async def accept_restored(request: Request) -> Response:
    """Go on from a store that is older than what the hub once said: {"incarnation"}."""
    incarnation = await hub_of(request).write(restored.accept, caller(request).name)
    return Json({"incarnation": incarnation})


@router.get("/v1/queues")
@allow(ADMINISTRATOR, VIEWER)
async def list_queues(request: Request) -> Response:
    """Every ClusterQueue with quota, what is charged, what waits, and its LocalQueues."""
    return Json(await hub_of(request).read(queues.list_queues))


@router.get("/v1/queues/{name}")
@allow(ADMINISTRATOR, VIEWER)
async def get_cluster_queue(request: Request, name: str) -> Response:
    """One ClusterQueue."""
    return Json(await hub_of(request).read(queues.get_cluster_queue, name))


@router.get("/v1/queues/{namespace}/{name}")
@allow(ADMINISTRATOR, VIEWER)
async def get_local_queue(request: Request, namespace: str, name: str) -> Response:
    """One LocalQueue."""
    return Json(await hub_of(request).read(queues.get_local_queue, namespace, name))


@router.get("/v1/placements")
@allow(ADMINISTRATOR, VIEWER)
async def list_placements(request: Request) -> Response:
    """Every placement with its policy, conditions and clusters."""
    return Json(await hub_of(request).read(overview.list_placements))


@router.get("/v1/placements/{name}")
@allow(ADMINISTRATOR, VIEWER)
async def get_cluster_placement(request: Request, name: str) -> Response:
    """One ClusterResourcePlacement."""
    return Json(await hub_of(request).read(overview.get_placement, "", name))


@router.get("/v1/placements/{namespace}/{name}")
@allow(ADMINISTRATOR, VIEWER)
async def get_placement(request: Request, namespace: str, name: str) -> Response:
    """One ResourcePlacement."""
    return Json(await hub_of(request).read(overview.get_placement, namespace, name))


@router.get("/v1/drift")
@allow(ADMINISTRATOR, VIEWER, query=True)
async def list_drift(request: Request) -> Response:
    """Fields that no longer are as the hub wants them: cluster, object, path and both values."""
    given = query(request, "limit", "continue")
    limit = limit_of(given, MAX_LIMIT)
    token = given.get("continue")
    return Json(await hub_of(request).read(overview.list_drift, pager(request, {}), token, limit))


@router.get("/v1/events")
@allow(ADMINISTRATOR, VIEWER, query=True)
async def list_events(request: Request) -> Response:
    """What happened, the newest page, oldest first; `continue` goes back in time."""
    given = query(request, *_EVENT_FILTERS, "limit", "continue")
    limit = limit_of(given)
    token = given.get("continue")
    filters = {name: given[name] for name in _EVENT_FILTERS if name in given}
    return Json(
        await hub_of(request).read(
            jobs.list_events, filters, pager(request, filters), token, limit
        )
    )


@router.get("/v1/audit")
@allow(ADMINISTRATOR, query=True)
async def list_audit(request: Request) -> Response:
    """Who did what, newest first."""
    given = query(request, "limit", "continue")
    limit, token = limit_of(given), given.get("continue")
    return Json(await hub_of(request).read(overview.list_audit, pager(request, {}), token, limit))

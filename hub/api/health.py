"""Is it alive, is it ready, how does it do: for probes and Prometheus."""

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from hub.api.errors import problem
from hub.api.measures import exposition
from hub.api.models.fleet import Health, Readiness
from hub.api.policy import ADMINISTRATOR, PUBLIC, VIEWER, allow, find_index_of, hub_of
from hub.api.reply import JsonResponse
from hub.api.routing import new_router
from hub.services.questions import gauges as queue_gauges, jobs
from hub.services.questions.overview import overview
from hub.store.errors import StoreUnavailable
from shared.reject_codes import RejectCode

router = new_router("health")


@router.get("/healthz", operation_id="healthz", response_model=Health)
@router.get("/livez", operation_id="livez", response_model=Health)
@allow(PUBLIC)
async def alive() -> Response:
    """200 while the process answers."""
    return JsonResponse({"status": "ok"})


@router.get("/readyz", operation_id="readyz", response_model=Readiness)
@allow(PUBLIC)
async def ready(request: Request) -> Response:
    """200 if the store answers and accepts writes, else 503."""
    hub = hub_of(request)
    try:
        revision = await hub.read(jobs.revision)
        await hub.db.require_writable()
    except StoreUnavailable as error:
        return problem(
            RejectCode.UNAVAILABLE, f"the store: {error}"[:200], request.state.request_id
        )
    return JsonResponse({"status": "ok", "revision": revision})


@router.get("/metrics", response_class=PlainTextResponse)
@allow(ADMINISTRATOR, VIEWER)
async def read_metrics(request: Request) -> Response:
    """Metrics in Prometheus' text format."""
    hub = hub_of(request)
    lines = queue_gauges.waiting(find_index_of(request)())
    # In one go: each switch between threads waits for whatever computes meanwhile.
    text = await hub.read(
        lambda unit: exposition(
            overview(unit, hub.settings),
            [*queue_gauges.gauges(unit, lines), *queue_gauges.of_placements(unit)],
        )
    )
    return Response(text, media_type=CONTENT_TYPE_LATEST)

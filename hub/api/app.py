"""The HTTP application: routers, one shape for every error, and the check that each route has a policy."""

from collections.abc import Callable, Sequence
from typing import Final

import orjson
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from hub.api import (
    access,
    agent_streams,
    apply,
    availability,
    batch,
    changes,
    checks,
    clusters,
    cron_jobs,
    fleet,
    health,
    hub_cluster,
    jobs,
    kinds,
    logs,
    objects,
    peers,
    placed,
    plan,
    queue_stops,
    rollouts,
    tokens,
    visibility,
    workloads,
)
from hub.api.description import describe
from hub.api.errors import problem, refused
from hub.api.guard import Guard
from hub.api.peers import Peers
from hub.api.policy import PUBLIC, SignedIn, allow, hub_of, policy_of
from hub.api.reply import JsonResponse
from hub.api.request_log import was_refused
from hub.api.routing import new_router
from hub.api.validation import refusal_of
from hub.services.context.hub import Hub
from hub.services.live.open_streams import OpenStreams
from shared.errors import Rejected
from shared.reject_codes import RejectCode

# Routes are tried in this order: the most frequent ones come first.
HOT: Final = (jobs.router, batch.router, workloads.router)
ROUTERS: Final = (
    health.router,
    apply.router,
    objects.router,
    placed.router,
    plan.router,
    rollouts.router,
    tokens.router,
    access.router,
    clusters.router,
    queue_stops.router,
    cron_jobs.router,
    fleet.router,
    availability.router,
    kinds.router,
    hub_cluster.router,
    visibility.router,
    checks.router,
    changes.router,
    logs.router,
    agent_streams.router,
    peers.router,
)


NoPage = Callable[[Request, Rejected | None], Response | None]


def _no_page(request: Request, refusal: Rejected | None = None) -> None:
    """Without pages, a problem says what is wrong."""


async def _no_session(request: Request) -> None:
    """Without pages no browser holds one."""


class UndeclaredRoute(RuntimeError):
    """A route without a declared policy: the application does not start."""


def create_app(
    hub: Hub,
    more: Sequence[APIRouter] = (),
    nothing_here: NoPage = _no_page,
    signed_in: SignedIn = _no_session,
) -> FastAPI:
    """The application that serves `hub`. Raises UndeclaredRoute.

    `nothing_here`: the page for an unknown or refused address, if the request asks for a page.
    `signed_in`: who acts on the page, by the session that their browser holds.
    """
    app = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # `/metrics` has ours
        redirect_slashes=False,  # a redirect would be built from what the client says of itself
    )
    app.state.hub = hub
    app.state.open_streams = OpenStreams(hub.clock, hub.settings.logs, hub.closing)
    app.state.peers = Peers(hub, app.state.open_streams)
    app.state.nothing_here = nothing_here
    app.state.signed_in = signed_in
    for router in (*HOT, *more, *ROUTERS, _description(app)):
        app.router.routes.extend(router.routes)  # flat: every route is there to be checked
    app.add_exception_handler(Rejected, _rejected)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_middleware(Guard, hub=hub)
    check_policies(app.routes)
    return app


def check_policies(routes: Sequence[BaseRoute]) -> None:
    """Every route says who may call it. Raises UndeclaredRoute."""
    for route in routes:
        if policy_of(getattr(route, "endpoint", route)) is None:
            raise UndeclaredRoute(f"{getattr(route, 'path', route)} declares no policy")


def _description(app: FastAPI) -> APIRouter:
    """`/openapi.json`: what the API is, the same for everybody; made once, when it is first asked for."""
    router = new_router("health")
    made: list[bytes] = []

    @router.get("/openapi.json", include_in_schema=False)
    @allow(PUBLIC)
    async def openapi(request: Request) -> Response:
        if not made:
            made[:] = [await hub_of(request).beside(lambda: orjson.dumps(describe(app.routes)))]
        return JsonResponse(made[0])

    return router


async def _rejected(request: Request, error: Exception) -> Response:
    assert isinstance(error, Rejected)
    was_refused(request, error)
    page: Response | None = request.app.state.nothing_here(request, error)
    return page or refused(error, request.state.request_id)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    request_id = request.state.request_id
    if error.status_code == 404:
        page: Response | None = request.app.state.nothing_here(request, None)
        return page or problem(RejectCode.NOT_FOUND, "there is nothing at this path", request_id)
    if error.status_code == 405:
        served = sorted(_methods_of(request))
        allowed, verb = ", ".join(served), "is" if len(served) == 1 else "are"
        detail = f"{request.method} is not served here; {allowed} {verb}"
        if request.method in {"PATCH", "PUT"} and request.url.path.startswith("/v1/"):
            detail += "; to change an object, apply it: POST /v1/apply"
        return problem(
            RejectCode.METHOD_NOT_ALLOWED, detail, request_id, headers={"Allow": allowed}
        )
    return problem(RejectCode.BAD_REQUEST, str(error.detail), request_id)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    body = getattr(request.scope.get("route"), "body_field", None)
    model = None if body is None else body.field_info.annotation
    return refused(refusal_of(error, model), request.state.request_id)


def _methods_of(request: Request) -> set[str]:
    """Methods served at this path, over all of its routes."""
    methods: set[str] = set()
    for route in request.app.routes:
        matched, _ = route.matches(request.scope)
        if matched is not Match.NONE and isinstance(route, APIRoute):
            methods |= route.methods or set()
    return methods

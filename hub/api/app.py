"""The HTTP application: routers, one shape for every error, and the check that each route has a policy."""

from collections.abc import Sequence
from typing import Final

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from hub.api import (
    apply,
    batch,
    changes,
    checks,
    clusters,
    fleet,
    health,
    hub_cluster,
    jobs,
    objects,
    tokens,
    visibility,
    workloads,
)
from hub.api.errors import problem, refused
from hub.api.guard import Guard
from hub.api.policy import PUBLIC, allow, new_router, policy_of
from hub.api.reply import Json
from hub.services.context.hub import Hub
from shared.errors import FieldError, Rejected
from shared.reject_codes import RejectCode

# Routes are tried in this order: those that are asked most come first.
HOT: Final = (jobs.router, batch.router, workloads.router)
ROUTERS: Final = (
    health.router,
    apply.router,
    objects.router,
    tokens.router,
    clusters.router,
    fleet.router,
    hub_cluster.router,
    visibility.router,
    checks.router,
    changes.router,
)


class UndeclaredRoute(RuntimeError):
    """A route without a declared policy: the application does not start."""


def create_app(hub: Hub, more: Sequence[APIRouter] = ()) -> FastAPI:
    """The application that serves `hub`. Raises UndeclaredRoute."""
    app = FastAPI(
        title="Roadstead",
        version="1",
        description="Submit jobs once; they wait in one queue and run where they fit best.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # `/metrics` has ours
        redirect_slashes=False,  # a redirect would be built from what the client says of itself
    )
    app.state.hub = hub
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
    """`/openapi.json`: what the API is, the same for everybody."""
    router = new_router()

    @router.get("/openapi.json", include_in_schema=False)
    @allow(PUBLIC)
    async def openapi() -> Response:
        return Json(app.openapi())

    return router


async def _rejected(request: Request, error: Exception) -> Response:
    assert isinstance(error, Rejected)
    return refused(error, request.state.request_id)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    request_id = request.state.request_id
    if error.status_code == 404:
        return problem(RejectCode.NOT_FOUND, "there is nothing at this path", request_id)
    if error.status_code == 405:
        allowed = ", ".join(sorted(_methods_of(request)))
        detail = f"{request.method} is not served here; {allowed} is"
        return problem(
            RejectCode.METHOD_NOT_ALLOWED, detail, request_id, headers={"Allow": allowed}
        )
    return problem(RejectCode.BAD_REQUEST, str(error.detail), request_id)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [
        FieldError(".".join(str(part) for part in each["loc"]), RejectCode.INVALID, each["msg"])
        for each in error.errors()
    ]
    detail = errors[0].message if errors else "invalid"
    return problem(RejectCode.INVALID, detail, request.state.request_id, errors=errors)


def _methods_of(request: Request) -> set[str]:
    """Methods served at this path, over all of its routes."""
    methods: set[str] = set()
    for route in request.app.routes:
        matched, _ = route.matches(request.scope)
        if matched is not Match.NONE and isinstance(route, APIRoute):
            methods |= route.methods or set()
    return methods

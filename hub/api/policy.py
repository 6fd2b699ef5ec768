"""Who may call a route: declared beside it, checked before its parameters are read.

    @router.get("/v1/jobs")
    @allow(ADMINISTRATOR, VIEWER)
    async def list_jobs(request: Request) -> Response: ...

A route without a declared policy stops the application from starting (`hub.api.app`).
"""

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from hub.services.access.credentials import (
    ADMINISTRATOR,
    AGENT,
    REVOKED,
    UNAUTHENTICATED,
    VIEWER,
    Principal,
)
from hub.services.context.hub import Hub
from shared.errors import Rejected
from shared.reject_codes import RejectCode

__all__ = [
    "ADMINISTRATOR",
    "AGENT",
    "PUBLIC",
    "VIEWER",
    "PolicyRoute",
    "allow",
    "caller",
    "hub_of",
    "new_router",
    "policy_of",
]

PUBLIC: Final = "public"
_PEOPLE: Final = frozenset({ADMINISTRATOR, VIEWER})
E = TypeVar("E", bound=Callable[..., Any])
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def allow(*roles: str, query: bool = False) -> Callable[[E], E]:
    """Declare who may call an endpoint: roles, or PUBLIC alone; and whether it reads the query.

    Where it does not, a query is refused: what is asked for and ignored is taken for done.
    """

    def declare(endpoint: E) -> E:
        endpoint.policy = frozenset(roles)  # type: ignore[attr-defined]  # read by PolicyRoute
        endpoint.reads_query = query  # type: ignore[attr-defined]  # read by PolicyRoute
        return endpoint

    return declare


def policy_of(endpoint: object) -> frozenset[str] | None:
    """What `allow` declared, or None."""
    return getattr(endpoint, "policy", None)


class PolicyRoute(APIRoute):
    """A route that checks its endpoint's policy first.

    An endpoint that takes nothing but the request and texts of its path, and gives a Response, is
    called as it is: resolving its parameters would cost more than most of them do.
    """

    def get_route_handler(self) -> Handler:
        inner = self._plain() or super().get_route_handler()
        policy = policy_of(self.endpoint)
        if policy is None or PUBLIC in policy:
            return inner

        reads_query = getattr(self.endpoint, "reads_query", False)

        async def checked(request: Request) -> Response:
            await authorize(request, policy)
            if request.scope["query_string"] and not reads_query:
                _refuse_query(request)
            return await inner(request)

        return checked

    def _plain(self) -> Handler | None:
        """Calls the endpoint directly, or None where FastAPI has to resolve its parameters."""
        parameters = inspect.signature(self.endpoint).parameters
        texts = {name for name, each in parameters.items() if each.annotation is str}
        if set(parameters) != {"request"} | (texts & set(self.param_convertors)):
            return None
        endpoint = self.endpoint

        async def called(request: Request) -> Response:
            reply = await endpoint(request, **request.path_params)
            assert isinstance(reply, Response)
            return reply

        return called


def _refuse_query(request: Request) -> None:
    for name in request.query_params:
        raise Rejected(RejectCode.UNKNOWN_PARAMETER, "no parameter is taken here", name[:80])


def new_router() -> APIRouter:
    """A router whose routes check their policies."""
    return APIRouter(route_class=PolicyRoute)


async def authorize(request: Request, policy: frozenset[str]) -> Principal:
    """The caller, if the policy allows it. Raises Rejected: Unauthenticated or Forbidden.

    An agent's credential is none on people's routes, and the reverse: the same 401 as for no
    credential at all, so that nothing is learnt from the answer. An agent whose own was taken back is
    told so: it ends instead of asking for ever.
    """
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    known = hub_of(request).authenticator
    found = None
    if scheme.lower() == "bearer":
        found = await known.authenticate(text.strip())
    audience = frozenset({AGENT}) if AGENT in policy else _PEOPLE
    if found is None and AGENT in policy and await known.was_revoked(text.strip()):
        raise Rejected(RejectCode.REVOKED, REVOKED)
    if found is None or found.role not in audience:
        raise Rejected(RejectCode.UNAUTHENTICATED, UNAUTHENTICATED)
    if found.role not in policy:
        raise Rejected(RejectCode.FORBIDDEN, f"a {found.role} may not do this")
    request.state.principal = found
    return found


def caller(request: Request) -> Principal:
    """Who is calling, on a route that is not public."""
    principal = request.state.principal
    assert isinstance(principal, Principal)
    return principal


def hub_of(request: Request) -> Hub:
    """The hub this application serves."""
    hub = request.app.state.hub
    assert isinstance(hub, Hub)
    return hub

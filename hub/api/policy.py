"""Who may call a route: declared beside it, checked before anything of the request is read.

A route without a declared policy stops the application from starting (`hub.api.app`).
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from starlette.requests import Request

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
    "allow",
    "authorize",
    "caller",
    "hub_of",
    "policy_of",
]

PUBLIC: Final = "public"
_PEOPLE: Final = frozenset({ADMINISTRATOR, VIEWER})
E = TypeVar("E", bound=Callable[..., Any])


def allow(*roles: str) -> Callable[[E], E]:
    """Declare who may call an endpoint: roles, or PUBLIC alone."""

    def declare(endpoint: E) -> E:
        endpoint.policy = frozenset(roles)  # type: ignore[attr-defined]  # read by `policy_of`
        return endpoint

    return declare


def policy_of(endpoint: object) -> frozenset[str] | None:
    """What `allow` declared, or None."""
    return getattr(endpoint, "policy", None)


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

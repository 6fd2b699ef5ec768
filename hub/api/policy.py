"""Who may call a route: declared beside it, checked before anything of the request is read.

A route without a declared policy stops the application from starting (`hub.api.app`).
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from starlette.requests import Request

from hub.api.client_certificates import check_client_certificate
from hub.api.limits import check_failures, note_failure, spend
from hub.api.measures import CREDENTIALS
from hub.services.access.budgets import Kind
from hub.services.access.credentials import (
    ADMINISTRATOR,
    AGENT,
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
    "admit",
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
    credential at all, so that nothing is learnt from the answer. An agent whose own was taken back, was
    superseded or has expired is told so: it ends instead of asking for ever.
    """
    text = _presented(request)
    found = await hub_of(request).authenticator.authenticate(text) if text else None
    audience = frozenset({AGENT}) if AGENT in policy else _PEOPLE
    if found is None and AGENT in policy:
        refused, reused = await hub_of(request).rotation.refusal(text)
        if reused:
            CREDENTIALS.labels("reused").inc()
        raise refused
    if found is None or found.role not in audience:
        raise Rejected(RejectCode.UNAUTHENTICATED, UNAUTHENTICATED)
    if found.role not in policy:
        raise Rejected(RejectCode.FORBIDDEN, f"a {found.role} may not do this")
    if found.role == AGENT:
        await check_client_certificate(request, hub_of(request), found.cluster)
    request.state.principal = found
    return found


async def admit(request: Request, policy: frozenset[str], kind: Kind | None) -> None:
    """Let the caller in, for one of `kind` from its budget. Raises Rejected, as `authorize`; TooOften.

    Where too many came lately from an address with no credential that is known, none but those that are
    remembered are looked at: the store is not asked for ever more.
    """
    hub = hub_of(request)
    audience = AGENT if AGENT in policy else ""
    if len(hub.budgets.failures) and not hub.authenticator.remembers(_presented(request)):
        check_failures(request, hub, audience)
    try:
        found = await authorize(request, policy)
    except Rejected as refusal:
        if refusal.code.status == 401:
            note_failure(request, hub, audience)
        raise
    if kind is not None:
        spend(hub, found, kind)


def _presented(request: Request) -> str:
    """The credential that is shown, or ""."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


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

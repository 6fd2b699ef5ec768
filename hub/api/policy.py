"""Authorization of a route: declared beside it, checked before the request body is read.

A route without a declared policy stops the application from starting (`hub.api.app`).
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

from starlette.requests import Request

from hub.api.client_certificates import check_client_certificate
from hub.api.limits import check_failures, note_failure, spend
from hub.api.measures import CREDENTIALS
from hub.domain.access import EVERYTHING, Noun, Role, Scope, Verb, is_of_namespaces, least
from hub.services.access.budgets import Kind
from hub.services.access.credentials import (
    ADMINISTRATOR,
    AGENT,
    UNAUTHENTICATED,
    USER,
    VIEWER,
    Principal,
)
from hub.services.access.turns import ALWAYS_THERE, Presence
from hub.services.context.hub import Hub
from hub.services.index.index import FindIndex
from shared.errors import Rejected
from shared.reject_codes import RejectCode

__all__ = [
    "ADMINISTRATOR",
    "AGENT",
    "OF_PAGE",
    "PEER",
    "PUBLIC",
    "USER",
    "VIEWER",
    "admit",
    "allow",
    "authorize",
    "caller",
    "client_of",
    "find_index_of",
    "from_page",
    "grants",
    "hub_of",
    "needs_of",
    "policy_of",
    "scope_of",
    "via_of",
]

PUBLIC: Final = "public"
PEER: Final = (
    "peer"  # another hub process of the same store: the endpoint checks its seal, of the body
)
_PEOPLE: Final = frozenset({ADMINISTRATOR, VIEWER, USER})
Needs = tuple[Verb, Noun]
SignedIn = Callable[[Request], Awaitable[Principal | None]]
OF_PAGE: Final = "web"  # the way by which a person came who acts on the page, for the audit
E = TypeVar("E", bound=Callable[..., Any])


def allow(*roles: str) -> Callable[[E], E]:
    """Declare who may call an endpoint: roles, or PUBLIC or PEER alone."""

    def declare(endpoint: E) -> E:
        endpoint.policy = frozenset(roles)  # type: ignore[attr-defined]  # read by `policy_of`
        return endpoint

    return declare


def policy_of(endpoint: object) -> frozenset[str] | None:
    """The result of `allow`, or None."""
    return getattr(endpoint, "policy", None)


def grants(verb: Verb, noun: Noun) -> Callable[[E], E]:
    """Declare what of their rights lets a person in whose roles are bound to part of the fleet.

    Without it only those come in whose role is bound everywhere. An endpoint that declares it must show
    and touch nothing outside of its transaction's scope.
    """

    def declare(endpoint: E) -> E:
        endpoint.needs = (verb, noun)  # type: ignore[attr-defined]  # read by `needs_of`
        return endpoint

    return declare


def needs_of(endpoint: object) -> Needs | None:
    """The result of `grants`, or None."""
    return getattr(endpoint, "needs", None)


def from_page(endpoint: E) -> E:
    """Declare that people may do this on the page too, by the session that their browser holds.

    The session opens nothing else of the API: who holds a browser makes no tokens, and binds no roles.
    """
    endpoint.from_page = True  # type: ignore[attr-defined]  # read by `_on_page`
    return endpoint


async def authorize(
    request: Request, policy: frozenset[str], needs: Needs | None = None
) -> Principal:
    """The caller, if the policy allows it. Raises Rejected: Unauthenticated or Forbidden.

    An agent's credential does not count on people's routes, and the reverse: the same 401 as for no
    credential at all, so that the answer reveals nothing. An agent whose own was revoked, superseded or
    has expired gets that code: it ends instead of asking for ever.
    """
    request.state.scope, request.state.via = EVERYTHING, ""
    text = _presented(request)
    audience = frozenset({AGENT}) if AGENT in policy else _PEOPLE
    if text:
        found = await _holder(hub_of(request), text, audience)
    else:
        found = await _on_page(request)
    if found is None and AGENT in policy:
        refused, reused = await hub_of(request).rotation.refusal(text)
        if reused:
            CREDENTIALS.labels("reused").inc()
        raise refused
    if found is None or found.role not in audience:
        raise Rejected(RejectCode.UNAUTHENTICATED, UNAUTHENTICATED)
    if found.role == AGENT:
        await check_client_certificate(request, hub_of(request), found.cluster)
    else:
        found = await hub_of(request).roles.with_rights(found)
    if found.role == USER:
        found, request.state.scope = _admitted(found, policy, needs)
    elif found.role not in policy:
        raise Rejected(RejectCode.FORBIDDEN, f"a {found.role} may not do this")
    request.state.principal = found
    return found


async def _holder(hub: Hub, text: str, audience: frozenset[str]) -> Principal | None:
    """The holder of the presented credential. Raises Rejected for a refused token of another issuer."""
    if audience is _PEOPLE and hub.sign_in.takes(text):
        return await hub.sign_in.principal(text)
    return await hub.authenticator.authenticate(text)


async def _on_page(request: Request) -> Principal | None:
    """The caller who acts on the page by a browser's session, which the route allows; None if nobody holds
    it.

    Raises Rejected: Forbidden for what another site may have sent.
    """
    signed_in: SignedIn | None = getattr(request.app.state, "signed_in", None)
    if signed_in is None or not getattr(request.scope.get("endpoint"), "from_page", False):
        return None
    found = await signed_in(request)
    request.state.via = "" if found is None else OF_PAGE
    return found


def _admitted(
    who: Principal, policy: frozenset[str], needs: Needs | None
) -> tuple[Principal, Scope]:
    """A person whose roles are bound, and what their request works in. Raises Rejected: Forbidden."""
    everywhere = who.rights.everywhere
    if everywhere is not None:
        stands_for = ADMINISTRATOR if everywhere == Role.CLUSTER_ADMINISTRATOR else VIEWER
        if stands_for in policy:
            return replace(who, role=stands_for), EVERYTHING
    if USER in policy:
        return who, EVERYTHING
    if needs is not None:
        scope = who.rights.scope(*needs)
        if scope.may:
            return who, scope
    raise Rejected(RejectCode.FORBIDDEN, _refusal(who.name, policy, needs))


def _refusal(name: str, policy: frozenset[str], needs: Needs | None) -> str:
    """The role that it would take, in a sentence: the reader knows what to ask an administrator for."""
    if needs is not None:
        what, takes = f"{needs[0]} {needs[1]}", f"the role {least(*needs)}"
        takes += "" if is_of_namespaces(needs[1]) else " in all namespaces"
    elif VIEWER in policy:
        what, takes = "do this", "a role in all namespaces"
    else:
        what, takes = "do this", f"the role {Role.CLUSTER_ADMINISTRATOR}"
    return f"no role that {name} has allows to {what}: it takes {takes} (roadstead whoami)"


async def admit(
    request: Request, policy: frozenset[str], kind: Kind | None, needs: Needs | None = None
) -> None:
    """Let the caller in, for one of `kind` from its budget. Raises Rejected, as `authorize`; TooOften.

    After too many recent requests of an address without a known credential, only remembered credentials
    are checked: the store is not read for every request.
    """
    hub = hub_of(request)
    audience = AGENT if AGENT in policy else ""
    text = _presented(request)
    known = hub.sign_in if hub.sign_in.takes(text) else hub.authenticator
    if len(hub.budgets.failures) and not known.remembers(text):
        check_failures(request, hub, audience)
    try:
        found = await authorize(request, policy, needs)
    except Rejected as refusal:
        if refusal.code.status == 401:
            note_failure(request, hub, audience)
        raise
    if kind is not None:
        spend(hub, found, kind)
    if kind == "reads":
        client_of(request).check()


def _presented(request: Request) -> str:
    """The credential that is shown, or ""."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def caller(request: Request) -> Principal:
    """The caller, on a route that is not public."""
    principal = request.state.principal
    assert isinstance(principal, Principal)
    return principal


def client_of(request: Request) -> Presence:
    """Return the presence of the request's client; a caller without a connection is always there."""
    found = getattr(request.state, "client", ALWAYS_THERE)
    assert isinstance(found, Presence)
    return found


def hub_of(request: Request) -> Hub:
    """The hub this application serves; for who may see part of it, within that part."""
    hub = request.app.state.hub
    assert isinstance(hub, Hub)
    return hub.within(scope_of(request), via_of(request))


def find_index_of(request: Request) -> FindIndex:
    """The dependency that finds the scheduler's index; None if this process has none."""
    found: FindIndex = getattr(request.app.state, "schedule_index", _no_index)
    return found


def _no_index() -> None:
    """A hub without scheduler knows what the store knows."""


def scope_of(request: Request) -> Scope:
    """What the caller may see, and may do of what the route does."""
    found = getattr(request.state, "scope", EVERYTHING)
    assert isinstance(found, Scope)
    return found


def via_of(request: Request) -> str:
    """The way that the caller came by, where it is not the API: the page."""
    found = getattr(request.state, "via", "")
    assert isinstance(found, str)
    return found

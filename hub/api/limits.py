"""Rate limits at the edge: the cost of a request and the budget that pays it.

People's requests are paid from the budget of their principal, whatever token they show; failures to show
one from that of the address. Agents have their own bound (`hub.services.members.sessions`) and pay nothing
here, and failures on their routes are counted separately: failures on people's routes keep no agent out.
"""

from starlette.requests import Request

from hub.api.measures import LIMITED
from hub.services.access.budgets import Kind, TooOften, network_of
from hub.services.access.credentials import AGENT, Principal
from hub.services.context.hub import Hub


def spend(hub: Hub, who: Principal, kind: Kind) -> None:
    """Take one from the caller's budget. Raises TooOften."""
    if who.role != AGENT:
        _take(hub, kind, who.id)


def check_failures(request: Request, hub: Hub, audience: str = "") -> None:
    """Raises TooOften while no unknown client is accepted at this address.

    `audience`: failures at different doors are counted apart.
    """
    failures = hub.budgets.failures
    if not len(failures):
        return  # no recent failures: nothing is computed
    try:
        failures.check(_door(request, audience), hub.clock.monotonic())
    except TooOften as refusal:
        LIMITED.labels(refusal.budget).inc()
        raise


def note_failure(request: Request, hub: Hub, audience: str = "") -> None:
    """Count a failed authentication of an address. Raises TooOften."""
    _take(hub, "failures", _door(request, audience))


def _take(hub: Hub, kind: Kind, key: str) -> None:
    try:
        hub.budgets.by_kind[kind].spend(key, hub.clock.monotonic())
    except TooOften as refusal:
        LIMITED.labels(refusal.budget).inc()
        raise


def _door(request: Request, audience: str) -> str:
    client = request.client
    return f"{audience} {network_of(client.host if client is not None else '')}"

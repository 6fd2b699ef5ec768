"""Limits of rate at the edge: what a request costs whom.

People's requests are paid from the budget of their principal, whatever token they show; failures to show
one from that of the address. Agents have a bound of their own (`hub.services.members.sessions`) and
pay nothing here, and what fails on their routes is counted apart: whoever knocks at people's doors keeps
no agent out.
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
    """Raises TooOften where nobody new is listened to at this address for now.

    `audience`: failures at different doors are counted apart.
    """
    failures = hub.budgets.failures
    if not len(failures):
        return  # nobody has failed lately: nothing is computed
    try:
        failures.check(_door(request, audience), hub.clock.monotonic())
    except TooOften as refusal:
        LIMITED.labels(refusal.budget).inc()
        raise


def note_failure(request: Request, hub: Hub, audience: str = "") -> None:
    """Somebody at this address could not say who they are. Raises TooOften."""
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

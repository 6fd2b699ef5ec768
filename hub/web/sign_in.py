"""Signing in to the page at the organisation's provider: the way out, and the way back.

A browser that comes back has to hold the cookie of its way out, which no script reads and which goes nowhere
but to the hub. It arrives at the page that it came for: a second such cookie names it meanwhile.
"""

import re
from typing import Final
from urllib.parse import quote, unquote

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from hub.api.limits import check_failures, note_failure
from hub.api.policy import PUBLIC, allow, hub_of
from hub.api.routing import new_router
from hub.services.access import sessions
from hub.services.access.sign_in.claims import Verified
from hub.services.access.sign_in.principals import principal_of
from hub.services.context.hub import Hub
from hub.web.access import HEADERS, hold_session, is_secure, looking, name_of_cookie, own_path
from hub.web.shell import html, login_page
from shared.errors import Rejected
from shared.reject_codes import RejectCode

_KEPT_S: Final = 600  # for a person to sign in at the provider
_CODE: Final = re.compile("[a-z_]{1,40}")
_OTHER: Final = (
    "This answer belongs to another sign-in attempt, or it took too long: sign in again."
)
router = new_router("page")
_log = structlog.get_logger(__name__)


@router.get("/sign-in", include_in_schema=False)
@allow(PUBLIC)
async def way_out(request: Request) -> Response:
    """To the provider; `to` is the page of this hub to come back to."""
    browsers = hub_of(request).sign_in.browsers
    if browsers is None:
        raise Rejected(RejectCode.NOT_FOUND, "there is nothing at this path")
    try:
        held, address = await browsers.begin()
    except Rejected as refusal:
        return _refused(request, refusal.detail)
    reply = RedirectResponse(address, 303, HEADERS)
    _keep(request, reply, _cookie(request), held)
    to = own_path(request.query_params.get("to", ""))
    if to != "/" and not to.startswith("/sign-in"):  # or one would go out for ever
        _keep(request, reply, _goal(request), quote(to, safe=""))
    return reply


@router.get("/sign-in/back", include_in_schema=False)
@allow(PUBLIC)
async def way_back(request: Request) -> Response:
    """From the provider: a session for who signed in there, and may look at the page."""
    hub = hub_of(request)
    if hub.sign_in.browsers is None:
        raise Rejected(RejectCode.NOT_FOUND, "there is nothing at this path")
    check_failures(request, hub)
    held, query = request.cookies.get(_cookie(request), ""), request.query_params
    if not hub.sign_in.browsers.is_answer(held, query.get("state", "")):
        note_failure(request, hub)
        return _refused(request, _OTHER)
    if error := query.get("error"):
        named = f" ({error})" if _CODE.fullmatch(error) else ""
        return _refused(request, f"The provider did not sign you in{named}.")
    try:
        found = await hub.sign_in.browsers.redeem(query.get("code", ""), held)
    except Rejected as refusal:
        note_failure(request, hub)
        _log.info("signing in by a browser failed", why=refusal.detail)
        return _refused(request, refusal.detail)
    return await _let_in(request, hub, found)


async def _let_in(request: Request, hub: Hub, found: Verified) -> Response:
    who, name = principal_of(found.who), found.who.name
    if await looking(hub, who) is None:
        said = f"You are {name}, and have no role here yet: an administrator binds one."
        return _refused(request, said)
    kept = hub.sign_in.terms.session_kept
    made = await hub.write(sessions.begin_session, name, found.who.groups, kept, who.id)
    # A page of the hub itself continues from here: a redirect from the provider would not bring a cookie
    # along
    # that is for requests of the hub's own pages alone.
    reply = html("back.html", who=name, to=_came_for(request))
    _forget(request, reply)
    hold_session(request, reply, made, kept)
    return reply


def _refused(request: Request, said: str) -> Response:
    reply = login_page(request, 400, said=said, to=_came_for(request))
    _forget(request, reply)
    return reply


def _keep(request: Request, reply: Response, name: str, value: str) -> None:
    """For the way back, to which it has to come along from the provider's page."""
    secure = is_secure(request)
    reply.set_cookie(name, value, max_age=_KEPT_S, httponly=True, samesite="lax", secure=secure)


def _forget(request: Request, reply: Response) -> None:
    for name in (_cookie(request), _goal(request)):
        reply.delete_cookie(name, httponly=True, samesite="lax", secure=is_secure(request))


def _came_for(request: Request) -> str:
    return own_path(unquote(request.cookies.get(_goal(request), "")))


def _cookie(request: Request) -> str:
    return f"{name_of_cookie(request)}-attempt"


def _goal(request: Request) -> str:
    return f"{name_of_cookie(request)}-goal"

"""Access to the page: a token is exchanged for a session, whose cookie no script can read and no other site
sends.

The session is good for the page, and for those routes of the API that the page's actions call
(`hub.api.policy.from_page`); it ends by itself, by signing out and with the token; the token stays with its
owner, in no cookie and no address. Every request checks the session as the REST API checks a bearer; an
open stream checks it again every few seconds.

An action is one call of the API: from a page of this very origin, with a mark that only such a page can
know, and nothing but JSON in it.
"""

import datetime as dt
import hashlib
import hmac
import re
from dataclasses import replace
from typing import Final
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from hub.api.limits import check_failures, note_failure
from hub.api.policy import PUBLIC, allow, hub_of
from hub.api.routing import new_router
from hub.domain.access import EVERYTHING, Noun, Role, Scope, Verb
from hub.services.access import credentials, sessions
from hub.services.access.credentials import ADMINISTRATOR, SESSION, USER, VIEWER, Principal
from hub.services.context.hub import Hub
from shared.errors import Rejected
from shared.reject_codes import RejectCode

# Of every answer of the page. Nothing comes from elsewhere, and no inline script or style runs.
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # without any, forms would carry `Origin: null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": (
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"
    ),
    "Cache-Control": "no-store",
}
MARK: Final = (
    "X-Roadstead-Page"  # no form can send it, and no other site may: it is not CORS-safelisted
)
_TYPES: Final = frozenset({"", "application/json"})
_ELSEWHERE: Final = "this was sent from another site, or from an outdated page: reload it"
_NOTED_S: Final = 60.0
_PORT: Final = re.compile("[0-9]{1,5}")
_OWN_PATH: Final = re.compile(
    r"/(?![/\\])[!-\[\]-~]{0,2000}"
)  # printable, no backslash, no other host
router = new_router("page")


@router.post("/login", include_in_schema=False)
@allow(PUBLIC)
async def login(request: Request) -> Response:
    """Trade a token for a session."""
    _same_origin(request)
    hub = hub_of(request)
    given = parse_qs((await request.body()).decode("ascii", "replace"), max_num_fields=8)
    token = (given.get("token") or [""])[0].strip()
    to = own_path((given.get("to") or [""])[0])
    check_failures(request, hub)
    found = await hub.authenticator.authenticate(token)
    if await looking(hub, found) is None:
        note_failure(request, hub)
        why = "no-role" if found is not None and found.role == USER else "wrong"
        kept_to = f"&to={quote(to, safe='')}" if to != "/" else ""
        return RedirectResponse(f"/?{why}{kept_to}", 303, HEADERS)
    kept = hub.settings.api.session_kept
    made = await hub.write(credentials.issue_session, token, kept)
    if made is None:
        return RedirectResponse("/?wrong", 303, HEADERS)
    reply = RedirectResponse(to, 303, HEADERS)
    hold_session(request, reply, made, kept)
    return reply


def own_path(given: str) -> str:
    """The requested page of this hub, or the front page for a path that may lead elsewhere."""
    return given if _OWN_PATH.fullmatch(given) else "/"


def hold_session(request: Request, reply: Response, session: str, kept: dt.timedelta) -> None:
    """Give a session to the browser, in a cookie that no script reads and no other site sends."""
    reply.set_cookie(
        name_of_cookie(request),
        session,
        max_age=int(kept.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=is_secure(request),
    )


@router.post("/logout", include_in_schema=False)
@allow(PUBLIC)
async def logout(request: Request) -> Response:
    """End the session."""
    _same_origin(request)
    if held := request.cookies.get(name_of_cookie(request), ""):
        await hub_of(request).write(credentials.end_session, held)
    reply = RedirectResponse("/", 303, HEADERS)
    reply.delete_cookie(
        name_of_cookie(request), httponly=True, samesite="strict", secure=is_secure(request)
    )
    return reply


async def viewer(request: Request) -> Principal | None:
    """The person who is signed in, or None.

    From then on `hub_of(request)` goes by what they may see at this moment, and `scope_of(request)` is that;
    what they may change is said by the person's `rights`.
    """
    held = request.cookies.get(name_of_cookie(request), "")
    hub = hub_of(request)
    known = await looking(hub, await hub.authenticator.authenticate(held, SESSION))
    if known is None:
        return None
    who, request.state.scope = known
    return who


async def note_use(request: Request) -> None:
    """Note an activity once a minute: an idle session ends."""
    held, hub = request.cookies.get(name_of_cookie(request), ""), hub_of(request)
    state = request.app.state
    if not hasattr(state, "sessions_used"):
        state.sessions_used = {}
    used: dict[str, float] = state.sessions_used
    given, now = held.partition(".")[0], hub.clock.monotonic()
    if now - used.get(given, -_NOTED_S) < _NOTED_S:
        return
    state.sessions_used = {each: at for each, at in used.items() if now - at < _NOTED_S}
    state.sessions_used[given] = now
    await hub.write(sessions.use_session, held)


def scope_of_viewer(who: Principal, verb: Verb, noun: Noun) -> Scope:
    """The caller's visible part of `noun`, the same as by the API."""
    return who.rights.scope(verb, noun) if who.role == USER else EVERYTHING


def sees_clusters(who: Principal) -> bool:
    """True if the caller sees members: the role holds everywhere."""
    return who.role != USER or who.rights.allows(Verb.GET, Noun.CLUSTERS)


async def actor(request: Request) -> Principal | None:
    """The person who is signed in with all that they may do, or None."""
    held = request.cookies.get(name_of_cookie(request), "")
    hub = hub_of(request)
    found = await hub.authenticator.authenticate(held, SESSION)
    return None if found is None else await hub.roles.with_rights(found)


def mark_of(request: Request) -> str:
    """The token that the pages of this session send with each action; it reveals nothing of the session."""
    held = request.cookies.get(name_of_cookie(request), "")
    return hmac.new(held.encode(), b"an action of the page", hashlib.sha256).hexdigest()


async def signed_in(request: Request) -> Principal | None:
    """The user who acts on a page. None if no page sends it: a session alone opens nothing of the API.

    Raises Rejected: Forbidden for what another site may have sent.
    """
    mark = request.headers.get(MARK)
    if mark is None:
        return None
    found = await actor(request)
    if found is None:
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    # Browsers send none to their own site with what only reads.
    origin = request.headers.get("origin")
    own = origin is None and request.method == "GET"
    own = own or (origin or "").partition("://")[2] == request.headers.get("host")
    if (
        not own
        or kind not in _TYPES
        or not hmac.compare_digest(mark.encode(), mark_of(request).encode())
    ):
        raise Rejected(RejectCode.FORBIDDEN, _ELSEWHERE)
    _same_origin(request)
    if not hasattr(request.state, "principal"):  # a stream that polls again is no user activity
        await note_use(request)
    return found


async def looking(hub: Hub, found: Principal | None) -> tuple[Principal, Scope] | None:
    """A person with any role, and what of the fleet they may see; None for others.

    A user whose role holds everywhere is as what a token of it is. Every role looks at all kinds in its
    namespaces, and one in queues at their jobs alone: of jobs the rights say it for all parts of the page.
    """
    if found is None or found.role not in {ADMINISTRATOR, VIEWER, USER}:
        return None
    known = await hub.roles.with_rights(found)
    if known.role != USER:
        return known, EVERYTHING
    everywhere = known.rights.everywhere
    if everywhere is not None:
        stands_for = ADMINISTRATOR if everywhere == Role.CLUSTER_ADMINISTRATOR else VIEWER
        return replace(known, role=stands_for), EVERYTHING
    scope = known.rights.scope(Verb.GET, Noun.JOBS)
    return (known, scope) if scope.may else None


def name_of_cookie(request: Request) -> str:
    """Its name; by port, because browsers share the cookies of one host among all of its ports.

    By TLS it begins with `__Host-`: no answer in clear, and no other host, can set such a one.
    """
    port = request.headers.get("host", "").rpartition(":")[2]
    name = f"roadstead-{port}" if _PORT.fullmatch(port) else "roadstead"
    return f"__Host-{name}" if is_secure(request) else name


def is_secure(request: Request) -> bool:
    """True if the browser uses TLS: to the hub, or to a proxy that the hub trusts (uvicorn's rule)."""
    return bool(request.scope["scheme"] == "https")


def _same_origin(request: Request) -> None:
    """Refuse a form that another site sent."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise Rejected(RejectCode.FORBIDDEN, "this form was sent from another site")
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise Rejected(RejectCode.FORBIDDEN, "this form was sent from another site")

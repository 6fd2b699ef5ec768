"""Who may look at the page: a token becomes a cookie that no script can read and no other site sends.

Every request checks the cookie's token as the REST API checks a bearer; an open stream checks it
again every few seconds. The token is never part of an address.
"""

from typing import Final
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from hub.api.policy import PUBLIC, allow, hub_of, new_router
from hub.services.hub import Hub
from hub.services.tokens import ADMINISTRATOR, VIEWER, Principal
from shared.errors import Rejected

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
    "Cache-Control": "no-store",
}
router = new_router()


@router.post("/login", include_in_schema=False)
@allow(PUBLIC)
async def login(request: Request) -> Response:
    """Turn a token into a cookie."""
    _same_origin(request)
    given = parse_qs((await request.body()).decode("ascii", "replace"), max_num_fields=8)
    token = (given.get("token") or [""])[0].strip()
    if await _person(hub_of(request), token) is None:
        return RedirectResponse("/?wrong", 303, HEADERS)
    reply = RedirectResponse("/", 303, HEADERS)
    secure = request.url.scheme == "https"
    reply.set_cookie(_cookie(request), token, httponly=True, samesite="strict", secure=secure)
    return reply


@router.post("/logout", include_in_schema=False)
@allow(PUBLIC)
async def logout(request: Request) -> Response:
    """Forget the cookie."""
    _same_origin(request)
    reply = RedirectResponse("/", 303, HEADERS)
    reply.delete_cookie(_cookie(request), httponly=True, samesite="strict")
    return reply


async def viewer(request: Request) -> Principal | None:
    """The person who is signed in, or None."""
    return await _person(hub_of(request), request.cookies.get(_cookie(request), ""))


async def _person(hub: Hub, token: str) -> Principal | None:
    found = await hub.authenticator.authenticate(token)
    return found if found is not None and found.role in {ADMINISTRATOR, VIEWER} else None


def _cookie(request: Request) -> str:
    """Its name; by port, because browsers share the cookies of one host among all of its ports."""
    port = urlsplit(f"//{request.headers.get('host', '')}").netloc.rpartition(":")[2]
    return f"roadstead-{port}" if port.isdecimal() else "roadstead"


def _same_origin(request: Request) -> None:
    """Refuse a form that another site sent."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise Rejected("Forbidden", "this form was sent from another site")
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise Rejected("Forbidden", "this form was sent from another site")

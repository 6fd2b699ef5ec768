"""The live page: sign in with a token, see the fleet, be told when it changes.

The page has no API of its own. A token sent to `/login` becomes a cookie that scripts can not read
and other sites can not send; every request checks it as the REST API would, streams every few
seconds. Nothing on the page is fetched from elsewhere, and no inline script is allowed.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import jinja2
import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from hub.api.policy import PUBLIC, allow, hub_of, new_router
from hub.api.streams import hear, rest
from hub.services.front_page import read_front_page
from hub.services.hub import Hub
from hub.services.tokens import ADMINISTRATOR, VIEWER
from hub.web.views import page
from shared.errors import Rejected

_HERE: Final = Path(__file__).parent
_COOKIE: Final = "roadstead"
_STATIC: Final = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "login.js": "text/javascript",
}
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_RENEW_AT_MOST_S: Final = (
    0.5  # a busy hub changes all the time; people read twice a second at best
)
_CHECK_EVERY_S: Final = 5.0  # ages move on, and a revoked token ends the stream
_templates = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
router = new_router()


@router.get("/", include_in_schema=False)
@allow(PUBLIC)
async def front(request: Request) -> Response:
    """The page, or the way in."""
    if not await _signed_in(request):
        return _html("login.html", wrong="wrong" in request.query_params)
    return _html("page.html", view=page(await _snapshot(hub_of(request))))


@router.post("/login", include_in_schema=False)
@allow(PUBLIC)
async def login(request: Request) -> Response:
    """Turn a token into a cookie."""
    _same_origin(request)
    given = parse_qs((await request.body()).decode("ascii", "replace"))
    token = (given.get("token") or [""])[0].strip()
    if not await _known(hub_of(request), token):
        return RedirectResponse("/?wrong", 303)
    reply = RedirectResponse("/", 303)
    secure = request.url.scheme == "https"
    reply.set_cookie(_COOKIE, token, httponly=True, samesite="strict", secure=secure)
    return reply


@router.post("/logout", include_in_schema=False)
@allow(PUBLIC)
async def logout(request: Request) -> Response:
    """Forget the cookie."""
    _same_origin(request)
    reply = RedirectResponse("/", 303)
    reply.delete_cookie(_COOKIE)
    return reply


@router.get("/static/{name}", include_in_schema=False)
@allow(PUBLIC)
async def static(name: str) -> Response:
    """Style and scripts of the page."""
    if name not in _STATIC:
        raise Rejected("NotFound", "there is nothing at this path")
    headers = {**_HEADERS, "Cache-Control": "max-age=300"}
    return Response((_HERE / "static" / name).read_bytes(), 200, headers, _STATIC[name])


@router.get("/live", include_in_schema=False)
@allow(PUBLIC)
async def live(request: Request) -> Response:
    """The page's inner part, again after each change, as server-sent events."""
    if not await _signed_in(request):
        raise Rejected("Unauthenticated", "sign in first")
    return StreamingResponse(_renewals(request), 200, _HEADERS, "text/event-stream")


async def _renewals(request: Request) -> AsyncIterator[str]:
    hub = hub_of(request)
    feed = hub.subscribe("workloads", "clusters", "works", "objects")
    try:
        while not hub.closing.is_set() and not await request.is_disconnected():
            if not await _signed_in(request):
                yield "event: ended\ndata: {}\n\n"
                return
            view = page(await _snapshot(hub))
            html = _templates.get_template("live.html").render(view=view)
            yield f"data: {orjson.dumps({'at': view.at, 'html': html}).decode()}\n\n"
            await rest(hub, _RENEW_AT_MOST_S)
            await hear(hub, feed, _CHECK_EVERY_S)
    finally:
        feed.close()


async def _snapshot(hub: Hub) -> dict[str, object]:
    return await hub.read(read_front_page, hub.limits)


async def _signed_in(request: Request) -> bool:
    return await _known(hub_of(request), request.cookies.get(_COOKIE, ""))


async def _known(hub: Hub, token: str) -> bool:
    found = await hub.authenticator.authenticate(token)
    return found is not None and found.role in {ADMINISTRATOR, VIEWER}


def _same_origin(request: Request) -> None:
    """Refuse a form that another site sent."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise Rejected("Forbidden", "this form was sent from another site")


def _html(template: str, **values: object) -> Response:
    text = _templates.get_template(template).render(**values)
    return Response(text, 200, _HEADERS, "text/html")

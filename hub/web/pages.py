"""The live page: the whole of it once, then each part again when it has changed.

The page has no separate API and reads only what a viewer may read. All state of a view is
in its address, so that a view can be kept and sent.
"""

from typing import Final

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from hub.api.limits import spend
from hub.api.policy import PUBLIC, allow, hub_of, scope_of
from hub.api.routing import new_router
from hub.services.questions.dashboard import GROUPS, MAX_PAGES, Asked
from hub.web import access, live, reference, sign_in
from hub.web.access import note_use, viewer
from hub.web.actions import routes as actions
from hub.web.board import board_of
from hub.web.fleet_pages import routes as fleet_pages
from hub.web.front import FrontView
from hub.web.job_page import routes as job_page
from hub.web.shell import html, login_page, signed_in_page, static_file
from hub.web.views import address
from hub.web.words import text
from shared.errors import Rejected
from shared.reject_codes import RejectCode

_OF_PROGRAMS: Final = ("/v1/", "/agent/", "/apis/")
_MOST_TEXT: Final = 120
_MOST_NAME: Final = 253
_NAMES: Final = ("owner", "namespace", "queue", "cluster")  # exact, as in `/v1/jobs`
# Why a token opens no page, by what the way in puts in the address.
_REFUSED: Final = {
    "wrong": "This token is unknown here, or it has expired or was revoked.",
    "no-role": "This token is valid, but its owner has no role here yet: an administrator binds one.",
}
router = new_router("page")
router.routes.extend(
    [
        *access.router.routes,
        *sign_in.router.routes,
        *job_page.router.routes,
        *fleet_pages.router.routes,
        *reference.router.routes,
        *actions.router.routes,
    ]
)


@router.get("/", include_in_schema=False)
@allow(PUBLIC)
async def front(request: Request) -> Response:
    """The page, or the way in."""
    who = await viewer(request)
    if who is None:
        said = next((text for name, text in _REFUSED.items() if name in request.query_params), "")
        to = request.query_params.get("to", "/") if said else None
        return login_page(request, wrong=said, to=to)
    await note_use(request)
    spend(hub_of(request), who, "reads")
    asked = asked_of(request.query_params)
    sight = await board_of(request).see(FrontView(asked, scope_of(request).sees))
    stream = f"/live{address(asked)}"
    return signed_in_page(request, "page.html", who, sight, stream, asked=asked)


@router.get("/live", include_in_schema=False)
@allow(PUBLIC)
async def front_live(request: Request) -> Response:
    """The parts of the front page as server-sent events."""
    asked = asked_of(request.query_params)
    return await live.follow(request, lambda _: FrontView(asked, scope_of(request).sees))


@router.get("/static/{name}", include_in_schema=False)
@allow(PUBLIC)
async def static(request: Request, name: str) -> Response:
    """Style, script and sign of the page."""
    found = static_file(name, request.query_params.get("v", ""))
    if found is None:
        raise Rejected(RejectCode.NOT_FOUND, "there is nothing at this path")
    return found


def nothing_here(request: Request, refusal: Rejected | None = None) -> Response | None:
    """The page for an unknown or refused address; None for who did not ask for a page.

    Refusals of the API keep their form, whoever asks.
    """
    if request.method not in {"GET", "HEAD"}:
        return None
    if "text/html" not in request.headers.get("accept", ""):
        return None
    if refusal is not None and request.scope["path"].startswith(_OF_PROGRAMS):
        return None
    if refusal is not None and refusal.code.status != 404:
        return html("refused.html", refusal.code.status, detail=text(refusal.detail))
    path = request.scope["path"][:_MOST_TEXT].encode(errors="replace").decode()
    return html("nothing.html", 404, path=path, sees_clusters=True)


def asked_of(query: QueryParams) -> Asked:
    """The view that an address names; what makes no sense in it is left out."""
    wanted, page = query.get("state", "").lower().split(","), query.get("page", "")
    named = {name: query.get(name, "").strip()[:_MOST_NAME] for name in _NAMES}
    return Asked(
        group=",".join(each for each in GROUPS if each in wanted),
        text=query.get("q", "").strip()[:_MOST_TEXT],
        page=min(max(1, int(page[:6])), MAX_PAGES) if page.isdecimal() else 1,
        **named,
    )

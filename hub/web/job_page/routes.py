"""`/jobs/{uid}`: the page of one job, and its parts as they change.

Pods and logs the page asks of the API itself, by the session of who reads it (`hub.api.logs`).
"""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from hub.api.limits import spend
from hub.api.policy import PUBLIC, allow, hub_of
from hub.api.routing import new_router
from hub.domain.access import Noun, Verb
from hub.services.access.credentials import Principal
from hub.web import live
from hub.web.access import note_use, scope_of_viewer, sees_clusters, viewer
from hub.web.board import board_of
from hub.web.job_page.look import JobView
from hub.web.shell import html, login_page, signed_in_page
from hub.web.words import path_of, text
from shared.errors import Rejected
from shared.reject_codes import RejectCode

_MOST_UID: Final = 64
_ABSENT: Final = frozenset({RejectCode.NOT_FOUND, RejectCode.FORBIDDEN})
router = new_router("page")


@router.get("/jobs/{uid}", include_in_schema=False)
@allow(PUBLIC)
async def job(request: Request, uid: str) -> Response:
    """Everything about one job; 404 if not visible."""
    who = await viewer(request)
    if who is None:
        return login_page(request)
    await note_use(request)
    spend(hub_of(request), who, "reads")
    try:
        sight = await board_of(request).see(view_of(who, uid))
    except Rejected as refusal:
        if refusal.code not in _ABSENT:
            raise
        return html("absent.html", 404, uid=text(uid[:_MOST_UID]))
    stream = f"/live{path_of('jobs', uid)}"
    return signed_in_page(request, "job.html", who, sight, stream, uid=uid)


@router.get("/live/jobs/{uid}", include_in_schema=False)
@allow(PUBLIC)
async def job_live(request: Request, uid: str) -> Response:
    """The parts of a job's page as server-sent events."""
    return await live.follow(request, lambda who: view_of(who, uid))


def view_of(who: Principal, uid: str) -> JobView:
    """The part of a job that `who` may see."""
    scope = scope_of_viewer(who, Verb.GET, Noun.JOBS)
    return JobView(uid, who.rights.values, scope, sees_clusters(who))

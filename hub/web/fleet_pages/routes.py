"""`/queues`, `/clusters` and the pages of each, with their parts as they change.

They show what REST would show the same person: ClusterQueues that their LocalQueues lead to, and members to
those alone whose role holds everywhere. An object that may not be seen is absent.
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
from hub.web.board import View, board_of
from hub.web.fleet_pages.looks import ClustersView, ClusterView, QueuesView, QueueView
from hub.web.live import MakeView
from hub.web.shell import html, login_page, signed_in_page
from hub.web.words import path_of, text
from shared.errors import Rejected
from shared.reject_codes import RejectCode

_MOST: Final = 253  # of a name
_ABSENT: Final = frozenset({RejectCode.NOT_FOUND, RejectCode.FORBIDDEN})
router = new_router("page")


@router.get("/queues", include_in_schema=False)
@allow(PUBLIC)
async def queues(request: Request) -> Response:
    """All ClusterQueues."""
    return await _list(request, "queues", _queues(request))


@router.get("/live/queues", include_in_schema=False)
@allow(PUBLIC)
async def queues_live(request: Request) -> Response:
    """Its parts, as they change."""
    return await live.follow(request, _queues(request))


@router.get("/queues/{name}", include_in_schema=False)
@allow(PUBLIC)
async def cluster_queue(request: Request, name: str) -> Response:
    """One ClusterQueue."""
    return await _page(request, "queue.page.html", _queue("", name), name=name, namespace="")


@router.get("/live/queues/{name}", include_in_schema=False)
@allow(PUBLIC)
async def cluster_queue_live(request: Request, name: str) -> Response:
    """Its parts, as they change."""
    return await live.follow(request, _queue("", name))


@router.get("/queues/{namespace}/{name}", include_in_schema=False)
@allow(PUBLIC)
async def local_queue(request: Request, namespace: str, name: str) -> Response:
    """One LocalQueue."""
    view = _queue(namespace, name)
    return await _page(request, "queue.page.html", view, name=name, namespace=namespace)


@router.get("/live/queues/{namespace}/{name}", include_in_schema=False)
@allow(PUBLIC)
async def local_queue_live(request: Request, namespace: str, name: str) -> Response:
    """Its parts, as they change."""
    return await live.follow(request, _queue(namespace, name))


@router.get("/clusters", include_in_schema=False)
@allow(PUBLIC)
async def clusters(request: Request) -> Response:
    """All members."""
    return await _list(request, "clusters", _clusters(request))


@router.get("/live/clusters", include_in_schema=False)
@allow(PUBLIC)
async def clusters_live(request: Request) -> Response:
    """Its parts, as they change."""
    return await live.follow(request, _clusters(request))


@router.get("/clusters/{name}", include_in_schema=False)
@allow(PUBLIC)
async def cluster(request: Request, name: str) -> Response:
    """One member."""
    return await _page(request, "cluster.page.html", _cluster(name), name=name)


@router.get("/live/clusters/{name}", include_in_schema=False)
@allow(PUBLIC)
async def cluster_live(request: Request, name: str) -> Response:
    """Its parts, as they change."""
    return await live.follow(request, _cluster(name))


def _queues(request: Request) -> MakeView:
    asked = _asked(request)
    return lambda who: QueuesView(asked, scope_of_viewer(who, Verb.GET, Noun.QUEUES))


def _queue(namespace: str, name: str) -> MakeView:
    def view_for(who: Principal) -> View:
        scope = scope_of_viewer(who, Verb.GET, Noun.QUEUES)
        return QueueView(namespace, name, scope, sees_clusters(who))

    return view_for


def _clusters(request: Request) -> MakeView:
    asked = _asked(request)

    def view_for(who: Principal) -> View:
        _require(who)
        return ClustersView(asked)

    return view_for


def _cluster(name: str) -> MakeView:
    def view_for(who: Principal) -> View:
        _require(who)
        return ClusterView(name)

    return view_for


def _require(who: Principal) -> None:
    if not sees_clusters(who):
        raise Rejected(RejectCode.NOT_FOUND, "there is nothing at this path")


def _asked(request: Request) -> str:
    """Part of names."""
    return request.query_params.get("q", "").strip()[:_MOST]


async def _list(request: Request, noun: str, view_for: MakeView) -> Response:
    return await _page(request, "list.page.html", view_for, noun=noun, asked=_asked(request))


async def _page(request: Request, template: str, view_for: MakeView, **values: object) -> Response:
    who = await viewer(request)
    if who is None:
        return login_page(request)
    spend(hub_of(request), who, "reads")
    await note_use(request)
    try:
        sight = await board_of(request).see(view_for(who))
    except Rejected as refusal:
        if refusal.code not in _ABSENT:
            raise
        path = request.scope["path"][:_MOST].encode(errors="replace").decode()
        return html("nothing.html", 404, path=text(path), sees_clusters=sees_clusters(who))
    query = f"?{request.url.query}" if request.url.query and "asked" in values else ""
    stream = "/live" + path_of(*request.scope["path"].strip("/").split("/")) + query
    values["sees_clusters"] = sees_clusters(who)
    return signed_in_page(request, template, who, sight, stream, **values)

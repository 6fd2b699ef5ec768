"""Workloads and who waits, in the shapes of Kueue's own APIs: for its tools, and whoever knows them."""

from starlette.requests import Request
from starlette.responses import Response

from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, hub_of, new_router
from hub.api.reply import Json, limit_of, number_of, pager, query
from hub.domain.workloads.states import State
from hub.services.context import secrecy
from hub.services.index.index import ScheduleIndex
from hub.services.kueue_view import pages
from hub.services.questions import visibility
from shared.errors import Rejected
from shared.reject_codes import RejectCode

router = new_router()
_VISIBILITY = f"/apis/{visibility.API_VERSION}"


@router.get("/v1/workloads")
@allow(ADMINISTRATOR, VIEWER, query=True)
async def list_workloads(request: Request) -> Response:
    """Workloads as Kueue shows them (v1beta2), of Jobs and bare ones, newest first.

    Filters: namespace, queue, clusterQueue, state, and condition (`Admitted`, `Admitted=False`, …).
    """
    given = query(request, *pages.FILTERS, "limit", "continue")
    state = given.get("state")
    if state and state not in State.__members__.values():
        raise Rejected(RejectCode.INVALID_STATE, f"must be one of {', '.join(State)}", "state")
    limit, token = limit_of(given), given.get("continue")
    filters = {name: given[name] for name in pages.FILTERS if name in given}
    return Json(
        await hub_of(request).read(
            secrecy.seen_by,
            caller(request).role,
            pages.list_workloads,
            filters,
            pager(request, filters),
            token,
            limit,
        )
    )


@router.get("/v1/workloads/{namespace}/{name}")
@allow(ADMINISTRATOR, VIEWER)
async def get_workload(request: Request, namespace: str, name: str) -> Response:
    """One Workload; a Job's is called `job-<its name>-<5 digits>`."""
    role, get = caller(request).role, pages.get_workload
    return Json(await hub_of(request).read(secrecy.seen_by, role, get, namespace, name))


@router.get(f"{_VISIBILITY}/clusterqueues/{{name}}/pendingworkloads")
@allow(ADMINISTRATOR, VIEWER, query=True)
async def pending_in_cluster_queue(request: Request, name: str) -> Response:
    """Who waits in a ClusterQueue, in order, with positions from 0. Query: offset, limit."""
    offset, limit = _window(request)
    return Json(
        await hub_of(request).read(
            visibility.in_cluster_queue, _index(request), name, offset, limit
        )
    )


@router.get(f"{_VISIBILITY}/namespaces/{{namespace}}/localqueues/{{name}}/pendingworkloads")
@allow(ADMINISTRATOR, VIEWER, query=True)
async def pending_in_local_queue(request: Request, namespace: str, name: str) -> Response:
    """Who waits in a LocalQueue, in order, with positions from 0. Query: offset, limit."""
    offset, limit = _window(request)
    return Json(
        await hub_of(request).read(
            visibility.in_local_queue, _index(request), (namespace, name), offset, limit
        )
    )


def _window(request: Request) -> tuple[int, int]:
    """Offset and limit. Raises Rejected: InvalidNumber, InvalidLimit."""
    given = query(request, "offset", "limit")
    limit = number_of(given, "limit") if "limit" in given else visibility.DEFAULT_LIMIT
    if limit is None or not 1 <= limit <= visibility.MAX_LIMIT:
        most = visibility.MAX_LIMIT
        raise Rejected(
            RejectCode.INVALID_LIMIT, f"must be a whole number from 1 to {most}", "limit"
        )
    return number_of(given, "offset") or 0, limit


def _index(request: Request) -> ScheduleIndex | None:
    """The scheduler's index, which every replica follows."""
    find = getattr(request.app.state, "schedule_index", None)
    found: ScheduleIndex | None = None if find is None else find()
    return found

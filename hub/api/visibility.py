"""Workloads and pending lists in the format of Kueue's own APIs, for its tools."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api.models.workloads import KueueWorkload, KueueWorkloadList, PendingWorkloadsSummary
from hub.api.parameters import Window, WorkloadFilters
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, find_index_of, grants
from hub.api.reply import encoded, listed, pager
from hub.api.routing import new_router, refuses
from hub.domain.access import Noun, Verb
from hub.services.context import secrecy
from hub.services.index.index import ScheduleIndex
from hub.services.kueue_view import pages
from hub.services.questions import visibility
from shared.reject_codes import RejectCode

router = new_router("workloads")
_VISIBILITY = f"/apis/{visibility.API_VERSION}"


@router.get("/v1/workloads", response_model=KueueWorkloadList)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.JOBS)
@refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED)
async def list_workloads(request: Request, asked: Annotated[WorkloadFilters, Query()]) -> Response:
    """Workloads as Kueue shows them (v1beta2), of Jobs and bare ones, newest first.

    Filters: namespace, queue, clusterQueue, state, and condition (`Admitted`, `Admitted=False`, …).
    """
    filters = asked.given()
    return await listed(
        request,
        secrecy.seen_by,
        caller(request).role,
        pages.list_workloads,
        filters,
        pager(request, filters),
        asked.continue_ or None,
        asked.limit,
    )


@router.get("/v1/workloads/{namespace}/{name}", response_model=KueueWorkload)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.JOBS)
async def get_workload(request: Request, namespace: str, name: str) -> Response:
    """One Workload; a Job's is called `job-<its name>-<5 digits>`."""
    role, get = caller(request).role, pages.get_workload
    return await encoded(request, secrecy.seen_by, role, get, namespace, name)


@router.get(
    f"{_VISIBILITY}/clusterqueues/{{name}}/pendingworkloads",
    response_model=PendingWorkloadsSummary,
)
@allow(ADMINISTRATOR, VIEWER)
async def list_pending_in_cluster_queue(
    request: Request, name: str, asked: Annotated[Window, Query()]
) -> Response:
    """Waiting workloads of a ClusterQueue, in order, with positions from 0. Query: offset, limit."""
    line = visibility.line_view(_index(request), name, asked.offset + asked.limit)
    return await listed(
        request, visibility.in_cluster_queue, line, name, asked.offset, asked.limit
    )


@router.get(
    f"{_VISIBILITY}/namespaces/{{namespace}}/localqueues/{{name}}/pendingworkloads",
    response_model=PendingWorkloadsSummary,
)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.QUEUES)
async def list_pending_in_local_queue(
    request: Request, namespace: str, name: str, asked: Annotated[Window, Query()]
) -> Response:
    """Waiting workloads of a LocalQueue, in order, with positions from 0. Query: offset, limit."""
    index = _index(request)
    line = visibility.line_view(index, visibility.queue_of(index, (namespace, name)))
    return await listed(
        request, visibility.in_local_queue, line, (namespace, name), asked.offset, asked.limit
    )


def _index(request: Request) -> ScheduleIndex | None:
    """The scheduler's index, which every replica follows."""
    return find_index_of(request)()

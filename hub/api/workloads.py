"""`/v1/workloads`: bare Workloads, handed in and run by executors outside; reading is `visibility`'s.

An executor follows `/v1/workloads:watch`, runs what is admitted, and says by a status patch that it has
finished. Status patches share transactions, however many callers there are.
"""

from collections.abc import AsyncIterator
from typing import Annotated, Final

import orjson
from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hub.api import openapi_parts
from hub.api.bodies import PATCH, read_object, read_one
from hub.api.models.jobs import JobDetail, SubmittedJob
from hub.api.models.objects import Options, uid_of
from hub.api.models.workloads import (
    KueueWorkload,
    WorkloadChanges,
    WorkloadManifest,
    WorkloadPatch,
    WorkloadReport,
    WorkloadState,
)
from hub.api.openapi_parts import EVENTS, JSON, MERGE_PATCH, YAML, ref
from hub.api.parameters import WatchFilters, number_of
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, authorize, caller, grants, hub_of
from hub.api.reply import JsonResponse
from hub.api.rights import bounds, require
from hub.api.routing import new_router, refuses
from hub.api.streams import count_stream, counted, heard, rest
from hub.domain.access import Noun, Verb
from hub.services.context import rendering
from hub.services.context.hub import Hub
from hub.services.jobs import bare_patch
from hub.services.jobs.submit import Reply, Submission, submit
from hub.services.objects import delete
from hub.services.outside import executors
from hub.services.outside.executor_status import read_status
from hub.services.questions import jobs, watch as watching
from hub.services.reading.draft import draft
from hub.services.reading.hidden import refuse_hidden
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode

router = new_router("workloads")
PAGE: Final = 200
BEAT_S: Final = 5.0
GATHER_S: Final = 0.01  # changes committed within that time are sent together
_ONE: Final = "/v1/workloads/{namespace}/{name}"
_PEOPLE: Final = frozenset({ADMINISTRATOR, VIEWER})
_LOOKING: Final = (Verb.GET, Noun.JOBS)
_EPOCH: Final = openapi_parts.parameter(
    "query", "epoch", {"type": "integer", "minimum": 0}, "Of the intended run."
)
_A_WORKLOAD: Final = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "render-17", "namespace": "team-a"},
    "spec": {"queueName": "default", "podSets": [{"name": "main", "count": 1, "template": {
        "spec": {"restartPolicy": "Never", "containers": [
            {"name": "main", "image": "busybox:1.36", "resources": {"requests": {"cpu": "1"}}}
        ]}
    }}]},
}  # fmt: skip
_AN_END: Final = {
    "status": {
        "conditions": [
            {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "done"}
        ]
    }
}


@router.patch(
    _ONE + "/status",
    response_model=WorkloadState,
    openapi_extra=openapi_parts.body(
        {MERGE_PATCH: ref(WorkloadReport), JSON: ref(WorkloadReport)}, _AN_END, [_EPOCH]
    ),
)
@allow(ADMINISTRATOR)
@refuses(RejectCode.ANSWERED_BY_HUB, RejectCode.NOT_RESERVED, RejectCode.PRECONDITION_FAILED)
async def patch_workload_status(request: Request, namespace: str, name: str) -> Response:
    """Report a Workload's status, as a JSON merge patch: {"status": {…}}; returns its new state.

    `conditions`: Finished (status True; reason Failed means failed) ends it, PodsReady; `admissionChecks`
    answers checks, of a Job's Workload too; `reclaimablePods` gives back quota of pods that are done.
    With `epoch` (or metadata.uid) a report about another run is refused: PreconditionFailed.
    """
    epoch = number_of(request.query_params.get("epoch"), "epoch")
    patch = await _patch(request)
    metadata = patch.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, dict) else ""
    report = executors.ExecutorReport(
        namespace,
        name,
        read_status(patch.get("status")),
        caller(request).name,
        uid if isinstance(uid, str) else "",
        epoch,
    )
    hub = hub_of(request)
    row: executors.ReportedRow = (
        await hub.write_shared(executors.take_reports, report)
        if report.said.is_simple
        else await hub.write(executors.take_report, report)
    )
    return JsonResponse(rendering.state(row))


@router.post(
    "/v1/workloads",
    status_code=201,
    response_model=SubmittedJob,
    openapi_extra=openapi_parts.body(
        {JSON: ref(WorkloadManifest), YAML: ref(WorkloadManifest)}, _A_WORKLOAD
    ),
)
@allow(ADMINISTRATOR)
@grants(Verb.CREATE, Noun.JOBS)
@refuses(RejectCode.ALREADY_EXISTS, RejectCode.BEING_DELETED, RejectCode.OWNED_ELSEWHERE)
async def submit_workload(request: Request) -> Response:
    """Submit one Workload that no Job owns, as JSON or YAML. Its queue must exist."""
    hub = hub_of(request)
    now = hub.clock.now()
    who = caller(request).name
    _, given = await read_one(
        request,
        lambda read: refuse_hidden(draft(bare_patch.parse_bare(read), now, submitted_by=who)),
    )
    given = require(request, given)
    submission = Submission(drafts=(given,), intake=hub.settings.intake, single=True)
    reply: Reply = await hub.write_shared(submit, submission)
    return JsonResponse(reply.body, reply.status)


@router.patch(
    _ONE,
    response_model=KueueWorkload,
    openapi_extra=openapi_parts.body(
        {MERGE_PATCH: ref(WorkloadPatch), JSON: ref(WorkloadPatch)}, {"spec": {"active": False}}
    ),
)
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.JOBS)
@refuses(RejectCode.ALREADY_ENDED, RejectCode.BEING_DELETED, RejectCode.OWNED_ELSEWHERE)
async def patch_workload(request: Request, namespace: str, name: str) -> Response:
    """Change a bare Workload by a JSON merge patch: {"spec": {"active": false}}, priority, and so on."""
    hub, patch = hub_of(request), await _patch(request)
    intake, principal = hub.settings.intake, caller(request).name
    return JsonResponse(
        await hub.write(
            bare_patch.patch_workload, namespace, name, patch, intake, principal, bounds(request)
        )
    )


@router.delete(_ONE, response_model=JobDetail)
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.JOBS)
@refuses(RejectCode.OWNED_ELSEWHERE, RejectCode.PRECONDITION_FAILED)
async def delete_workload(
    request: Request, namespace: str, name: str, options: Options = None
) -> Response:
    """Delete a bare Workload, also one held for its queue. Body (optional): {"preconditions": {"uid": …}}."""
    expected = uid_of(options)
    principal = caller(request).name
    hub = hub_of(request)
    return JsonResponse(
        await hub.write(delete.delete_workload, namespace, name, principal, expected)
    )


@router.get(
    "/v1/workloads:watch",
    response_class=StreamingResponse,
    responses=openapi_parts.events(WorkloadChanges, "States, as they change."),
)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.JOBS)
@refuses(RejectCode.EXPIRED, RejectCode.TOO_MANY_STREAMS)
async def watch_workloads(request: Request, asked: Annotated[WatchFilters, Query()]) -> Response:
    """Events `{"revision", "items"}`: workloads touched after `revision` (by default: from now on).

    Items are states as they are now: uid, kind, namespace, name, queue, clusterQueue, state, reason,
    cluster, epoch. Filters: namespace, queue, kind, state; each may hold several values, with commas.
    410 Expired if that revision is no longer kept: list again, then follow from the newest.
    """
    hub, who = hub_of(request), caller(request)
    revision, filters = asked.revision, asked.given()
    if revision is None:
        revision = await hub.read(jobs.revision)
    await hub.read(watching.news, revision, filters, 1)  # 410 while the status can still be sent
    streams = count_stream(request, who)
    return StreamingResponse(
        counted(streams, who.id, _events(request, hub, revision, filters)),
        media_type=EVENTS,
        headers={"Cache-Control": "no-store"},
    )


async def _events(
    request: Request, hub: Hub, revision: int, filters: dict[str, str]
) -> AsyncIterator[bytes]:
    feed = hub.subscribe("workloads")
    try:
        yield b": following\n\n"
        more = True
        while more:  # kept part of the feed; later changes announce themselves
            revision, items, more = await hub.read(watching.news, revision, filters, PAGE)
            if items:
                yield _event(revision, items)
        while not hub.closing.is_set():
            change = await heard(hub, feed, BEAT_S)
            await authorize(request, _PEOPLE, _LOOKING)
            hub = hub_of(request)  # within what the follower may see by now
            if change is None:
                yield b": beat\n\n"
                continue
            await rest(hub, GATHER_S)
            later = feed.take() or change
            uids = change.keys["workloads"] | later.keys["workloads"]
            if items := await hub.read(watching.states, uids, filters):
                yield _event(later.revision, items)
    except Rejected:
        return  # the credential has ended, or the follower has fallen behind what is kept
    finally:
        feed.close()


def _event(revision: int, items: list[Json]) -> bytes:
    told = {"revision": revision, "items": items}
    return b"id: %d\ndata: %b\n\n" % (revision, orjson.dumps(told))


async def _patch(request: Request) -> Json:
    """The body as a merge patch of an object. Raises Rejected."""
    patch = await read_object(request, PATCH)
    if patch is None:
        raise Rejected(RejectCode.EMPTY_BODY, "the body is empty")
    return patch

"""`/v1/jobs`: submit one, list, look at, hold, release, cancel, delete."""

import hashlib
from collections.abc import Callable
from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api import openapi_parts
from hub.api.advice import warning_header, warnings_of, with_warnings
from hub.api.bodies import read_one
from hub.api.models.explanation import Explanation
from hub.api.models.fleet import JobEventList
from hub.api.models.jobs import JobDetail, JobList, PriorityWish, SubmittedJob
from hub.api.models.objects import JobManifest, JobOptions, uid_of
from hub.api.openapi_parts import A_JOB, IDEMPOTENCY_KEY, JSON, REPLAY, YAML, ref
from hub.api.parameters import JobFilters, Look, Newest
from hub.api.policy import (
    ADMINISTRATOR,
    VIEWER,
    allow,
    caller,
    find_index_of,
    from_page,
    grants,
    hub_of,
    via_of,
)
from hub.api.reply import JsonResponse, encoded, idempotency_key, listed, pager
from hub.api.request_log import is_about
from hub.api.rights import bounds, require
from hub.api.routing import new_router, refuses
from hub.domain.access import Noun, Verb
from hub.services.context import secrecy
from hub.services.explain import study
from hub.services.jobs import cancel, hold, revise
from hub.services.jobs.submit import Reply, Submission, submit
from hub.services.questions import jobs
from hub.services.reading.draft import draft
from hub.services.reading.hidden import refuse_hidden
from shared.documents import Json
from shared.failpoints import failpoint
from shared.kinds.registry import parse_job
from shared.reject_codes import RejectCode
from shared.selectors import parse_selector

router = new_router("jobs")


@router.post(
    "/v1/jobs",
    status_code=201,
    response_model=SubmittedJob,
    responses={201: {"headers": REPLAY}},
    openapi_extra=openapi_parts.body(
        {JSON: ref(JobManifest), YAML: ref(JobManifest)}, A_JOB, [IDEMPOTENCY_KEY]
    ),
)
@from_page
@allow(ADMINISTRATOR)
@grants(Verb.CREATE, Noun.JOBS)
@refuses(RejectCode.ALREADY_EXISTS, RejectCode.BEING_DELETED, RejectCode.OWNED_ELSEWHERE)
async def submit_job(request: Request) -> Response:
    """Submit one Job, as JSON or YAML. With an Idempotency-Key the same body gets the same reply."""
    key = idempotency_key(request)
    hub = hub_of(request)
    now = hub.clock.now()
    who = caller(request).name
    body, given = await read_one(
        request,
        lambda manifest: refuse_hidden(
            draft(parse_job(manifest, declared=hub.kinds), now, submitted_by=who, kinds=hub.kinds)
        ),
    )
    given = require(request, given)
    is_about(request, given.uid)
    failpoint("H01")
    reply: Reply = await hub.write_shared(
        submit,
        Submission(
            drafts=(given,),
            intake=hub.settings.intake,
            single=True,
            key=key,
            request_hash=hashlib.sha256(body).hexdigest() if key else "",
            via=via_of(request),
        ),
    )
    failpoint("H02")
    headers = {"Idempotent-Replay": "true"} if reply.replayed else {}
    said = list(warnings_of(request, [given]).values())
    return JsonResponse(
        with_warnings(reply.body, said), reply.status, headers | warning_header(said)
    )


@router.get("/v1/jobs", response_model=JobList)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.JOBS)
@refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED)
async def list_jobs(request: Request, asked: Annotated[JobFilters, Query()]) -> Response:
    """Jobs, newest first.

    Filters: namespace, queue, state, cluster, owner, name (a prefix), labelSelector.
    """
    filters = asked.given()
    selector = filters.pop("labelSelector", "")
    matches = parse_selector(selector, "labelSelector").matches if selector else None
    page = pager(request, {**filters, "labelSelector": selector})
    return await listed(
        request, jobs.list_jobs, filters, matches, page, asked.continue_ or None, asked.limit
    )


@router.get("/v1/jobs/{uid}", response_model=JobDetail)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.JOBS)
async def get_job(request: Request, uid: str) -> Response:
    """One job with its manifest, counts and the decision that placed it.

    Values of environment variables are shown to who may change the job.
    """
    shown = caller(request).rights.values
    return await encoded(request, secrecy.job_seen_by, shown, jobs.get_job, uid)


@router.get("/v1/namespaces/{namespace}/jobs/{name}", response_model=JobDetail)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.JOBS)
async def get_job_by_name(request: Request, namespace: str, name: str) -> Response:
    """The current job of this name, else the newest former one."""
    shown, get = caller(request).rights.values, jobs.get_job_by_name
    return await encoded(request, secrecy.job_seen_by, shown, get, namespace, name)


@router.get("/v1/jobs/{uid}/events", response_model=JobEventList)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.JOBS)
async def list_job_events(
    request: Request, uid: str, asked: Annotated[Newest, Query()]
) -> Response:
    """Events of one job: the newest ones, oldest first."""
    return await listed(request, jobs.job_events, uid, asked.limit)


@router.get("/v1/jobs/{uid}/explain", response_model=Explanation)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.JOBS)
async def explain_job(request: Request, uid: str) -> Response:
    """Explain a job: position, the rule that holds it in numbers, verdict per cluster.

    While it waits also what would let it in, and when it is expected to start.
    """
    return JsonResponse(await study.explain(hub_of(request), uid, find_index_of(request)))


@router.post("/v1/jobs/{uid}/cancel", response_model=JobDetail)
@from_page
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.JOBS)
async def cancel_job(request: Request, uid: str, look: Annotated[Look, Query()]) -> Response:
    """Cancel a job wherever it is; a no-op if repeated or after its end.

    `dryRun=true` changes nothing and answers with the job as it is, or with the refusal.
    """
    return await _act(request, uid, look, cancel.would_cancel, cancel.cancel_job)


@router.post("/v1/jobs/{uid}/hold", response_model=JobDetail)
@from_page
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.JOBS)
@refuses(RejectCode.ALREADY_ENDED, RejectCode.BEING_DELETED)
async def hold_job(request: Request, uid: str, look: Annotated[Look, Query()]) -> Response:
    """Hold a job until it is released; a running job is evicted first.

    `dryRun=true` changes nothing and answers with the job as it is, or with the refusal.
    """
    return await _act(request, uid, look, hold.would_hold, hold.hold_job)


@router.post("/v1/jobs/{uid}/release", response_model=JobDetail)
@from_page
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.JOBS)
@refuses(
    RejectCode.ALREADY_ENDED,
    RejectCode.ALREADY_EXISTS,
    RejectCode.BEING_DELETED,
    RejectCode.INVALID_STATE,
)
async def release_job(request: Request, uid: str, look: Annotated[Look, Query()]) -> Response:
    """Release a held or deactivated job to its queue; a no-op for other jobs.

    `dryRun=true` changes nothing and answers with the job as it is, or with the refusal.
    """
    return await _act(request, uid, look, hold.would_release, hold.release_job)


async def _act(
    request: Request,
    uid: str,
    look: Look,
    would: Callable[..., Json],
    act: Callable[..., Json],
) -> Response:
    """Carry an act on a job out, or only look at what it would answer."""
    hub = hub_of(request)
    if look.dry_run:
        return JsonResponse(await hub.read(would, uid))
    return JsonResponse(await hub.write(act, uid, caller(request).name))


@router.post("/v1/jobs/{uid}/priority", response_model=JobDetail)
@from_page
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.JOBS)
@refuses(
    RejectCode.ALREADY_ENDED,
    RejectCode.BEING_DELETED,
    RejectCode.INVALID_STATE,
    RejectCode.OWNED_ELSEWHERE,
    RejectCode.PRIORITY_CLASS_NOT_FOUND,
    RejectCode.PRIORITY_NOT_ALLOWED,
)
async def set_job_priority(request: Request, uid: str, asked: PriorityWish) -> Response:
    """Set a Job's WorkloadPriorityClass by its label; it moves to its new place in the queue at once."""
    hub, name = hub_of(request), caller(request).name
    given = (uid, asked.priority_class, hub.settings.intake, name, bounds(request))
    return JsonResponse(await hub.write(revise.set_priority, *given))


@router.delete("/v1/jobs/{uid}", response_model=JobDetail)
@from_page
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.JOBS)
@refuses(RejectCode.OWNED_ELSEWHERE, RejectCode.PRECONDITION_FAILED)
async def delete_job(request: Request, uid: str, options: JobOptions = None) -> Response:
    """Delete a job. Body (optional): {"preconditions": {"uid": …}}, a 409 if it is another's.

    {"dryRun": true} deletes nothing, and is refused as the deletion would be.
    """
    return await _delete(request, uid, options)


@router.delete("/v1/namespaces/{namespace}/jobs/{name}", response_model=JobDetail)
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.JOBS)
@refuses(RejectCode.OWNED_ELSEWHERE, RejectCode.PRECONDITION_FAILED)
async def delete_job_by_name(
    request: Request, namespace: str, name: str, options: JobOptions = None
) -> Response:
    """Delete the job of this name. Body as for its uid."""
    found = await hub_of(request).read(jobs.find_job_by_name, namespace, name)
    return await _delete(request, found.uid, options)


async def _delete(request: Request, uid: str, options: JobOptions) -> Response:
    hub, name, expected = hub_of(request), caller(request).name, uid_of(options)
    if options is not None and options.dry_run:
        return JsonResponse(await hub.read(cancel.would_delete, uid, expected))
    return JsonResponse(await hub.write(cancel.delete_job, uid, name, expected))

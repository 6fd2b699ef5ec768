"""`/v1/cronjobs`: CronJobs whose schedule the hub keeps, for who may see and change their Jobs."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api.models.objects import ObjectList, ShownObject
from hub.api.parameters import ObjectFilters
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, grants, hub_of
from hub.api.reply import JsonResponse, encoded, listed, pager
from hub.api.routing import new_router, refuses
from hub.domain.access import Noun, Verb
from hub.services.context import secrecy
from hub.services.jobs.cron import kept
from shared.reject_codes import RejectCode

router = new_router("cronjobs")
_ONE = "/v1/cronjobs/{namespace}/{name}"


@router.get("/v1/cronjobs", response_model=ObjectList)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.JOBS)
@refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED)
async def list_cron_jobs(request: Request, asked: Annotated[ObjectFilters, Query()]) -> Response:
    """CronJobs by namespace and name, of those whose Jobs the caller may see; `namespace` for one's."""
    return await listed(
        request,
        secrecy.seen_by,
        caller(request).role,
        kept.list_cron_jobs,
        asked.namespace,
        pager(request, {"namespace": asked.namespace}),
        asked.continue_ or None,
        asked.limit,
    )


@router.get(_ONE, response_model=ShownObject)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.JOBS)
async def get_cron_job(request: Request, namespace: str, name: str) -> Response:
    """One CronJob: its manifest with uid, generation and status."""
    role = caller(request).role
    return await encoded(request, secrecy.seen_by, role, kept.get_cron_job, namespace, name)


@router.post(f"{_ONE}/suspend", response_model=ShownObject)
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.JOBS)
@refuses(RejectCode.NOT_FOUND)
async def suspend_cron_job(request: Request, namespace: str, name: str) -> Response:
    """Suspend a CronJob: no further run starts, and those that run go on."""
    return await _set(request, namespace, name, suspended=True)


@router.post(f"{_ONE}/resume", response_model=ShownObject)
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.JOBS)
@refuses(RejectCode.NOT_FOUND)
async def resume_cron_job(request: Request, namespace: str, name: str) -> Response:
    """Resume a CronJob: the newest of the times that have passed meanwhile may run at once."""
    return await _set(request, namespace, name, suspended=False)


async def _set(request: Request, namespace: str, name: str, *, suspended: bool) -> Response:
    who = caller(request)
    told = await hub_of(request).write(
        secrecy.seen_by, who.role, kept.set_suspended, namespace, name, who.name,
        suspended=suspended,
    )  # fmt: skip
    return JsonResponse(told)

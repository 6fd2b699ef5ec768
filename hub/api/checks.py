"""`/v1/checks`: admission checks for controllers without kubectl: provisioning, budget, approval.

A controller says that it serves its AdmissionCheck (`PUT …/status`), lists who waits, and answers.
"""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api.models.checks import JobChecks, NewCheckState, ObjectStatus, OpenCheckList
from hub.api.models.objects import ShownObject
from hub.api.parameters import CheckFilters, GroupName, KindName
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, grants, hub_of
from hub.api.reply import JsonResponse, listed, pager
from hub.api.routing import new_router, refuses
from hub.domain.access import Noun, Verb
from hub.services.kueue_view import open_checks
from hub.services.outside import check_active, check_states
from shared.reject_codes import RejectCode

router = new_router("checks")


@router.get("/v1/checks", response_model=OpenCheckList)
@allow(ADMINISTRATOR, VIEWER)
@refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED)
async def list_open_checks(request: Request, asked: Annotated[CheckFilters, Query()]) -> Response:
    """Workloads that hold quota and wait for a check's answer. Filters: check, controller."""
    check, controller = asked.check, asked.controller
    page, token = pager(request, {"check": check, "controller": controller}), asked.continue_
    return await listed(
        request, open_checks.list_open, check, controller, page, token or None, asked.limit
    )


@router.get("/v1/jobs/{uid}/checks", response_model=JobChecks)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.JOBS)
async def list_job_checks(request: Request, uid: str) -> Response:
    """The admission checks of one job, with their answers."""
    return await listed(request, open_checks.checks_of, uid)


@router.put("/v1/jobs/{uid}/checks/{check}", response_model=JobChecks)
@allow(ADMINISTRATOR)
@refuses(RejectCode.ANSWERED_BY_HUB, RejectCode.NOT_RESERVED)
async def answer_check(request: Request, uid: str, check: str, answer: NewCheckState) -> Response:
    """Answer a check: {"state", "message", "requeueAfterSeconds", "retryCount", "podSetUpdates"}.

    `state` is Pending, Ready, Retry or Rejected. The same answer again changes nothing.
    """
    given = {"name": check, **answer.model_dump(by_alias=True, exclude_none=True)}
    name = caller(request).name
    return JsonResponse(
        await hub_of(request).write(check_states.set_state_by_person, uid, given, name)
    )


@router.put("/v1/objects/{group}/{kind}/{name}/status", response_model=ShownObject)
@allow(ADMINISTRATOR)
@refuses(RejectCode.OWNED_ELSEWHERE)
async def set_object_status(
    request: Request, group: GroupName, kind: KindName, name: str, given: ObjectStatus
) -> Response:
    """Set the conditions of an AdmissionCheck: {"conditions": [{type, status, reason, message}]}."""
    return JsonResponse(
        await hub_of(request).write(
            check_active.set_status,
            group,
            kind,
            "",
            name,
            given.conditions,
            caller(request).name,
        )
    )

"""`/v1/checks`: admission checks for whoever answers them without kubectl: provisioning, budget, approval.

A controller says that it serves its AdmissionCheck (`PUT …/status`), lists who waits, and answers.
"""

from starlette.requests import Request
from starlette.responses import Response

from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, hub_of, new_router
from hub.api.reply import Json, limit_of, pager, query, read_object
from hub.services.kueue_view import open_checks
from hub.services.outside import check_active, check_states

router = new_router()
_STATE = {
    "state": str,
    "message": str,
    "requeueAfterSeconds": int,
    "retryCount": int,
    "podSetUpdates": list,
}


@router.get("/v1/checks")
@allow(ADMINISTRATOR, VIEWER, query=True)
async def list_open_checks(request: Request) -> Response:
    """Workloads that hold quota and wait for a check's answer. Filters: check, controller."""
    given = query(request, "check", "controller", "limit", "continue")
    limit, token = limit_of(given), given.pop("continue", None)
    check, controller = given.get("check", ""), given.get("controller", "")
    page = pager(request, {"check": check, "controller": controller})
    return Json(
        await hub_of(request).read(open_checks.list_open, check, controller, page, token, limit)
    )


@router.get("/v1/jobs/{uid}/checks")
@allow(ADMINISTRATOR, VIEWER)
async def job_checks(request: Request, uid: str) -> Response:
    """The admission checks of one job, with what was answered."""
    return Json(await hub_of(request).read(open_checks.checks_of, uid))


@router.put("/v1/jobs/{uid}/checks/{check}")
@allow(ADMINISTRATOR)
async def set_check(request: Request, uid: str, check: str) -> Response:
    """Answer a check: {"state", "message", "requeueAfterSeconds", "retryCount", "podSetUpdates"}.

    `state` is Pending, Ready, Retry or Rejected. The same answer again changes nothing.
    """
    given = {"name": check, **await read_object(request, _STATE)}
    name = caller(request).name
    return Json(await hub_of(request).write(check_states.set_state_by_person, uid, given, name))


@router.put("/v1/objects/{group}/{kind}/{name}/status")
@allow(ADMINISTRATOR)
async def set_object_status(request: Request, group: str, kind: str, name: str) -> Response:
    """Set the conditions of an AdmissionCheck: {"conditions": [{type, status, reason, message}]}."""
    given = await read_object(request, {"conditions": list})
    return Json(
        await hub_of(request).write(
            check_active.set_status,
            group,
            kind,
            "",
            name,
            given.get("conditions"),
            caller(request).name,
        )
    )

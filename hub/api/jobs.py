"""`/v1/jobs`: submit one, list, look at, hold, release, cancel, delete."""

import hashlib
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from hub.api.advice import warning_header, warnings_of, with_warnings
from hub.api.bodies import read_one
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, hub_of, new_router
from hub.api.reply import (
    Json,
    expected_uid,
    idempotency_key,
    limit_of,
    pager,
    query,
)
from hub.domain.selectors import parse_selector
from hub.domain.workloads.states import State
from hub.services.context import secrecy
from hub.services.context.hub import Hub
from hub.services.explain import study
from hub.services.index.index import ScheduleIndex
from hub.services.jobs import cancel, hold
from hub.services.jobs.submit import Reply, Submission, submit
from hub.services.questions import jobs
from hub.services.reading.draft import draft
from shared.errors import Rejected
from shared.kinds.registry import parse_job
from shared.reject_codes import RejectCode

router = new_router()
_FILTERS = ("namespace", "queue", "state", "cluster", "name")
FindIndex = Callable[[], ScheduleIndex | None]


@router.post("/v1/jobs", status_code=201)
@allow(ADMINISTRATOR)
async def submit_job(request: Request) -> Response:
    """Submit one Job, as JSON or YAML. With an Idempotency-Key the same body gets the same reply."""
    key = idempotency_key(request)
    hub = hub_of(request)
    now = hub.clock.now()
    body, given = await read_one(request, lambda manifest: draft(parse_job(manifest), now))
    reply: Reply = await hub.write_shared(
        submit,
        Submission(
            drafts=(given,),
            intake=hub.settings.intake,
            single=True,
            key=key,
            request_hash=hashlib.sha256(body).hexdigest() if key else "",
        ),
    )
    headers = {"Idempotent-Replay": "true"} if reply.replayed else {}
    said = list(warnings_of(request, [given]).values())
    return Json(with_warnings(reply.body, said), reply.status, headers | warning_header(said))


@router.get("/v1/jobs")
@allow(ADMINISTRATOR, VIEWER, query=True)
async def list_jobs(request: Request) -> Response:
    """Jobs, newest first. Filters: namespace, queue, state, cluster, name (a prefix), labelSelector.

    At most `limit` (1 to 500, 100 by default); `continue` of a page asks for the next one.
    """
    given = query(request, *_FILTERS, "labelSelector", "limit", "continue")
    state = given.get("state")
    if state and state not in State.__members__.values():
        raise Rejected(RejectCode.INVALID_STATE, f"must be one of {', '.join(State)}", "state")
    limit = limit_of(given)
    token, selector = given.pop("continue", None), given.get("labelSelector")
    matches = parse_selector(selector, "labelSelector").matches if selector else None
    filters = {name: given[name] for name in _FILTERS if name in given}
    hub = hub_of(request)
    return Json(
        await hub.read(
            jobs.list_jobs,
            filters,
            matches,
            pager(request, {**filters, "labelSelector": selector or ""}),
            token,
            limit,
        )
    )


@router.get("/v1/jobs/{uid}")
@allow(ADMINISTRATOR, VIEWER)
async def get_job(request: Request, uid: str) -> Response:
    """One job with its manifest, counts and the decision that placed it.

    Viewers do not see values of environment variables.
    """
    role = caller(request).role
    return Json(await hub_of(request).read(secrecy.seen_by, role, jobs.get_job, uid))


@router.get("/v1/namespaces/{namespace}/jobs/{name}")
@allow(ADMINISTRATOR, VIEWER)
async def get_job_by_name(request: Request, namespace: str, name: str) -> Response:
    """The job that has this name now, else the newest that had it."""
    role = caller(request).role
    found = hub_of(request).read(secrecy.seen_by, role, jobs.get_job_by_name, namespace, name)
    return Json(await found)


@router.get("/v1/jobs/{uid}/events")
@allow(ADMINISTRATOR, VIEWER, query=True)
async def job_events(request: Request, uid: str) -> Response:
    """What happened to one job: its newest events, oldest first."""
    limit = limit_of(query(request, "limit"))
    return Json(await hub_of(request).read(jobs.job_events, uid, limit))


@router.get("/v1/jobs/{uid}/explain")
@allow(ADMINISTRATOR, VIEWER)
async def explain(request: Request, uid: str) -> Response:
    """Where a job is and why: position, the rule that holds it in numbers, verdict per cluster.

    While it waits also what would let it in, and when it is expected to start.
    """
    find_index: FindIndex = getattr(request.app.state, "schedule_index", _no_index)
    return Json(await study.explain(hub_of(request), uid, find_index))


@router.post("/v1/jobs/{uid}/cancel")
@allow(ADMINISTRATOR)
async def cancel_job(request: Request, uid: str) -> Response:
    """Stop a job wherever it is; again, or after its end, it is answered as it stands."""
    name = caller(request).name
    return Json(await hub_of(request).write(cancel.cancel_job, uid, name))


@router.post("/v1/jobs/{uid}/hold")
@allow(ADMINISTRATOR)
async def hold_job(request: Request, uid: str) -> Response:
    """Hold a job back: it is not considered until it is released; one that runs is evicted first."""
    name = caller(request).name
    return Json(await hub_of(request).write(hold.hold_job, uid, name))


@router.post("/v1/jobs/{uid}/release")
@allow(ADMINISTRATOR)
async def release_job(request: Request, uid: str) -> Response:
    """Let a job that is held, or was deactivated, wait again; any other is answered as it stands."""
    name = caller(request).name
    return Json(await hub_of(request).write(hold.release_job, uid, name))


@router.delete("/v1/jobs/{uid}")
@allow(ADMINISTRATOR)
async def delete_job(request: Request, uid: str) -> Response:
    """Delete a job. Body (optional): {"preconditions": {"uid": …}}, a 409 if it is another's."""
    return await _delete(request, hub_of(request), uid)


@router.delete("/v1/namespaces/{namespace}/jobs/{name}")
@allow(ADMINISTRATOR)
async def delete_job_by_name(request: Request, namespace: str, name: str) -> Response:
    """Delete the job that has this name."""
    hub = hub_of(request)
    found: dict[str, Any] = await hub.read(jobs.find_job_by_name, namespace, name)
    return await _delete(request, hub, found["uid"])


async def _delete(request: Request, hub: Hub, uid: str) -> Response:
    expected = await expected_uid(request)
    return Json(await hub.write(cancel.delete_job, uid, caller(request).name, expected))


def _no_index() -> None:
    """Explanations of a hub without scheduler come from the store alone."""

"""What agents call: register once, then sync. Bodies are read as bytes and validated in one pass.

A sync carries thousands of entries; one that is malformed is refused by itself and the others are
taken. Identity comes from the credential alone.
"""

from typing import Any, Final

import orjson
from fastapi import APIRouter
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from starlette.requests import Request
from starlette.responses import Response

from hub.api.policy import AGENT, PUBLIC, allow, caller, hub_of, new_router
from hub.api.reply import Json
from hub.services.enrol import enrol
from hub.services.sync import AgentSync
from hub.services.tokens import check_join
from shared.errors import FieldError, Rejected
from shared.wire.agent_v1 import (
    MAX_OBSERVED_PER_REQUEST,
    PROTO,
    REGISTER_PATH,
    SYNC_PATH,
    Refused,
    Register,
    Registered,
    SyncRequest,
)

# An inventory larger than this in one request was not paged.
MAX_ENTRIES: Final = 4 * MAX_OBSERVED_PER_REQUEST
_SHOWN = 20
_AT_ONCE: Final = 256 << 10  # bytes of a report; a larger one is read beside the event loop

router: APIRouter = new_router()


@router.post(REGISTER_PATH)
@allow(PUBLIC)  # the join token in the Authorization header is the policy: `enrol` redeems it
async def register(request: Request) -> Response:
    """Trade a join token for the agent's credential."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    await hub_of(request).read(check_join, bearer)  # before a byte of the body is
    try:
        given = Register.model_validate_json(await request.body())
    except ValidationError as fault:
        raise _invalid(fault) from fault
    enrolled = await hub_of(request).write(enrol, bearer, given.cluster_uid)
    sync = _sync_of(request)
    answer = Registered(
        cluster=enrolled.cluster,
        credential=enrolled.credential,
        hub_id=sync.hub_id,
        incarnation=sync.incarnation,
    )
    return Json(answer.model_dump())


@router.post(SYNC_PATH)
@allow(AGENT)
async def sync(request: Request) -> Response:
    """One exchange of observed and desired sets; held up to `wait_s` while there is no news."""
    body = await request.body()
    large = len(body) > _AT_ONCE
    message, refused = await hub_of(request).beside(read_sync, body) if large else read_sync(body)
    return Json(await _sync_of(request).sync(caller(request).cluster, message, refused))


def read_sync(body: bytes) -> tuple[SyncRequest, list[Refused]]:
    """The request, and the entries of it that are malformed. Raises Rejected for anything else."""
    try:
        message = SyncRequest.model_validate_json(body)
        refused: list[Refused] = []
    except ValidationError as fault:
        message, refused = _without_malformed(body, fault)
    if len(message.observed.entries) > MAX_ENTRIES:
        raise Rejected(
            "BodyTooLarge", f"send at most {MAX_OBSERVED_PER_REQUEST} entries a request"
        )
    return message, refused


def _without_malformed(body: bytes, fault: ValidationError) -> tuple[SyncRequest, list[Refused]]:
    """Read it again without the entries, and the capacity, that are at fault."""
    errors = fault.errors(include_url=False, include_context=False, include_input=False)
    if any(not _is_partial(error) for error in errors):
        raise _invalid(fault) from fault
    given: dict[str, Any] = orjson.loads(body)
    wrong: dict[int, str] = {}
    refused: list[Refused] = []
    for error in errors:
        place = error["loc"]
        if place[0] == "capacity":
            if given.pop("capacity", None) is not None:
                refused.append(Refused(uid="", code="CapacityInvalid", detail=_said(error)))
        else:
            wrong.setdefault(int(place[2]), _said(error))
    entries = given.get("observed", {}).get("entries", [])
    for index, said in wrong.items():
        uid = entries[index].get("uid", "") if isinstance(entries[index], dict) else ""
        refused.append(Refused(uid=str(uid)[:64], code="InvalidEntry", detail=said))
    if wrong:
        given["observed"]["entries"] = [
            entry for index, entry in enumerate(entries) if index not in wrong
        ]
    try:
        return SyncRequest.model_validate(given), refused
    except ValidationError as again:
        raise _invalid(again) from again


def _is_partial(error: ErrorDetails) -> bool:
    """Does the fault lie within one entry, or within the capacity?"""
    place = error["loc"]
    if not place:
        return False
    return place[0] == "capacity" or (len(place) > 2 and place[:2] == ("observed", "entries"))


def _invalid(fault: ValidationError) -> Rejected:
    errors = fault.errors(include_url=False, include_context=False, include_input=False)
    if errors and errors[0]["type"] == "json_invalid":
        return Rejected("InvalidJSON", errors[0]["msg"])
    shown = tuple(
        FieldError(".".join(str(part) for part in error["loc"]), "InvalidValue", error["msg"])
        for error in errors[:_SHOWN]
    )
    if any(each.field == "proto" for each in shown):
        return Rejected("UpgradeRequired", f"the hub speaks protocol {PROTO}", errors=shown)
    return Rejected("InvalidMessage", shown[0].message if shown else "invalid", errors=shown)


def _said(error: ErrorDetails) -> str:
    return f"{'.'.join(str(part) for part in error['loc'])}: {error['msg']}"[:500]


def _sync_of(request: Request) -> AgentSync:
    sync = request.app.state.agent_sync
    assert isinstance(sync, AgentSync)
    return sync

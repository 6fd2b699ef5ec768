"""Routes for agents: register once, then sync. Bodies are read as bytes and validated in one pass.

A sync carries thousands of entries; the hub refuses a malformed one and takes the others. Identity comes
from the credential alone.
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Final

import orjson
from fastapi import APIRouter
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from starlette.requests import Request
from starlette.responses import Response

from hub.api import openapi_parts
from hub.api.agent_terms import answered_in, terms_of
from hub.api.client_certificates import check_client_certificate, note
from hub.api.limits import check_failures, note_failure
from hub.api.openapi_parts import JSON, ref
from hub.api.policy import AGENT, PUBLIC, allow, caller, hub_of
from hub.api.reply import JsonResponse
from hub.api.routing import new_router, refuses
from hub.services.access.credentials import find_join
from hub.services.access.enrol import enrol
from hub.services.context.hub import Hub
from hub.services.members.sync import AgentSync
from hub.services.reading import first_agents
from hub.services.reading.capacity_report import check_capacity
from shared.documents import Json
from shared.errors import FieldError, Rejected
from shared.quantity import shown
from shared.reject_codes import RejectCode
from shared.wire import versions
from shared.wire.agent_v1 import (
    CA_PATH,
    MAX_OBSERVED_PER_REQUEST,
    REGISTER_PATH,
    SYNC_PATH,
    HubAuthority,
    Refused,
    Register,
    Registered,
    SyncReply,
    SyncRequest,
)

# An inventory larger than this in one request was not paged.
MAX_ENTRIES: Final = 4 * MAX_OBSERVED_PER_REQUEST
CAPACITY_INVALID: Final = "CapacityInvalid"
_NOTED: Final = frozenset({"IdentityMismatch", "ClusterIdentityChanged"})
_SHOWN = 20
_AT_ONCE: Final = 256 << 10  # bytes of a report; a larger one is read beside the event loop

router: APIRouter = new_router("agents")
_A_REGISTER: Final = {
    "cluster_uid": "7f3c9a52-0d1e-4b8e-9a57-2f6f0c1d8e11",
    "agent_version": "0.1.0",
}
_A_SYNC: Final = {
    "session": "f1b2c3d4e5",
    "seq": 1,
    "cluster_uid": _A_REGISTER["cluster_uid"],
    "observed": {"full": True},
}


@router.post(
    REGISTER_PATH,
    response_model=Registered,
    openapi_extra=openapi_parts.body({JSON: ref(Register)}, _A_REGISTER),
)
@allow(PUBLIC)  # the join token in the Authorization header is the policy: `enrol` redeems it
@refuses(
    RejectCode.UNAUTHENTICATED,
    RejectCode.CLIENT_CERTIFICATE_REQUIRED,
    RejectCode.TOKEN_USED,
    RejectCode.TOKEN_EXPIRED,
    RejectCode.IDENTITY_MISMATCH,
    RejectCode.CLUSTER_ALREADY_JOINED,
    RejectCode.CLUSTER_IDENTITY_CHANGED,
    RejectCode.INVALID_JSON,
    RejectCode.UPGRADE_REQUIRED,
)
async def register_agent(request: Request) -> Response:
    """Exchange a join token for the agent's credential."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    hub = hub_of(request)
    check_failures(request, hub, AGENT)
    try:
        cluster = (await hub.read(find_join, bearer)).cluster  # before a byte of the body is
    except Rejected:
        note_failure(request, hub, AGENT)
        raise
    await check_client_certificate(request, hub, cluster)
    async with _noting(hub, cluster):
        try:
            given = Register.model_validate_json(await request.body())
        except ValidationError as fault:
            raise _invalid(fault) from fault
        _check_name(given, cluster)
        terms = terms_of(request, versions.OLDEST)
        kept = hub.settings.api.agent_credential_kept
        enrolled = await hub.write(enrol, bearer, given.cluster_uid, given.secret_hash, kept)
    sync = _sync_of(request)
    answer = Registered(
        cluster=enrolled.cluster,
        credential=enrolled.credential,
        credential_id=enrolled.credential_id,
        hub_id=sync.hub_id,
        incarnation=sync.incarnation,
    )
    told = answer.model_dump(exclude_defaults=True)  # agents of protocol 1 know no other fields
    return JsonResponse(told, headers=answered_in(terms))


@router.get(CA_PATH, response_model=HubAuthority)
@allow(PUBLIC)
@refuses(RejectCode.UPGRADE_REQUIRED)
async def read_authority(request: Request) -> Response:
    """The CA of the hub's certificate, for agents that hold its pin; empty: the machine's CAs."""
    terms = terms_of(request, versions.OLDEST)
    told = HubAuthority(ca=hub_of(request).authority().pem)
    return JsonResponse(told.model_dump(), headers=answered_in(terms))


@router.post(
    SYNC_PATH,
    response_model=SyncReply,
    openapi_extra=openapi_parts.body({JSON: ref(SyncRequest)}, _A_SYNC),
)
@allow(AGENT)
@refuses(
    RejectCode.REVOKED,
    RejectCode.CLIENT_CERTIFICATE_REQUIRED,
    RejectCode.IDENTITY_MISMATCH,
    RejectCode.CLUSTER_IDENTITY_CHANGED,
    RejectCode.HUB_ROLLED_BACK,
    RejectCode.STALE_SEQUENCE,
    RejectCode.SESSION_SUPERSEDED,
    RejectCode.INVALID_JSON,
    RejectCode.UPGRADE_REQUIRED,
    RejectCode.TOO_MANY_REQUESTS,
)
async def sync_agent(request: Request) -> Response:
    """Exchange observed and desired sets; long poll of up to `wait_s`."""
    hub, cluster = hub_of(request), caller(request).cluster
    body = await request.body()
    async with _noting(hub, cluster):
        if len(body) > _AT_ONCE:
            message, refused = await hub.beside(read_sync, body, cluster)
        else:
            message, refused = read_sync(body, cluster)
        message.availability = versions.rules_held(request.headers.get(versions.RULES_HEADER))
        named = request.headers.get(versions.NAMESPACES_HEADER)
        message.namespaces_held = versions.rules_held(named)
        message.namespace_ids_held = versions.ids_held(request.headers)
        message.kinds_held = versions.rules_held(request.headers.get(versions.KINDS_HEADER))
        terms = terms_of(request, message.proto, caller(request))
        if first := first_agents.is_first(message):
            first_agents.hold_back(message)
        answer = await _sync_of(request).sync(cluster, message, refused, terms)
        if first:
            answer = first_agents.readable(answer)
    for fault in refused:
        if fault.code == CAPACITY_INVALID:
            await note(hub, cluster, fault.code, fault.detail)
    return JsonResponse(answer, headers=answered_in(terms))


@contextlib.asynccontextmanager
async def _noting(hub: Hub, cluster: str) -> AsyncIterator[None]:
    """Record a refusal that may be an impersonation."""
    try:
        yield
    except Rejected as refusal:
        if refusal.code in _NOTED:
            await note(hub, cluster, refusal.code, refusal.detail)
        raise


def read_sync(body: bytes, cluster: str) -> tuple[SyncRequest, list[Refused]]:
    """The request of `cluster`'s agent, and its entries that are refused. Raises Rejected."""
    try:
        message = SyncRequest.model_validate_json(body)
        refused: list[Refused] = []
    except ValidationError as fault:
        message, refused = _without_malformed(body, fault)
    _check_name(message, cluster)
    wrong = check_capacity(message.capacity) if message.capacity is not None else None
    if wrong is not None:
        refused.append(Refused(uid="", code=CAPACITY_INVALID, detail=wrong))
        message.capacity = None
    if len(message.observed.entries) > MAX_ENTRIES:
        raise Rejected(
            RejectCode.BODY_TOO_LARGE, f"send at most {MAX_OBSERVED_PER_REQUEST} entries a request"
        )
    return message, refused


def _without_malformed(body: bytes, fault: ValidationError) -> tuple[SyncRequest, list[Refused]]:
    """Read it again without the entries, and the capacity, that are at fault."""
    errors = fault.errors(include_url=False, include_context=False, include_input=False)
    if any(not _is_partial(error) for error in errors):
        raise _invalid(fault) from fault
    given: Json = orjson.loads(body)
    wrong: dict[int, str] = {}
    refused: list[Refused] = []
    for error in errors:
        place = error["loc"]
        if place[0] == "capacity":
            if given.pop("capacity", None) is not None:
                refused.append(Refused(uid="", code=CAPACITY_INVALID, detail=_said(error)))
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


def _check_name(message: Register | SyncRequest, cluster: str) -> None:
    """An agent may name only its own cluster. Raises Rejected: IdentityMismatch."""
    named = message.cluster
    if "cluster" in message.model_fields_set and named != cluster:
        other = shown(named) if isinstance(named, str) else "anything else"
        text = f"this credential is of {cluster}: it cannot act for {other}"
        raise Rejected(RejectCode.IDENTITY_MISMATCH, text, "cluster")


def _invalid(fault: ValidationError) -> Rejected:
    errors = fault.errors(include_url=False, include_context=False)
    if errors and errors[0]["type"] == "json_invalid":
        return Rejected(RejectCode.INVALID_JSON, errors[0]["msg"])
    listed = tuple(
        FieldError(
            ".".join(str(part) for part in error["loc"]), RejectCode.INVALID_VALUE, error["msg"]
        )
        for error in errors[:_SHOWN]
    )
    if any(each.field == "proto" for each in listed):
        text = f"the hub speaks protocol {versions.OLDEST} to {versions.NEWEST}, each a number"
        return Rejected(RejectCode.UPGRADE_REQUIRED, text, errors=listed)
    return Rejected(
        RejectCode.INVALID_MESSAGE, listed[0].message if listed else "invalid", errors=listed
    )


def _said(error: ErrorDetails) -> str:
    return f"{'.'.join(str(part) for part in error['loc'])}: {error['msg']}"[:500]


def _sync_of(request: Request) -> AgentSync:
    sync = request.app.state.agent_sync
    assert isinstance(sync, AgentSync)
    return sync

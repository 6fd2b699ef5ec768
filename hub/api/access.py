"""People: the caller, their rights, role bindings, and the audit."""

from typing import Annotated, Final

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api.models.access import (
    Allowed,
    AuditList,
    BoundRoleDetail,
    NewRoleBinding,
    RoleBindingList,
    WhoAmI,
)
from hub.api.models.sign_in import WaysIn
from hub.api.parameters import AuditFilters, Question
from hub.api.policy import ADMINISTRATOR, PUBLIC, USER, VIEWER, allow, caller, grants, hub_of
from hub.api.reply import JsonResponse, listed, pager
from hub.api.routing import new_router, refuses
from hub.domain.access import KINDS, VERBS, Grant, Noun, Rights, Verb
from hub.services.access import bindings
from hub.services.access.bindings import WantedBinding
from hub.services.questions import deeds
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode

router = new_router("access")
_NAMED: Final = 5  # namespaces that an answer names
_ONE: Final = "/v1/access/bindings/{name}"


@router.get("/v1/whoami", response_model=WhoAmI)
@allow(ADMINISTRATOR, VIEWER, USER)
async def who_am_i(request: Request) -> Response:
    """The caller: name, groups, and roles with their namespaces."""
    who = caller(request)
    return JsonResponse(
        {
            "name": who.name,
            "role": who.role,
            "groups": sorted(who.groups),
            "roles": [_grant(each) for each in who.rights.grants],
        }
    )


@router.get("/v1/sign-in", response_model=WaysIn)
@allow(PUBLIC)
async def ways_in(request: Request) -> Response:
    """Sign-in configuration, without a credential: the provider, and the command line's client there."""
    terms = hub_of(request).sign_in.terms
    oidc = {"issuer": terms.issuer, "clientId": terms.of_cli, "scopes": terms.scopes}
    return JsonResponse({"oidc": oidc if terms.issuer else None})


@router.get("/v1/can-i", response_model=Allowed)
@allow(ADMINISTRATOR, VIEWER, USER)
async def can_i(request: Request, asked: Annotated[Question, Query()]) -> Response:
    """True if the caller may do `verb` to `kind`, in `namespace` or anywhere; same rules as every route.

    Verbs are get, create, change and kubectl's words for them; of jobs `create` and `change` are meant of
    one's own.
    """
    who = caller(request)
    verb, kind = VERBS.get(asked.verb.lower()), KINDS.get(asked.kind.lower())
    if verb is None:
        raise Rejected(RejectCode.INVALID_VALUE, f"must be one of {', '.join(VERBS)}", "verb")
    if kind is None:
        raise Rejected(RejectCode.INVALID_VALUE, f"must be one of {', '.join(KINDS)}", "kind")
    place = (verb, kind, asked.namespace, asked.queue, who.name)
    giving = [each for each in who.rights.grants if Rights(who.name, (each,)).allows(*place)]
    told = {
        "allowed": bool(giving),
        "verb": verb,
        "kind": kind,
        "namespace": asked.namespace,
        "reason": _because(giving, asked.namespace),
    }
    return JsonResponse(told)


@router.get("/v1/access/bindings", response_model=RoleBindingList)
@allow(ADMINISTRATOR)
async def list_role_bindings(request: Request) -> Response:
    """Role bindings, by name."""
    return await listed(request, bindings.list_bindings)


@router.put(_ONE, response_model=BoundRoleDetail)
@allow(ADMINISTRATOR)
async def bind_role(request: Request, name: str, given: NewRoleBinding) -> Response:
    """Bind a role to users and groups, in some namespaces and queues or in all; replaces that name's.

    It holds within seconds, everywhere. A binding that can not be enforced is refused.
    """
    wanted = WantedBinding(
        name,
        given.role,
        given.users or (),
        given.groups or (),
        given.namespaces,
        given.queues,
        given.priority_classes,
    )
    return JsonResponse(await hub_of(request).write(bindings.bind, wanted, caller(request).name))


@router.delete(_ONE, response_model=BoundRoleDetail)
@allow(ADMINISTRATOR)
async def unbind_role(request: Request, name: str) -> Response:
    """Remove a role binding; all hubs apply it within seconds."""
    return JsonResponse(await hub_of(request).write(bindings.unbind, name, caller(request).name))


@router.get("/v1/audit", tags=["fleet"], response_model=AuditList)
@allow(ADMINISTRATOR)
@grants(Verb.GET, Noun.AUDIT)
@refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED)
async def list_audit(request: Request, asked: Annotated[AuditFilters, Query()]) -> Response:
    """Audit, newest first, cut to what the caller may see. Filters: principal, verb,
    kind, namespace, since.
    """
    filters, token = asked.given(), asked.continue_ or None
    page = pager(request, filters)
    filters.pop("since", None)
    return await listed(request, deeds.list_audit, filters, asked.since, page, token, asked.limit)


def _grant(each: Grant) -> Json:
    spaces, queues, classes = each.area.namespaces, each.area.queues, each.priority_classes
    return {
        "role": each.role,
        "namespaces": None if spaces is None else sorted(spaces),
        "queues": None if queues is None else sorted(queues),
        "priorityClasses": None if classes is None else sorted(classes),
    }


def _because(giving: list[Grant], namespace: str) -> str:
    if not giving:
        return "none of your roles allows it"
    roles = sorted({str(each.role) for each in giving})
    told = f"as {' and '.join(roles)}"
    spaces = [each.area.namespaces for each in giving]
    if namespace or None in spaces:
        return told
    names = sorted({name for held in spaces for name in held or ()})
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{told}, in {', '.join(names[:_NAMED])}{more}"

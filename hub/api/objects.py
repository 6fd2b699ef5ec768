"""`/v1/objects`: objects of any kind but Jobs. The core group is written `core`."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api.inside import tell_inside
from hub.api.models.objects import (
    Deletion,
    HandedOver,
    HandOver,
    KindList,
    ObjectList,
    Options,
    ShownObject,
    uid_of,
)
from hub.api.parameters import DryRun, GroupName, KindName, ObjectFilters, Removal
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, grants, hub_of
from hub.api.reply import JsonResponse, encoded, listed, pager
from hub.api.rights import is_unbounded, may_change
from hub.api.routing import new_router, refuses
from hub.domain.access import Noun, Verb
from hub.domain.workloads.origin import Origin
from hub.services.context import secrecy
from hub.services.kinds import declared_kinds
from hub.services.kinds.definitions import is_definition
from hub.services.objects import delete
from hub.services.objects.hand_over import hand_over
from hub.services.questions import objects
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.reject_codes import RejectCode

router = new_router("objects")
_ONE = "/v1/objects/{group}/{kind}/{name}"
_ONE_OF_NAMESPACE = "/v1/objects/{group}/{kind}/namespaces/{namespace}/{name}"


@router.get("/v1/objects", response_model=KindList)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.OBJECTS)
async def list_kinds(request: Request) -> Response:
    """Kinds that the hub holds, with their counts."""
    return await listed(request, objects.list_kinds)


@router.get("/v1/objects/{group}/{kind}", response_model=ObjectList)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.OBJECTS)
@refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED)
async def list_objects(
    request: Request, group: GroupName, kind: KindName, asked: Annotated[ObjectFilters, Query()]
) -> Response:
    """Objects of one kind by namespace and name; `namespace` for one namespace's.

    Values of Secrets are replaced by marks, for all readers; viewers see no environment variables.
    """
    return await listed(
        request,
        secrecy.seen_by,
        caller(request).role,
        objects.list_objects,
        _group(group, kind),
        kind,
        asked.namespace,
        pager(request, {"namespace": asked.namespace}),
        asked.continue_ or None,
        asked.limit,
    )


@router.get(_ONE, response_model=ShownObject)
@allow(ADMINISTRATOR, VIEWER)
async def get_object(request: Request, group: GroupName, kind: KindName, name: str) -> Response:
    """One cluster-scoped object: its manifest with uid, generation and status."""
    return await _get(request, _group(group, kind), kind, "", name)


@router.get(_ONE_OF_NAMESPACE, response_model=ShownObject)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.OBJECTS)
async def get_namespaced_object(
    request: Request, group: GroupName, kind: KindName, namespace: str, name: str
) -> Response:
    """One object of a namespace: its manifest with uid, generation and status."""
    return await _get(request, _group(group, kind), kind, namespace, name)


async def _get(request: Request, group: str, kind: str, namespace: str, name: str) -> Response:
    role, get = caller(request).role, objects.get_object
    return await encoded(request, secrecy.seen_by, role, get, group, kind, namespace, name)


@router.delete(_ONE, response_model=Deletion)
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.QUOTAS)
@refuses(
    RejectCode.CLUSTER_NOT_EMPTY,
    RejectCode.KIND_IN_USE,
    RejectCode.NAMESPACE_NOT_EMPTY,
    RejectCode.OWNED_ELSEWHERE,
    RejectCode.PRECONDITION_FAILED,
    RejectCode.QUEUE_NOT_EMPTY,
)
async def delete_object(
    request: Request,
    group: GroupName,
    kind: KindName,
    name: str,
    asked: Annotated[Removal, Query()],
    options: Options = None,
) -> Response:
    """Delete a cluster-scoped object. Body (optional): {"preconditions": {"uid": …}}.

    `drain=true` takes back first what a ClusterQueue has admitted; else it is refused while it is used.
    `members` of the answer says what the deletion does in members; `dryRun=true` deletes nothing.
    A batch administrator of all namespaces deletes ClusterQueues, cohorts, flavors and priority classes.
    """
    if not may_change(request, group, kind):
        raise Rejected(RejectCode.FORBIDDEN, f"a cluster administrator may delete a {kind}")
    group = _group(group, kind)
    return await _delete(request, (group, kind, "", name), options, asked, drain=asked.drain)


@router.delete(_ONE_OF_NAMESPACE, response_model=Deletion)
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.JOBS)
@refuses(RejectCode.OWNED_ELSEWHERE, RejectCode.PRECONDITION_FAILED)
async def delete_namespaced_object(
    request: Request,
    group: GroupName,
    kind: KindName,
    namespace: str,
    name: str,
    asked: Annotated[DryRun, Query()],
    options: Options = None,
) -> Response:
    """Delete an object of a namespace. Body (optional): {"preconditions": {"uid": …}}.

    `members` of the answer says what the deletion does in members; `dryRun=true` deletes nothing.
    A batch administrator deletes LocalQueues of their namespaces, held Workloads and CronJobs with a queue,
    as their owners do the latter two.
    """
    theirs = {(KUEUE, "LocalQueue"), (KUEUE, "Workload"), ("batch", "CronJob")}
    if (group, kind) not in theirs and not is_unbounded(request):
        text = (
            f"{caller(request).name} may not delete a {kind}: it takes the role cluster-administrator "
            "(roadstead whoami)"
        )
        raise Rejected(RejectCode.FORBIDDEN, text)
    return await _delete(request, (_group(group, kind), kind, namespace, name), options, asked)


@router.post("/v1/hand-over", response_model=HandedOver)
@allow(ADMINISTRATOR)
@refuses(RejectCode.NOT_FOUND, RejectCode.NOT_HANDED_OVER, RejectCode.BEING_DELETED)
async def hand_over_object(request: Request, given: HandOver) -> Response:
    """Hand an object over: from kubectl to REST, or a queue kind from REST to the hub cluster."""
    hub = hub_of(request)
    group = "" if given.group == "core" else given.group
    place = (group, given.kind, given.namespace, given.name)
    who = caller(request).name
    return JsonResponse(await hub.write(hand_over, place, given.to, who, hub.settings.bridge))


async def _delete(
    request: Request,
    key: tuple[str, str, str, str],
    options: Options,
    asked: DryRun,
    *,
    drain: bool = False,
) -> Response:
    hub = hub_of(request)
    told = await (hub.read if asked.dry_run else hub.write)(
        delete.delete_object,
        *key,
        origin=Origin.REST,
        principal=caller(request).name,
        expected=uid_of(options),
        drain=drain,
        dry_run=asked.dry_run,
        as_jobs=not is_unbounded(request),
    )
    if asked.dry_run:
        await tell_inside(request, caller(request).id, told["members"])
    elif is_definition(*key[:2]):
        await declared_kinds.load(hub.db, hub.kinds)
    return JsonResponse(told)


def _group(group: str, kind: str) -> str:
    """The API group of a path. Raises Rejected for Jobs, which have their own routes."""
    if (group, kind) == ("batch", "Job"):
        raise Rejected(
            RejectCode.NOT_FOUND, "Jobs are at /v1/jobs and /v1/namespaces/NAMESPACE/jobs/NAME"
        )
    return "" if group == "core" else group

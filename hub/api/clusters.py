"""`/v1/clusters`: declare members, let their agents join, cordon them."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api.inside import tell_inside
from hub.api.models.clusters import (
    CordonPreview,
    DeclaredCluster,
    DrainedCluster,
    DrainRequest,
    FenceConfirmation,
    FencedCluster,
    JoinToken,
    MemberClusterDetail,
    MemberClusterList,
    MemberNamespaceList,
    NewCluster,
)
from hub.api.models.objects import Deletion, Options, uid_of
from hub.api.parameters import Leaving, Look
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, from_page, hub_of
from hub.api.reply import JsonResponse, listed
from hub.api.routing import new_router, refuses
from hub.domain.workloads.origin import Origin
from hub.services.context.hub import Hub
from hub.services.objects import clusters, delete, drain, fence
from hub.services.questions import clusters as member_questions
from shared.documents import Json
from shared.kinds.cluster_v1 import GROUP
from shared.reject_codes import RejectCode

router = new_router("clusters")


@router.get("/v1/clusters", response_model=MemberClusterList)
@allow(ADMINISTRATOR, VIEWER)
async def list_clusters(request: Request) -> Response:
    """All members with state, room and heartbeat."""
    hub = hub_of(request)
    return await listed(request, member_questions.list_clusters, hub.settings)


@router.post("/v1/clusters", status_code=201, response_model=DeclaredCluster)
@allow(ADMINISTRATOR)
@refuses(RejectCode.ALREADY_EXISTS, RejectCode.BEING_DELETED, RejectCode.OWNED_ELSEWHERE)
async def create_cluster(request: Request, given: NewCluster) -> Response:
    """Declare a member: {"name", "labels", "taints", "pools"}. The answer holds its one-time `joinToken`."""
    hub = hub_of(request)
    made = await hub.write(
        clusters.create_cluster,
        given.name,
        given.labels or {},
        given.taints or [],
        hub.settings,
        caller(request).name,
        given.pools,
    )
    return JsonResponse(_pinned(hub, made), 201)


@router.get("/v1/clusters/{name}", response_model=MemberClusterDetail)
@allow(ADMINISTRATOR, VIEWER)
async def get_cluster(request: Request, name: str) -> Response:
    """One member with its pools."""
    hub = hub_of(request)
    return await listed(request, member_questions.get_cluster, name, hub.settings)


@router.get("/v1/clusters/{name}/namespaces", response_model=MemberNamespaceList)
@allow(ADMINISTRATOR, VIEWER)
async def list_member_namespaces(request: Request, name: str) -> Response:
    """Namespaces of a member that the hub uses or requests: their consent and jobs."""
    return await listed(request, member_questions.get_namespaces, name)


@router.delete("/v1/clusters/{name}", response_model=Deletion)
@allow(ADMINISTRATOR)
@refuses(RejectCode.CLUSTER_NOT_EMPTY, RejectCode.OWNED_ELSEWHERE, RejectCode.PRECONDITION_FAILED)
async def delete_cluster(
    request: Request, name: str, asked: Annotated[Leaving, Query()], options: Options = None
) -> Response:
    """Remove a member without jobs; its agent's credential is revoked. Body as for any object.

    Objects stay there, unless `propagationPolicy` or its own deleteOptions say Delete: then they go first.
    `dryRun=true` only says what the deletion would do.
    """
    hub = hub_of(request)
    told = await (hub.read if asked.dry_run else hub.write)(
        delete.delete_object,
        GROUP,
        "MemberCluster",
        "",
        name,
        origin=Origin.REST,
        principal=caller(request).name,
        expected=uid_of(options),
        policy=asked.propagation_policy,
        dry_run=asked.dry_run,
    )
    if asked.dry_run:
        await tell_inside(request, caller(request).id, told["members"])
    return JsonResponse(told)


@router.post("/v1/clusters/{name}/join-token", status_code=201, response_model=JoinToken)
@allow(ADMINISTRATOR)
async def renew_join_token(request: Request, name: str) -> Response:
    """A new one-time join token; revokes earlier unused ones."""
    hub = hub_of(request)
    made = await hub.write(clusters.renew_join_token, name, hub.settings, caller(request).name)
    return JsonResponse(_pinned(hub, made), 201)


@router.post("/v1/clusters/{name}/cordon", response_model=MemberClusterDetail | CordonPreview)
@from_page
@allow(ADMINISTRATOR)
async def cordon_cluster(request: Request, name: str, asked: Annotated[Look, Query()]) -> Response:
    """Send no new work there; running jobs continue. `dryRun=true` only says what that would do."""
    return await _switch(request, name, asked, on=True)


@router.post("/v1/clusters/{name}/drain", response_model=DrainedCluster)
@from_page
@allow(ADMINISTRATOR)
async def drain_cluster(request: Request, name: str, given: DrainRequest) -> Response:
    """Cordon a member and withdraw its work: jobs start elsewhere, objects leave as budgets allow.

    With `dryRun` nothing moves. The rest waits for a budget: ask again.
    """
    hub = hub_of(request)
    principal, carry_out = caller(request).name, not given.dry_run
    told = await hub.write(drain.drain_cluster, name, principal, carry_out=carry_out)
    if not carry_out:
        await tell_inside(request, caller(request).id, told["members"])
    return JsonResponse(told)


@router.post("/v1/clusters/{name}/fence", response_model=FencedCluster)
@allow(ADMINISTRATOR)
@refuses(RejectCode.CLUSTER_ALIVE)
async def fence_cluster(request: Request, name: str, given: FenceConfirmation) -> Response:
    """Fence a destroyed member: {"confirm": NAME}. Its jobs start elsewhere; its credential is revoked.

    One that still answers is refused, unless `thoughItAnswers` is true: what runs there runs twice.
    """
    hub = hub_of(request)
    return JsonResponse(
        await hub.write(
            fence.fence_cluster,
            name,
            given.confirm,
            caller(request).name,
            hub.settings.scheduling.suspect_after_s,
            though_it_answers=bool(given.though_it_answers),
        )
    )


@router.post("/v1/clusters/{name}/uncordon", response_model=MemberClusterDetail | CordonPreview)
@from_page
@allow(ADMINISTRATOR)
async def uncordon_cluster(
    request: Request, name: str, asked: Annotated[Look, Query()]
) -> Response:
    """Send work there again. `dryRun=true` only says what that would do."""
    return await _switch(request, name, asked, on=False)


def _pinned(hub: Hub, made: Json) -> Json:
    """The answer with the pins of the hub's CA in its join token."""
    return made | {"joinToken": hub.authority().pinned(made["joinToken"])}


async def _switch(request: Request, name: str, asked: Look, *, on: bool) -> Response:
    hub = hub_of(request)
    if asked.dry_run:
        return JsonResponse(await hub.read(clusters.would_cordon, name, hub.settings, on=on))
    principal = caller(request).name
    return JsonResponse(
        await hub.write(clusters.cordon_cluster, name, hub.settings, principal, on=on)
    )

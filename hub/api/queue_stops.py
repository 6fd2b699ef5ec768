"""`/v1/queues/…/stop` and `…/resume`: whether a queue lets anything in, as its `stopPolicy` says."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api.models.queues import (
    ClusterQueueFigures,
    LocalQueueDetail,
    QueuePreview,
    QueueStop,
)
from hub.api.parameters import Look
from hub.api.policy import ADMINISTRATOR, allow, caller, from_page, grants, hub_of
from hub.api.reply import JsonResponse
from hub.api.routing import new_router, refuses
from hub.domain.access import Noun, Verb
from hub.services.objects.stop_queue import (
    ON,
    StopPolicy,
    set_stop_policy,
    would_set_stop_policy,
)
from shared.reject_codes import RejectCode

router = new_router("queues")


@router.post("/v1/queues/{name}/stop", response_model=ClusterQueueFigures | QueuePreview)
@from_page
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.QUOTAS)
@refuses(RejectCode.BEING_DELETED, RejectCode.OWNED_ELSEWHERE)
async def stop_cluster_queue(
    request: Request, name: str, look: Annotated[Look, Query()], asked: QueueStop | None = None
) -> Response:
    """Stop a ClusterQueue; with `drain` also evict its admitted workloads.

    A batch administrator of all namespaces stops them. `dryRun=true` only says what that would do.
    """
    return await _set(request, "", name, _policy(asked), look)


@router.post("/v1/queues/{name}/resume", response_model=ClusterQueueFigures | QueuePreview)
@from_page
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.QUOTAS)
@refuses(RejectCode.BEING_DELETED, RejectCode.OWNED_ELSEWHERE)
async def resume_cluster_queue(
    request: Request, name: str, look: Annotated[Look, Query()]
) -> Response:
    """Resume a ClusterQueue. `dryRun=true` only says what that would do."""
    return await _set(request, "", name, ON, look)


@router.post("/v1/queues/{namespace}/{name}/stop", response_model=LocalQueueDetail | QueuePreview)
@from_page
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.QUEUES)
@refuses(RejectCode.BEING_DELETED, RejectCode.OWNED_ELSEWHERE)
async def stop_local_queue(
    request: Request,
    namespace: str,
    name: str,
    look: Annotated[Look, Query()],
    asked: QueueStop | None = None,
) -> Response:
    """Stop a LocalQueue; with `drain` also evict its admitted workloads.

    A batch administrator stops those of their namespaces. `dryRun=true` only says what that would do.
    """
    return await _set(request, namespace, name, _policy(asked), look)


@router.post(
    "/v1/queues/{namespace}/{name}/resume", response_model=LocalQueueDetail | QueuePreview
)
@from_page
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.QUEUES)
@refuses(RejectCode.BEING_DELETED, RejectCode.OWNED_ELSEWHERE)
async def resume_local_queue(
    request: Request, namespace: str, name: str, look: Annotated[Look, Query()]
) -> Response:
    """Resume a LocalQueue. `dryRun=true` only says what that would do."""
    return await _set(request, namespace, name, ON, look)


def _policy(asked: QueueStop | None) -> StopPolicy:
    return "HoldAndDrain" if asked is not None and asked.drain else "Hold"


async def _set(
    request: Request, namespace: str, name: str, policy: StopPolicy, look: Look
) -> Response:
    hub, who = hub_of(request), caller(request).name
    if look.dry_run:
        return JsonResponse(await hub.read(would_set_stop_policy, namespace, name, policy, who))
    return JsonResponse(
        await hub.write(set_stop_policy, namespace, name, policy, hub.settings, who)
    )

"""`/v1/queues/…/stop` and `…/resume`: whether a queue lets anything in, as its `stopPolicy` says."""

from starlette.requests import Request
from starlette.responses import Response

from hub.api.models.queues import ClusterQueueFigures, LocalQueueDetail, QueueStop
from hub.api.policy import ADMINISTRATOR, allow, caller, from_page, grants, hub_of
from hub.api.reply import JsonResponse
from hub.api.routing import new_router, refuses
from hub.domain.access import Noun, Verb
from hub.services.objects.stop_queue import ON, StopPolicy, set_stop_policy
from shared.reject_codes import RejectCode

router = new_router("queues")


@router.post("/v1/queues/{name}/stop", response_model=ClusterQueueFigures)
@from_page
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.QUOTAS)
@refuses(RejectCode.BEING_DELETED, RejectCode.OWNED_ELSEWHERE)
async def stop_cluster_queue(
    request: Request, name: str, asked: QueueStop | None = None
) -> Response:
    """Let a ClusterQueue admit nothing more; with `drain` what it has admitted is taken back, too.

    A batch administrator of all namespaces stops them.
    """
    return await _set(request, "", name, _policy(asked))


@router.post("/v1/queues/{name}/resume", response_model=ClusterQueueFigures)
@from_page
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.QUOTAS)
@refuses(RejectCode.BEING_DELETED, RejectCode.OWNED_ELSEWHERE)
async def resume_cluster_queue(request: Request, name: str) -> Response:
    """Let a ClusterQueue admit again what waits in it."""
    return await _set(request, "", name, ON)


@router.post("/v1/queues/{namespace}/{name}/stop", response_model=LocalQueueDetail)
@from_page
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.QUEUES)
@refuses(RejectCode.BEING_DELETED, RejectCode.OWNED_ELSEWHERE)
async def stop_local_queue(
    request: Request, namespace: str, name: str, asked: QueueStop | None = None
) -> Response:
    """Let nothing more in that comes by a LocalQueue; with `drain` what it has admitted is taken back, too.

    A batch administrator stops those of their namespaces.
    """
    return await _set(request, namespace, name, _policy(asked))


@router.post("/v1/queues/{namespace}/{name}/resume", response_model=LocalQueueDetail)
@from_page
@allow(ADMINISTRATOR)
@grants(Verb.CHANGE, Noun.QUEUES)
@refuses(RejectCode.BEING_DELETED, RejectCode.OWNED_ELSEWHERE)
async def resume_local_queue(request: Request, namespace: str, name: str) -> Response:
    """Let in again what waits in a LocalQueue."""
    return await _set(request, namespace, name, ON)


def _policy(asked: QueueStop | None) -> StopPolicy:
    return "HoldAndDrain" if asked is not None and asked.drain else "Hold"


async def _set(request: Request, namespace: str, name: str, policy: StopPolicy) -> Response:
    hub, who = hub_of(request), caller(request).name
    return JsonResponse(
        await hub.write(set_stop_policy, namespace, name, policy, hub.settings, who)
    )

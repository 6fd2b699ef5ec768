"""`/v1/hub-cluster`: whether the bridge to the hub cluster runs, and the word that lifts a stop."""

from starlette.requests import Request
from starlette.responses import Response

from hub.api.models.clusters import HubCluster, ResumeReason
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, hub_of
from hub.api.reply import JsonResponse
from hub.api.routing import new_router, refuses
from hub.services.context import hub_cluster
from shared.reject_codes import RejectCode

router = new_router("hub cluster")


@router.get("/v1/hub-cluster", response_model=HubCluster)
@allow(ADMINISTRATOR, VIEWER)
async def get_hub_cluster(request: Request) -> Response:
    """The hub cluster: its identity, whether the bridge runs, and the reason if it stopped."""
    return JsonResponse(await hub_of(request).read(hub_cluster.show))


@router.post("/v1/hub-cluster/resume", response_model=HubCluster)
@allow(ADMINISTRATOR)
@refuses(RejectCode.BRIDGE_NOT_STOPPED, RejectCode.BRIDGE_WAITS)
async def resume_bridge(request: Request, given: ResumeReason) -> Response:
    """Resume the bridge after a stop: {"reason"}. `resuming` describes the effect."""
    name = caller(request).name
    return JsonResponse(await hub_of(request).write(hub_cluster.resume, given.reason, name))

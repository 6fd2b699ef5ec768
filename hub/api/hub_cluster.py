"""`/v1/hub-cluster`: whether the bridge to the hub cluster runs, and the word that lifts a stop."""

from starlette.requests import Request
from starlette.responses import Response

from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, hub_of, new_router
from hub.api.reply import Json, query, read_object
from hub.services.context import hub_cluster

router = new_router()
_ASKED = {"reason": str}


@router.get("/v1/hub-cluster")
@allow(ADMINISTRATOR, VIEWER)
async def show(request: Request) -> Response:
    """The hub cluster: its identity, whether the bridge runs, why it has stopped."""
    query(request)
    return Json(await hub_of(request).read(hub_cluster.show))


@router.post("/v1/hub-cluster/resume")
@allow(ADMINISTRATOR)
async def resume(request: Request) -> Response:
    """Lift the bridge's stop: {"reason"}, as the hub cluster shows it. Its `resuming` says what follows."""
    given = await read_object(request, _ASKED)
    return Json(
        await hub_of(request).write(
            hub_cluster.resume, given.get("reason", ""), caller(request).name
        )
    )

"""`/v1/clusters`: declare members, let their agents join, cordon them."""

from starlette.requests import Request
from starlette.responses import Response

from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, hub_of, new_router
from hub.api.reply import Json, expected_uid, read_object
from hub.domain.workloads.origin import Origin
from hub.services.objects import clusters, delete
from hub.services.objects.fence import fence_cluster
from hub.services.questions import clusters as member_questions
from shared.errors import Rejected
from shared.kinds.cluster_v1 import GROUP
from shared.reject_codes import RejectCode

router = new_router()
_DECLARED = {"name": str, "labels": dict, "taints": list, "pools": list}


@router.get("/v1/clusters")
@allow(ADMINISTRATOR, VIEWER)
async def list_clusters(request: Request) -> Response:
    """All members with state, room and heartbeat."""
    hub = hub_of(request)
    return Json(await hub.read(member_questions.list_clusters, hub.settings))


@router.post("/v1/clusters", status_code=201)
@allow(ADMINISTRATOR)
async def create_cluster(request: Request) -> Response:
    """Declare a member: {"name", "labels", "taints", "pools"}. The answer holds its one-time `joinToken`."""
    given = await read_object(request, _DECLARED)
    if not given.get("name"):
        raise Rejected(RejectCode.REQUIRED, "a cluster has a name", "name")
    hub = hub_of(request)
    made = await hub.write(
        clusters.create_cluster,
        given["name"],
        given.get("labels", {}),
        given.get("taints", []),
        hub.settings,
        caller(request).name,
        given.get("pools"),
    )
    return Json(made, 201)


@router.get("/v1/clusters/{name}")
@allow(ADMINISTRATOR, VIEWER)
async def get_cluster(request: Request, name: str) -> Response:
    """One member with its pools."""
    hub = hub_of(request)
    return Json(await hub.read(member_questions.get_cluster, name, hub.settings))


@router.delete("/v1/clusters/{name}")
@allow(ADMINISTRATOR)
async def delete_cluster(request: Request, name: str) -> Response:
    """Forget a member that holds no jobs; its agent's credential ends. Body as for any object."""
    expected = await expected_uid(request)
    return Json(
        await hub_of(request).write(
            delete.delete_object,
            GROUP,
            "MemberCluster",
            "",
            name,
            origin=Origin.REST,
            principal=caller(request).name,
            expected=expected,
        )
    )


@router.post("/v1/clusters/{name}/join-token")
@allow(ADMINISTRATOR)
async def renew_join_token(request: Request, name: str) -> Response:
    """A fresh one-time join token; earlier unused ones end."""
    hub = hub_of(request)
    return Json(
        await hub.write(clusters.renew_join_token, name, hub.settings, caller(request).name), 201
    )


@router.post("/v1/clusters/{name}/cordon")
@allow(ADMINISTRATOR)
async def cordon(request: Request, name: str) -> Response:
    """Send no new work there; what runs goes on."""
    return await _switch(request, name, on=True)


@router.post("/v1/clusters/{name}/fence")
@allow(ADMINISTRATOR)
async def fence(request: Request, name: str) -> Response:
    """Write a destroyed member off: {"confirm": NAME}. Its jobs start elsewhere; its credential ends.

    One that still answers is refused, unless `thoughItAnswers` is true: what runs there runs twice.
    """
    given = await read_object(request, {"confirm": str, "thoughItAnswers": bool})
    hub = hub_of(request)
    return Json(
        await hub.write(
            fence_cluster,
            name,
            given.get("confirm", ""),
            caller(request).name,
            hub.settings.scheduling.suspect_after_s,
            though_it_answers=given.get("thoughItAnswers", False),
        )
    )


@router.post("/v1/clusters/{name}/uncordon")
@allow(ADMINISTRATOR)
async def uncordon(request: Request, name: str) -> Response:
    """Send work there again."""
    return await _switch(request, name, on=False)


async def _switch(request: Request, name: str, *, on: bool) -> Response:
    hub = hub_of(request)
    principal = caller(request).name
    return Json(await hub.write(clusters.cordon_cluster, name, hub.settings, principal, on=on))

"""`/v1/objects`: objects of any kind but Jobs. The core group is written `core`."""

from starlette.requests import Request
from starlette.responses import Response

from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, hub_of, new_router
from hub.api.reply import Json, expected_uid, limit_of, pager, query
from hub.domain.workloads.origin import Origin
from hub.services.context import secrecy
from hub.services.objects import delete
from hub.services.questions import objects
from shared.errors import Rejected
from shared.reject_codes import RejectCode

router = new_router()
_ONE = "/v1/objects/{group}/{kind}/{name}"
_ONE_OF_NAMESPACE = "/v1/objects/{group}/{kind}/namespaces/{namespace}/{name}"


@router.get("/v1/objects")
@allow(ADMINISTRATOR, VIEWER)
async def list_kinds(request: Request) -> Response:
    """Kinds that the hub holds, with how many of each."""
    return Json(await hub_of(request).read(objects.list_kinds))


@router.get("/v1/objects/{group}/{kind}")
@allow(ADMINISTRATOR, VIEWER, query=True)
async def list_objects(request: Request, group: str, kind: str) -> Response:
    """Objects of one kind by namespace and name; `namespace` for one namespace's.

    Of Secrets only marks of their values are shown, to anybody; viewers see no environment variables.
    """
    given = query(request, "namespace", "limit", "continue")
    namespace = given.get("namespace", "")
    return Json(
        await hub_of(request).read(
            secrecy.seen_by,
            caller(request).role,
            objects.list_objects,
            _group(group, kind),
            kind,
            namespace,
            pager(request, {"namespace": namespace}),
            given.get("continue"),
            limit_of(given),
        )
    )


@router.get(_ONE)
@allow(ADMINISTRATOR, VIEWER)
async def get_object(request: Request, group: str, kind: str, name: str) -> Response:
    """One cluster-scoped object: its manifest with uid, generation and status."""
    return await _get(request, _group(group, kind), kind, "", name)


@router.get(_ONE_OF_NAMESPACE)
@allow(ADMINISTRATOR, VIEWER)
async def get_namespaced_object(
    request: Request, group: str, kind: str, namespace: str, name: str
) -> Response:
    """One object of a namespace: its manifest with uid, generation and status."""
    return await _get(request, _group(group, kind), kind, namespace, name)


async def _get(request: Request, group: str, kind: str, namespace: str, name: str) -> Response:
    role, get = caller(request).role, objects.get_object
    found = hub_of(request).read(secrecy.seen_by, role, get, group, kind, namespace, name)
    return Json(await found)


@router.delete(_ONE)
@allow(ADMINISTRATOR, query=True)
async def delete_object(request: Request, group: str, kind: str, name: str) -> Response:
    """Delete a cluster-scoped object. Body (optional): {"preconditions": {"uid": …}}.

    `drain=true` takes back first what a ClusterQueue has admitted; else it is refused while it is used.
    """
    drain = query(request, "drain").get("drain", "false")
    if drain not in {"true", "false"}:
        raise Rejected(RejectCode.INVALID_VALUE, "expected true or false", "drain")
    return await _delete(request, _group(group, kind), kind, "", name, drain=drain == "true")


@router.delete(_ONE_OF_NAMESPACE)
@allow(ADMINISTRATOR)
async def delete_namespaced_object(
    request: Request, group: str, kind: str, namespace: str, name: str
) -> Response:
    """Delete an object of a namespace. Body (optional): {"preconditions": {"uid": …}}."""
    return await _delete(request, _group(group, kind), kind, namespace, name)


async def _delete(
    request: Request, group: str, kind: str, namespace: str, name: str, *, drain: bool = False
) -> Response:
    expected = await expected_uid(request)
    return Json(
        await hub_of(request).write(
            delete.delete_object,
            group,
            kind,
            namespace,
            name,
            origin=Origin.REST,
            principal=caller(request).name,
            expected=expected,
            drain=drain,
        )
    )


def _group(group: str, kind: str) -> str:
    """The API group of a path. Raises Rejected for Jobs, which have a place of their own."""
    if (group, kind) == ("batch", "Job"):
        raise Rejected(
            RejectCode.NOT_FOUND, "Jobs are at /v1/jobs and /v1/namespaces/NAMESPACE/jobs/NAME"
        )
    return "" if group == "core" else group

"""Staged update runs: list, show, approve, stop, resume, roll back; placements that roll out beside them."""

from starlette.requests import Request
from starlette.responses import Response

from hub.api.models.rollouts import (
    RolloutApproval,
    RolloutDetail,
    RolloutList,
    RolloutReturn,
)
from hub.api.policy import ADMINISTRATOR, VIEWER, allow, caller, grants, hub_of
from hub.api.reply import JsonResponse, listed
from hub.api.routing import new_router, refuses
from hub.domain.access import Noun, Verb
from hub.services.objects import rollouts as acts
from hub.services.questions import rollouts as questions
from shared.reject_codes import RejectCode

router = new_router("rollouts")


@router.get("/v1/rollouts", response_model=RolloutList)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.PLACEMENTS)
async def list_rollouts(request: Request) -> Response:
    """Staged update runs, and placements that roll out without a run now.

    Of the newest 500 runs: those that are not over come first, the newest 100 that are last; between them at
    most 200 placements.
    """
    return await listed(request, questions.list_rollouts)


@router.get("/v1/rollouts/{name}", response_model=RolloutDetail)
@allow(ADMINISTRATOR, VIEWER)
async def get_cluster_rollout(request: Request, name: str) -> Response:
    """A ClusterStagedUpdateRun with its stages; else the ClusterResourcePlacement of that name."""
    return JsonResponse(await hub_of(request).read(questions.get_rollout, "", name))


@router.get("/v1/rollouts/{namespace}/{name}", response_model=RolloutDetail)
@allow(ADMINISTRATOR, VIEWER)
@grants(Verb.GET, Noun.PLACEMENTS)
async def get_rollout(request: Request, namespace: str, name: str) -> Response:
    """A StagedUpdateRun with its stages; else the ResourcePlacement of that name."""
    return JsonResponse(await hub_of(request).read(questions.get_rollout, namespace, name))


@router.post("/v1/rollouts/{name}/approve", response_model=RolloutDetail)
@allow(ADMINISTRATOR)
@refuses(RejectCode.INVALID_STATE)
async def approve_cluster_rollout(
    request: Request, name: str, asked: RolloutApproval | None = None
) -> Response:
    """Approve a ClusterStagedUpdateRun's open request, or that of a stage."""
    stage, when = (asked.stage or "", asked.when or "") if asked else ("", "")
    principal = caller(request).name
    return JsonResponse(
        await hub_of(request).write(acts.approve, ("", name), stage, when, principal)
    )


@router.post("/v1/rollouts/{namespace}/{name}/approve", response_model=RolloutDetail)
@allow(ADMINISTRATOR)
@refuses(RejectCode.INVALID_STATE)
async def approve_rollout(
    request: Request, namespace: str, name: str, asked: RolloutApproval | None = None
) -> Response:
    """Approve a StagedUpdateRun's open request, or that of a stage."""
    stage, when = (asked.stage or "", asked.when or "") if asked else ("", "")
    principal = caller(request).name
    return JsonResponse(
        await hub_of(request).write(acts.approve, (namespace, name), stage, when, principal)
    )


@router.post("/v1/rollouts/{name}/stop", response_model=RolloutDetail)
@allow(ADMINISTRATOR)
@refuses(RejectCode.IMMUTABLE, RejectCode.INVALID_STATE, RejectCode.OWNED_ELSEWHERE)
async def stop_cluster_rollout(request: Request, name: str) -> Response:
    """Stop a ClusterStagedUpdateRun: no further cluster starts; clusters in progress finish."""
    hub, principal = hub_of(request), caller(request).name
    return JsonResponse(await hub.write(acts.stop, ("", name), principal, hub.settings.intake))


@router.post("/v1/rollouts/{namespace}/{name}/stop", response_model=RolloutDetail)
@allow(ADMINISTRATOR)
@refuses(RejectCode.IMMUTABLE, RejectCode.INVALID_STATE, RejectCode.OWNED_ELSEWHERE)
async def stop_rollout(request: Request, namespace: str, name: str) -> Response:
    """Stop a StagedUpdateRun: no further cluster starts; clusters in progress finish."""
    hub, principal = hub_of(request), caller(request).name
    return JsonResponse(
        await hub.write(acts.stop, (namespace, name), principal, hub.settings.intake)
    )


@router.post("/v1/rollouts/{name}/resume", response_model=RolloutDetail)
@allow(ADMINISTRATOR)
@refuses(RejectCode.INVALID_STATE, RejectCode.OWNED_ELSEWHERE)
async def resume_cluster_rollout(request: Request, name: str) -> Response:
    """Start or resume a ClusterStagedUpdateRun, also after the hub stopped it."""
    hub, principal = hub_of(request), caller(request).name
    return JsonResponse(await hub.write(acts.resume, ("", name), principal, hub.settings.intake))


@router.post("/v1/rollouts/{namespace}/{name}/resume", response_model=RolloutDetail)
@allow(ADMINISTRATOR)
@refuses(RejectCode.INVALID_STATE, RejectCode.OWNED_ELSEWHERE)
async def resume_rollout(request: Request, namespace: str, name: str) -> Response:
    """Start or resume a StagedUpdateRun, also after the hub stopped it."""
    hub, principal = hub_of(request), caller(request).name
    return JsonResponse(
        await hub.write(acts.resume, (namespace, name), principal, hub.settings.intake)
    )


@router.post("/v1/rollouts/{name}/rollback", response_model=RolloutDetail)
@allow(ADMINISTRATOR)
@refuses(RejectCode.INVALID_STATE)
async def rollback_cluster_rollout(
    request: Request, name: str, asked: RolloutReturn | None = None
) -> Response:
    """Roll back: start a new ClusterStagedUpdateRun with an older version, which replaces this one."""
    hub, principal = hub_of(request), caller(request).name
    version = (asked.version or "") if asked else ""
    given = (("", name), version, principal, hub.settings.intake)
    return JsonResponse(await hub.write(acts.roll_back, *given))


@router.post("/v1/rollouts/{namespace}/{name}/rollback", response_model=RolloutDetail)
@allow(ADMINISTRATOR)
@refuses(RejectCode.INVALID_STATE)
async def rollback_rollout(
    request: Request, namespace: str, name: str, asked: RolloutReturn | None = None
) -> Response:
    """Roll back: start a new StagedUpdateRun with an older version, which replaces this one."""
    hub, principal = hub_of(request), caller(request).name
    version = (asked.version or "") if asked else ""
    given = ((namespace, name), version, principal, hub.settings.intake)
    return JsonResponse(await hub.write(acts.roll_back, *given))

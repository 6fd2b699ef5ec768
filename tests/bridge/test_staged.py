"""Staged update runs by kubectl alone: kinds are served, statuses written back, approvals heard."""

from pathlib import Path
from typing import Any

import pytest

from hub.bridge.approvals import Approvals
from hub.bridge.kinds import ALWAYS
from shared.kube import errors
from tests import waiting
from tests.bridge.hub_cluster import World, until, world
from tests.bridge.parts import on_simulated
from tests.services.members.hubs import Agent, seen

pytestmark = pytest.mark.anyio
FLEET = "placement.kubernetes-fleet.io/v1beta1"
MANIFESTS = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  strategy: {type: External}
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterStagedUpdateStrategy
metadata: {name: careful}
spec: {stages: [{name: all, labelSelector: {}, beforeStageTasks: [{type: Approval}]}]}
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterStagedUpdateRun
metadata: {name: first}
spec: {placementName: shop, stagedRolloutStrategyName: careful, state: Run}
"""


async def reasons(it: World, kind: str, name: str) -> dict[str, str]:
    try:
        live = await it.kube.get(FLEET, kind, "", name)
    except errors.NotFound:
        return {}
    return {c["type"]: c["reason"] for c in (live.get("status") or {}).get("conditions") or ()}


async def holds(agent: Agent) -> bool:
    await agent.sync()
    for work in agent.works.values():
        entry = seen(work["uid"], "Applied", 0, available=True)
        entry.generation = work["generation"]
        await agent.sync(entry)
    return bool(agent.works)


async def test_a_run_is_approved_and_ends_by_kubectl(tmp_path: Path):
    """The request is there for kubectl; its status says Approved, and the run goes on and succeeds."""
    async with world(tmp_path) as it:
        agent = await it.hub.join("north")

        async def served() -> bool:
            try:
                await it.kube.list(FLEET, "ClusterApprovalRequest")
            except errors.KubeError:
                return False
            return True

        await until(served)
        await it.apply(MANIFESTS)

        async def waits() -> Any:
            run = await reasons(it, "ClusterStagedUpdateRun", "first")
            return run.get("Progressing") == "UpdateRunWaiting"

        await until(waits)
        rungs = await reasons(it, "ClusterResourcePlacement", "shop")
        assert (
            rungs["ClusterResourcePlacementRolloutStarted"]
            == "RolloutControlledByExternalController"
        )

        async def asked() -> Any:
            try:
                return await it.kube.get(FLEET, "ClusterApprovalRequest", "", "first-before-all")
            except errors.NotFound:
                return None

        request = await until(asked)
        assert request["spec"] == {"parentStageRollout": "first", "targetStage": "all"}
        approval = {
            "type": "Approved",
            "status": "True",
            "reason": "lgtm",
            "message": "looks good",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": 1,
        }
        await it.kube.merge_patch(
            FLEET, "ClusterApprovalRequest", "", "first-before-all",
            {"status": {"conditions": [approval]}}, field_manager="kubectl-patch", subresource="status",
        )  # fmt: skip
        await until(lambda: holds(agent))

        async def done() -> Any:
            await waiting.span(0.5, why="an agent may sync five times a second")
            await holds(agent)
            run = await reasons(it, "ClusterStagedUpdateRun", "first")
            return run.get("Succeeded") == "UpdateRunSucceeded"

        await until(done)
        told = await reasons(it, "ClusterApprovalRequest", "first-before-all")
        assert told == {"Approved": "lgtm", "ApprovalAccepted": "ApprovalRequestApprovalAccepted"}
        await it.kube.delete(FLEET, "ClusterStagedUpdateRun", "", "first")

        async def gone() -> bool:
            return await asked() is None

        await until(gone)


async def test_what_may_not_change_is_refused_with_a_condition(tmp_path: Path):
    """The hub goes on by what it took; Accepted says which field, and goes when it is put back."""
    async with world(tmp_path) as it:

        async def served() -> bool:
            try:
                await it.kube.list(FLEET, "ClusterApprovalRequest")
            except errors.KubeError:
                return False
            return True

        await until(served)
        await it.apply(MANIFESTS)
        await until(lambda: reasons(it, "ClusterStagedUpdateRun", "first"))
        await it.apply(
            "---".join(MANIFESTS.split("---")[-1:]).replace(
                "placementName: shop", "placementName: x"
            )
        )

        async def refused() -> Any:
            run = await reasons(it, "ClusterStagedUpdateRun", "first")
            return run.get("Accepted") == "Immutable"

        await until(refused)


async def test_an_approval_of_a_request_that_is_not_taken_in_yet_is_heard_later(tmp_path: Path):
    """Of one that somebody made there, approved from the first moment on."""
    kinds = [each for each in ALWAYS if each.kind == "ClusterApprovalRequest"]
    request = {
        "apiVersion": FLEET,
        "kind": "ClusterApprovalRequest",
        "metadata": {"name": "first-before-all"},
        "spec": {"parentStageRollout": "first", "targetStage": "all"},
    }
    approval = {
        "type": "Approved", "status": "True", "reason": "lgtm", "message": "looks good",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
    }  # fmt: skip
    async with on_simulated(tmp_path, kinds) as (it, _):
        made = await it.create(request)
        await it.patch(made, {"status": {"conditions": [approval]}}, "status")
        approvals = Approvals(it.hub.hub, it.sources)
        await approvals.turn(it.term)
        assert await it.object(made) is None
        await it.take()
        await approvals.turn(it.term)
        row = await it.object(made)
        assert row is not None
        assert row.status is not None
        (said,) = row.status["conditions"]
        assert (said["type"], said["status"], said["reason"], said["message"]) == (
            "Approved", "True", "lgtm", "looks good",
        )  # fmt: skip

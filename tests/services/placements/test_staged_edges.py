"""Staged update runs beside other events: changed labels, evictions, approvals by kubectl, a state Stop."""

from pathlib import Path

import pytest

from hub.services.context import leadership
from hub.services.placements.staged import approvals
from hub.store import audit
from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import Fleet
from tests.services.placements.runs import (
    EXTERNAL,
    GREEN,
    STRATEGY,
    WITH_TASKS,
    colors,
    progress,
    roll,
    row_of,
    run,
    started,
    status_of,
)

pytestmark = pytest.mark.anyio
ON_CANARIES = """
  policy:
    placementType: PickAll
    affinity:
      clusterAffinity:
        requiredDuringSchedulingRequiredDuringExecution:
          clusterSelectorTerms: [{labelSelector: {matchLabels: {tier: canary}}}]
"""
EVICTION = """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourcePlacementEviction
metadata: {name: e, namespace: shop}
spec: {placementName: everywhere, clusterName: m4}
"""


async def test_a_run_that_stopped_by_itself_is_resumed_by_the_state_run_alone(tmp_path: Path):
    """State Stop does not accept the failed clusters."""
    async with running_hub(tmp_path) as hub:
        strict = STRATEGY.replace("spec:\n", "spec:\n  stopAfterFailedClusters: 1\n")
        fleet = await started(hub, strict, run("first"))
        await fleet.sync("m1", phase="Failed", reason="NameConflict", message="it is Bob's")
        for state, itself in (("Stop", True), ("Run", False)):
            await fleet.apply(run("first", state=state))
            told = (await status_of(fleet, "first"))["conditions"]
            assert any(each["type"] == "StoppedByItself" for each in told) is itself, state


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("labels: {}", "labels: {tier: canary}", "cluster m2 is chosen again"),
        ("labels: {tier: canary}", "labels: {}", "cluster m2 is no longer chosen"),
    ],
    ids=["chosen again", "not chosen any more"],
)
async def test_a_run_ends_where_other_clusters_are_chosen_than_it_was_worked_out_for(
    tmp_path: Path, before: str, after: str, said: str
):
    """Only a member's labels change, not the policy: the run fails and every cluster keeps its version."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, placed=False)
        await fleet.apply(EXTERNAL + ON_CANARIES)
        await fleet.apply(run("first"))
        await roll(fleet)
        assert await colors(fleet) == "bb--"
        await relabel(fleet, "m2", before)
        await fleet.apply(GREEN + ON_CANARIES)
        hub.clock.advance(1)
        await fleet.apply(run("second"))
        held = await colors(fleet)
        await relabel(fleet, "m2", after)
        await roll(fleet, 3)
        told = (await status_of(fleet, "second"))["conditions"][-1]
        assert (told["type"], told["reason"]) == ("Succeeded", "UpdateRunFailed")
        assert said in told["message"]
        assert await colors(fleet) == held == "gb--"


async def test_the_run_that_was_made_last_drives_whatever_its_name(tmp_path: Path):
    """Names order runs that were made at the same instant alone."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, run("newer-by-name"))
        await fleet.apply(GREEN)
        hub.clock.advance(1)
        await fleet.apply(run("a-later-one"))
        assert (await progress(fleet, "newer-by-name"))[0] == "UpdateRunFailed"
        assert await colors(fleet) == "g---"


async def test_an_evicted_cluster_gives_it_up_though_no_run_says_so(tmp_path: Path):
    """An eviction does not wait for a run; the other clusters keep their version."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, run("first"))
        await roll(fleet)
        await fleet.apply(EVICTION)
        await fleet.turn()
        assert await colors(fleet) == "bbb-"


async def test_an_approval_by_kubectl_stands_in_the_audit_once(tmp_path: Path):
    """The entry names the hub cluster and has the message of the condition."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, WITH_TASKS, run("first"))
        await roll(fleet)
        request = await row_of(fleet, "first-after-canary", "ApprovalRequest")
        said = {"type": "Approved", "status": "True", "reason": "Seen", "message": "ann looked"}
        term = await hub.write(leadership.seize, "one")
        for _ in range(2):
            assert await hub.write(approvals.hear_approval, term, request.uid, said)
        rows = await hub.hub.read(audit.list_entries, {"verb": "approve"})
        assert [(each.principal, each.outcome) for each in rows] == [
            ("hub-cluster", "on the hub cluster: ann looked")
        ]


async def relabel(fleet: Fleet, name: str, labels: str) -> None:
    """Change a member's labels."""
    await fleet.apply(
        f"""
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {{name: {name}, {labels}}}
spec: {{identity: {{kind: User, name: {name}, apiGroup: rbac.authorization.k8s.io}}}}
"""
    )

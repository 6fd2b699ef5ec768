"""Staged update runs on a hub: what a run gives to whom, what it waits for, and what ends it."""

from pathlib import Path

import pytest

from hub.store import events, objects
from shared.errors import Rejected
from tests.services.members.hubs import running_hub
from tests.services.placements import runs
from tests.services.placements.fleet import FLEET, Fleet
from tests.services.placements.runs import (
    EXTERNAL,
    GREEN,
    MEMBERS,
    PLACEMENT,
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


async def rollout(fleet: Fleet) -> tuple[str, str, str]:
    status = await fleet.status(*PLACEMENT)
    rung = next(c for c in status["conditions"] if c["type"].endswith("RolloutStarted"))
    return rung["status"], rung["reason"], rung["message"]


async def test_without_a_run_nobody_is_given_anything(tmp_path: Path):
    """The placement chooses its clusters, and says that a run is waited for."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub)
        assert await colors(fleet) == "----"
        said = (
            "Staged update runs give the versions: 4 have nothing; no staged update run drives it"
        )
        assert await rollout(fleet) == ("Unknown", "RolloutControlledByExternalController", said)
        status = await fleet.status(*PLACEMENT)
        assert [each["clusterName"] for each in status["placementStatuses"]] == list(MEMBERS)
        assert status["observedResourceIndex"] == ""
        assert "NotActedOn" not in {c["type"] for c in status["conditions"]}


async def test_a_run_goes_through_its_stages(tmp_path: Path):
    """One canary after the other, then two at once; then the placement has one version."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, run("first"))
        assert await colors(fleet) == "b---"
        assert await progress(fleet, "first") == (
            "UpdateRunProgressing", "stage canary: updating m1, 0 of 2 done",
        )  # fmt: skip
        await fleet.sync("m1")
        assert await colors(fleet) == "bb--"
        await fleet.sync("m2")
        assert await colors(fleet) == "bbbb"
        await roll(fleet)
        assert await progress(fleet, "first") == (
            "UpdateRunSucceeded", "all stages are completed",
        )  # fmt: skip
        heard = await hub.hub.read(lambda tx: events.list_events(tx, name="first"))
        assert [each.reason for each in heard].count("UpdateRunSucceeded") == 1
        status = await status_of(fleet, "first")
        assert status["resourceSnapshotIndexUsed"] == "0"
        reasons = [[c["reason"] for c in each["conditions"]] for each in status["stagesStatus"]]
        assert reasons == [["StageUpdatingSucceeded"] * 2] * 2
        assert status["deletionStageStatus"]["stageName"] == "kubernetes-fleet.io/deleteStage"
        of = status["stagesStatus"][0]["clusters"][0]
        assert (of["clusterName"], [c["reason"] for c in of["conditions"]]) == (
            "m1", ["ClusterUpdatingStarted", "ClusterUpdatingSucceeded"],
        )  # fmt: skip
        assert await rollout(fleet) == (
            "True", "RolloutStarted", "All 4 cluster(s) received version 0",
        )  # fmt: skip


async def test_a_change_waits_for_the_next_run_and_goes_back_by_another(tmp_path: Path):
    """A rollback is a run with an older version; what a run has given stays meanwhile."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, run("first"))
        await roll(fleet)
        await fleet.apply(GREEN)
        await roll(fleet, 2)
        assert await colors(fleet) == "bbbb"
        assert (await rollout(fleet))[2].endswith("version 0; the newest, 1, waits for a run")
        await fleet.apply(run("second"))
        await roll(fleet)
        assert await colors(fleet) == "gggg"
        await fleet.apply(run("back", index="0"))
        await fleet.sync("m1")
        assert await colors(fleet) == "bbgg"
        status, reason, text = await rollout(fleet)
        assert (status, reason) == ("Unknown", "RolloutControlledByExternalController")
        assert text.startswith("Staged update runs give the versions: 2 have version 0, 2 have v")
        await roll(fleet)
        assert await colors(fleet) == "bbbb"


async def test_approval_and_wait_come_between_stages(tmp_path: Path):
    """The request is an object; by its approval and ten minutes later the next stage begins."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, WITH_TASKS, run("first"))
        await roll(fleet)
        assert await colors(fleet) == "bb--"
        assert (await progress(fleet, "first"))[0] == "UpdateRunWaiting"
        asked = await row_of(fleet, "first-after-canary", "ApprovalRequest")
        assert asked.spec == {"parentStageRollout": "first", "targetStage": "canary"}
        assert asked.labels["kubernetes-fleet.io/taskType"] == "afterStage"
        await runs.approve(fleet, "first")
        asked = await row_of(fleet, "first-after-canary", "ApprovalRequest")
        assert [c["reason"] for c in (asked.status or {})["conditions"]] == [
            "Approved", "ApprovalRequestApprovalAccepted",
        ]  # fmt: skip
        assert await colors(fleet) == "bb--"
        tasks = (await status_of(fleet, "first"))["stagesStatus"][0]["afterStageTaskStatus"]
        assert [[c["reason"] for c in each["conditions"]] for each in tasks] == [
            ["StageTaskApprovalRequestCreated", "StageTaskApprovalRequestApproved"],
            ["AfterStageTaskWaitTimeNotElapsed"],
        ]
        hub.clock.advance(600)
        await fleet.turn()
        assert await colors(fleet) == "bbbb"
        await runs.delete(fleet, "StagedUpdateRun", "first")
        find = ("ApprovalRequest", "shop", "first-after-canary")
        assert await hub.hub.read(objects.find, FLEET, *find) is None


async def test_initialize_run_stop_run(tmp_path: Path):
    """Initialised it gives nothing; stopped it sees through who is under way; then it goes on."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, run("first", state="Initialize"))
        assert (await progress(fleet, "first"))[0] == "UpdateRunInitializedSuccessfully"
        assert await colors(fleet) == "----"
        with pytest.raises(AssertionError, match="Immutable"):
            await fleet.apply(run("first", state="Stop"))
        await fleet.apply(run("first"))
        assert await colors(fleet) == "b---"
        await fleet.apply(run("first", state="Stop"))
        assert (await progress(fleet, "first"))[0] == "UpdateRunStopping"
        await roll(fleet, 3)
        assert await colors(fleet) == "b---"
        assert (await progress(fleet, "first"))[0] == "UpdateRunStopped"
        for bad in (run("first", state="Initialize"), run("first", index="0", state="Stop")):
            with pytest.raises(AssertionError, match="Immutable"):
                await fleet.apply(bad)
        await fleet.apply(run("first"))
        await roll(fleet)
        assert await colors(fleet) == "bbbb"


async def test_a_failed_cluster_stops_the_run_where_the_strategy_says_so(tmp_path: Path):
    """It says who and why; resumed it goes on to the others although that one has still failed."""
    async with running_hub(tmp_path) as hub:
        strict = STRATEGY.replace("spec:\n", "spec:\n  stopAfterFailedClusters: 1\n")
        fleet = await started(
            hub, strict.replace("- name: canary", "- name: canary\n    maxConcurrency: 1")
        )
        await fleet.apply(run("first"))
        await fleet.sync("m1", phase="Failed", reason="NameConflict", message="it is Bob's")
        reason, text = await progress(fleet, "first")
        assert reason == "UpdateRunStopped"
        assert "m1 failed (first m1: ConfigMap settings (NameConflict): it is Bob's)" in text
        assert await colors(fleet) == "b---"
        await fleet.apply(run("first", state="Stop"))
        await fleet.apply(run("first"))
        assert (await progress(fleet, "first"))[0] == "UpdateRunProgressing"
        await fleet.sync("m1")
        await roll(fleet)
        assert await colors(fleet) == "bbbb"
        conditions = (await status_of(fleet, "first"))["conditions"]
        assert "StoppedByItself" not in {c["type"] for c in conditions}


async def test_what_was_said_of_another_version_fails_no_cluster(tmp_path: Path):
    """A refusal counts once it is of what the run gave: until then its cluster is only under way."""
    async with running_hub(tmp_path) as hub:
        strict = STRATEGY.replace("spec:\n", "spec:\n  stopAfterFailedClusters: 1\n")
        fleet = await started(hub, STRATEGY, run("first"))
        await fleet.sync("m1", phase="Failed", reason="NameConflict", message="it is Bob's")
        await fleet.apply(GREEN)
        await fleet.apply(strict)
        hub.clock.advance(1)
        await fleet.apply(run("second"))
        assert await colors(fleet) == "g---"
        await fleet.turn()
        assert await progress(fleet, "second") == (
            "UpdateRunProgressing", "stage canary: updating m1, 0 of 2 done",
        )  # fmt: skip


async def test_a_cluster_that_is_late_is_stuck(tmp_path: Path):
    """After the strategy's deadline, with no word from anybody; then it may still become available."""
    async with running_hub(tmp_path) as hub:
        hasty = STRATEGY.replace("spec:\n", "spec:\n  progressDeadlineSeconds: 60\n")
        fleet = await started(hub, hasty, run("first"))
        await fleet.sync("m1", available=False, message="0 of 1 ready")
        assert (await progress(fleet, "first"))[0] == "UpdateRunProgressing"
        hub.clock.advance(60)
        await fleet.turn()
        reason, text = await progress(fleet, "first")
        assert reason == "UpdateRunStuck"
        assert "m1: not available after 1m: ConfigMap settings is not available: 0 of 1" in text
        await roll(fleet)
        assert (await progress(fleet, "first"))[0] == "UpdateRunSucceeded"


async def test_a_newer_run_takes_over(tmp_path: Path):
    """The older one is over, and says by which; two runs never give at once."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, run("first"))
        await fleet.apply(GREEN)
        hub.clock.advance(1)
        await fleet.apply(run("second"))
        assert await colors(fleet) == "g---"
        assert (await progress(fleet, "first"))[0] == "UpdateRunFailed"
        status = await status_of(fleet, "first")
        told = next(c for c in status["conditions"] if c["type"] == "Succeeded")
        assert told["message"] == "run second, which is newer, took over"
        assert status["stagesStatus"][0]["conditions"][-1]["reason"] == "StageUpdatingFailed"
        await roll(fleet)
        assert await colors(fleet) == "gggg"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("  policy: {placementType: PickFixed, clusterNames: [m1, m2]}\n", "policy has changed"),
        ("  policy: {tolerations: [{key: a, operator: Exists}]}\n", "policy has changed"),
    ],
)
async def test_a_changed_policy_aborts_the_run(tmp_path: Path, change: str, said: str):
    """It was worked out from another; what it has given stays."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, run("first"))
        await fleet.apply(EXTERNAL + change)
        await roll(fleet, 2)
        assert await colors(fleet) == "b---"
        told = (await status_of(fleet, "first"))["conditions"][-1]
        assert (told["type"], told["reason"]) == ("Succeeded", "UpdateRunFailed")
        assert said in told["message"]


async def test_another_apply_strategy_aborts_the_run(tmp_path: Path):
    """How it is applied is that of the beginning."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, run("first"))
        await fleet.apply(
            EXTERNAL.replace("External}", "External, applyStrategy: {whenToApply: IfNotDrifted}}")
        )
        assert (
            "applyStrategy has changed"
            in (await status_of(fleet, "first"))["conditions"][-1]["message"]
        )


async def test_a_run_goes_on_with_its_clusters_when_another_joins(tmp_path: Path):
    """The cluster that joined is for the next run; it is given nothing meanwhile."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, run("first"))
        await roll(fleet, 1)
        fleet.agents["m5"] = await hub.join("m5")
        await fleet.agents["m5"].sync()
        await fleet.turn()
        await roll(fleet)
        assert await colors(fleet) == "bbbb"
        assert (await progress(fleet, "first"))[0] == "UpdateRunSucceeded"
        await fleet.agents["m5"].sync()
        assert fleet.agents["m5"].works == {}


async def test_who_is_not_chosen_any_more_gives_it_up_last(tmp_path: Path):
    """A cluster keeps what it has until a run's last stage; then the run has succeeded."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, run("first"))
        await roll(fleet)
        fewer = GREEN + "  policy: {placementType: PickFixed, clusterNames: [m1, m3]}\n"
        await fleet.apply(fewer)
        await roll(fleet, 2)
        assert await colors(fleet) == "bbbb"
        hub.clock.advance(1)
        await fleet.apply(run("second"))
        assert await colors(fleet) == "gbbb"
        await fleet.sync("m1")
        assert await colors(fleet) == "gbgb"
        await fleet.sync("m3")
        assert await colors(fleet) == "g-g-"
        assert (await progress(fleet, "second"))[0] == "UpdateRunProgressing"
        await roll(fleet, 3)
        assert (await progress(fleet, "second"))[0] == "UpdateRunSucceeded"


async def test_what_is_not_there_yet_is_waited_for(tmp_path: Path):
    """Placement and strategy may come after the run, in any order."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(run("first", strategy="one"))
        reason, text = await progress(fleet, "first")
        assert (reason, text) == (
            "UpdateRunNotInitializedYet", "there is no ResourcePlacement shop/everywhere",
        )  # fmt: skip
        await fleet.apply(EXTERNAL)
        assert "no StagedUpdateStrategy one" in (await progress(fleet, "first"))[1]
        one = STRATEGY.partition("  stages:")[0].replace("careful", "one")
        await fleet.apply(one + "  stages: [{name: all, labelSelector: {}}]\n")
        await fleet.sync("m1")
        assert (await progress(fleet, "first"))[0] == "UpdateRunSucceeded"


@pytest.mark.parametrize(
    ("strategy", "index", "said"),
    [
        (STRATEGY, "7", "version 7 is not kept; kept are 0"),
        (STRATEGY.partition("  - name: rest")[0], "", "no stage selects m3, m4"),
        (STRATEGY.replace("tier: canary", ""), "", "cluster m3 is in stages canary and rest"),
    ],
)
async def test_what_does_not_fit_is_said_at_once(
    tmp_path: Path, strategy: str, index: str, said: str
):
    """The run is over before it has begun."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, strategy, run("first", index=index))
        reason, text = await progress(fleet, "first")
        assert reason == "UpdateRunInitializedFailed"
        assert said in text
        assert await colors(fleet) == "----"


async def test_a_placement_that_rolls_out_by_itself_takes_no_run(tmp_path: Path):
    """And one under way ends when its placement changes to that; the rest follows by RollingUpdate."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, run("first"))
        await fleet.apply(EXTERNAL.replace("External", "RollingUpdate"))
        await roll(fleet, 3)
        assert await colors(fleet) == "bbbb"
        told = (await status_of(fleet, "first"))["conditions"][-1]
        assert "rolls out without runs" in told["message"]


async def test_nothing_waits_or_several_do(tmp_path: Path):
    """Approving says so instead of guessing."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, STRATEGY, run("first"))
        with pytest.raises(Rejected, match="nothing waits"):
            await runs.approve(fleet, "first")


async def test_a_placement_that_selects_nothing_yet_is_waited_for(tmp_path: Path):
    """Else the run would end before the objects of one file have all arrived."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        namespace, config, placement = EXTERNAL.split("---")
        one = STRATEGY.partition("  stages:")[0] + "  stages: [{name: all, labelSelector: {}}]\n"
        await fleet.apply("---".join([namespace, placement, one, run("first")]))
        assert (await progress(fleet, "first"))[1] == "the placement selects no object yet"
        await fleet.apply(config)
        await fleet.sync("m1")
        assert (await progress(fleet, "first"))[0] == "UpdateRunSucceeded"
        assert fleet.held("m1") == ["ConfigMap/settings"]

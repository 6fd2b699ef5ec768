"""A run's state in its object's status: what is written is what is read, step after step."""

import datetime as dt
from dataclasses import replace
from typing import Any

from hypothesis import given, settings, strategies as st

from hub.domain.rollout.run_state import ClusterSight, Limits, RunState, StageState, resumed
from hub.domain.rollout.staged import next_step
from hub.services.context.settings import Rollouts
from hub.services.placements.staged.status import (
    RunWriter,
    is_initialized,
    is_over,
    read_limits,
    read_run,
    read_stages,
)
from shared.conditions import find

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
STRATEGY: dict[str, Any] = {
    "stages": [
        {
            "name": "canary",
            "labelSelector": {},
            "beforeStageTasks": [{"type": "Approval"}],
            "afterStageTasks": [{"type": "TimedWait", "waitTime": "2m"}, {"type": "Approval"}],
        },
        {"name": "none"},
        {"name": "rest", "labelSelector": {}, "maxConcurrency": "50%"},
    ]
}
CLUSTERS = (("a", "b"), (), ("c", "d", "e", "f"))


def begun() -> RunWriter:
    writer = RunWriter({"stagedUpdateStrategySnapshot": STRATEGY}, NOW, 1)
    writer.begin("r", read_stages(STRATEGY), CLUSTERS, ["x"])
    return writer


def test_a_run_begins_with_its_stages():
    """Names of requests are KubeFleet's; nothing is begun."""
    status = begun().status
    assert is_initialized(status)
    assert not is_over(status)
    canary, none, _ = status["stagesStatus"]
    assert canary["beforeStageTaskStatus"][0]["approvalRequestName"] == "r-before-canary"
    assert canary["afterStageTaskStatus"][1]["approvalRequestName"] == "r-after-canary"
    assert none == {"stageName": "none", "clusters": []}
    assert status["deletionStageStatus"]["clusters"] == [{"clusterName": "x"}]


def test_limits_are_the_strategys_else_the_settings():
    """Whichever of the two says it."""
    assert read_limits({}, Rollouts(10, 3)) == Limits(dt.timedelta(seconds=10), 3)
    own = {"progressDeadlineSeconds": 5, "stopAfterFailedClusters": 1}
    assert read_limits(own, Rollouts()) == Limits(dt.timedelta(seconds=5), 1)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_written_is_read(data):
    """Whatever happens to a run: its next step does not depend on who has remembered it."""
    status = begun().status
    run = read_run(status)
    limits = Limits(dt.timedelta(minutes=5), data.draw(st.integers(0, 2)))
    has: set[str] = set()
    ready: set[str] = set()
    approved: set[tuple[str, str]] = set()
    for turn in range(data.draw(st.integers(1, 20))):
        now = NOW + dt.timedelta(minutes=turn)
        refused = {n for n in sorted(has - ready) if data.draw(st.integers(0, 4)) == 0}
        ready |= {n for n in sorted(has - ready - refused) if data.draw(st.booleans())}
        sights = {n: ClusterSight(n in has, n in ready, n in refused, "bad") for n in "abcdef"}
        sights["x"] = ClusterSight(gone=turn % 2 == 0)
        if run.halted and data.draw(st.booleans()):
            run = resumed(run)
        step = next_step(run, sights, approved, now, limits, stopped=data.draw(st.booleans()))
        writer = RunWriter(status, now, turn)
        writer.take(step, limits)
        status, run = writer.status, read_run(writer.status)
        assert with_waits(run) == with_waits(step.run)
        assert find(status["conditions"], "Progressing")["reason"] == f"UpdateRun{step.progress}"
        has |= set(step.give)
        approved |= {r for r in step.requests if data.draw(st.booleans())}


def with_waits(run: RunState) -> RunState:
    """Since when a stage is updated matters, and is kept, while a wait runs from then."""
    deletion = replace(run.deletion, updated_at=None)
    return replace(run, stages=tuple(_kept(each) for each in run.stages), deletion=deletion)


def _kept(stage: StageState) -> StageState:
    tasks = zip(stage.stage.after, stage.after, strict=False)
    waits = any(wait is not None and not done for wait, done in tasks)
    return stage if waits else replace(stage, updated_at=None)

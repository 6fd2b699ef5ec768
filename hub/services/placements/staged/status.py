"""A staged update run's state, kept in its object's status as KubeFleet has it: read there, written there.

Times are those of its conditions: when a cluster was begun, and since when a wait runs. One condition of the
run is Roadstead's own, `StoppedByItself`, and one of a cluster, `FailureAccepted`.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Final

from hub.domain.rollout.run_state import (
    DELETION,
    ClusterState,
    Limits,
    Progress,
    RunState,
    RunStep,
    StageState,
)
from hub.domain.rollout.stages import Stage
from hub.services.context.settings import Rollouts
from shared.conditions import Condition, Status, find, is_true, remove, rfc3339, set_condition
from shared.documents import Json, JsonView
from shared.kinds.staged_v1 import APPROVAL, TIMED_WAIT, wait_s
from shared.selectors import read_selector

INITIALIZED: Final = "Initialized"
PROGRESSING: Final = "Progressing"
SUCCEEDED: Final = "Succeeded"
BY_ITSELF: Final = "StoppedByItself"
RESUMED: Final = "Resumed"  # reason of the former once a person resumes the run
APPROVED: Final = "ApprovalRequestApproved"
ASKED: Final = "ApprovalRequestCreated"
ELAPSED: Final = "WaitTimeElapsed"
_STARTED: Final = "Started"
_ACCEPTED: Final = "FailureAccepted"
_OF_RUN: Final[Mapping[Progress, Status]] = {
    Progress.PROGRESSING: "True",
    Progress.WAITING: "False",
    Progress.STUCK: "False",
    Progress.STOPPING: "Unknown",
    Progress.STOPPED: "False",
    Progress.SUCCEEDED: "False",
}
_WHEN: Final = (("beforeStageTaskStatus", "before"), ("afterStageTaskStatus", "after"))


def is_initialized(status: JsonView | None) -> bool:
    """True if its stages are planned."""
    return is_true((status or {}).get("conditions"), INITIALIZED)


def is_over(status: JsonView | None) -> bool:
    """True if the run is over: it has succeeded, failed, or can not begin."""
    conditions = (status or {}).get("conditions")
    begun = find(conditions, INITIALIZED)
    return find(conditions, SUCCEEDED) is not None or (
        begun is not None and begun["status"] == "False"
    )


# --- reading ------------------------------------------------------------------------------------------


def read_stages(strategy: JsonView) -> list[Stage]:
    """The stages of a strategy's normalised spec."""
    return [
        Stage(
            name=each["name"],
            selector=read_selector(each.get("labelSelector")),
            sorting_key=each.get("sortingLabelKey") or "",
            concurrency=each.get("maxConcurrency", 1),
            before=_tasks(each.get("beforeStageTasks")),
            after=_tasks(each.get("afterStageTasks")),
        )
        for each in strategy.get("stages") or ()
    ]


def read_limits(strategy: JsonView, rollouts: Rollouts) -> Limits:
    """By the strategy, else by the settings."""
    deadline = strategy.get("progressDeadlineSeconds") or rollouts.stuck_after_s
    most = strategy.get("stopAfterFailedClusters") or rollouts.stop_after_failed
    return Limits(dt.timedelta(seconds=deadline), most)


def read_run(status: JsonView) -> RunState:
    """The state of a run that is initialised."""
    strategy = status.get("stagedUpdateStrategySnapshot") or {}
    told = status.get("stagesStatus") or ()
    halted = find(status.get("conditions"), BY_ITSELF)
    return RunState(
        tuple(
            _read_stage(stage, each)
            for stage, each in zip(read_stages(strategy), told, strict=True)
        ),
        _read_stage(Stage(DELETION), status.get("deletionStageStatus") or {}),
        halted["message"] if halted is not None else "",
    )


def _tasks(tasks: Sequence[JsonView] | None) -> tuple[dt.timedelta | None, ...]:
    return tuple(
        dt.timedelta(seconds=wait_s(each["waitTime"])) if each["type"] == TIMED_WAIT else None
        for each in tasks or ()
    )


def _read_stage(stage: Stage, told: JsonView) -> StageState:
    after = told.get("afterStageTaskStatus") or ()
    running = [_since(each, ELAPSED) for each in after if each["type"] == TIMED_WAIT]
    return StageState(
        stage,
        tuple(_read_cluster(each) for each in told.get("clusters") or ()),
        before=tuple(_is_done(each) for each in told.get("beforeStageTaskStatus") or ()),
        after=tuple(_is_done(each) for each in after),
        started_at=_instant(told.get("startTime")),
        updated_at=next((at for at in running if at is not None), None),
        ended_at=_instant(told.get("endTime")),
    )


def _read_cluster(told: JsonView) -> ClusterState:
    ended = find(told.get("conditions"), SUCCEEDED)
    failed = ended is not None and ended["status"] == "False"
    return ClusterState(
        told["clusterName"],
        started_at=_since(told, _STARTED),
        done=ended is not None and ended["status"] == "True",
        failure=ended["message"] if failed and ended is not None else "",
        accepted=is_true(told.get("conditions"), _ACCEPTED),
    )


def _is_done(task: JsonView) -> bool:
    return is_true(task.get("conditions"), APPROVED if task["type"] == APPROVAL else ELAPSED)


def _since(told: JsonView, kind: str) -> dt.datetime | None:
    condition = find(told.get("conditions"), kind)
    return None if condition is None else _instant(condition["lastTransitionTime"])


def _instant(text: str | None) -> dt.datetime | None:
    return dt.datetime.fromisoformat(text) if text else None


# --- writing ------------------------------------------------------------------------------------------


class RunWriter:
    """Writes one run's status. `generation`: of its object."""

    def __init__(self, status: JsonView | None, now: dt.datetime, generation: int) -> None:
        self.status: Json = dict(status or {})
        self._now = now
        self._generation = generation

    def say(self, kind: str, status: Status, reason: str, message: str) -> None:
        """Set a condition of the run."""
        self.status["conditions"] = self._with(
            self.status.get("conditions"), kind, status, reason, message
        )

    def begin(
        self,
        run: str,
        stages: Sequence[Stage],
        clusters: Sequence[Sequence[str]],
        left: Sequence[str],
    ) -> None:
        """Note the stages and who is in them. `left`: clusters that are not chosen any more."""
        self.status["stagesStatus"] = [
            {"stageName": stage.name, "clusters": [{"clusterName": name} for name in names]}
            | _asked(run, stage)
            for stage, names in zip(stages, clusters, strict=True)
        ]
        self.status["deletionStageStatus"] = {
            "stageName": DELETION,
            "clusters": [{"clusterName": name} for name in left],
        }
        text = "the stages are planned"
        self.say(INITIALIZED, "True", "UpdateRunInitializedSuccessfully", text)

    def fail(self, why: str) -> None:
        """It is over: what it was made for has changed, or can not be."""
        self.say(PROGRESSING, "False", "UpdateRunFailed", "the run was aborted")
        self.say(SUCCEEDED, "False", "UpdateRunFailed", why)
        for stage in (
            *(self.status.get("stagesStatus") or ()),
            self.status.get("deletionStageStatus"),
        ):
            if stage and stage.get("startTime") and not stage.get("endTime"):
                self._end_stage(stage, "False", "StageUpdatingFailed", why)

    def take(self, step: RunStep, limits: Limits) -> None:
        """Note how the run stands after a step."""
        run = step.run
        told = self.status.get("stagesStatus") or ()
        self.status["stagesStatus"] = [
            self._stage(each, state, step, limits)
            for each, state in zip(told, run.stages, strict=True)
        ]
        deletion = self.status.get("deletionStageStatus") or {}
        self.status["deletionStageStatus"] = self._stage(deletion, run.deletion, step, limits)
        if run.halted:
            self.say(BY_ITSELF, "True", "TooManyClustersFailed", run.halted)
        else:
            self.status["conditions"] = remove(self.status.get("conditions"), BY_ITSELF)
        reason = f"UpdateRun{step.progress}"
        self.say(PROGRESSING, _OF_RUN[step.progress], reason, step.why)
        if step.progress is Progress.SUCCEEDED:
            self.say(SUCCEEDED, "True", reason, step.why)

    def _stage(self, told: JsonView, state: StageState, step: RunStep, limits: Limits) -> Json:
        before = told.get("clusters") or ()
        stage: Json = {
            **told,
            "clusters": [
                self._cluster(each, cluster, limits)
                for each, cluster in zip(before, state.clusters, strict=True)
            ],
        }
        for field, when in _WHEN:
            tasks = state.stage.before if when == "before" else state.stage.after
            done = state.before if when == "before" else state.after
            if tasks and done:
                stage[field] = [
                    self._task(task, wait, is_done, state, step.requests, when)
                    for task, wait, is_done in zip(stage[field], tasks, done, strict=True)
                ]
        for field, at in (("startTime", state.started_at), ("endTime", state.ended_at)):
            if at is not None:
                stage.setdefault(field, rfc3339(at))
        self._say_of_stage(stage, state, step)
        return stage

    def _say_of_stage(self, stage: Json, state: StageState, step: RunStep) -> None:
        if state.ended_at is not None:
            reason, text = "StageUpdatingSucceeded", "all its clusters are updated"
            if not state.clusters and state.stage.name != DELETION:
                reason, text = "StageUpdatingSkippedNoClusters", "skipped: it has no clusters"
            self._end_stage(stage, "True", reason, text)
            return
        if step.run.current is None or step.run.current.stage.name != state.stage.name:
            return
        status: Status = "True"
        reason, text = "StageUpdatingStarted", step.why
        if step.progress in (Progress.WAITING, Progress.STOPPED):
            status, reason = "False", f"StageUpdating{step.progress}"
        elif step.progress is Progress.STOPPING:
            status, reason = "Unknown", "StageUpdatingStopping"
        stage["conditions"] = self._with(
            stage.get("conditions"), PROGRESSING, status, reason, text
        )

    def _end_stage(self, stage: Json, succeeded: Status, reason: str, text: str) -> None:
        conditions = self._with(stage.get("conditions"), PROGRESSING, "False", reason, text)
        stage["conditions"] = self._with(conditions, SUCCEEDED, succeeded, reason, text)

    def _cluster(self, told: JsonView, state: ClusterState, limits: Limits) -> Json:
        if state.started_at is None:
            return dict(told)
        conditions = self._with(
            told.get("conditions"), _STARTED, "True", "ClusterUpdatingStarted", "it was begun"
        )
        if state.done:
            text = "it has the version, and all of it is available"
            conditions = self._with(
                conditions, SUCCEEDED, "True", "ClusterUpdatingSucceeded", text
            )
        elif state.failure:
            conditions = self._with(
                conditions, SUCCEEDED, "False", "ClusterUpdatingFailed", state.failure
            )
        else:
            conditions = remove(conditions, SUCCEEDED)
        conditions = remove(conditions, _ACCEPTED)
        if state.accepted:
            text = "the run was resumed with it"
            conditions = self._with(conditions, _ACCEPTED, "True", RESUMED, text)
        return {**told, "conditions": conditions}

    def _task(
        self,
        told: JsonView,
        wait: dt.timedelta | None,
        is_done: bool,
        state: StageState,
        requests: Sequence[tuple[str, str]],
        when: str,
    ) -> Json:
        conditions = told.get("conditions")
        if wait is None:
            if is_done or (state.stage.name, when) in requests:
                reason = "StageTaskApprovalRequestCreated"
                conditions = self._with(conditions, ASKED, "True", reason, "approval is requested")
            if is_done:
                reason = "StageTaskApprovalRequestApproved"
                conditions = self._with(conditions, APPROVED, "True", reason, "it is approved")
        elif is_done:
            reason = "AfterStageTaskWaitTimeElapsed"
            conditions = self._with(conditions, ELAPSED, "True", reason, "the time has passed")
        elif state.updated_at is not None:
            text = f"waits until {rfc3339(state.updated_at + wait)}"
            reason = "AfterStageTaskWaitTimeNotElapsed"
            conditions = self._with(conditions, ELAPSED, "False", reason, text)
        return {**told, "conditions": conditions} if conditions else dict(told)

    def _with(
        self,
        conditions: Sequence[Condition] | None,
        kind: str,
        status: Status,
        reason: str,
        message: str,
    ) -> list[Condition]:
        return set_condition(
            list(conditions or ()), kind, status, reason, message, self._now, self._generation
        )


def request_name(run: str, stage: str, when: str) -> str:
    """The name of the request for approval before or after a stage, as KubeFleet has it."""
    return f"{run}-{when}-{stage}"


def _asked(run: str, stage: Stage) -> Json:
    """The tasks of a stage, none of them begun."""
    found: Json = {}
    for (field, when), tasks in zip(_WHEN, (stage.before, stage.after), strict=True):
        if tasks:
            found[field] = [
                {"type": TIMED_WAIT}
                if wait is not None
                else {
                    "type": APPROVAL,
                    "approvalRequestName": request_name(run, stage.name, when),
                }
                for wait in tasks
            ]
    return found

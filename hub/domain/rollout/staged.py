"""The next step of a staged update run: KubeFleet's staged updates, and automatic stops. Pure.

A run goes through its stages in order. A stage begins once what comes before it is done; its clusters
get the run's version in order, never more at once than it allows; it ends when all have it available and
what comes after it is done. The last stage, which every run has, takes back from clusters that are not
chosen any more. Stopped, no cluster is begun; those under way are seen through.

A cluster has failed as soon as it says that it can not hold the version, or its overrides make none, and
when it is not available by the deadline. So many failed clusters stop the run until somebody resumes it:
what had failed by then does not count again.
"""

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from hub.domain.rollout.run_state import (
    Approved,
    ClusterSight,
    ClusterState,
    Limits,
    Progress,
    RunState,
    RunStep,
    StageState,
)

_MOST_NAMED: Final = 3


def next_step(
    run: RunState,
    sights: Mapping[str, ClusterSight],
    approved: Approved,
    now: dt.datetime,
    limits: Limits,
    *,
    stopped: bool = False,
) -> RunStep:
    """The next step of the run. `stopped`: a person wants it stopped."""
    run = replace(run, stages=tuple(_seen(s, sights, now, limits) for s in run.stages))
    failed = run.failed()
    if not run.halted and limits.most_failed and len(failed) >= limits.most_failed:
        run = replace(run, halted=_halted(failed, limits))
    if stopped or run.halted:
        return _stand_still(run, sights, now, limits)
    turn = _StageTurn(sights, approved, now, limits)
    stages = list(run.stages)
    for index, stage in enumerate(stages):
        stages[index] = turn.advance(stage)
        if stages[index].ended_at is None:
            return turn.step(replace(run, stages=tuple(stages)))
    run = replace(run, stages=tuple(stages))
    deletion = _taken_back(run.deletion, sights, now)
    run = replace(run, deletion=deletion)
    left = [each.cluster for each in deletion.clusters if not each.done]
    if left:
        why = f"withdrawing from {_few(left)}, which are no longer chosen"
        return RunStep(
            run, Progress.PROGRESSING, why, give=_lacking(run, sights), remove=tuple(left)
        )
    return RunStep(run, Progress.SUCCEEDED, "all stages are completed", give=_lacking(run, sights))


def _seen(
    stage: StageState, sights: Mapping[str, ClusterSight], now: dt.datetime, limits: Limits
) -> StageState:
    """A stage with the results of the clusters in progress."""
    if stage.started_at is None or stage.ended_at is not None:
        return stage
    clusters = tuple(
        _settled(each, sights.get(each.cluster, ClusterSight()), now, limits)
        for each in stage.clusters
    )
    return stage if clusters == stage.clusters else replace(stage, clusters=clusters)


def _settled(
    each: ClusterState, sight: ClusterSight, now: dt.datetime, limits: Limits
) -> ClusterState:
    if each.started_at is None or each.done:
        return each
    if sight.ready:
        return replace(each, done=True, failure="")
    failure = ""
    if sight.refused:
        failure = sight.trouble or "it can not be applied"
    elif now - each.started_at >= limits.deadline:
        failure = f"not available after {_words(limits.deadline)}"
        failure += f": {sight.trouble}" if sight.trouble else ""
    accepted = each.accepted and bool(failure)  # a recovered cluster may fail again
    return replace(each, failure=failure, accepted=accepted)


class _StageTurn:
    """One step through the stages of a run that may go on."""

    def __init__(
        self,
        sights: Mapping[str, ClusterSight],
        approved: Approved,
        now: dt.datetime,
        limits: Limits,
    ) -> None:
        self._sights = sights
        self._approved = approved
        self._now = now
        self._limits = limits
        self._requests: list[tuple[str, str]] = []
        self._due: list[dt.datetime] = []
        self._progress = Progress.PROGRESSING
        self._why = ""

    def advance(self, stage: StageState) -> StageState:
        """A stage as far as it goes now."""
        if stage.ended_at is not None:
            return stage
        if not stage.clusters:
            return replace(stage, started_at=self._now, updated_at=self._now, ended_at=self._now)
        stage = self._before(stage)
        if stage.started_at is None:
            self._wait(stage, "before")
            return stage
        stage = self._begin(stage)
        if not stage.updated:
            self._tell_of_clusters(stage)
            return stage
        if stage.updated_at is None:
            stage = replace(stage, updated_at=self._now)
        stage = self._after(stage)
        if all(stage.after):
            return replace(stage, ended_at=self._now)
        self._wait(stage, "after")
        return stage

    def step(self, run: RunState) -> RunStep:
        """The open part of a stage that does not end yet."""
        return RunStep(
            run,
            self._progress,
            self._why,
            give=_lacking(run, self._sights),
            requests=tuple(self._requests),
            again_at=min(self._due, default=None),
        )

    def _before(self, stage: StageState) -> StageState:
        done = tuple(
            was or self._is_approved(stage, "before")
            for was in _padded(stage.before, stage.stage.before)
        )
        started = self._now if all(done) and stage.started_at is None else stage.started_at
        return replace(stage, before=done, started_at=started)

    def _after(self, stage: StageState) -> StageState:
        done: list[bool] = []
        for was, wait in zip(
            _padded(stage.after, stage.stage.after), stage.stage.after, strict=True
        ):
            if was or wait is None:
                done.append(was or self._is_approved(stage, "after"))
                continue
            assert stage.updated_at is not None
            until = stage.updated_at + wait
            done.append(until <= self._now)
            if not done[-1]:
                self._due.append(until)
        return replace(stage, after=tuple(done))

    def _is_approved(self, stage: StageState, when: str) -> bool:
        here = (stage.stage.name, when)
        self._requests.append(here)
        return here in self._approved

    def _begin(self, stage: StageState) -> StageState:
        """Begin as many clusters as may be under way; who has it already is done at once."""
        most = stage.stage.at_once(len(stage.clusters))
        clusters = list(stage.clusters)
        under_way = sum(each.under_way for each in clusters)
        for index, each in enumerate(clusters):
            if under_way >= most:
                break
            if each.started_at is not None:
                continue
            sight = self._sights.get(each.cluster, ClusterSight())
            if sight.awaited:  # its deadline begins once it may be given something
                break
            clusters[index] = replace(each, started_at=self._now, done=sight.ready)
            under_way += not sight.ready
        return replace(stage, clusters=tuple(clusters))

    def _wait(self, stage: StageState, when: str) -> None:
        self._progress = Progress.WAITING
        tasks = stage.stage.before if when == "before" else stage.stage.after
        done = stage.before if when == "before" else stage.after
        left = [
            "approval" if wait is None else f"{_words(wait)} to pass"
            for wait, is_done in zip(tasks, done, strict=True)
            if not is_done
        ]
        name = stage.stage.name
        self._why = f"waiting for {when}-stage tasks of stage {name}: {' and '.join(left)}"

    def _waits_for(self, stage: StageState) -> str:
        """The next cluster, which can not begin yet, and why."""
        name = next(each.cluster for each in stage.clusters if each.started_at is None)
        return f"waiting for {name}: {self._sights[name].trouble}"

    def _tell_of_clusters(self, stage: StageState) -> None:
        under_way = [each for each in stage.clusters if each.under_way]
        late = _late(under_way, self._now, self._limits)
        self._due += _deadlines(under_way, self._now, self._limits)
        if late:
            self._progress = Progress.STUCK
            self._why = f"stage {stage.stage.name}: {_few([e.cluster for e in late])} stuck, {_first(late)}"
            return
        done = sum(each.done for each in stage.clusters)
        names = _few([each.cluster for each in under_way])
        doing = f"updating {names}" if under_way else self._waits_for(stage)
        self._why = f"stage {stage.stage.name}: {doing}, {done} of {len(stage.clusters)} done"
        failed = [each for each in under_way if each.failure]
        if failed:
            self._why += f"; {_few([e.cluster for e in failed])} failed, {_first(failed)}"


def _stand_still(
    run: RunState, sights: Mapping[str, ClusterSight], now: dt.datetime, limits: Limits
) -> RunStep:
    """Nothing is begun; who is under way is seen through, but for who has failed."""
    under_way = [each for stage in run.stages for each in stage.clusters if each.under_way]
    moving = [each for each in under_way if not each.failure]
    deletion = run.deletion
    if deletion.started_at is not None and deletion.ended_at is None:
        deletion = _taken_back(deletion, sights, now)
        run = replace(run, deletion=deletion)
        moving += [each for each in deletion.clusters if not each.done]
    give = _lacking(run, sights)
    due = min(_deadlines(under_way, now, limits), default=None)
    if moving:
        names = _few([each.cluster for each in moving])
        why = run.halted or f"stopping once {names} are done"
        return RunStep(run, Progress.STOPPING, why, give=give, again_at=due)
    why = run.halted or "stopped; no cluster is in progress"
    return RunStep(run, Progress.STOPPED, why, give=give, again_at=due)


def _taken_back(
    stage: StageState, sights: Mapping[str, ClusterSight], now: dt.datetime
) -> StageState:
    """The last stage: from all that are not chosen any more, at once."""
    clusters = tuple(
        replace(
            each,
            started_at=each.started_at or now,
            done=each.done or sights.get(each.cluster, ClusterSight(gone=True)).gone,
        )
        for each in stage.clusters
    )
    over = all(each.done for each in clusters)
    return replace(
        stage,
        clusters=clusters,
        started_at=stage.started_at or now,
        updated_at=stage.updated_at or (now if over else None),
        ended_at=stage.ended_at or (now if over else None),
    )


def _lacking(run: RunState, sights: Mapping[str, ClusterSight]) -> tuple[str, ...]:
    """Those that were begun and do not have it, whatever took it from them."""
    return tuple(
        each.cluster
        for stage in run.stages
        for each in stage.clusters
        if each.under_way and not sights.get(each.cluster, ClusterSight()).has
    )


def _padded(done: tuple[bool, ...], tasks: tuple[object, ...]) -> tuple[bool, ...]:
    return done if len(done) == len(tasks) else (False,) * len(tasks)


def _late(
    clusters: Collection[ClusterState], now: dt.datetime, limits: Limits
) -> list[ClusterState]:
    return [
        each
        for each in clusters
        if each.started_at is not None and now - each.started_at >= limits.deadline
    ]


def _deadlines(
    clusters: Collection[ClusterState], now: dt.datetime, limits: Limits
) -> list[dt.datetime]:
    """When those under way are late that are not yet."""
    found = [each.started_at + limits.deadline for each in clusters if each.started_at is not None]
    return [each for each in found if each > now]


def _halted(failed: Collection[ClusterState], limits: Limits) -> str:
    names = _few([each.cluster for each in failed])
    return (
        f"the hub stopped it: {names} failed ({_first(list(failed))}), and {limits.most_failed} failed "
        "cluster(s) stop a run: fix the cause and resume, or roll back"
    )


def _first(failed: list[ClusterState]) -> str:
    return f"first {failed[0].cluster}: {failed[0].failure or 'not available yet'}"


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _words(span: dt.timedelta) -> str:
    seconds = int(span.total_seconds())
    parts = [(seconds // 3600, "h"), (seconds % 3600 // 60, "m"), (seconds % 60, "s")]
    return "".join(f"{amount}{unit}" for amount, unit in parts if amount) or "0s"

"""A staged update run as it stands, what stands in its clusters, and what it does next. Pure."""

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from hub.domain.rollout.stages import Stage

DELETION: Final = "kubernetes-fleet.io/deleteStage"  # KubeFleet's name of the last stage


class Progress(StrEnum):
    """States of a run, as the reasons of its condition Progressing."""

    PROGRESSING = "Progressing"
    WAITING = "Waiting"
    STUCK = "Stuck"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    SUCCEEDED = "Succeeded"


@dataclass(frozen=True, slots=True)
class ClusterState:
    """One cluster in its stage. `accepted`: a person resumed the run although it had failed."""

    cluster: str
    started_at: dt.datetime | None = None
    done: bool = False
    failure: str = ""  # why it has failed so far, in words
    accepted: bool = False

    @property
    def under_way(self) -> bool:
        return self.started_at is not None and not self.done


@dataclass(frozen=True, slots=True)
class StageState:
    """A stage of a run. `before` and `after`: which of its tasks are done, in their order.

    `updated_at`: since when all its clusters have the version; what comes after it runs from then.
    """

    stage: Stage
    clusters: tuple[ClusterState, ...] = ()
    before: tuple[bool, ...] = ()
    after: tuple[bool, ...] = ()
    started_at: dt.datetime | None = None
    updated_at: dt.datetime | None = None
    ended_at: dt.datetime | None = None

    @property
    def updated(self) -> bool:
        return all(each.done for each in self.clusters)


@dataclass(frozen=True, slots=True)
class RunState:
    """A run: its stages, the newest version, and the reason why the hub stopped it ("": it did not)."""

    stages: tuple[StageState, ...]
    deletion: StageState
    halted: str = ""

    @property
    def current(self) -> StageState | None:
        """The stage that is next to end; None once all have."""
        return next((e for e in (*self.stages, self.deletion) if e.ended_at is None), None)

    def failed(self) -> list[ClusterState]:
        """Clusters whose failure counts."""
        return [
            each
            for stage in self.stages
            for each in stage.clusters
            if each.under_way and each.failure and not each.accepted
        ]


@dataclass(frozen=True, slots=True)
class ClusterSight:
    """The state of one cluster. `has`: what the run would give it; `ready`: and all of it is available.

    `trouble`: why not, in words; `refused`: it never will be as things are; `gone`: it has nothing left.
    `awaited`: its agent has yet to report whether it may be given anything; that takes seconds.
    """

    has: bool = False
    ready: bool = False
    refused: bool = False
    trouble: str = ""
    gone: bool = False
    awaited: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """`most_failed` 0: the hub never stops a run."""

    deadline: dt.timedelta
    most_failed: int = 0


@dataclass(frozen=True, slots=True)
class RunStep:
    """What happens now: who is given the version, from whom all is taken back, how the run stands then.

    `requests`: (stage, "before" | "after") whose approval must be requested; `again_at`: when time alone
    changes something.
    """

    run: RunState
    progress: Progress
    why: str
    give: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    requests: tuple[tuple[str, str], ...] = ()
    again_at: dt.datetime | None = None


Approved = Collection[tuple[str, str]]  # (stage, "before" | "after")


def resumed(run: RunState) -> RunState:
    """The run after a person resumed it: failures so far do not stop it again."""
    return replace(
        run,
        halted="",
        stages=tuple(
            replace(
                stage,
                clusters=tuple(
                    replace(each, accepted=each.accepted or bool(each.failure))
                    for each in stage.clusters
                ),
            )
            for stage in run.stages
        ),
    )

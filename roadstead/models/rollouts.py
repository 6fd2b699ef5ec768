"""Staged update runs, and placements that are rolling out."""

import datetime as dt

from roadstead.models.record import Record


class StageTask(Record):
    """A task `when` (before or after) a stage; `request`: the approval request object."""

    when: str
    type: str
    request: str = ""
    done: bool = False
    message: str = ""


class StageCluster(Record):
    """One cluster of a stage."""

    name: str
    reason: str = ""
    message: str = ""
    started_at: dt.datetime | None = None


class RolloutStage(Record):
    """A stage of a run; the last withdraws from clusters that are no longer picked."""

    name: str
    reason: str = ""
    message: str = ""
    started_at: dt.datetime | None = None
    ended_at: dt.datetime | None = None
    tasks: tuple[StageTask, ...] = ()
    clusters: tuple[StageCluster, ...] = ()


class ClusterVersion(Record):
    """One cluster of a placement: its version, and what it waits for."""

    name: str
    version: str = ""
    reason: str = ""
    message: str = ""


class Rollout(Record):
    """A staged update run, or a placement that rolls out without one.

    `updated` of `clusters` have this `version`. Only single reads have `stages` (of a run) and
    `cluster_versions` (of a placement), lists do not.
    """

    kind: str
    namespace: str = ""
    name: str
    uid: str = ""
    origin: str = ""
    placement: str = ""
    strategy: str = ""
    version: str = ""
    state: str = ""
    reason: str = ""
    message: str = ""
    stopped_by_itself: bool = False
    clusters: int = 0
    updated: int = 0
    waits_for: tuple[str, ...] = ()
    created_at: dt.datetime | None = None
    stages: tuple[RolloutStage, ...] = ()
    cluster_versions: tuple[ClusterVersion, ...] = ()

    @property
    def full_name(self) -> str:
        """`namespace/name`, or the name alone."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def is_run(self) -> bool:
        """Whether it is a staged update run."""
        return self.kind.endswith("Run")

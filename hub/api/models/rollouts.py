"""Staged update runs, and placements that are rolling out."""

from typing import Literal

from hub.api.models.base import Body, Instant, Model, example_of


class RolloutFigures(Model):
    """A run, or a placement that rolls a change out without runs."""

    kind: Literal[
        "ClusterStagedUpdateRun",
        "StagedUpdateRun",
        "ClusterResourcePlacement",
        "ResourcePlacement",
    ]
    namespace: str
    name: str
    uid: str
    origin: str
    placement: str
    strategy: str
    """Of a run the name of its strategy; of a placement its type."""
    version: str
    """Index of what is given; empty before a run is worked out."""
    state: str
    """The request to a run: `Initialize`, `Run` or `Stop`; empty of placements."""
    reason: str
    message: str
    stopped_by_itself: bool
    """Too many clusters have failed."""
    clusters: int
    updated: int
    """Of those: have this version, all of it available."""
    waits_for: list[str]
    """Requests for approval that stand open."""
    created_at: Instant


class RolloutList(Model):
    """Those that are not over, then the newest 100 runs that are."""

    items: list[RolloutFigures]


class StageTask(Model):
    """A task before a stage or after it."""

    when: Literal["before", "after"]
    type: Literal["Approval", "TimedWait"]
    request: str
    """Of an approval: the object that asks for it."""
    done: bool
    message: str


class StageCluster(Model):
    """One cluster of a stage."""

    name: str
    reason: str
    message: str
    started_at: Instant | None


class RolloutStage(Model):
    """A stage of a run; the last takes back from clusters that are not chosen any more."""

    name: str
    reason: str
    message: str
    started_at: Instant | None
    ended_at: Instant | None
    tasks: list[StageTask]
    clusters: list[StageCluster]


class ClusterVersion(Model):
    """One cluster of a placement: what it was given, and what it waits for."""

    name: str
    version: str
    reason: str
    message: str


class RolloutDetail(RolloutFigures):
    """With a run's stages, or a placement's clusters."""

    stages: list[RolloutStage]
    cluster_versions: list[ClusterVersion]


class RolloutApproval(Body):
    """The request to approve; empty if only one waits."""

    model_config = example_of({"stage": "canary", "when": "after"})

    stage: str | None = None
    when: Literal["before", "after"] | None = None


class RolloutReturn(Body):
    """The version to go back to."""

    model_config = example_of({"version": "3"})

    version: str | None = None
    """Else what the run before brought, or the one before this run's."""

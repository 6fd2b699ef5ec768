"""Status of a staged update run and of a request for approval, as KubeFleet has them: for the schemas."""

from typing import Annotated, Literal

from pydantic import Field

from shared.kinds.model import Condition, Model, Timestamp, by_type
from shared.kinds.placement_status import NamespacedName
from shared.kinds.placement_v1 import ApplyStrategy
from shared.kinds.staged_v1 import StrategySpec


class TaskStatus(Model):
    type: Literal["TimedWait", "Approval"]
    approval_request_name: str | None = None
    conditions: list[Condition] | None = by_type()


class ClusterUpdate(Model):
    cluster_name: str
    resource_override_snapshots: list[NamespacedName] | None = None
    cluster_resource_override_snapshots: list[str] | None = None
    conditions: list[Condition] | None = by_type()


class StageStatus(Model):
    stage_name: str
    clusters: list[ClusterUpdate]
    after_stage_task_status: Annotated[list[TaskStatus], Field(max_length=2)] | None = None
    before_stage_task_status: Annotated[list[TaskStatus], Field(max_length=1)] | None = None
    start_time: Timestamp | None = None
    end_time: Timestamp | None = None
    conditions: list[Condition] | None = by_type()


class RunStatus(Model):
    policy_snapshot_index_used: str | None = None
    policy_observed_cluster_count: int | None = None
    resource_snapshot_index_used: str | None = None
    applied_strategy: ApplyStrategy | None = None
    staged_update_strategy_snapshot: StrategySpec | None = None
    stages_status: list[StageStatus] | None = None
    deletion_stage_status: StageStatus | None = None
    conditions: list[Condition] | None = by_type()


class RequestStatus(Model):
    conditions: list[Condition] | None = by_type()

"""Status of a MemberCluster, as KubeFleet has it (`MemberClusterStatus`): for the schemas."""

from typing import Literal

from shared.kinds.model import Condition, Model, Number, Timestamp, by_type, keyed


class PropertyValue(Model):
    value: str
    observation_time: Timestamp


class Usage(Model):
    capacity: dict[str, Number] | None = None
    allocatable: dict[str, Number] | None = None
    available: dict[str, Number] | None = None
    observation_time: Timestamp | None = None


class AgentStatus(Model):
    type: Literal["MemberAgent", "MultiClusterServiceAgent", "ServiceExportImportAgent"]
    conditions: list[Condition] | None = by_type()
    last_received_heartbeat: Timestamp | None = None


class MemberClusterStatus(Model):
    conditions: list[Condition] | None = by_type()
    properties: dict[str, PropertyValue] | None = None
    resource_usage: Usage | None = None
    namespaces: dict[str, str] | None = None
    agent_status: list[AgentStatus] | None = keyed("type")

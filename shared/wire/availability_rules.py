"""Rules of availability, as a hub tells its agents: a part of the reply to a sync."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class AvailabilityRule(BaseModel):
    """When objects of a custom kind are available: as `shared.kinds.availability_rules`."""

    model_config = ConfigDict(extra="ignore")

    group: str
    kind: str
    available: str
    message: str = ""


class AvailabilityRules(BaseModel):
    """All that are declared on the hub, in place of those that were."""

    model_config = ConfigDict(extra="ignore")

    revision: Annotated[int, Field(ge=0, le=2**63 - 1)]
    rules: list[AvailabilityRule]

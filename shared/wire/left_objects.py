"""Objects on the wire that an agent of this hub wrote and that nothing desires any more."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

# No kind of jobs; of the others `SyncRequest.kinds_unread` names it alone, as the hub runs its schedules.
CRON_JOB: Final = "batch/v1/CronJob"
_Name = Annotated[str, Field(max_length=253)]
UnreadKinds = Annotated[list[Annotated[str, Field(max_length=512)]], Field(max_length=1000)]


class LeftObject(BaseModel):
    """An object, no Job, that an agent of this hub wrote, which its managed fields prove."""

    model_config = ConfigDict(extra="ignore")

    api_version: _Name
    kind: _Name
    namespace: _Name = ""
    name: _Name
    created: bool = False  # by an agent; False: it was taken over
    placed_by: str = Field(
        default="", max_length=320
    )  # protocol 7: Kind/name of its placement; "": not told

    @property
    def is_cron_job(self) -> bool:
        """True for a CronJob."""
        return f"{self.api_version}/{self.kind}" == CRON_JOB

"""Jobs of lost clusters: their policy, and earlier runs that may continue."""

import datetime as dt

from roadstead.models.record import Record


class LostCluster(Record):
    """The effect of its cluster's silence on a job; `moves_not_before`: the earliest start elsewhere."""

    cluster: str
    policy: str = ""
    heard_at: dt.datetime | None = None
    moves_not_before: dt.datetime | None = None
    choices: tuple[str, ...] = ()


class EarlierEpoch(Record):
    """An earlier run of a restarted job that a lost cluster may still run."""

    cluster: str
    epoch: int = 0
    overlapped: bool = False
    active: int = 0
    said: str = ""
    observed_at: dt.datetime | None = None
    cluster_heard_at: dt.datetime | None = None

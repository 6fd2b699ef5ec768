"""Jobs and the clusters that were lost with them: what can become of one, and what may run besides."""

import datetime as dt

from roadstead.models.record import Record


class LostCluster(Record):
    """What the silence of its cluster means for a job; `moves_not_before`: it starts elsewhere by itself."""

    cluster: str
    policy: str = ""
    heard_at: dt.datetime | None = None
    moves_not_before: dt.datetime | None = None
    choices: tuple[str, ...] = ()


class EarlierEpoch(Record):
    """What a lost cluster may still run of a job that has started elsewhere since."""

    cluster: str
    epoch: int = 0
    overlapped: bool = False
    active: int = 0
    said: str = ""
    observed_at: dt.datetime | None = None
    cluster_heard_at: dt.datetime | None = None

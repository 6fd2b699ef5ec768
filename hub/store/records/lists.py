"""Jobs as lists and the live page read them: the columns that a line needs."""

import datetime as dt
from typing import NamedTuple

from hub.domain.workloads.states import State
from shared.documents import Json


class ListedJob(NamedTuple):
    """A job as a line of a list needs it."""

    uid: str
    kind: str
    namespace: str
    name: str
    queue: str
    state: State
    reason: str
    cluster: str
    epoch: int
    created_at: dt.datetime
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    owner: str
    ran_from: dt.datetime | None
    ran_until: dt.datetime | None
    shape: str = ""  # of what it asks for


class JobOnPage(NamedTuple):
    """A job as the live page shows it; `scores` None where they can not be read."""

    uid: str
    namespace: str
    name: str
    queue: str
    cluster_queue: str
    state: str  # as stored: what is no State spoils its own line alone
    reason: str
    message: str
    cluster: str
    epoch: int
    created_at: dt.datetime
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    owner: str = ""
    ran_from: dt.datetime | None = None
    ran_until: dt.datetime | None = None
    shape: str = ""  # of what it asks for
    scores: Json | None = None  # of the decision

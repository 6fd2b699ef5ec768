"""Dependencies between jobs as records: a row each, with the columns that decide about it."""

import datetime as dt
from typing import NamedTuple

from hub.domain.workloads.chains import FINAL, EndCondition, JobLink, LinkState
from hub.domain.workloads.states import State


class Dependency(NamedTuple):
    """That the job `uid` waits for the job that has, or had, a name of its namespace."""

    uid: str
    on_name: str
    namespace: str
    wanted: EndCondition
    on_uid: str  # "": no job of that name has come yet
    state: LinkState
    ended: str = ""  # how the other had ended when this was decided
    until: dt.datetime | None = None  # deadline for a job of that name
    decided_at: dt.datetime | None = None

    @property
    def link(self) -> JobLink:
        """Inputs of the decision about it."""
        return JobLink(self.on_name, self.wanted, self.state, self.ended)


class Awaited(NamedTuple):
    """A job that others wait for, as it stands."""

    uid: str
    state: State
    live: bool | None  # None: it gave its name back

    @property
    def has_ended(self) -> bool:
        """True if the state is final: a deactivated job can be released while it has its name."""
        return self.state in FINAL or (self.state is State.DEACTIVATED and self.live is None)


class ChainLink(NamedTuple):
    """That a job waits for another, as a link of a chain; who has the name now, where it is not bound yet."""

    uid: str
    namespace: str
    on_name: str
    on_uid: str  # "": nobody


class Unbound(NamedTuple):
    """A dependency on an awaited name, and its present holder; "" if none."""

    uid: str
    on_name: str
    namespace: str
    until: dt.datetime | None
    on_uid: str


class Neighbour(NamedTuple):
    """A job before or after another in a chain, as it is shown."""

    uid: str
    name: str
    wanted: EndCondition
    link: LinkState
    ended: str
    state: State | None  # None: it is not there (any more)
    queue: str
    owner: str
    reason: str
    cluster: str
    since: dt.datetime | None

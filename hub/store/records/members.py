"""Members as records: what an administrator declared, and how the session of each agent stands."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NotRequired, TypedDict

from shared.documents import Json


class Member(NamedTuple):
    """One member cluster: a field for each column of the table `clusters`. Times are UTC."""

    name: str
    object: str  # uid of its MemberCluster object
    labels: Mapping[str, str]
    taints: Sequence[Json]
    created_at: dt.datetime
    pools: Sequence[Json] | None = None  # autoscaled ones: [{name, maxNodes, labels, taints, …}]
    cluster_uid: str = ""  # of its namespace kube-system; "" before it joined
    cordoned: bool = False
    session: str = ""
    session_at: dt.datetime | None = None
    session_seq: int = 0  # the newest request of that session whose report is in the store
    retired_sessions: Sequence[str] | None = None  # ids that were superseded and never come back
    joined_at: dt.datetime | None = None
    heartbeat_at: dt.datetime | None = None
    agent: Json | None = None  # what its agent is: services.members.terms


class DeclaredColumns(TypedDict):
    """The columns that follow from a MemberCluster object."""

    object: str
    labels: Mapping[str, str]
    taints: Sequence[Json]
    pools: Sequence[Json] | None


class MemberColumns(TypedDict, total=False):
    """Columns of a member that may be set."""

    object: str
    labels: Mapping[str, str]
    taints: Sequence[Json]
    pools: Sequence[Json] | None
    cluster_uid: str
    cordoned: bool
    session: str
    session_at: dt.datetime | None
    session_seq: int
    retired_sessions: Sequence[str] | None
    joined_at: dt.datetime | None
    heartbeat_at: dt.datetime | None
    agent: Json | None


class Speaking(NamedTuple):
    """A member's agent session, and its progress."""

    session: str
    seq: int


class DownSince(TypedDict):
    """A member's API server does not answer its agent, or refuses it: since when (RFC3339), and why."""

    reason: str
    since: str
    cause: NotRequired[str]  # as in `agent_v1.ApiServerDown`; earlier releases wrote none

"""Members as records: what an administrator declared, and how the session of each agent stands."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

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
    retired_sessions: Sequence[str] | None = None  # ids that were superseded and never come back
    joined_at: dt.datetime | None = None
    heartbeat_at: dt.datetime | None = None


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
    retired_sessions: Sequence[str] | None
    joined_at: dt.datetime | None
    heartbeat_at: dt.datetime | None


class DownSince(TypedDict):
    """A member's API server does not answer its agent: since when (RFC3339), and why."""

    reason: str
    since: str

"""What an agent of the simulation says to the hub, without the cost of the wire's own classes."""

from dataclasses import dataclass

from shared.wire.agent_v1 import Capacity, Mark, Observed


@dataclass(slots=True)
class Saying:
    """`agent_v1.ObservedSet`, as quick to make as it gets."""

    full: bool
    digest: str
    entries: list[Observed]
    more: bool = False


@dataclass(slots=True)
class Base:
    """`agent_v1.DesiredBase`, as quick to make as it gets."""

    revision: int
    digest: str


@dataclass(slots=True)
class Request:
    """`agent_v1.SyncRequest`, as quick to make as it gets."""

    session: str
    seq: int
    cluster_uid: str
    incarnation_seen: str
    marks: list[Mark]
    desired: Base
    observed: Saying
    jobs_read: bool = False
    kinds_unread: list[str] | None = None
    kinds_held: int | None = None
    wait_s: float = 0.0
    capacity: Capacity | None = None
    namespaces_held: int | None = None
    follows: str = ""
    proto: int = 1

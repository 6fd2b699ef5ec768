"""Remedies for a waiting workload, as values: one difference each, tested with the engine."""

from dataclasses import dataclass
from enum import StrEnum

from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.holders import AdmittedWorkload


class RemedyKind(StrEnum):
    """A difference of the snapshot."""

    TURN = "Turn"  # nothing: it fits, its turn has not come
    PREEMPTION = "Preemption"  # nothing: it may preempt when its turn comes
    RELEASE = "Release"  # these end
    PRIORITY = "Priority"  # its own is higher
    POLICY = "Policy"  # its ClusterQueue may preempt
    BUDGET = "Budget"  # preemption may displace more
    MINIMUM_RUNTIME = "MinimumRuntime"  # others have run for longer
    PROTECTED = "ProtectedQueue"  # a queue that is never preempted is no longer
    QUOTA = "Quota"  # nominal quota is higher
    BORROWING_LIMIT = "BorrowingLimit"  # it may borrow more
    NODES = "Nodes"  # a cluster has more nodes
    UNCORDON = "Uncordon"
    CONSTRAINTS = "Constraints"  # it does not name clusters
    SET_ASIDE = "SetAside"  # a cluster is no longer avoided
    FEWER_PODS = "FewerPods"


@dataclass(frozen=True, slots=True)
class Remedy:
    """One difference that would do. Fields that its kind has no use for are empty.

    `amounts`: released, or to be added (of NODES: as nominal quota too). `holders` end, or are
    preempted. `number`: the priority to exceed, nodes, pods, victims. `rest`: what else is missing then;
    "" where nothing is.
    """

    kind: RemedyKind
    amounts: tuple[tuple[FlavorResource, int], ...] = ()
    holders: tuple[AdmittedWorkload, ...] = ()
    number: int = 0
    cluster: str = ""
    setting: str = ""  # of the ClusterQueue, with `value`
    value: str = ""
    at: int = 0  # microseconds since the epoch: from when on
    labels: tuple[tuple[str, str], ...] = ()  # of nodes
    pod: tuple[tuple[str, int], ...] = ()  # what one node must have free
    rest: str = ""

"""The picture a cycle reasons about: nothing that happens later shows in it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import Room
from hub.domain.placement.scoring.pace import Starts
from hub.domain.queueing.eligibility import Namespaces
from hub.domain.queueing.lanes import Lane
from hub.domain.quota.declared import ClusterQueue
from hub.domain.quota.holders import AdmittedWorkload, Pods
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.quota.usage_history import Ranks


@dataclass(frozen=True, slots=True)
class Nomination:
    """A workload's claim to a cluster's room, while those it displaced leave.

    `pods`: as assigned. `leaving`: the displaced workloads that are still there. `nodes`: names of those
    of the
    cluster on which the room is kept.
    """

    cluster: str
    pods: Pods = ()
    leaving: tuple[AdmittedWorkload, ...] = ()
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Queues with who waits in them, what is charged, and the fleet with what is promised.

    `clusters` are all known members, also those that may get nothing; `room` counts every promise and
    is laid out over the same clusters. `holders`, by queue and uid, are who could be preempted; they
    are charged in the ledger. The caller does not change it afterwards, only a copy; nor does the cycle.
    """

    queues: Sequence[tuple[ClusterQueue, Sequence[Lane]]]
    ledger: Ledger
    catalog: FlavorCatalog
    clusters: Mapping[str, Cluster]
    room: Room
    policies: Mapping[str, QueuePolicy] = field(default_factory=dict)  # absent: Kueue's defaults
    holders: Mapping[str, Mapping[str, AdmittedWorkload]] = field(default_factory=dict)
    nominations: Mapping[str, Nomination] = field(default_factory=dict)  # by uid
    namespaces: Namespaces = field(default_factory=dict)
    ranks: Ranks | None = None  # of LocalQueues, where history counts
    inactive: Collection[str] = ()  # stopped or misconfigured queues, which lose no workload
    starts: Mapping[str, Starts] = field(
        default_factory=dict
    )  # by cluster: what it owes, its pace
    preempted: Mapping[str, frozenset[str]] = field(
        default_factory=dict
    )  # uid → victims until now
    # By cluster: names of nodes on which room is kept for those that were placed.
    kept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

"""What a cycle decides, as values: placements and refusals, each with its reasons in numbers.

A service carries a plan out; whatever has changed meanwhile is dropped there, never merged.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.quota.declared import FlavorResource, Usage
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload
from hub.domain.workloads.apply_options import ApplyOptions
from shared import quantity
from shared.documents import Json
from shared.resources import Toleration


class Reason(StrEnum):
    """Why a workload waits. The first group are Kueue's names."""

    NO_MATCHING_FLAVOR = "NoMatchingFlavor"
    EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
    WAITING_FOR_QUOTA = "WaitingForQuota"
    NO_CLUSTER_MATCHES = "NoClusterMatches"  # no cluster may take it, however empty
    NO_CLUSTER_FITS = "NoClusterFits"  # clusters may, none has the room
    BEHIND_HEAD = "BehindHead"  # StrictFIFO: the head of its queue waits
    AWAITING_PLACEMENT = "AwaitingPlacement"
    QUEUE_NOT_FOUND = "QueueNotFound"
    QUEUE_STOPPED = "QueueStopped"
    NAMESPACE_MISMATCH = "NamespaceMismatch"
    UNREADABLE = "Unreadable"  # what the hub holds of it can not be used: set aside
    PENDING_EVALUATION = "PendingEvaluation"
    QUOTA_RESERVED = "QuotaReserved"  # it waits no more: quota is charged
    WAITING_FOR_VICTIMS = "WaitingForPreemptedWorkloads"
    WAITING_FOR_PODS_READY = "WaitingForPodsReady"
    REQUEUE_BACK_OFF = "RequeueBackOff"  # evicted: not considered before its time
    PREEMPTION_GATED = "AdmissionGated"
    SUSPENDED = "Suspended"  # its queue is stopped
    MISCONFIGURED = "Misconfigured"  # its queue can not admit anything
    DEACTIVATED = "Deactivated"
    NOT_CONSIDERED = "NotConsidered"  # its turn did not come


# Which of several reasons is said: the higher.
SEVERITY: Mapping[Reason, int] = {
    Reason.NO_CLUSTER_FITS: 1,
    Reason.NO_CLUSTER_MATCHES: 2,
    Reason.WAITING_FOR_QUOTA: 3,
    Reason.EXCEEDS_MAX_QUOTA: 4,
    Reason.NO_MATCHING_FLAVOR: 5,
}
# What cycles say of whole classes.
CYCLES = SEVERITY.keys() | {Reason.BEHIND_HEAD, Reason.WAITING_FOR_PODS_READY}


@dataclass(frozen=True, slots=True)
class PodSetAssignment:
    """The flavors of one pod set and what it charges, by resource."""

    name: str
    count: int
    flavors: tuple[tuple[str, str], ...]
    usage: tuple[tuple[str, int], ...]
    labels: tuple[tuple[str, str], ...]  # node labels of its flavors: injected as node selector
    tolerations: tuple[Toleration, ...]  # of its flavors: injected


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Flavors of all pod sets: what is charged, and which nodes may be used, per pod set."""

    pod_sets: tuple[PodSetAssignment, ...]
    charge: Usage
    asks: tuple[NodeAsk, ...]
    reduced: bool = False  # partial admission: fewer pods than asked for

    def admission(self) -> Json:
        """As `workloads.admission` keeps it."""
        told: Json = {
            "podSets": [
                {
                    "name": p.name,
                    "count": p.count,
                    "flavors": dict(p.flavors),
                    "usage": dict(p.usage),
                }
                for p in self.pod_sets
            ]
        }
        if any(ask.growing for ask in self.asks):
            told["growing"] = True  # it may wait for nodes that are not there yet
        return told | {"reduced": True} if self.reduced else told

    def additions(self) -> ApplyOptions:
        """What flavors add to the pods: node selector and tolerations (a Job has one pod set)."""
        return ApplyOptions(
            parallelism=self.pod_sets[0].count if self.reduced else None,
            node_selector={k: v for p in self.pod_sets for k, v in p.labels},
            tolerations=tuple(
                {
                    key: value
                    for key, value in (
                        ("key", t.key),
                        ("operator", t.operator),
                        ("value", t.value),
                        ("effect", t.effect),
                        ("tolerationSeconds", t.seconds),
                    )
                    if value not in ("", None)
                }
                for t in dict.fromkeys(t for p in self.pod_sets for t in p.tolerations)
            ),
        )


class LeftOut(StrEnum):
    """Why a placement was not written: what it was decided of is no longer so. It is decided anew."""

    GONE = "Gone"  # the workload was deleted
    MOVED = "Moved"  # it is in another state, or of another epoch
    CHANGED = "Changed"  # its manifest is of another generation
    LAPSED = "Lapsed"  # its queue, quota, flavors, checks or cluster changed: a `Lapse` says which


class Lapse(NamedTuple):
    """A decision no longer holds: the reason for which its workload waits instead."""

    reason: Reason
    message: str


class TermScore(NamedTuple):
    """One preference as it counted for one cluster. `value` None: the cluster lacks the property."""

    name: str
    weight: int
    score: int
    value: float | None


class Score(NamedTuple):
    """How one cluster stood when the decision fell."""

    cluster: str
    score: int
    terms: tuple[TermScore, ...] = ()
    topology: int = 0
    new_nodes: tuple[tuple[str, int], ...] = ()  # pool → nodes that it must add first
    running: int | None = None  # jobs running, where they break ties; None: the larger name does


class Rejection(NamedTuple):
    """Why one cluster may not take a workload, or has no room for it. `rule` names the filter."""

    rule: str
    reason: str
    message: str
    hold_until: dt.datetime | None = None  # no other cluster is taken before that either


class Verdict(NamedTuple):
    """What was found of one cluster that was not picked."""

    cluster: str
    rejection: Rejection


class Placement(NamedTuple):
    """One workload goes to one cluster."""

    uid: str
    epoch: int  # the epoch that was seen; the placement raises it
    cluster: str
    demand: str  # key
    queue: str  # ClusterQueue that is charged
    placed_by: str  # uid of the placement whose policy decided; "" = the queue's own profile
    assignment: Assignment
    scores: tuple[Score, ...]  # the chosen first, then the best of the others
    rejected: tuple[Verdict, ...]  # clusters that did not compete, at most `VERDICTS`
    others: int  # clusters that did, beyond those listed
    generation: int = 0  # of the manifest that was decided on


@dataclass(frozen=True, slots=True)
class Shortage:
    """Quota that does not suffice, in numbers.

    `used` of `limit` is the queue's own room; in a `cohort` what the queue could have of it, and how
    much of that is gone, whoever took it. `bounded`: by the queue's borrowingLimit, whatever the cohort has.
    """

    of: FlavorResource
    asked: int
    used: int
    limit: int
    cohort: str = ""  # the root of its tree
    bounded: bool = False

    @property
    def missing(self) -> int:
        """What has to be released or added; where more is used than there is, all that is too much too."""
        return max(0, self.asked - (self.limit - self.used))

    def __str__(self) -> str:
        def say(amount: int) -> str:
            return quantity.canonical(self.of.resource, amount)

        room = f" in cohort {self.cohort}" if self.cohort else ""
        if self.bounded:
            room = ", which is nominalQuota and borrowingLimit together"
        needed = f"{say(self.missing)} more needed" if self.missing else "which is enough by now"
        return (
            f"{self.of.resource} of flavor {self.of.flavor}: {say(self.asked)} asked, "
            f"{say(self.used)} of {say(self.limit)} used{room}, {needed}"
        )


@dataclass(frozen=True, slots=True)
class Miss:
    """The cluster that came nearest: what it lacks on its best node, or how many pods it could hold."""

    cluster: str
    pod_set: str
    missing: Mapping[str, int] = field(default_factory=dict)
    pods: int = 0  # of the pod set's count, so many would fit
    count: int = 1
    growing: bool = False  # nodes that pools may still add are counted

    def __str__(self) -> str:
        if self.missing:
            lack = ", ".join(
                f"{quantity.canonical(r, a)} {r}" for r, a in sorted(self.missing.items())
            )
            return f"cluster {self.cluster} misses {lack} on one node"
        said = f"cluster {self.cluster} has room for {self.pods} of {self.count} pods"
        return f"{said}, nodes that its pools may add included" if self.growing else said


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why equal workloads wait. A cycle refuses a demand once, however many stand behind it."""

    demand: str
    queue: str
    reason: Reason
    message: str
    shortages: tuple[Shortage, ...] = ()
    clusters: tuple[Verdict, ...] = ()
    nearest: Miss | None = None
    head: str = ""  # BehindHead: uid of the workload that waits first
    retry_at: dt.datetime | None = None  # when time alone may change it


def behind(demand: str, queue: str, head: str) -> Refusal:
    """StrictFIFO: a demand waits behind the workload `head` (uid) of its queue."""
    message = f"StrictFIFO: waits behind the head of {queue}"
    return Refusal(demand, queue, Reason.BEHIND_HEAD, message, head=head)


class Eviction(NamedTuple):
    """One workload makes room for another. `cause`: reason of Kueue's condition Preempted."""

    uid: str
    by: str  # uid of the preemptor
    cause: str


class Nominated(NamedTuple):
    """One workload waits for its victims, with a claim to a cluster's room ("" without clusters)."""

    uid: str
    cluster: str
    assignment: Assignment
    victims: tuple[str, ...]  # uids, of all cycles that were looked at
    message: str
    new: bool  # somebody was told to go for it in this cycle
    who: PendingWorkload | None = None  # as the cycle saw it
    round: int = 0  # in which it had its turn
    at: int = 0  # how many placements of the plan were decided before its turn


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Everything one cycle decided."""

    placements: tuple[Placement, ...]
    refusals: tuple[Refusal, ...]
    evictions: tuple[Eviction, ...] = ()
    nominated: tuple[Nominated, ...] = ()
    notes: tuple[str, ...] = ()  # properties that did not parse, and the like
    rounds: tuple[
        int, ...
    ] = ()  # of shared queues: how many placements were decided before each began
    admitted: Mapping[str, AdmittedWorkload] = field(
        default_factory=dict
    )  # in these rounds, by uid
    unfinished: bool = False  # its time or its limit ran out: more may be possible at once

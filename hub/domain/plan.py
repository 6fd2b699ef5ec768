"""Decisions of a cycle, as values: placements and rejections, each with its reasons in numbers.

A service carries a plan out; whatever has changed meanwhile is dropped there, never merged.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.quota.declared import FlavorResource, Usage
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload
from hub.domain.workloads.apply_options import ApplyOptions
from shared import quantity
from shared.documents import Json, JsonView
from shared.resources import Toleration


class Reason(StrEnum):
    """The reason why a workload waits. The first group are Kueue's names."""

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
    QUOTA_RESERVED = "QuotaReserved"  # it no longer waits: quota is charged
    WAITING_FOR_VICTIMS = "WaitingForPreemptedWorkloads"
    WAITING_FOR_PODS_READY = "WaitingForPodsReady"
    REQUEUE_BACK_OFF = "RequeueBackOff"  # evicted: not considered before its time
    PREEMPTION_GATED = "AdmissionGated"
    SUSPENDED = "Suspended"  # its queue is stopped
    MISCONFIGURED = "Misconfigured"  # its queue can not admit anything
    DEACTIVATED = "Deactivated"
    NOT_CONSIDERED = "NotConsidered"  # its turn did not come


# Precedence of reasons: the higher one is shown.
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
        """What flavors add to the pods: node selector and tolerations, of each pod set where there are more.

        A Job has one.
        """
        first, *more = self.pod_sets
        return ApplyOptions(
            parallelism=first.count if self.reduced else None,
            node_selector={} if more else dict(first.labels),
            tolerations=() if more else _written(first.tolerations),
            pod_sets={
                each.name: {
                    "node_selector": dict(each.labels),
                    "tolerations": list(_written(each.tolerations)),
                }
                for each in self.pod_sets
            }
            if more
            else {},
        )


def _written(tolerations: Sequence[Toleration]) -> tuple[JsonView, ...]:
    """Tolerations as a pod spec has them, each once."""
    return tuple(
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
        for t in dict.fromkeys(tolerations)
    )


class LeftOut(StrEnum):
    """The reason why a placement was not written: its evidence has changed. The cycle decides it again."""

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
    """The state of one cluster when the decision was made."""

    cluster: str
    score: int
    terms: tuple[TermScore, ...] = ()
    topology: int = 0
    new_nodes: tuple[tuple[str, int], ...] = ()  # pool → nodes that it must add first
    running: int | None = None  # jobs running, where they break ties; None: the larger name does


class Rejection(NamedTuple):
    """The reason why one cluster may not take a workload, or has no room for it. `rule` names the filter."""

    rule: str
    reason: str
    message: str
    hold_until: dt.datetime | None = None  # no other cluster is taken before that either


class Verdict(NamedTuple):
    """The finding about one cluster that was not picked."""

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
    nodes: tuple[str, ...] = ()  # on which room was kept for it: others left them for it


@dataclass(frozen=True, slots=True)
class Shortage:
    """Quota that does not suffice, in numbers.

    `used` of `limit` is the queue's own quota; in a `cohort`, the quota that the queue could use there,
    and the used part of it, by any queue. `bounded`: by the queue's borrowingLimit, whatever the cohort
    has.
    """

    of: FlavorResource
    asked: int
    used: int
    limit: int
    cohort: str = ""  # the root of its tree
    bounded: bool = False

    @property
    def missing(self) -> int:
        """The amount to release or add; if more is used than exists, the whole excess counts too."""
        return max(0, self.asked - (self.limit - self.used))

    @property
    def is_beyond(self) -> bool:
        """Is more asked than there would be if nothing were used?"""
        return self.asked > self.limit

    def __str__(self) -> str:
        def say(amount: int) -> str:
            return quantity.canonical(self.of.resource, amount)

        room = f" in cohort {self.cohort}" if self.cohort else ""
        if self.bounded:
            room = ", which is nominalQuota and borrowingLimit together"
        if self.is_beyond:
            return (
                f"{self.of.resource} of flavor {self.of.flavor}: {say(self.asked)} asked, at most "
                f"{say(self.limit)}{room}, {say(self.asked - self.limit)} more needed"
            )
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
    pods: int = 0  # number of pods of the pod set that would fit
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
    """The reason why equal workloads wait. A cycle refuses a demand once, however many stand behind it."""

    demand: str
    queue: str
    reason: Reason
    message: str
    shortages: tuple[Shortage, ...] = ()
    clusters: tuple[Verdict, ...] = ()
    nearest: Miss | None = None
    head: str = ""  # BehindHead: uid of the workload that waits first
    retry_at: dt.datetime | None = None  # when time alone may change it
    never: bool = False  # it lacks quota, and no member could ever hold it


def aside_from_quota(refusal: Refusal, reason: Reason, why: str) -> Refusal:
    """Of a demand that lacks quota and that no member could ever hold: the latter decides."""
    message = f"no member could ever hold it: {why}; in addition, {refusal.message}"
    return replace(refusal, reason=reason, message=message, never=True)


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
    victims: tuple[str, ...]  # uids, of all evaluated cycles
    message: str
    new: bool  # a victim was evicted for it in this cycle
    who: PendingWorkload | None = None  # as the cycle saw it
    round: int = 0  # in which it had its turn
    at: int = 0  # how many placements of the plan were decided before its turn
    nodes: tuple[str, ...] = ()  # of the cluster, by name: those on which its room is kept


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Everything one cycle decided."""

    placements: tuple[Placement, ...]
    refusals: tuple[Refusal, ...]
    evictions: tuple[Eviction, ...] = ()
    nominated: tuple[Nominated, ...] = ()
    notes: tuple[str, ...] = ()  # properties that did not parse, claims left out
    rounds: tuple[
        int, ...
    ] = ()  # of shared queues: how many placements were decided before each began
    admitted: Mapping[str, AdmittedWorkload] = field(
        default_factory=dict
    )  # in these rounds, by uid
    unfinished: bool = False  # its time or its limit ran out: more may be possible at once

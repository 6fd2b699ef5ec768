"""The demand of equal workloads: one record, however many jobs share it.

Workloads that agree in queue, priority, pod sets and constraints are interchangeable but for their
place in the line: they are filtered and scored once, wait for the same reason, and share one
explanation.
"""

import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hub.domain.devices import is_device
from hub.domain.workloads.placement_policy import Policy, Preferred
from hub.domain.workloads.refusals import is_member
from shared import labels
from shared.consent import NO_TOKEN
from shared.resources import PodSet, Toleration
from shared.selectors import LabelSelector, parse_selector

CLUSTERS = labels.PREFIX + "clusters"
CLUSTER_SELECTOR = labels.PREFIX + "cluster-selector"

JOB: Final = "batch/v1/Job"
# Until when a cluster is avoided whose own rules forbid the workload: until a person says otherwise.
FOR_GOOD: Final = dt.datetime(9999, 1, 1, tzinfo=dt.UTC)
REFUSED: Final = "RefusedByMember"  # the reason of such a workload, and of such a cluster
NAME_CONFLICT: Final = "NameConflict"  # something in the member has its name
# Reasons that are a member's words: they say more than that no cluster may take the workload.
SAID_BY_MEMBER: Final = frozenset({REFUSED, NAME_CONFLICT, NO_TOKEN})


@dataclass(frozen=True, slots=True)
class Constraints:
    """Constraints on the clusters of a workload, apart from its pods' requests. None: no such constraint."""

    kind: str = JOB  # apiVersion/Kind that the cluster must serve; "": none is wanted
    is_job: bool = True  # False: an object of a placement, of which no agent runs pods
    clusters: tuple[str, ...] | None = None
    members: tuple[str, ...] | None = None  # its queue's MultiKueue check names these
    selector: LabelSelector | None = None
    set_aside: tuple[tuple[str, dt.datetime], ...] = ()  # cluster, until when it is avoided
    policy: Policy | None = None  # of the placement that selects it; None: its queue's profile
    tolerations: tuple[Toleration, ...] = ()
    avoided: tuple[
        str, ...
    ] = ()  # clusters to take only where no other holds it: queue stopped there
    # Its namespace and the hub's id, where some member does not accept the hub in it.
    consent: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Demand:
    """One class of equal workloads. `key` names its explanation: queue/shape/constraints."""

    key: str
    queue: str  # ClusterQueue
    priority: int
    shape: str
    pod_sets: tuple[PodSet, ...]
    constraints: Constraints = Constraints()
    placement: str = ""  # uid of the placement whose policy `constraints` holds
    profile: tuple[
        Preferred, ...
    ] = ()  # KubeFleet's arithmetic by these; (): the balancing profile

    @property
    def quota_only(self) -> bool:
        """It requests quota and no room: an external executor runs it."""
        return not self.constraints.kind


QUOTA_ONLY = Constraints(kind="")


def explanation_key(queue: str, shape: str, constraints: Sequence[Any]) -> str:
    """The key of the class's explanation; `constraints` are the raw values that make the class."""
    digest = hashlib.blake2b(repr(constraints).encode(), digest_size=8).hexdigest()
    return f"{queue[:100]}/{shape}/{digest}"


def read_constraints(
    annotations: Mapping[str, str],
    set_aside: Mapping[str, str] | None,
    policy: Policy | None,
    pod_sets: Sequence[PodSet],
) -> Constraints:
    """Constraints of a Job from what its row keeps; raises `Rejected` for an unreadable selector."""
    named = annotations.get(CLUSTERS)
    selector = annotations.get(CLUSTER_SELECTOR)
    return Constraints(
        clusters=tuple(sorted(n.strip() for n in named.split(",") if n.strip()))
        if named
        else None,
        selector=parse_selector(selector, CLUSTER_SELECTOR) if selector else None,
        set_aside=tuple(
            sorted((n, _instant(t)) for n, t in (set_aside or {}).items() if is_member(n))
        ),
        policy=policy,
        tolerations=policy.tolerations if policy else _common_tolerations(pod_sets),
    )


def kind_constraint(api_version: str, kind: str) -> str:
    """`Constraints.kind` of a job whose object is of this kind."""
    return JOB if kind == "Job" else f"{api_version}/{kind}"


def _common_tolerations(pod_sets: Sequence[PodSet]) -> tuple[Toleration, ...]:
    """A cluster's taint is tolerated where every pod set tolerates it."""
    if not pod_sets:
        return ()
    first, *others = pod_sets
    return tuple(t for t in first.tolerations if all(t in o.tolerations for o in others))


def _instant(text: str) -> dt.datetime:
    instant = dt.datetime.fromisoformat(text)
    return instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC)


def queue_profile(pod_sets: Sequence[PodSet]) -> tuple[Preferred, ...]:
    """Without balance, by KubeFleet's arithmetic: what is available of what the job requests.

    CPU, memory and devices, equally weighted, 100 together.
    """
    asked = sorted({r for p in pod_sets for r, amount in p.requests.items() if amount > 0})
    sorted_by = [r for r in asked if r in {"cpu", "memory"} or is_device(r)] or ["cpu"]
    weight = 100 // len(sorted_by)
    return tuple(
        Preferred(weight, sorter=f"resources.kubernetes-fleet.io/available-{resource}")
        for resource in sorted_by
    )


def selected_keys(pod_sets: Sequence[PodSet]) -> frozenset[str]:
    """Node label keys that the pods' own selectors and required affinity look at."""
    keys = {k for p in pod_sets for k, _ in p.node_selector}
    for pod_set in pod_sets:
        for term in pod_set.affinity_terms or ():
            keys.update(e.key for e in term.expressions)
    return frozenset(keys)

"""The rules that objects set: queues, flavors, namespaces, placements; and where a Job's queue leads.

In memory, fed with rows of `objects`; what can not be read of one object is noted and stops no other.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Final

from hub.domain.plan import Reason
from hub.domain.queueing import eligibility
from hub.domain.queueing.eligibility import Inactive
from hub.domain.quota import declared
from hub.domain.quota.declared import DRAIN, EVERYTHING, ClusterQueue, Flavor, LocalQueue
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.quota.placed_queues import QueueSelection, read_queue_selection
from hub.domain.quota.queue_policy import QueuePolicy, read_policy
from hub.domain.quota.tree import Cohort, read_cohort
from hub.domain.workloads import placement_policy
from hub.domain.workloads.placement_policy import Policy
from hub.services.index import check_catalog
from hub.services.index.check_catalog import CheckRules, Gate
from hub.store.records.objects import RuleObject
from shared.documents import JsonView
from shared.groups import KUEUE, PLACEMENT
from shared.selectors import LabelSelector

DEFAULT_QUEUE: Final = "default"
KINDS: Final = (
    (KUEUE, "ResourceFlavor"),
    (KUEUE, "ClusterQueue"),
    (KUEUE, "Cohort"),
    (KUEUE, "LocalQueue"),
    ("", "Namespace"),
    (PLACEMENT, "ClusterResourcePlacement"),
    (PLACEMENT, "ResourcePlacement"),
    *check_catalog.KINDS,
)


@dataclass(frozen=True, slots=True)
class Route:
    """The waiting place of a workload of one LocalQueue; with a reason if it can not be considered now."""

    cluster_queue: str = ""
    local_queue: str = ""
    reason: str = ""
    message: str = ""
    stopped: str = ""  # where its reason is QueueStopped: the kind of queue that is
    members: tuple[str, ...] | None = None  # its queue's MultiKueue check restricts it to these
    by_usage: bool = False  # its ClusterQueue orders LocalQueues by usage
    avoided: tuple[str, ...] = ()  # members in which people have stopped a LocalQueue of this name


@dataclass(frozen=True, slots=True)
class _Placement:
    """The meaning of a placement for scheduling: its policy, and the ClusterQueues that it selects."""

    name: str
    policy: Policy
    queues: QueueSelection


class Routes:
    """Flavors, queues, namespaces and placements as last read."""

    def __init__(self, missing_selector: LabelSelector | None = EVERYTHING) -> None:
        self._missing_selector = missing_selector
        self.flavors: dict[str, Flavor] = {}
        self.queues: dict[str, ClusterQueue] = {}
        self.queue_policies: dict[str, QueuePolicy] = {}
        self.cohorts: dict[str, Cohort] = {}
        self._cycles: Mapping[str, tuple[str, ...]] = {}
        self._idle: frozenset[str] | None = None  # None: rules have changed since the query
        self.local: dict[tuple[str, str], LocalQueue] = {}
        self.namespaces: dict[str, Mapping[str, str]] = {}  # their labels
        self.checks = CheckRules()
        self._placements: dict[str, _Placement] = {}  # by uid
        self._known: dict[str, tuple[str, str, str]] = {}  # uid → kind, namespace, name
        self._content: dict[str, tuple[Any, ...]] = {}  # uid → labels, spec … as last read
        self._selected: dict[str, str] = {}  # ClusterQueue → a placement that selects it
        self.unreadable: dict[str, str] = {}  # uid → fault
        self.terminating: dict[str, str] = {}  # uid → name of a ClusterQueue that is being deleted
        self.stopped_in: Mapping[tuple[str, str], tuple[str, ...]] = {}  # LocalQueue → members

    @property
    def cycles(self) -> Mapping[str, tuple[str, ...]]:
        """ClusterQueue → the cycle of cohorts above it."""
        return self._cycles

    @cycles.setter
    def cycles(self, found: Mapping[str, tuple[str, ...]]) -> None:
        self._cycles, self._idle = found, None

    def with_news(self, rows: Iterable[RuleObject], gone: Iterable[str]) -> "Routes | None":
        """Another catalog in which these have changed, or are gone (uids); None if nothing differs."""
        rows, gone = list(rows), set(gone)
        if not rows and gone.isdisjoint(self._content):
            return None
        other = copy(self)
        for name, known in vars(self).items():
            if isinstance(known, dict):
                setattr(other, name, dict(known))
        other.checks = self.checks.copy()
        changed = [other.drop(uid) for uid in gone] + [other.put(row) for row in rows]
        return other if any(changed) else None

    def put(self, row: RuleObject) -> bool:
        """An object was added or changed; False if nothing that scheduling reads did.

        One that is being deleted counts as gone; a ClusterQueue stays, with its quota, and admits nothing.
        """
        uid, kind = row.uid, row.kind
        leaving = row.deleted_at is not None
        if leaving and kind != "ClusterQueue":
            return self.drop(uid)
        active = kind == check_catalog.CHECK and check_catalog.is_active(row.status)
        content = (row.labels, row.spec, active, leaving)
        if self._content.get(uid) == content:
            return False
        self.drop(uid)
        self._idle = None
        self._content[uid] = content
        if leaving:
            self.terminating[uid] = row.name
        try:
            self._read(kind, row)
        except Exception as fault:  # noqa: BLE001 - one unusable object must not stop the others
            self.unreadable[uid] = f"{type(fault).__name__}: {fault}"[:500]
            return True
        self._known[uid] = (kind, row.namespace, row.name)
        self._select()
        return True

    def drop(self, uid: str) -> bool:
        """An object is gone; False if it was not known."""
        if self._content.pop(uid, None) is None:
            return False
        self._idle = None
        self.unreadable.pop(uid, None)
        self.terminating.pop(uid, None)
        kind, namespace, name = self._known.pop(uid, ("", "", ""))
        match kind:
            case "ResourceFlavor":
                self.flavors.pop(name, None)
            case "ClusterQueue":
                self.queues.pop(name, None)
                self.queue_policies.pop(name, None)
            case "Cohort":
                self.cohorts.pop(name, None)
            case "LocalQueue":
                self.local.pop((namespace, name), None)
            case "Namespace":
                self.namespaces.pop(name, None)
            case "ClusterResourcePlacement" | "ResourcePlacement":
                self._placements.pop(uid, None)
                self._select()
            case _:
                self.checks.drop(kind, name)
        return True

    def _read(self, kind: str, row: RuleObject) -> None:
        name, spec, labels = row.name, row.spec or {}, row.labels or {}
        match kind:
            case "ResourceFlavor":
                self.flavors[name] = declared.read_flavor(name, spec)
            case "ClusterQueue":
                queue = declared.read_cluster_queue(name, labels, spec, self._missing_selector)
                policy = read_policy(spec)  # before anything is kept: it may be unreadable
                self.queues[name] = replace(queue, terminating=row.deleted_at is not None)
                self.queue_policies[name] = policy
            case "Cohort":
                self.cohorts[name] = read_cohort(name, spec)
            case "LocalQueue":
                local = declared.read_local_queue(row.namespace, name, spec)
                self.local[(row.namespace, name)] = local
            case "Namespace":
                self.namespaces[name] = {"kubernetes.io/metadata.name": name, **labels}
            case "ClusterResourcePlacement" | "ResourcePlacement":
                self._placements[row.uid] = _placement(kind, name, spec)
            case _:
                self.checks.read(row)

    def _select(self) -> None:
        """The ClusterQueues that some placement selects."""
        choosing = [p for p in self._placements.values() if not p.queues.is_empty]
        self._selected = {
            q.name: p.name
            for q in self.queues.values()
            for p in choosing
            if p.queues.selects(q.name, q.labels)
        }

    def policy(self, placement: str) -> Policy | None:
        """The policy of a placement by uid; None if it is gone or can not be read."""
        found = self._placements.get(placement)
        return found.policy if found else None

    def is_placed(self, cluster_queue: str) -> bool:
        """Does a placement select this ClusterQueue, so that placements choose clusters for its Jobs?"""
        return cluster_queue in self._selected

    def targets(self) -> dict[tuple[str, str], Route]:
        """The target of each LocalQueue for a Job without placement: compare to see changes."""
        return {key: self.route(*key, placed=False) for key in self.local}

    def route(self, namespace: str, queue: str, *, placed: bool) -> Route:
        """The waiting place of a Job of LocalQueue `queue`; `placed`: a placement has selected it."""
        local = self.local.get((namespace, queue or DEFAULT_QUEUE))
        target = self.queues.get(local.cluster_queue) if local else None
        verdict = eligibility.may_admit(
            local,
            self._inactive(target) if target else None,
            named=f"{namespace}/{queue}",
            exists=target is not None,
        )
        if local is None or target is None:
            message = verdict.message
            if not queue and local is None:
                message = (
                    f"the Job names no queue and namespace {namespace} has no LocalQueue "
                    f"{DEFAULT_QUEUE}"
                )
            return Route(reason=verdict.reason or "", message=message, stopped=verdict.stopped)
        if verdict.admits:
            verdict = eligibility.may_admit_from(namespace, target, self.namespaces)
        reason, message = verdict.reason or "", verdict.message
        by = self._selected.get(target.name)
        if verdict.admits and by is not None and not placed:
            reason = Reason.AWAITING_PLACEMENT
            what = f"ClusterQueue {target.name} is placed by {by}"
            message = f"{what}: waits until a placement selects the Job"
        policy = self.queue_policies[target.name]
        members = self.checks.members(policy)
        avoided = self.stopped_in.get((namespace, local.name), ())
        return Route(
            target.name, local.name, reason, message, verdict.stopped, members, policy.by_usage, avoided
        )  # fmt: skip

    def leads_as(self, before: "Routes") -> bool:
        """Does every workload wait in the same queue, for the same, as by `before`? Quotas are not asked."""
        queues, others = self.queues, before.queues
        return self.leading() == before.leading() and all(
            queue is others[name] or _admission(queue) == _admission(others[name])
            for name, queue in queues.items()
        )

    def leading(self) -> tuple[object, ...]:
        """Inputs, beside the ClusterQueues themselves, that decide where workloads wait and for what."""
        return (
            self.queues.keys(), self.queue_policies, self.flavors.keys(), self.cycles, self.local,
            self.namespaces, self._placements, self._selected, self.checks.told(),
        )  # fmt: skip

    def may_grow(self, namespace: str, queue: str, cluster_queue: str) -> bool:
        """May a job that ClusterQueue `cluster_queue` admitted from LocalQueue `queue` get more of it?"""
        local = self.local.get((namespace, queue or DEFAULT_QUEUE))
        target = self.queues.get(cluster_queue)
        if target is None or not eligibility.may_admit(local, self._inactive(target)).admits:
            return False
        return eligibility.may_admit_from(namespace, target, self.namespaces).admits

    @property
    def drains(self) -> bool:
        """Is any queue held and drained?"""
        stops = [queue.stop_policy for queue in self.queues.values()]
        stops += [local.stop_policy for local in self.local.values()]
        return DRAIN in stops

    def drained_by(
        self, cluster_queue: str, namespace: str, local_queue: str
    ) -> tuple[str, str] | None:
        """Reason and message for which a workload admitted through these leaves; None: it stays."""
        queue = self.queues.get(cluster_queue)
        local = self.local.get((namespace, local_queue or DEFAULT_QUEUE))
        if queue is not None and queue.stop_policy == DRAIN:
            kind, name = "ClusterQueue", cluster_queue
        elif local is not None and local.stop_policy == DRAIN:
            kind, name = "LocalQueue", local_queue or DEFAULT_QUEUE
        else:
            return None
        return f"{kind}Stopped", f"{kind} {name} is stopped: its workloads are drained"

    def gate(self) -> Gate:
        """The checks that admissions must pass now."""
        return self.checks.gate(self.queue_policies)

    def idle_queues(self) -> frozenset[str]:
        """ClusterQueues that admit nothing: stopped, or misconfigured."""
        if self._idle is None:
            found = (name for name, queue in self.queues.items() if self._inactive(queue))
            self._idle = frozenset(found)
        return self._idle

    def _inactive(self, queue: ClusterQueue) -> Inactive | None:
        """The reason why a ClusterQueue can admit nothing; None where it can."""
        return eligibility.inactivity(
            queue.stop_policy,
            self.cycles.get(queue.name, ()),
            (flavor for group in queue.groups for flavor in group.flavors),
            self.flavors,
            self.checks.fault(self.queue_policies.get(queue.name)),
            terminating=queue.terminating,
        )


def _admission(queue: ClusterQueue) -> tuple[object, ...]:
    """Inputs of whether a ClusterQueue may admit a workload, except its quotas."""
    flavors = tuple(group.flavors for group in queue.groups)
    return flavors, queue.selector, queue.stop_policy, queue.terminating


def _placement(kind: str, name: str, spec: JsonView) -> _Placement:
    policy = placement_policy.read_policy(spec.get("policy"))
    return _Placement(name, policy, read_queue_selection(kind, spec))


def drained(
    routes: Routes, holders: Mapping[str, Mapping[str, AdmittedWorkload]]
) -> dict[tuple[str, str], list[str]]:
    """Workloads admitted through queues that are held and drained, by (reason, message)."""
    found: dict[tuple[str, str], list[str]] = {}
    if not routes.drains:
        return found
    for name, held in holders.items():
        for holder in held.values():
            why = routes.drained_by(name, holder.namespace, holder.local_queue)
            if why is not None and not holder.evicted:
                found.setdefault(why, []).append(holder.uid)
    return found

"""The scene of the manifests: quota, queues, holders, waiting workloads, and the fleet.

Later documents of the same kind and name replace earlier ones, as applying them would.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hub.domain.fleet.clusters import Cluster
from hub.domain.queueing import eligibility
from hub.domain.queueing.eligibility import NAME_LABEL, Inactive, QueueVerdict
from hub.domain.quota.declared import (
    ClusterQueue,
    Flavor,
    LocalQueue,
    read_cluster_queue,
    read_flavor,
    read_local_queue,
)
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload
from hub.domain.quota.queue_policy import QueuePolicy, read_policy
from hub.domain.quota.tree import Cohort, QuotaTree, find_cycle, read_cohort
from hub.domain.workloads.admission_checks import Check, queue_fault
from hub.offline.inputs.documents import Document
from hub.offline.inputs.members import read_cluster
from hub.offline.inputs.settings import SimulationSettings
from hub.offline.inputs.workloads import WorkloadReader, groups_of, uid_of
from shared import quantity
from shared.errors import Rejected


@dataclass(slots=True)
class Scene:
    """Records by name; LocalQueues, their weights and their history by `namespace/name`."""

    settings: SimulationSettings
    now: int
    flavors: dict[str, Flavor] = field(default_factory=dict)
    cohorts: dict[str, Cohort] = field(default_factory=dict)
    queues: dict[str, ClusterQueue] = field(default_factory=dict)
    policies: dict[str, QueuePolicy] = field(default_factory=dict)
    inactive: dict[str, Inactive] = field(default_factory=dict)  # queues that admit nothing
    local_queues: dict[str, LocalQueue] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    consumed: dict[str, dict[str, float]] = field(default_factory=dict)
    namespaces: dict[str, Mapping[str, str]] = field(default_factory=dict)
    clusters: dict[str, Cluster] | None = None  # None: capacity is not looked at
    pending: list[PendingWorkload] = field(default_factory=list)
    holders: list[AdmittedWorkload] = field(default_factory=list)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    pod_sets: dict[str, Document] = field(default_factory=dict)  # of holders, by uid

    def tree(self) -> QuotaTree:
        """Quota as declared, with nothing charged."""
        return QuotaTree(self.queues.values(), self.cohorts.values())

    def may_admit(self, who: PendingWorkload) -> QueueVerdict:
        """May the queues of a workload admit what waits there?"""
        local_queue = self.local_queues.get(f"{who.namespace}/{who.local_queue}")
        name = "" if local_queue is None else local_queue.cluster_queue
        return eligibility.may_admit(
            local_queue, self.inactive.get(name), named=who.local_queue, exists=name in self.queues
        )


def build(documents: Sequence[Document], settings: SimulationSettings, now: int) -> Scene:
    """The scene that documents describe at `now`; raises `Unreadable`."""
    scene = Scene(settings, now)
    latest = {(d.group, d.kind, d.parsed.namespace, d.name): d for d in documents}
    by_kind: dict[str, list[Document]] = {}
    for document in latest.values():
        by_kind.setdefault(document.kind, []).append(document)
    _read_quota(scene, by_kind)
    _read_queues(scene, by_kind)
    for document in by_kind.get("Namespace", ()):
        scene.namespaces[document.name] = {**document.parsed.labels, NAME_LABEL: document.name}
    members = by_kind.get("MemberCluster", ())
    if members:
        read = [read_cluster(d, scene.flavors.values(), now) for d in members]
        scene.clusters = {c.name: c for c in read}
    _read_workloads(scene, by_kind)
    return scene


def _read_quota(scene: Scene, by_kind: Mapping[str, list[Document]]) -> None:
    for document in by_kind.get("ResourceFlavor", ()):
        scene.flavors[document.name] = read_flavor(document.name, document.parsed.spec)
    cohorts = {d.name: d for d in by_kind.get("Cohort", ())}
    for name, document in cohorts.items():
        scene.cohorts[name] = read_cohort(name, document.parsed.spec)
    parents = {name: cohort.parent for name, cohort in scene.cohorts.items()}
    for name in sorted(parents):
        cycle = find_cycle(name, parents)
        if cycle and cycle[0] == name:  # others only lead into it
            detail = f"CohortCycle: {' -> '.join(cycle)}"
            raise cohorts[name].fault("spec.parentName", detail)


def _read_queues(scene: Scene, by_kind: Mapping[str, list[Document]]) -> None:
    for document in by_kind.get("ClusterQueue", ()):
        spec = document.parsed.spec
        missing = scene.settings.missing_selector
        scene.queues[document.name] = read_cluster_queue(
            document.name, document.parsed.labels, spec, missing
        )
        scene.policies[document.name] = read_policy(spec)
    known = _checks(by_kind.get("AdmissionCheck", ()))
    for name, queue in scene.queues.items():
        fault = queue_fault(scene.policies[name].checks, known) if known else None
        used = [flavor for group in queue.groups for flavor in group.flavors]
        why = eligibility.inactivity(queue.stop_policy, (), used, scene.flavors, fault)
        if why:
            scene.inactive[name] = why
    for document in by_kind.get("LocalQueue", ()):
        key = f"{document.parsed.namespace}/{document.name}"
        spec = document.parsed.spec
        scene.local_queues[key] = read_local_queue(document.parsed.namespace, document.name, spec)
        scene.weights[key] = scene.local_queues[key].weight
        scene.consumed[key] = _history_of(document)


def _checks(documents: Iterable[Document]) -> dict[str, Check]:
    """Checks by name; one that says nothing of itself counts as active. None given: nothing is known."""
    found = {}
    for document in documents:
        conditions = {str(c.get("type")): c for c in document.objects("status", "conditions")}
        active = (conditions.get("Active") or {}).get("status") != "False"
        controller = str(document.parsed.spec.get("controllerName") or "")
        found[document.name] = Check(document.name, controller, active)
    return found


def _history_of(document: Document) -> dict[str, float]:
    path = ("status", "fairSharing", "admissionFairSharingStatus", "consumedResources")
    consumed: dict[str, float] = {}
    for resource, amount in document.mapping(*path).items():
        try:
            consumed[str(resource)] = float(quantity.number(amount))
        except Rejected as refusal:
            field_name = f"{'.'.join(path)}.{resource}"
            raise document.fault(field_name, f"{refusal.code}: {refusal.detail}") from None
    return consumed


def _read_workloads(scene: Scene, by_kind: Mapping[str, list[Document]]) -> None:
    classes = {
        d.name: int(d.parsed.spec.get("value") or 0)
        for d in by_kind.get("WorkloadPriorityClass", ())
    }
    queues = {
        key: q.cluster_queue
        for key, q in scene.local_queues.items()
        if q.cluster_queue in scene.queues
    }
    reader = WorkloadReader(
        queues, classes, scene.now, by_eviction_time=scene.settings.by_eviction_time
    )
    seen: dict[str, Document] = {}
    for document in (*by_kind.get("Workload", ()), *by_kind.get("Job", ())):
        read = reader.read(document)
        if read is None:
            continue
        if read.uid in seen:
            other = seen[read.uid]
            detail = f"Duplicate: {other.parsed.namespace}/{other.name} has this uid too"
            raise document.fault("metadata.uid", detail)
        seen[read.uid] = document
        if isinstance(read, AdmittedWorkload):
            scene.holders.append(read)
            scene.pod_sets[read.uid] = document
        else:
            scene.pending.append(read)
            groups = groups_of(document)
            if groups:
                scene.groups[uid_of(document)] = groups

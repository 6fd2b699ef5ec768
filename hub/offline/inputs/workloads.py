"""Workload manifests (and Jobs) as those who hold quota and those who wait for it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload
from hub.domain.workloads.demand import read_constraints
from hub.offline.inputs.documents import Document
from shared import labels, quantity
from shared.documents import JsonView
from shared.errors import Rejected
from shared.resources import PodSet

PRIORITY_CLASS: Final = "kueue.x-k8s.io/priority-class"
PRIORITY_BOOST: Final = "kueue.x-k8s.io/priority-boost"
_FAILED_CHECKS: Final = ("Retry", "Rejected")


class WorkloadReader:
    """Reads one workload after the other; `queues` are LocalQueues, `namespace/name` → ClusterQueue."""

    def __init__(
        self,
        queues: Mapping[str, str],
        classes: Mapping[str, int],
        now: int,
        *,
        by_eviction_time: bool,
    ) -> None:
        self._queues = queues
        self._classes = classes
        self._now = now
        self._by_eviction_time = by_eviction_time

    def read(self, document: Document) -> AdmittedWorkload | PendingWorkload | None:
        """None for one that has finished. Raises `Unreadable`."""
        conditions = {str(c.get("type")): c for c in document.objects("status", "conditions")}
        if _is(conditions, "Finished") or _job_is_done(document, conditions):
            return None
        admission = document.mapping("status", "admission")
        reserved = conditions.get("QuotaReserved")
        if admission and (reserved is None or reserved.get("status") == "True"):
            return self._holder(document, conditions, admission)
        return self._pending(document, conditions)

    def _holder(
        self,
        document: Document,
        conditions: Mapping[str, JsonView],
        admission: JsonView,
    ) -> AdmittedWorkload:
        admitted = self._since(document, conditions, "Admitted")
        reserved = self._since(document, conditions, "QuotaReserved")
        return AdmittedWorkload(
            uid=uid_of(document),
            namespace=document.parsed.namespace,
            name=document.name,
            queue=str(admission.get("clusterQueue") or ""),
            usage=self._usage(document),
            priority=self._priority(document),
            queued_at=self._queued_at(document, conditions),
            reserved_at=self._now if reserved is None else reserved,
            evicted=_is(conditions, "Evicted"),
            local_queue=queue_name_of(document),
            cluster=str(document.status.get("clusterName") or ""),
            pods_ready=_is(conditions, "PodsReady"),
            started_at=admitted,
        )

    def _pending(self, document: Document, conditions: Mapping[str, JsonView]) -> PendingWorkload:
        requeued = conditions.get("Requeued")
        requeue_at = document.mapping("status", "requeueState").get("requeueAt")
        local_queue = queue_name_of(document)
        failed = [
            str(c.get("name"))
            for c in document.objects("status", "admissionChecks")
            if c.get("state") in _FAILED_CHECKS
        ]
        return PendingWorkload(
            uid=uid_of(document),
            namespace=document.parsed.namespace,
            name=document.name,
            queue=self._queues.get(f"{document.parsed.namespace}/{local_queue}", ""),
            pod_sets=self._pod_sets(document),
            priority=self._priority(document),
            queued_at=self._queued_at(document, conditions),
            local_queue=local_queue,
            active=document.parsed.spec.get("active", True) is not False,
            requeue_at=None
            if requeue_at is None
            else document.instant(requeue_at, "status.requeueState.requeueAt"),
            requeued=requeued is None or requeued.get("status") != "False",
            failed_checks=tuple(failed),
            gated=self._is_gated(document),
            annotations=self._selected(document),
        )

    def _selected(self, document: Document) -> Mapping[str, str]:
        """The annotations; raises `Unreadable` where those that choose clusters can not be read."""
        annotations = document.parsed.annotations
        try:
            read_constraints(annotations, None, None, ())
        except Rejected as refusal:
            place = f"metadata.annotations[{refusal.field}]"
            raise document.fault(place, f"{refusal.code}: {refusal.detail}") from None
        return annotations

    def _pod_sets(self, document: Document) -> tuple[PodSet, ...]:
        """Those that still need quota: pods that may be reclaimed are not asked for again."""
        done = self._reclaimable(document)
        found = []
        for pod_set in document.parsed.pod_sets:
            count = max(0, pod_set.count - done.get(pod_set.name, 0))
            least = pod_set.min_count
            found.append(
                pod_set
                if count == pod_set.count
                else replace(
                    pod_set, count=count, min_count=None if least is None else min(least, count)
                )
            )
        return tuple(found)

    def _reclaimable(self, document: Document) -> dict[str, int]:
        return {
            str(r.get("name")): int(r.get("count") or 0)
            for r in document.objects("status", "reclaimablePods")
        }

    def _usage(self, document: Document) -> dict[FlavorResource, int]:
        """The charge of the admission, less the released reclaimable pods."""
        declared = {p.name: p for p in document.parsed.pod_sets}
        done = self._reclaimable(document)
        charged: dict[FlavorResource, int] = {}
        listed = document.objects("status", "admission", "podSetAssignments")
        for index, assigned in enumerate(listed):
            field = f"status.admission.podSetAssignments[{index}]"
            pod_set = declared.get(str(assigned.get("name") or "main"))
            count = int(assigned.get("count") or (pod_set.count if pod_set else 1))
            left = max(0, count - done.get(str(assigned.get("name")), 0))
            used = assigned.get("resourceUsage") or {}
            for resource, flavor in sorted((assigned.get("flavors") or {}).items()):
                amount = self._amount(document, resource, used, pod_set, count, field)
                of = FlavorResource(str(flavor), resource)
                amount = amount if left == count else -(-amount * left // max(1, count))
                charged[of] = charged.get(of, 0) + amount
        return {of: amount for of, amount in charged.items() if amount}

    def _amount(
        self,
        document: Document,
        resource: str,
        used: JsonView,
        pod_set: PodSet | None,
        count: int,
        field: str,
    ) -> int:
        if resource in used:
            try:
                return quantity.parse(resource, used[resource])
            except Rejected as refusal:
                place = f"{field}.resourceUsage.{resource}"
                raise document.fault(place, f"{refusal.code}: {refusal.detail}") from None
        if resource == "pods":
            return count
        return pod_set.requests.get(resource, 0) * count if pod_set else 0

    def _priority(self, document: Document) -> int:
        """Effective priority: the number given, else that of the class, plus an annotated boost."""
        spec = document.parsed.spec
        value = spec.get("priority") if document.kind == "Workload" else None
        if value is None:
            named = (spec.get("priorityClassRef") or {}).get("name")
            named = named or document.parsed.labels.get(PRIORITY_CLASS)
            if named is not None and named not in self._classes and document.kind == "Job":
                detail = f"WorkloadPriorityClass {named} is not among the inputs"
                raise document.fault(f"metadata.labels[{PRIORITY_CLASS}]", detail)
            value = self._classes.get(named or ("default" if document.kind == "Job" else ""), 0)
        boost = document.parsed.annotations.get(PRIORITY_BOOST, "0")
        try:
            return int(value) + int(boost)
        except ValueError:
            field = f"metadata.annotations[{PRIORITY_BOOST}]"
            raise document.fault(field, f"{boost!r} is no whole number") from None

    def _queued_at(self, document: Document, conditions: Mapping[str, JsonView]) -> int:
        """Creation, or when it was evicted by PodsReadyTimeout or an admission check."""
        evicted = conditions.get("Evicted") or {}
        reason = evicted.get("reason")
        moved = reason == "AdmissionCheck" or (
            reason == "PodsReadyTimeout" and self._by_eviction_time
        )
        if moved and evicted.get("status") == "True" and evicted.get("lastTransitionTime"):
            field = "status.conditions[Evicted].lastTransitionTime"
            return document.instant(evicted["lastTransitionTime"], field)
        created = document.mapping("metadata").get("creationTimestamp")
        if created is None:
            return self._now
        return document.instant(created, "metadata.creationTimestamp")

    def _since(
        self, document: Document, conditions: Mapping[str, JsonView], kind: str
    ) -> int | None:
        condition = conditions.get(kind) or {}
        since = condition.get("lastTransitionTime")
        if condition.get("status") != "True" or since is None:
            return None
        return document.instant(since, f"status.conditions[{kind}].lastTransitionTime")

    def _is_gated(self, document: Document) -> bool:
        open_gates = {
            g.get("name")
            for g in document.objects("status", "preemptionGates")
            if g.get("position") == "Open"
        }
        gates = document.parsed.spec.get("preemptionGates") or ()
        return any(g.get("name") not in open_gates for g in gates)


def uid_of(document: Document) -> str:
    """The uid; where none is given, a text that sorts before all and by namespace and name."""
    uid = document.mapping("metadata").get("uid")
    return str(uid) if uid else f"\0{document.parsed.namespace}\0{document.name}"


def queue_name_of(document: Document) -> str:
    """The LocalQueue named: by a Workload's spec, by a Job's label, else its annotation."""
    if document.kind == "Workload":
        return str(document.parsed.spec.get("queueName") or "default")
    for place in (document.parsed.labels, document.parsed.annotations):
        if place.get(labels.QUEUE_NAME):
            return place[labels.QUEUE_NAME]
    return "default"


def groups_of(document: Document) -> tuple[str, ...]:
    """The pod-set group of each pod set of a Workload; () where none is named."""
    names = tuple(
        str((p.get("topologyRequest") or {}).get("podSetGroupName") or "")
        for p in document.parsed.spec.get("podSets") or ()
    )
    return names if any(names) else ()


def _is(conditions: Mapping[str, JsonView], kind: str) -> bool:
    return (conditions.get(kind) or {}).get("status") == "True"


def _job_is_done(document: Document, conditions: Mapping[str, JsonView]) -> bool:
    return document.kind == "Job" and (_is(conditions, "Complete") or _is(conditions, "Failed"))

"""A minimal queue manager for a member: what Kueue would do to suspended Jobs with a queue name.

Jobs with the queue-name label wait, suspended, first come first served (BestEffortFIFO or StrictFIFO)
within the nominal quota of their ClusterQueue; an admitted one is unsuspended by field manager
`kueue`, with the node labels of its flavors in its template's nodeSelector. Queues get the condition
Active. A queue with a stopPolicy admits nobody; HoldAndDrain suspends also what it has admitted, as it
was before. There are no Workload objects, cohorts, priorities, preemption, partial admission or counts
in the queues' status here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared import labels, quantity
from shared.clock import Clock
from shared.errors import Rejected
from shared.kubesim.agenda import Agenda, WorkList
from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.jobs.plan import is_finished
from shared.kubesim.recorder import Recorder
from shared.kubesim.store.objects import Event, ObjectStore
from shared.resources import job_pod_sets

LOCAL_QUEUES = "localqueues.kueue.x-k8s.io"
CLUSTER_QUEUES = "clusterqueues.kueue.x-k8s.io"
FLAVORS = "resourceflavors.kueue.x-k8s.io"
JOBS = "jobs.batch"
MANAGER = "kueue"
_SOURCE = "batch/job-kueue-controller"
_DRAINED = "HoldAndDrain"
_OWN_NAMES = (None, "kubernetes.io/job-controller")

_Flavored = tuple[str, str]  # (flavor, resource)


@dataclass(slots=True)
class _Queue:
    """A ClusterQueue's account: what it may use, what admitted Jobs use, who waits (in order)."""

    quota: dict[_Flavored, int] = field(default_factory=dict)
    groups: list[tuple[frozenset[str], list[str]]] = field(default_factory=list)
    used: dict[_Flavored, int] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)  # uid -> why, as it was last told
    strict: bool = False
    stop: str = ""  # its stopPolicy, where it is stopped
    admitted: dict[str, dict[_Flavored, int]] = field(default_factory=dict)

    def assign(self, requests: Mapping[str, int]) -> tuple[dict[str, str], str]:
        """(flavor by resource, "") if all fits now, else ({}, why not)."""
        chosen: dict[str, str] = {}
        uncovered = set(requests)
        for covered, flavors in self.groups:
            wanted = {name: amount for name, amount in requests.items() if name in covered}
            uncovered -= covered
            if not wanted:
                continue
            fitting = next((f for f in flavors if self._fits(f, wanted)), None)
            if fitting is None:
                return {}, f"insufficient unused quota for {', '.join(sorted(wanted))}"
            chosen.update(dict.fromkeys(wanted, fitting))
        if uncovered:
            return {}, f"resource {min(uncovered)} unavailable in ClusterQueue"
        return chosen, ""

    def charge(self, uid: str, chosen: Mapping[str, str], requests: Mapping[str, int]) -> None:
        usage = {(flavor, name): requests[name] for name, flavor in chosen.items()}
        self.admitted[uid] = usage
        for key, amount in usage.items():
            self.used[key] = self.used.get(key, 0) + amount

    def give_back(self, uid: str) -> None:
        for key, amount in self.admitted.pop(uid, {}).items():
            self.used[key] -= amount

    def _fits(self, flavor: str, wanted: Mapping[str, int]) -> bool:
        return all(
            self.used.get((flavor, name), 0) + amount <= self.quota.get((flavor, name), -1)
            for name, amount in wanted.items()
        )


class QueueManager:
    """Admits Jobs to the cluster they are in."""

    def __init__(
        self, store: ObjectStore, clock: Clock, agenda: Agenda, recorder: Recorder
    ) -> None:
        self._store = store
        self._clock = clock
        self._recorder = recorder
        self._new: WorkList[str] = WorkList(agenda)
        self._full: WorkList[str] = WorkList(agenda)  # ClusterQueues to try
        self._kinds: WorkList[str] = WorkList(agenda)
        self._queues: dict[str, _Queue] = {}
        self._queue_of: dict[str, str] = {}  # Job uid -> ClusterQueue

    # --- what happens in the cluster ---------------------------------------------------------------

    def see_job(self, event: Event) -> None:
        """Note a Job that came, changed or ended."""
        if labels.QUEUE_NAME in (event.object["metadata"].get("labels") or {}):
            self._new.add(event.object["metadata"]["uid"])

    def see_kind(self, event: Event) -> None:
        """Note a change of queues or flavors."""
        old, new = event.old, event.object
        if old is None or event.type == "DELETED" or old.get("spec") != new.get("spec"):
            self._kinds.add("all")

    def run(self, now: float) -> None:
        """Take new Jobs in line, then admit what fits."""
        self._kinds.each(lambda _: self._reread(), now)
        self._new.each(self._look_at, now, limit=1000)
        self._full.each(self._admit_from, now)

    # --- queues ------------------------------------------------------------------------------------

    def _reread(self) -> None:
        """Queues or flavors changed: read them all, set their conditions, line up every Job anew."""
        flavors = {flavor["metadata"]["name"] for flavor in self._store.list(FLAVORS)}
        active: set[str] = set()
        self._queues.clear()
        self._queue_of.clear()
        for queue in self._store.list(CLUSTER_QUEUES):
            name = queue["metadata"]["name"]
            missing = _read_queue(queue, self._queues.setdefault(name, _Queue()), flavors)
            if missing:
                self._queues[name].groups.clear()
            reason, message = _why_inactive(self._queues[name].stop, missing)
            if reason:
                self._set_active(CLUSTER_QUEUES, queue, "False", reason, message)
            else:
                active.add(name)
                self._set_active(CLUSTER_QUEUES, queue, "True", "Ready", "Can admit new workloads")
        for queue in self._store.list(LOCAL_QUEUES):
            self._set_active(LOCAL_QUEUES, queue, *self._local_verdict(queue, active))
        for job in self._store.iterate(JOBS):
            if labels.QUEUE_NAME in (job["metadata"].get("labels") or {}):
                self._new.add(job["metadata"]["uid"])

    def _local_verdict(self, queue: Object, active: set[str]) -> tuple[str, str, str]:
        target = queue["spec"].get("clusterQueue", "")
        if _stop(queue):
            return "False", "Stopped", "LocalQueue is stopped"
        if target in active:
            return "True", "Ready", "Can submit new workloads to localQueue"
        if target in self._queues:
            message = "Can't submit new workloads to clusterQueue"
            return "False", "ClusterQueueIsInactive", message
        return "False", "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue"

    def _set_active(self, key: str, queue: Object, value: str, reason: str, message: str) -> None:
        status = dict(queue.get("status") or {})
        conditions = [c for c in status.get("conditions") or () if c.get("type") != "Active"]
        present = next((c for c in status.get("conditions") or () if c not in conditions), None)
        if present and (present["status"], present["reason"]) == (value, reason):
            return
        conditions.append(
            {
                "type": "Active",
                "status": value,
                "reason": reason,
                "message": message,
                "observedGeneration": queue["metadata"].get("generation", 1),
                "lastTransitionTime": metadata.stamp(self._clock.now()),
            }
        )
        status["conditions"] = conditions
        self._store.update(
            key, {**queue, "status": status}, subresource="status", manager=MANAGER, trusted=True
        )

    # --- jobs --------------------------------------------------------------------------------------

    def _look_at(self, uid: str) -> None:
        """Put a Job in line, or take account of one that runs or has ended."""
        place = self._store.by_uid(uid)
        job = self._store.get(*place) if place is not None else None
        if job is None or is_finished(job) is not None:
            self._leave(uid)
            return
        if job["spec"].get("managedBy") not in _OWN_NAMES:
            return
        name = self._cluster_queue_of(job)
        queue = self._queues.get(name)
        if queue is None:
            return
        self._queue_of[uid] = name
        started = "startTime" in (job.get("status") or {})
        if job["spec"].get("suspend"):
            queue.give_back(uid)
            queue.waiting.setdefault(uid, "")
            self._full.add(name)
        elif _DRAINED in (queue.stop, self._stop_of(job)):
            self._evict(job, queue)
        elif uid not in queue.admitted and started:
            self._take_into_account(job, queue)
        elif uid not in queue.admitted:
            # Kueue's webhook suspends such Jobs as they are created.
            spec = {**job["spec"], "suspend": True}
            self._store.update(JOBS, {**job, "spec": spec}, manager=MANAGER, trusted=True)

    def _cluster_queue_of(self, job: Object) -> str:
        name = job["metadata"]["labels"][labels.QUEUE_NAME]
        local = self._store.get(LOCAL_QUEUES, job["metadata"]["namespace"], name)
        return str(local["spec"].get("clusterQueue", "")) if local else ""

    def _stop_of(self, job: Object) -> str:
        """The stopPolicy of its LocalQueue; "" where that is not stopped."""
        name = job["metadata"]["labels"][labels.QUEUE_NAME]
        return _stop(self._store.get(LOCAL_QUEUES, job["metadata"]["namespace"], name) or {})

    def _evict(self, job: Object, queue: _Queue) -> None:
        """Suspend a Job that was admitted, and take away what was written into it then."""
        injected: set[tuple[str, str]] = set()
        for flavor in {flavor for _, flavors in queue.groups for flavor in flavors}:
            injected |= self._node_labels(flavor).items()
        template = job["spec"]["template"]
        had = template["spec"].get("nodeSelector") or {}
        pod = {name: value for name, value in template["spec"].items() if name != "nodeSelector"}
        if left := dict(had.items() - injected):
            pod["nodeSelector"] = left
        spec = {**job["spec"], "suspend": True, "template": {**template, "spec": pod}}
        self._store.update(JOBS, {**job, "spec": spec}, manager=MANAGER, trusted=True)
        self._recorder.normal(job, "Stopped", "The ClusterQueue is stopped", _SOURCE)

    def _leave(self, uid: str) -> None:
        name = self._queue_of.pop(uid, None)
        queue = self._queues.get(name or "")
        if queue is not None and name is not None:
            queue.waiting.pop(uid, None)
            queue.give_back(uid)
            self._full.add(name)

    def _take_into_account(self, job: Object, queue: _Queue) -> None:
        """A Job that runs already, after a restart: it is charged to the flavor it runs on."""
        requests = _total(job)
        selector = job["spec"]["template"]["spec"].get("nodeSelector") or {}
        chosen: dict[str, str] = {}
        for covered, flavors in queue.groups:
            fitting = [f for f in flavors if self._node_labels(f).items() <= selector.items()]
            if fitting:
                chosen.update({name: fitting[0] for name in requests if name in covered})
        queue.waiting.pop(job["metadata"]["uid"], None)
        queue.charge(job["metadata"]["uid"], chosen, requests)

    def _admit_from(self, name: str) -> None:
        """Admit from the head of a queue, in order of creation, as long as the next one fits."""
        queue = self._queues.get(name)
        if queue is None or queue.stop:
            return
        for job in self._in_order(queue):
            if self._stop_of(job):
                continue
            uid = job["metadata"]["uid"]
            try:
                requests = _total(job)
            except Rejected as refusal:
                self._recorder.warning(job, "CreatedWorkload", refusal.detail, _SOURCE)
                continue
            chosen, why_not = queue.assign(requests)
            if why_not:
                self._explain(queue, job, why_not)
                if queue.strict:
                    break
                continue
            queue.waiting.pop(uid, None)
            queue.charge(uid, chosen, requests)
            self._start(job, name, set(chosen.values()))

    def _explain(self, queue: _Queue, job: Object, why_not: str) -> None:
        uid = job["metadata"]["uid"]
        if queue.waiting.get(uid) != why_not:
            queue.waiting[uid] = why_not
            message = f"couldn't assign flavors to pod set main: {why_not}"
            self._recorder.normal(job, "Pending", message, _SOURCE)

    def _in_order(self, queue: _Queue) -> list[Object]:
        jobs = []
        for uid in list(queue.waiting):
            place = self._store.by_uid(uid)
            job = self._store.get(*place) if place is not None else None
            if job is None:
                queue.waiting.pop(uid, None)
            elif "deletionTimestamp" not in job["metadata"]:
                jobs.append(job)
        # Of the same second, the first seen comes first: the sort keeps their order.
        return sorted(jobs, key=lambda job: str(job["metadata"]["creationTimestamp"]))

    def _start(self, job: Object, queue: str, flavors: set[str]) -> None:
        spec = {**job["spec"], "suspend": False}
        selector = dict(spec["template"]["spec"].get("nodeSelector") or {})
        for flavor in sorted(flavors):
            selector |= self._node_labels(flavor)
        if selector:
            template = spec["template"]
            spec["template"] = {**template, "spec": {**template["spec"], "nodeSelector": selector}}
        self._store.update(JOBS, {**job, "spec": spec}, manager=MANAGER, trusted=True)
        self._recorder.normal(job, "Started", f"Admitted by clusterQueue {queue}", _SOURCE)

    def _node_labels(self, flavor: str) -> dict[str, str]:
        found = self._store.get(FLAVORS, "", flavor)
        return dict((found.get("spec") or {}).get("nodeLabels") or {}) if found else {}


def _stop(queue: Object) -> str:
    policy = (queue.get("spec") or {}).get("stopPolicy")
    return "" if policy in (None, "None") else str(policy)


def _why_inactive(stop: str, missing: str) -> tuple[str, str]:
    """Reason and message of a ClusterQueue that admits nobody; "" where it admits."""
    reasons, texts = [], []
    if stop:
        reasons.append("Stopped")
        texts.append("is stopped")
    if missing:
        reasons.append("FlavorNotFound")
        texts.append(f"references missing ResourceFlavor(s): {missing}")
    if not reasons:
        return "", ""
    return reasons[0], f"Can't admit new workloads: {', '.join(texts)}."


def _read_queue(queue: Object, into: _Queue, flavors: set[str]) -> str:
    """Read the nominal quotas; the names of missing flavors."""
    missing: set[str] = set()
    into.strict = queue["spec"].get("queueingStrategy") == "StrictFIFO"
    into.stop = _stop(queue)
    for group in queue["spec"].get("resourceGroups") or ():
        names = []
        for flavor in group.get("flavors") or ():
            names.append(flavor["name"])
            if flavor["name"] not in flavors:
                missing.add(flavor["name"])
            for entry in flavor.get("resources") or ():
                try:
                    amount = quantity.parse(entry["name"], entry.get("nominalQuota", 0))
                except Rejected:
                    amount = 0
                into.quota[(flavor["name"], entry["name"])] = amount
        into.groups.append((frozenset(group.get("coveredResources") or ()), names))
    return ",".join(sorted(missing))


def _total(job: Object) -> dict[str, int]:
    """What all pods of the Job that run at once request together; raises `Rejected`."""
    total: dict[str, int] = {}
    for pod_set in job_pod_sets(job):
        for name, amount in pod_set.total().items():
            total[name] = total.get(name, 0) + amount
    return {name: amount for name, amount in total.items() if amount}

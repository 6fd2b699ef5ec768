"""The Job controller of a simulated cluster: carries out what `job_status` plans, and the TTL.

It follows Jobs and their pods through the store's events, keeps per Job only the pods whose end is
not in its status yet, and syncs a Job once per pass however much happened to it.

A pod ends in one write: the node takes the tracking finalizer off as it writes the final phase
(`settles` says whether it may), and the Job's status follows in the same pass, with nothing awaited
in between. A journal that commits what one turn of the event loop wrote thus keeps both or neither.
"""

import datetime as dt
from typing import Any

import structlog

from shared.clock import Clock
from shared.kubesim.agenda import Agenda, WorkList
from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.errors import ApiError
from shared.kubesim.apimachinery.pods import TERMINAL, without_finalizer
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.jobs import next_step, pods
from shared.kubesim.jobs.plan import Backoff, NewPod, Plan, is_finished
from shared.kubesim.jobs.pods import JobPod
from shared.kubesim.recorder import Recorder
from shared.kubesim.store.objects import Event, ObjectStore

JOBS = "jobs.batch"
OWN_NAME = "kubernetes.io/job-controller"
_SOURCE = "job-controller"
_RETRY_CREATE_S = 2.0
_log = structlog.get_logger(__name__)


class _Record:
    """What the controller remembers of one Job between syncs."""

    __slots__ = ("backoff", "made", "pods", "template", "template_job")

    def __init__(self) -> None:
        self.pods: dict[str, JobPod] = {}
        self.backoff = Backoff()
        self.made = 0
        self.template: Object = {}
        self.template_job: Object | None = None  # the Job version that the template was made from


class Jobs:
    """Syncs Jobs. `first_backoff_s`: how long a new pod waits after a first failure."""

    def __init__(
        self,
        store: ObjectStore,
        clock: Clock,
        agenda: Agenda,
        recorder: Recorder,
        first_backoff_s: float,
    ) -> None:
        self._store = store
        self._clock = clock
        self._recorder = recorder
        self._first_backoff_s = first_backoff_s
        self._work: WorkList[str] = WorkList(agenda, self._report)
        self._settled: WorkList[str] = WorkList(agenda, self._report)
        self._records: dict[str, _Record] = {}
        self._writing = ""  # the uid of the Job being synced: its own echoes are no news

    # --- what happens in the cluster ---------------------------------------------------------------

    def see_job(self, event: Event) -> None:
        """Note that a Job changed."""
        uid = event.object["metadata"]["uid"]
        if uid != self._writing or event.type == "DELETED":
            self._work.add(uid)

    def see_pod(self, event: Event) -> None:
        """Note what became of a pod, if a Job controls it."""
        pod = event.object
        owner = metadata.controller_of(pod)
        if owner is None or owner.get("kind") != "Job":
            return
        uid, pod_uid = owner["uid"], pod["metadata"]["uid"]
        record = self._records.get(uid)
        before = record.pods.get(pod_uid) if record else None
        if event.type == "DELETED":
            if record is not None and before is not None:
                del record.pods[pod_uid]
                self._note(uid)
            return
        now = JobPod(pod, before)
        if before is None and not now.uncounted and not now.stopping:
            return
        if record is None:
            record = self._records[uid] = _Record()
        record.pods[pod_uid] = now
        if before is None or _differs(before, now):
            self._note(uid)

    def settles(self, pod: Object) -> bool:
        """Whether the write that ends `pod` may take its tracking finalizer off as well.

        Asked right before that write; the Job is then synced in this pass, come what may.
        """
        owner = metadata.controller_of(pod)
        if owner is None or owner.get("kind") != "Job":
            return False
        uid = owner["uid"]
        record = self._records.get(uid)
        job = self._job(uid)
        if record is None or pod["metadata"]["uid"] not in record.pods or job is None:
            return False
        if _is_managed_elsewhere(job) or job["spec"].get("backoffLimitPerIndex") is not None:
            return False  # in the second case a failed pod stays until it is replaced
        self._settled.add(uid)
        return True

    def run(self, now: float) -> None:
        """Sync what changed: Jobs whose pods ended in this pass all, others up to a limit."""
        self._settled.each(self._sync_settled, now, limit=len(self._settled))
        self._work.each(self._sync, now)

    # --- one Job -----------------------------------------------------------------------------------

    def _note(self, uid: str) -> None:
        if uid != self._writing:
            self._work.add(uid)

    def _job(self, uid: str) -> Object | None:
        place = self._store.by_uid(uid)
        return self._store.get(*place) if place is not None and place[0] == JOBS else None

    def _report(self, uid: str, fault: Exception) -> None:
        job = self._job(uid)
        if job is not None:
            message = f"The Job cannot be synced: {type(fault).__name__}: {fault}"
            self._recorder.warning(job, "FailedSync", message, _SOURCE)

    def _sync_settled(self, uid: str) -> None:
        self._work.drop(uid)
        self._sync(uid)

    def _sync(self, uid: str) -> None:
        job = self._job(uid)
        if job is None:
            self._let_orphans_go(uid)
            return
        finished = is_finished(job)
        if finished is not None:
            self._let_orphans_go(uid)
            self._expire(job, finished)
            return
        if _is_managed_elsewhere(job):
            return
        record = self._records.setdefault(uid, _Record())
        plan = next_step.plan(
            job,
            list(record.pods.values()),
            self._clock.now(),
            record.backoff,
            self._first_backoff_s,
        )
        self._writing = uid
        try:
            self._carry_out(job, record, plan)
        finally:
            self._writing = ""

    def _carry_out(self, job: Object, record: _Record, plan: Plan) -> None:
        uid = job["metadata"]["uid"]
        for pod in plan.delete:
            self._delete(job, pod, released=plan.release_deleted)
        self._create(job, record, plan)
        for pod in plan.counted:
            if pod.held:
                self._release(pod)
            if pod.phase in TERMINAL:
                record.pods.pop(pod.uid, None)
        record.backoff = plan.backoff
        latest = self._write(job, plan)
        self._tell(job, plan)
        if plan.finished is not None:
            self._let_orphans_go(uid)
            self._expire(latest, plan.finished)
            return
        if plan.again_at is not None:
            self._work.add_at(uid, plan.again_at.timestamp())
        if plan.delete or len(plan.create) == next_step.MOST_PODS_PER_SYNC:
            self._work.add(uid)

    def _write(self, job: Object, plan: Plan) -> Object:
        meta = job["metadata"]
        live = self._store.get(JOBS, meta["namespace"], meta["name"])
        if live is None or live["metadata"]["uid"] != meta["uid"]:
            return job  # its last finalizer went with the pods
        if live.get("status") == plan.status:
            return live
        new = {**live, "status": plan.status}
        return self._store.update(JOBS, new, subresource="status", trusted=True)

    def _create(self, job: Object, record: _Record, plan: Plan) -> None:
        if not plan.create:
            return
        last = record.template_job
        if last is None or last["metadata"]["generation"] != job["metadata"]["generation"]:
            record.template = pods.pod_template(job)
            record.template_job = job
        for number, new in enumerate(plan.create):
            try:
                pod = self._create_one(job, record, record.template, new)
            except ApiError as refusal:
                self._recorder.warning(
                    job, "FailedCreate", f"Error creating: {refusal.message}", _SOURCE
                )
                left = len(plan.create) - number
                plan.status["active"] = plan.status.get("active", 0) - left
                if plan.status["active"] <= 0:
                    del plan.status["active"]
                retry_at = self._clock.now() + dt.timedelta(seconds=_RETRY_CREATE_S)
                plan.again_at = min(plan.again_at or retry_at, retry_at)
                return
            self._recorder.normal(
                job, "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}", _SOURCE
            )

    def _create_one(self, job: Object, record: _Record, template: Object, new: NewPod) -> Object:
        for _ in range(100):
            record.made += 1
            pod = pods.new_pod(
                template, job, new.index, new.failures, new.ignored_failures, record.made
            )
            # After a restart the count starts again: the names of live pods are passed over.
            meta = pod["metadata"]
            if self._store.get("pods", meta["namespace"], meta["name"]) is None:
                break
        return self._store.create("pods", pod, trusted=True)

    def _delete(self, job: Object, pod: JobPod, *, released: bool) -> None:
        if released and pod.held:
            self._release(pod)
        meta = pod.pod["metadata"]
        try:
            self._store.delete("pods", meta["namespace"], meta["name"], uid=pod.uid)
        except ApiError as refusal:
            _log.debug("pod_gone_already", pod=pod.name, reason=refusal.message)
            return
        self._recorder.normal(job, "SuccessfulDelete", f"Deleted pod: {pod.name}", _SOURCE)

    def _release(self, pod: JobPod) -> None:
        """Take the tracking finalizer off."""
        meta = pod.pod["metadata"]
        live = self._store.get("pods", meta["namespace"], meta["name"])
        if live is not None and live["metadata"]["uid"] == pod.uid:
            self._store.update("pods", without_finalizer(live), trusted=True)

    def _let_orphans_go(self, uid: str) -> None:
        """Nobody counts these pods any more: their finalizers must not hold them."""
        record = self._records.pop(uid, None)
        for pod in list(record.pods.values()) if record else ():
            if pod.held:
                self._release(pod)

    def _expire(self, job: Object, finished: dict[str, Any]) -> None:
        """Delete a finished Job once its ttlSecondsAfterFinished is over."""
        meta, ttl_s = job["metadata"], job["spec"].get("ttlSecondsAfterFinished")
        if ttl_s is None or "deletionTimestamp" in meta:
            return
        ends_at = metadata.parse_stamp(finished["lastTransitionTime"]).timestamp() + ttl_s
        if ends_at > self._clock.now().timestamp():
            self._work.add_at(meta["uid"], ends_at)
            return
        self._store.delete(
            JOBS, meta["namespace"], meta["name"], uid=meta["uid"], propagation="Foreground"
        )

    def _tell(self, job: Object, plan: Plan) -> None:
        if plan.suspension:
            message = f"Job {plan.suspension.lower()}"
            self._recorder.normal(job, plan.suspension, message, _SOURCE)
        if plan.finished is None:
            return
        if plan.finished["type"] == "Complete":
            self._recorder.normal(job, "Completed", "Job completed", _SOURCE)
        else:
            self._recorder.warning(job, plan.finished["reason"], plan.finished["message"], _SOURCE)


def _is_managed_elsewhere(job: Object) -> bool:
    return job["spec"].get("managedBy") not in (None, OWN_NAME)


def _differs(before: JobPod, now: JobPod) -> bool:
    """Whether a change of a pod can matter to its Job."""
    return (
        before.phase != now.phase
        or before.ready != now.ready
        or before.terminating != now.terminating
        or before.held != now.held
        or before.restarts() != now.restarts()
    )

"""One member: an API server that may be late, the Job controller, the collector, and pods.

An object is a dict that is never changed once it is stored: a change makes another, with the next
resourceVersion, and an entry in the log that watches read.
"""

from typing import Any

from agent.objects.holds import JOB
from shared import labels
from shared.kube import errors
from tests.simulation.checks import Checks
from tests.simulation.exits import ended
from tests.simulation.member_store import MemberStore
from tests.simulation.trace import job_text
from tests.simulation.world import World

Object = dict[str, Any]
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_POLICY = {"Foreground": FOREGROUND, "Orphan": ORPHAN}


class Member(MemberStore):
    """A cluster of one namespace."""

    kinds: tuple[tuple[str, str], ...] = (JOB,)  # of objects of jobs

    def __init__(self, world: World, name: str, checks: Checks, run_s: float) -> None:
        super().__init__(world, name)
        self.checks = checks
        self.run_s = run_s
        self.failing = 0.0  # share of pods that fail
        self.grace_s = 1.0  # of pods that are asked to end
        self.lag_s = 0.1  # of watches and controllers, at most
        self.controllers_from = 0.0  # they stand still until then
        self._due: set[str] = set()

    def convert(self, reply: Any) -> None:
        """Make the works of a reply those of the kinds that this member runs."""

    def is_work(self, job: Object) -> bool:
        """Whether an object is one that an agent may have made."""
        return True

    # --- requests --------------------------------------------------------------------------------

    def create(self, given: Object) -> Object:
        name = given["metadata"]["name"]
        if name in self.jobs:
            raise errors.AlreadyExists(409, "AlreadyExists", name)
        metadata = {**given["metadata"], "uid": self.new_uid("job"), "generation": 1}
        job = self._stored("Job", "ADDED", {**given, "metadata": metadata, "status": {}})
        self.world.note(f"{self.name}: {name} is made {job_text(job)}")
        self.world.happens("made", self.name)
        self._noted_start(None, job)
        self._look_soon(name)
        return job

    def get(self, name: str) -> Object:
        if name not in self.jobs:
            raise errors.NotFound(404, "NotFound", name)
        return self.jobs[name]

    def pods_of(self, job_uid: str) -> list[Object]:
        """The pods of one job; "" for those of any."""
        told = ((pod, pod["metadata"]["labels"].get(labels.JOB_UID)) for pod in self.pods.values())
        return [pod for pod, uid in told if uid and job_uid in {"", uid}]

    def merge_patch(self, name: str, patch: Object) -> Object:
        held = self.get(name)
        had, wanted = held["metadata"], patch.get("metadata") or {}
        for each in ("uid", "resourceVersion"):
            if wanted.get(each) and wanted[each] != had[each]:
                raise errors.Conflict(409, "Conflict", f"{name}: another {each}")
        self.checks.touched(self.name, held)
        metadata = dict(had)
        for part in ("labels", "annotations"):
            if part in wanted:
                merged = {**(had.get(part) or {}), **wanted[part]}
                metadata[part] = {k: v for k, v in merged.items() if v is not None}
        if "finalizers" in wanted:
            metadata["finalizers"] = wanted["finalizers"]
        spec = {**held["spec"], **(patch.get("spec") or {})}
        if metadata == had and spec == held["spec"]:
            return held
        if spec != held["spec"]:
            metadata["generation"] = had["generation"] + 1
        job = {**held, "metadata": metadata, "spec": spec}
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            self._drop(job)
            return job
        self._stored("Job", "MODIFIED", job)
        self.world.note(f"{self.name}: {name} is patched {job_text(job)}")
        self._noted_start(held, job)
        self._look_soon(name)
        return job

    def delete(
        self,
        name: str,
        uid: str | None,
        version: str | None,
        policy: str,
        *,
        by_hand: bool = False,
    ) -> Object:
        held = self.get(name)
        had = held["metadata"]
        if (uid and uid != had["uid"]) or (version and version != had["resourceVersion"]):
            raise errors.Conflict(409, "Conflict", name)
        if not by_hand:
            self.checks.touched(self.name, held)
            self.checks.deleted(self.name, held)
            self.world.happens("deleted", self.name)
        elif self.is_work(held):
            self.checks.deleted_by_hand(held)
        kept = [f for f in had.get("finalizers") or () if f not in {FOREGROUND, ORPHAN}]
        if policy in _POLICY:
            kept.append(_POLICY[policy])
        metadata = {
            **had,
            "finalizers": kept,
            "deletionTimestamp": had.get("deletionTimestamp") or self._now(),
        }
        job = {**held, "metadata": metadata}
        if not kept:
            self._drop(job)
            return job
        if metadata != had:
            job = self._stored("Job", "MODIFIED", job)
            who = "by hand" if by_hand else "by the agent"
            self.world.note(f"{self.name}: {name} is deleted {who} ({policy}) {job_text(job)}")
        self._look_soon(name)
        return job

    def tear_out(self, name: str) -> None:
        """Somebody takes its finalizers off and deletes it; its pods are collected."""
        job = self.jobs[name]
        if self.is_work(job):
            self.checks.torn_out(self.name, job)
        self.world.note(f"{self.name}: {name} is torn out")
        self._drop({**job, "metadata": {**job["metadata"], "finalizers": []}})

    def _drop(self, job: Object) -> None:
        name = job["metadata"]["name"]
        del self.jobs[name]
        self._removed("Job", job)
        self.world.note(f"{self.name}: {name} is gone {job_text(job)}")
        self.world.happens("gone", self.name)
        if self.is_work(job):
            self.checks.dropped(self.name, job)
        self._look_soon(name)

    def _noted_start(self, before: Object | None, job: Object) -> None:
        if not job["spec"].get("suspend") and (before is None or before["spec"].get("suspend")):
            self.checks.started(self.name, job)

    # --- controllers -----------------------------------------------------------------------------

    def _look_soon(self, name: str) -> None:
        if name in self._due:
            return
        self._due.add(name)
        lag = self.world.random.random() * self.lag_s
        self.world.at(max(self.world.now + lag, self.controllers_from), self._look, name)

    def _look(self, name: str) -> None:
        """What controller and collector do about one name."""
        if self.controllers_from > self.world.now:
            self.world.at(self.controllers_from, self._look, name)
            return
        self._due.discard(name)
        job = self.jobs.get(name)
        uid = job["metadata"]["uid"] if job is not None else ""
        for pod in list(self.pods.values()):
            if pod["job"] == name and pod["owner"] != uid:
                self._unowned(pod)
        if job is None:
            return
        mine = [pod for pod in self.pods.values() if pod["owner"] == uid]
        job = self._count(job, mine)
        if job["metadata"].get("deletionTimestamp"):
            self._collect(job, mine)
        else:
            self._manage(job, mine)

    def _unowned(self, pod: Object) -> None:
        """Its owner is gone: the collector ends it, unless it was orphaned on purpose."""
        if pod["tracked"]:
            pod = self._pod(pod, tracked=False)
        if pod["owner"]:
            self._end_pod(pod)
        if pod["metadata"].get("deletionTimestamp") and pod["status"]["phase"] in _OVER:
            self._pod_gone(pod["metadata"]["uid"])

    def _count(self, job: Object, pods: list[Object]) -> Object:
        over = [p for p in pods if p["tracked"] and p["status"]["phase"] in _OVER]
        status = dict(job["status"])
        for pod in over:
            kind = "succeeded" if pod["status"]["phase"] == "Succeeded" else "failed"
            if kind == "succeeded" or not job["spec"].get("suspend"):
                status[kind] = status.get(kind, 0) + 1
        alive = [p for p in pods if p["status"]["phase"] not in _OVER]
        status["active"] = sum(1 for p in alive if not p["metadata"].get("deletionTimestamp"))
        status["ready"] = sum(1 for p in alive if p["status"]["phase"] == "Running")
        held = {c["type"] for c in status.get("conditions") or ()}
        if not held & {"Complete", "Failed"}:
            status = self._concluded(job, status, held, alive)
        if status != job["status"]:
            job = self._stored("Job", "MODIFIED", {**job, "status": status})
            if over or "conditions" in status:
                name = job["metadata"]["name"]
                self.world.note(f"{self.name}: {name} counts {job_text(job)}")
            if self.is_work(job):
                self.checks.status(self.name, job)
        for pod in over:
            counted = self._pod(pod, tracked=False)
            if counted["metadata"].get("deletionTimestamp"):
                self._pod_gone(counted["metadata"]["uid"])
        return job

    def _now(self) -> str:
        return self.world.wall().strftime("%Y-%m-%dT%H:%M:%SZ")

    def _concluded(
        self, job: Object, status: Object, held: set[str], alive: list[Object]
    ) -> Object:
        """Whether it is complete or has failed; in two steps, now and then."""
        name = job["metadata"]["name"]
        if status.get("succeeded", 0) >= job["spec"]["completions"]:
            result, before = "Complete", "SuccessCriteriaMet"
        elif status.get("failed", 0) > job["spec"].get("backoffLimit", 0):
            result, before = "Failed", "FailureTarget"
        else:
            return status
        conditions = list(status.get("conditions") or ())
        at = self._now()
        if before not in held and (alive or self.world.random.random() < 0.3):
            conditions.append({"type": before, "status": "True", "lastTransitionTime": at})
            for pod in alive:
                self._end_pod(pod)
            self._look_soon(name)
        elif not alive:
            conditions.append({"type": result, "status": "True", "lastTransitionTime": at})
        return {**status, "conditions": conditions}

    def _manage(self, job: Object, pods: list[Object]) -> None:
        status, spec = job["status"], job["spec"]
        if status.get("conditions"):
            return
        alive = [p for p in pods if p["status"]["phase"] not in _OVER]
        if spec.get("suspend"):
            for pod in alive:
                self._end_pod(pod)
            return
        left = spec["completions"] - status.get("succeeded", 0)
        for _ in range(min(spec["parallelism"], left) - len(alive)):
            self._make_pod(job)

    def _collect(self, job: Object, pods: list[Object]) -> None:
        finalizers = job["metadata"].get("finalizers") or []
        if FOREGROUND in finalizers:
            left = [pod for pod in pods if pod["metadata"]["uid"] in self.pods]
            for pod in left:
                self._end_pod(pod)
            if any(pod["metadata"]["uid"] in self.pods for pod in left):
                return
            self._without(job, FOREGROUND)
        elif ORPHAN in finalizers:
            for pod in pods:
                self._orphan(pod["metadata"]["uid"])
            self._without(job, ORPHAN)

    def _orphan(self, uid: str) -> None:
        """A pod loses its owner, and goes on."""
        pod = self.pods.get(uid)
        if pod is not None:
            metadata = {**pod["metadata"], "ownerReferences": []}
            self._pod({**pod, "metadata": metadata}, owner="", tracked=False)

    def _without(self, job: Object, finalizer: str) -> None:
        left = [f for f in job["metadata"]["finalizers"] if f != finalizer]
        after = {**job, "metadata": {**job["metadata"], "finalizers": left}}
        if left:
            self._stored("Job", "MODIFIED", after)
        else:
            self._drop(after)

    # --- pods ------------------------------------------------------------------------------------

    def _make_pod(self, job: Object) -> None:
        metadata = job["metadata"]
        marks = job.get("pod labels") or metadata.get("labels") or {}
        uid = self.new_uid("pod")
        own = {key: marks[key] for key in (labels.JOB_UID, labels.EPOCH) if key in marks}
        owner = [{"kind": "Job", "controller": True, "uid": metadata["uid"]}]
        pod = {
            "metadata": {
                "name": uid, "namespace": "n", "uid": uid, "labels": own, "ownerReferences": owner,
            },
            "spec": {"nodeName": "node"},
            "status": {"phase": "Pending"},
            "job": metadata["name"], "owner": metadata["uid"], "tracked": True,
        }  # fmt: skip
        self._stored("Pod", "ADDED", pod)
        self.world.after(0.1 + self.world.random.random(), self._run_pod, uid)

    def _pod(self, pod: Object, phase: str = "", **changes: Any) -> Object:
        after = {**pod, "metadata": dict(pod["metadata"]), **changes}
        if phase:
            started = pod["status"].get("startTime") or self.world.wall().strftime(
                "%Y-%m-%dT%H:%M:%SZ"
            )
            how = ended(pod, phase, self.world.seed)
            after["status"] = {"phase": phase, "startTime": started, **how}
        return self._stored("Pod", "MODIFIED", after)

    def _run_pod(self, uid: str) -> None:
        pod = self.pods.get(uid)
        if pod is None or pod["metadata"].get("deletionTimestamp"):
            return
        self.world.note(f"{self.name}: {uid} of {pod['job']} runs")
        self.world.happens("runs", self.name)
        self.checks.pod_runs(self.name, pod)
        self._pod(pod, "Running")
        self._look_soon(pod["job"])
        how = "Succeeded" if self.world.random.random() >= self.failing else "Failed"
        self.world.after(self.run_s * (0.5 + self.world.random.random()), self._pod_over, uid, how)

    def _pod_over(self, uid: str, phase: str) -> None:
        pod = self.pods.get(uid)
        if pod is None or pod["status"]["phase"] in _OVER:
            return
        self.world.note(f"{self.name}: {uid} of {pod['job']} {phase}")
        self.world.happens("over", self.name)
        self.checks.pod_over(self.name, pod)
        pod = self._pod(pod, phase)
        self.checks.pod_ended(pod)
        if pod["metadata"].get("deletionTimestamp") and not pod["tracked"]:
            self._pod_gone(uid)
        self._look_soon(pod["job"])

    def _end_pod(self, pod: Object) -> None:
        """Ask a pod to end. One that runs may take its time, and may succeed meanwhile."""
        uid = pod["metadata"]["uid"]
        pod = self.pods.get(uid, pod)
        if uid not in self.pods or pod["metadata"].get("deletionTimestamp"):
            return
        metadata = {**pod["metadata"], "deletionTimestamp": "t"}
        pod = self._stored("Pod", "MODIFIED", {**pod, "metadata": metadata})
        if pod["status"]["phase"] in _OVER:
            if not pod["tracked"]:
                self._pod_gone(uid)
            return
        grace = self.grace_s * self.world.random.random()
        self.world.after(grace if pod["status"]["phase"] == "Running" else 0.0, self._killed, uid)

    def _killed(self, uid: str) -> None:
        ran = uid in self.pods and self.pods[uid]["status"]["phase"] == "Running"
        how = "Succeeded" if self.world.random.random() < 0.1 and ran else "Failed"
        self._pod_over(uid, how)

    def _pod_gone(self, uid: str) -> None:
        pod = self.pods.pop(uid)
        self._removed("Pod", pod)
        self._look_soon(pod["job"])

    def destroy(self) -> None:
        self.checks.destroyed(self.name, self.pods.values())
        self.jobs, self.pods, self.watchers = {}, {}, []

    def drain(self) -> None:
        """All pods are evicted."""
        for pod in list(self.pods.values()):
            if pod["status"]["phase"] not in _OVER:
                self._end_pod(pod)


_OVER = frozenset({"Succeeded", "Failed"})

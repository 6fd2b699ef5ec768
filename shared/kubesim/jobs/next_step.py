"""The next step of a Job's controller: one pure step from a Job and its pods to a `Plan`.

The order of the steps, counts, conditions, reasons and messages are those of `syncJob` in
Kubernetes 1.36 (pkg/controller/job/job_controller.go). The real one writes the status twice, with
the uids of uncounted pods in between; here pods and status change in one go, so that
`uncountedTerminatedPods` stays empty. `jobs` carries the plan out.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.pods import TERMINAL
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.jobs import indexes, policies
from shared.kubesim.jobs.plan import Backoff, Condition, NewPod, Plan, next_backoff
from shared.kubesim.jobs.pods import JobPod

MOST_PODS_PER_SYNC = 500


def plan(
    job: Object,
    pods: Sequence[JobPod],
    now: dt.datetime,
    backoff: Backoff,
    first_backoff_s: float = 10.0,
) -> Plan:
    """Decide. `pods` are those of the Job whose end is not in its status yet, or that still stop."""
    return _Sync(job, pods, now, backoff, first_backoff_s).run()


class _Sync:
    """The working state of one step."""

    def __init__(
        self,
        job: Object,
        pods: Sequence[JobPod],
        now: dt.datetime,
        backoff: Backoff,
        first_backoff_s: float,
    ) -> None:
        self.spec: dict[str, Any] = job["spec"]
        self.meta: dict[str, Any] = job["metadata"]
        self.now = now
        self.first_backoff_s = first_backoff_s
        self.pods = pods
        self.active_pods = [pod for pod in pods if pod.active]
        self.active = len(self.active_pods)
        self.ready = sum(pod.ready for pod in self.active_pods)
        self.terminating = sum(pod.stopping for pod in pods)
        self.parallelism: int = _given(self.spec.get("parallelism"), 1)
        self.completions: int | None = self.spec.get("completions")
        self.indexed = self.spec.get("completionMode") == "Indexed"
        self.per_index: int | None = self.spec.get("backoffLimitPerIndex")
        self.policy = self.spec.get("podFailurePolicy")
        self.replace_failed_only = (
            self.spec.get("podReplacementPolicy") == "Failed" or self.policy is not None
        )
        self.suspended = bool(self.spec.get("suspend"))
        status = dict(job.get("status") or {})
        status["conditions"] = list(status.get("conditions") or ())
        self.out = Plan(status=status, backoff=backoff)
        self.ending: Condition | None = None
        self.indexes: set[int] = set()
        self.failed_indexes: set[int] = set()
        self.delayed: dict[int, JobPod] = {}

    def run(self) -> Plan:
        # 1. What ended since the last time.
        self.count()
        # 2. Is the Job at its end?
        self.ending = self.ending_on_record() or self.failure() or self.index_failure()
        if self.ending is None:
            self.ending = self.success_policy()
        # 3. If so its pods go; if not it gets as many as it should have.
        if self.ending is not None:
            self.delete(self.active_pods, released=False)
        else:
            if "deletionTimestamp" not in self.meta:
                self.match_active_pods()
            self.ending = self.completion()
            if self.ending is None and "deletionTimestamp" not in self.meta:
                self.note_suspension()
        # 4. Counts, then conditions.
        self.account()
        self.conclude()
        self.tidy()
        return self.out

    # --- 1 ---------------------------------------------------------------------------------------

    def count(self) -> None:
        status = self.out.status
        valid = [pod for pod in self.pods if pod.uncounted and self.has_valid_index(pod)]
        succeeded = [pod for pod in valid if pod.phase == "Succeeded"]
        failed = [pod for pod in valid if self.has_failed(pod)]
        if status.get("startTime") is None and not self.suspended:
            status["startTime"] = metadata.stamp(self.now)
        if self.indexed:
            self.indexes = indexes.parse(
                status.get("completedIndexes") or "", self.completions or 0
            )
            self.indexes |= {pod.index for pod in succeeded if pod.index is not None}
            self.succeeded = len(self.indexes)
        else:
            self.succeeded = status.get("succeeded", 0) + len(succeeded)
        self.failed = status.get("failed", 0) + sum(self.verdict(pod).counts for pod in failed)
        self.out.backoff = next_backoff(self.out.backoff, succeeded, failed)
        if self.per_index is not None:
            self.count_failed_indexes(failed)

    def count_failed_indexes(self, failed: list[JobPod]) -> None:
        text = self.out.status.get("failedIndexes") or ""
        self.failed_indexes = indexes.parse(text, self.completions or 0)
        active = {pod.index for pod in self.active_pods}
        for pod in failed:
            verdict = self.verdict(pod)
            spent = verdict.counts and pod.failures >= (self.per_index or 0)
            if pod.index is not None and (verdict.fails_index or spent):
                self.failed_indexes.add(pod.index)
        # The last failed pod of an index stays until its replacement carries on its count.
        for pod in sorted(failed, key=lambda one: (one.finished_at(), one.failures)):
            settled = pod.index in self.indexes or pod.index in self.failed_indexes
            if pod.index is not None and not settled and pod.index not in active:
                self.delayed[pod.index] = pod

    # --- 2 ---------------------------------------------------------------------------------------

    def ending_on_record(self) -> Condition | None:
        """An end decided by an earlier step: it stays decided."""
        for kind in ("SuccessCriteriaMet", "FailureTarget"):
            condition = _find(self.out.status["conditions"], kind)
            if condition is not None and condition.get("status") == "True":
                return condition
        return None

    def failure(self) -> Condition | None:
        if self.policy is not None:
            for pod in self.pods:
                message = self.verdict(pod).fails_job if self.has_failed(pod) else ""
                if message:
                    return self.condition("FailureTarget", "PodFailurePolicy", message)
        limit = _given(self.spec.get("backoffLimit"), 6 if self.per_index is None else 2**31 - 1)
        if self.failed > limit or self.has_restarted_too_often(limit):
            message = "Job has reached the specified backoff limit"
            return self.condition("FailureTarget", "BackoffLimitExceeded", message)
        deadline = self.deadline()
        if deadline is not None and self.now >= deadline:
            message = "Job was active longer than specified deadline"
            return self.condition("FailureTarget", "DeadlineExceeded", message)
        self.look_again(deadline)
        return None

    def index_failure(self) -> Condition | None:
        if self.per_index is None or not self.failed_indexes:
            return None
        most = self.spec.get("maxFailedIndexes")
        if most is not None and len(self.failed_indexes) > most:
            message = "Job has exceeded the specified maximal number of failed indexes"
            return self.condition("FailureTarget", "MaxFailedIndexesExceeded", message)
        if len(self.failed_indexes) + len(self.indexes) >= (self.completions or 0):
            return self.condition("FailureTarget", "FailedIndexes", "Job has failed indexes")
        return None

    def success_policy(self) -> Condition | None:
        if not self.indexed or not self.spec.get("successPolicy"):
            return None
        message = policies.success_reached(
            self.spec["successPolicy"], self.completions or 0, self.indexes
        )
        return self.condition("SuccessCriteriaMet", "SuccessPolicy", message) if message else None

    def deadline(self) -> dt.datetime | None:
        limit, start = self.spec.get("activeDeadlineSeconds"), self.out.status.get("startTime")
        if limit is None or start is None or self.suspended:
            return None
        return metadata.parse_stamp(start) + dt.timedelta(seconds=limit)

    def has_restarted_too_often(self, limit: int) -> bool:
        if self.spec["template"]["spec"].get("restartPolicy") != "OnFailure":
            return False
        restarts = sum(pod.restarts() for pod in self.pods if pod.phase not in TERMINAL)
        return restarts > 0 if limit == 0 else restarts >= limit

    # --- 3 ---------------------------------------------------------------------------------------

    def match_active_pods(self) -> None:
        surplus = self.active if self.suspended else max(0, self.active - self.wanted())
        superfluous = self.removable(surplus)[:MOST_PODS_PER_SYNC]
        if superfluous or self.suspended:
            self.delete(superfluous, released=True)
            return
        missing = self.wanted() - self.active
        if self.replace_failed_only:
            missing -= self.terminating
        if missing > 0:
            self.create(min(missing, MOST_PODS_PER_SYNC))

    def wanted(self) -> int:
        if self.completions is None:
            return self.active if self.succeeded else self.parallelism
        return max(0, min(self.parallelism, self.completions - self.succeeded))

    def removable(self, surplus: int) -> list[JobPod]:
        """Pods of double or impossible indexes, then as many others as are too many."""
        removed: list[JobPod] = []
        left = sorted(self.active_pods, key=JobPod.removal_order)
        if self.indexed:
            keep: dict[int, JobPod] = {}
            for pod in left:
                if pod.index is None or not self.has_valid_index(pod):
                    removed.append(pod)
                    continue
                if pod.index in keep:
                    removed.append(keep[pod.index])
                keep[pod.index] = pod
            left = [pod for pod in left if pod not in removed]
        return removed + left[: max(0, surplus - len(removed))]

    def delete(self, pods: list[JobPod], *, released: bool) -> None:
        self.out.delete = pods
        self.out.release_deleted = released
        self.active -= len(pods)
        self.terminating += len(pods)
        self.ready -= sum(pod.ready for pod in pods)

    def create(self, count: int) -> None:
        if self.per_index is None:
            wait_s = self.out.backoff.remaining_s(self.now, self.first_backoff_s)
            if wait_s > 0:
                self.look_again(self.now + dt.timedelta(seconds=wait_s))
                return
        new = self.new_indexed_pods(count) if self.indexed else [NewPod()] * count
        self.out.create = new
        self.active += len(new)

    def new_indexed_pods(self, count: int) -> list[NewPod]:
        taken = self.indexes | self.failed_indexes
        taken |= {pod.index for pod in self.active_pods if pod.index is not None}
        if self.replace_failed_only:
            taken |= {pod.index for pod in self.pods if pod.stopping and pod.index is not None}
        new: list[NewPod] = []
        waits: list[float] = []
        for index in indexes.first_missing(taken, count, self.completions or 0):
            last = self.delayed.get(index)
            if last is None:
                new.append(NewPod(index))
                continue
            counts = self.verdict(last).counts
            failures = Backoff(last.failures + last.ignored_failures + 1, last.finished_at())
            wait_s = failures.remaining_s(self.now, self.first_backoff_s)
            if wait_s > 0:
                waits.append(wait_s)
                continue
            new.append(NewPod(index, last.failures + counts, last.ignored_failures + (not counts)))
            del self.delayed[index]
        if waits and not new:
            self.look_again(self.now + dt.timedelta(seconds=min(waits)))
        return new

    def completion(self) -> Condition | None:
        if self.active:
            return None
        enough = 1 if self.completions is None else self.completions
        done = self.succeeded >= enough
        message = "Reached expected number of succeeded pods"
        return (
            self.condition("SuccessCriteriaMet", "CompletionsReached", message) if done else None
        )

    def note_suspension(self) -> None:
        conditions = self.out.status["conditions"]
        present = _find(conditions, "Suspended")
        told = {"status": "True", "reason": "JobSuspended", "message": "Job suspended"}
        if self.suspended and (present is None or not told.items() <= present.items()):
            self.set(self.condition("Suspended", "JobSuspended", "Job suspended"))
            self.out.status.pop("startTime", None)
            self.out.suspension = "Suspended"
        elif not self.suspended and present is not None and present.get("status") != "False":
            resumed = self.condition("Suspended", "JobResumed", "Job resumed")
            self.set({**resumed, "status": "False"})
            self.out.status["startTime"] = metadata.stamp(self.now)
            self.out.suspension = "Resumed"
            self.look_again(self.deadline())

    # --- 4 ---------------------------------------------------------------------------------------

    def account(self) -> None:
        status = self.out.status
        failed_by_end = self.ending is not None and self.ending["type"] == "FailureTarget"
        released = set(map(id, self.out.delete)) if self.out.release_deleted else set()
        for pod in self.pods:
            if not pod.uncounted or id(pod) in released or not self.may_let_go(pod):
                continue
            self.out.counted.append(pod)
            failed = self.has_failed(pod) or (failed_by_end and pod.phase != "Succeeded")
            if not self.has_valid_index(pod):
                continue
            if pod.phase == "Succeeded":
                status["succeeded"] = status.get("succeeded", 0) + 1
            elif failed and self.verdict(pod).counts:
                status["failed"] = status.get("failed", 0) + 1
        if self.indexed:
            status["succeeded"] = len(self.indexes)
            status["completedIndexes"] = indexes.render(self.indexes)
        if self.per_index is not None:
            status["failedIndexes"] = indexes.render(self.failed_indexes)

    def may_let_go(self, pod: JobPod) -> bool:
        if "deletionTimestamp" in self.meta or self.ending is not None:
            return True
        if pod.phase == "Succeeded":
            return True
        delayed = pod.index is not None and self.delayed.get(pod.index) is pod
        return self.has_failed(pod) and not delayed

    def conclude(self) -> None:
        if self.ending is None:
            return
        conditions = self.out.status["conditions"]
        if _find(conditions, self.ending["type"]) is None:
            conditions.append(self.ending)
        if self.terminating:
            return
        kind = "Complete" if self.ending["type"] == "SuccessCriteriaMet" else "Failed"
        finished = self.condition(kind, self.ending["reason"], self.ending["message"])
        self.set(finished)
        if kind == "Complete":
            self.out.status["completionTime"] = finished["lastTransitionTime"]
        self.out.finished = finished
        self.out.again_at = None

    def tidy(self) -> None:
        """Write counts as the API server would: zeros of optional fields are left out."""
        status = self.out.status
        status["active"] = self.active
        for name in ("active", "succeeded", "failed"):
            if not status.get(name):
                status.pop(name, None)
        status["ready"] = self.ready
        status["terminating"] = self.terminating
        status["uncountedTerminatedPods"] = {}
        for name in ("conditions", "completedIndexes"):
            if not status.get(name):
                status.pop(name, None)

    # --- words -----------------------------------------------------------------------------------

    def condition(self, kind: str, reason: str, message: str) -> Condition:
        stamp = metadata.stamp(self.now)
        return {
            "type": kind,
            "status": "True",
            "lastProbeTime": stamp,
            "lastTransitionTime": stamp,
            "reason": reason,
            "message": message,
        }

    def set(self, condition: Condition) -> None:
        conditions = self.out.status["conditions"]
        for place, present in enumerate(conditions):
            if present.get("type") == condition["type"]:
                conditions[place] = condition
                return
        conditions.append(condition)

    def look_again(self, when: dt.datetime | None) -> None:
        if when is not None and (self.out.again_at is None or when < self.out.again_at):
            self.out.again_at = when

    def has_failed(self, pod: JobPod) -> bool:
        if pod.phase == "Failed":
            return True
        return not self.replace_failed_only and pod.terminating and pod.phase != "Succeeded"

    def has_valid_index(self, pod: JobPod) -> bool:
        if not self.indexed:
            return True
        return pod.index is not None and pod.index < (self.completions or 0)

    def verdict(self, pod: JobPod) -> policies.Verdict:
        return policies.judge(self.policy, pod.pod)


def _find(conditions: Sequence[Condition], kind: str) -> Condition | None:
    return next((c for c in conditions if c.get("type") == kind), None)


def _given(value: Any, default: int) -> int:
    return default if value is None else int(value)

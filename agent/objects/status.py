"""Converts a Job's status to a report for the hub: counts, result, holder. Pure.

Whether an object does its work is said by `agent.objects.availability`.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from agent.objects.facts import epoch_of, is_unstarted, parse_time
from agent.objects.holds import JOB, Hold
from agent.objects.pods import JobPods
from agent.objects.readings import Reading, told_end
from shared.wire.agent_v1 import JobStatus, Work

Object = dict[str, Any]

LONGEST_MESSAGE = 1024  # as the hub stores it


def failure_of(live: Object, failure: str, pod: str) -> str:
    """Say how a job's pod failed, with the command that prints its log without a credential of this cluster.

    `live`: the job's object. Its pods may belong to another one, of another name, that an operator made.
    `pod`: the name of the pod, "" if it has no log.
    """
    if not pod:
        return failure
    metadata = live["metadata"]
    job = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"
    return f"{failure}; its log, while the pod is kept: roadstead logs {job} --pod {pod}"


def status_of(
    live: Object,
    pods: JobPods | None,
    work: Work | None,
    hold: Hold | None,
    reading: Reading | None,
    *,
    over: bool,
    failure: str,
    failures: Sequence[str],
    kept_back: bool,
) -> JobStatus:
    """What the object of a job says of itself: `job_status` of a Job, `parent_status` of another kind."""
    if (live.get("apiVersion"), live.get("kind")) != JOB:
        kept_back = kept_back and not over
        return parent_status(
            live, pods, hold, reading, failure=failure, failures=failures, kept_back=kept_back
        )
    manifest = work.manifest if work is not None else None
    wanted = manifest is not None and not (manifest.get("spec") or {}).get("suspend")
    return job_status(
        live,
        pods,
        should_run=wanted and not is_unstarted(live),
        over=over,
        failure=failure,
        failures=failures,
        kept_back=kept_back,
    )


def parent_status(
    live: Object,
    pods: JobPods | None,
    hold: Hold | None,
    reading: Reading | None,
    *,
    failure: str = "",
    failures: Sequence[str] = (),
    kept_back: bool = False,
) -> JobStatus:
    """What an object whose operator makes the pods says: its end by its definition, counts by its pods.

    `kept_back`: as for `job_status`.
    """
    if reading is not None and reading.object_uid != live["metadata"].get("uid"):
        reading = None
    held = hold is not None and hold.holds(live)
    result = reading.result if reading is not None else None
    if result == "Failed" and kept_back and not live["metadata"].get("deletionTimestamp"):
        result = None
    reason, message = (reading.reason, reading.message) if reading is not None else ("", "")
    if result is None:
        reason, message = pods.stuck() if pods is not None and not held else ("", "")
        if not reason and reading is not None and reading.fault:
            reason, message = "NotRead", reading.fault
    elif result == "Failed" and failure:
        message = f"{message}; {failure}" if message else failure
    counts = pods.stands(epoch_of(live)) if pods is not None else {}
    kept = held and hold is not None and hold.starts_itself and not is_unstarted(live)
    began = (pods.running_since or None) if pods is not None else None
    return JobStatus(
        suspended=held,
        active=counts.get("active", 0) + counts.get("ready", 0),
        ready=counts.get("ready", 0),
        terminating=counts.get("terminating", 0),
        succeeded=counts.get("succeeded", 0),
        failed=counts.get("failed", 0),
        start_time=began,
        completion_time=told_end(reading) if reading is not None and result else None,
        running_since=began,
        result=result,
        reason=reason,
        message=message[:LONGEST_MESSAGE],
        failures=list(failures) if result == "Failed" else None,
        held_by=suspender(live) if kept and result is None else "",
    )


def job_status(
    job: Object,
    pods: JobPods | None,
    *,
    should_run: bool,
    over: bool = False,
    failure: str = "",
    failures: Sequence[str] = (),
    kept_back: bool = False,
) -> JobStatus:
    """What a member Job says of itself. `should_run`: the manifest desires it unsuspended.

    `failure`, `failures`: how the last of its pods failed, and all, which the Job's controller does not say.
    `kept_back`: not all of that is known yet, and that it has failed is told only with it.

    `over`: it is deleted and no pod of it is left. Its controller counts each pod before it lets it
    go, but may not come to write the condition: a Job whose completions were reached has succeeded.
    A failure that came with or after the deletion is the deletion's doing: no result of the Job.
    """
    spec, status = job.get("spec") or {}, job.get("status") or {}
    deleted_at = parse_time(job["metadata"].get("deletionTimestamp"))
    result, reason, message = _terminal(status, deleted_at)
    if result is None and over:
        result, reason, message = _decided(spec, status, deleted_at)
    if result == "Failed" and kept_back and not over and deleted_at is None:
        result, reason, message = None, "", ""
    if result == "Failed" and failure:
        message = f"{message}; {failure}" if message else failure
    suspended = bool(spec.get("suspend"))
    if result is None and pods is not None and not suspended:
        reason, message = pods.stuck()
    return JobStatus(
        suspended=suspended,
        active=status.get("active") or 0,
        ready=status.get("ready") or 0,
        terminating=status.get("terminating") or 0,
        succeeded=status.get("succeeded") or 0,
        failed=status.get("failed") or 0,
        start_time=status.get("startTime"),
        completion_time=_ended_at(status),
        completed_indexes=status.get("completedIndexes"),
        failed_indexes=status.get("failedIndexes"),
        running_since=_running_since(status, pods),
        result=result,
        reason=reason,
        message=message[:LONGEST_MESSAGE],
        failures=list(failures) if result == "Failed" else None,
        held_by=suspender(job) if suspended and should_run and result is None else "",
    )


def _ended_at(status: Object) -> str | None:
    """When it completed or failed, by this cluster's clock."""
    if status.get("completionTime"):
        return str(status["completionTime"])
    failed = (each for each in status.get("conditions") or () if each.get("type") == "Failed")
    at = next(
        (each.get("lastTransitionTime") for each in failed if each["status"] == "True"), None
    )
    return str(at) if at else None


def _running_since(status: Object, pods: JobPods | None) -> str | None:
    """Since when it runs: by its pods, or by its own counts where the agent did not make it.

    A Job that a backup restored has no managed fields: the agent counts its pods and reports no more.
    """
    if pods is None:
        return None
    if pods.running_since or pods.has_made:
        return pods.running_since or None
    has_run = status.get("ready") or status.get("succeeded") or status.get("failed")
    return status.get("startTime") if has_run else None


def _terminal(status: Object, deleted_at: dt.datetime | None = None) -> tuple[Any, str, str]:
    for condition in status.get("conditions") or ():
        if condition.get("status") != "True" or _is_of_deletion(condition, deleted_at):
            continue
        if condition.get("type") == "Complete":
            return "Succeeded", condition.get("reason") or "", condition.get("message") or ""
        if condition.get("type") == "Failed":
            return "Failed", condition.get("reason") or "", condition.get("message") or ""
    return None, "", ""


def _is_of_deletion(condition: Object, deleted_at: dt.datetime | None) -> bool:
    """Whether this failure came with the Job's deletion, which ends its pods and may outlast its deadline."""
    if deleted_at is None or condition.get("type") not in {"Failed", "FailureTarget"}:
        return False
    at = parse_time(condition.get("lastTransitionTime"))
    return at is not None and at >= deleted_at


def _decided(spec: Object, status: Object, deleted_at: dt.datetime | None) -> tuple[Any, str, str]:
    """How a Job ended whose controller had decided, or need only have counted."""
    for condition in status.get("conditions") or ():
        if _is_of_deletion(condition, deleted_at):
            continue
        if condition.get("status") == "True" and condition.get("type") in _DECIDED:
            result = _DECIDED[condition["type"]]
            return result, condition.get("reason") or "", condition.get("message") or ""
    if _is_complete(spec, status):
        return "Succeeded", "CompletionsReached", ""
    return None, "", ""


# Written before the terminal condition, while the last pods are being ended (KEP-3998, KEP-3329).
_DECIDED = {"SuccessCriteriaMet": "Succeeded", "FailureTarget": "Failed"}


def _is_complete(spec: Object, status: Object) -> bool:
    """Whether as many pods as asked for have succeeded, those being counted included."""
    uncounted = (status.get("uncountedTerminatedPods") or {}).get("succeeded") or ()
    succeeded = (status.get("succeeded") or 0) + len(uncounted)
    completions = spec.get("completions")
    if completions is None:
        completions = spec.get("parallelism") or 1
    return bool(completions) and succeeded >= completions


def suspender(job: Object) -> str:
    """The field manager that owns a field `suspend` of the spec, the latest where there are several."""
    owners = [
        entry
        for entry in job["metadata"].get("managedFields") or ()
        if _owns_suspend((entry.get("fieldsV1") or {}).get("f:spec") or {})
    ]
    if not owners:
        return "unknown"
    latest = max(owners, key=lambda entry: str(entry.get("time") or ""))
    return str(latest.get("manager") or "unknown")


def _owns_suspend(spec: Object) -> bool:
    """Of the spec, or of a part of it as `runPolicy`."""
    return "f:suspend" in spec or any(
        "f:suspend" in part for part in spec.values() if isinstance(part, dict)
    )

"""From an object's own status to what the hub is told: a Job's state, and whether others are available.

Pure. The rules for availability are KubeFleet's (pkg/controllers/workapplier), with two differences: a
Job is never claimed available blindly, and a kind nobody can judge is None, not True.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any

from agent.objects.facts import parse_time
from agent.objects.pods import JobPods
from shared.wire.agent_v1 import JobStatus

Object = dict[str, Any]

LONGEST_MESSAGE = 1024  # as the hub stores it


def job_status(
    job: Object,
    pods: JobPods | None,
    *,
    should_run: bool,
    over: bool = False,
    failure: str = "",
) -> JobStatus:
    """What a member Job says of itself. `should_run`: the manifest desires it unsuspended.

    `failure`: how the last of its pods failed, which the Job's controller does not say.

    `over`: it is deleted and no pod of it is left. Its controller counts each pod before it lets it
    go, but may not come to write the condition: a Job whose completions were reached has succeeded.
    A failure that came with or after the deletion is the deletion's doing: no result of the Job.
    """
    spec, status = job.get("spec") or {}, job.get("status") or {}
    deleted_at = parse_time(job["metadata"].get("deletionTimestamp"))
    result, reason, message = _terminal(status, deleted_at)
    if result is None and over:
        result, reason, message = _decided(spec, status, deleted_at)
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
        completion_time=status.get("completionTime"),
        completed_indexes=status.get("completedIndexes"),
        failed_indexes=status.get("failedIndexes"),
        running_since=(pods.running_since or None) if pods is not None else None,
        result=result,
        reason=reason,
        message=message[:LONGEST_MESSAGE],
        held_by=suspender(job) if suspended and should_run and result is None else "",
    )


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
    """The field manager that owns `spec.suspend`, the latest where there are several."""
    owners = [
        entry
        for entry in job["metadata"].get("managedFields") or ()
        if "f:suspend" in ((entry.get("fieldsV1") or {}).get("f:spec") or {})
    ]
    if not owners:
        return "unknown"
    latest = max(owners, key=lambda entry: str(entry.get("time") or ""))
    return str(latest.get("manager") or "unknown")


def available(obj: Object) -> bool | None:
    """Whether an object does its work: True, False, or None where its kind does not tell."""
    kind = (obj.get("apiVersion") or "").partition("/")[0] + "/" + (obj.get("kind") or "")
    rule = _RULES.get(kind)
    if rule is not None:
        return rule(obj)
    return True if obj.get("kind") in _AT_ONCE else None


def _job(job: Object) -> bool:
    status = job.get("status") or {}
    result, _, _ = _terminal(status)
    if result is not None:
        return bool(result == "Succeeded")
    return not (job.get("spec") or {}).get("suspend") and (status.get("ready") or 0) > 0


def _observed(obj: Object) -> bool:
    seen = (obj.get("status") or {}).get("observedGeneration") or 0
    return bool(seen >= (obj["metadata"].get("generation") or 0))


def _deployment(obj: Object) -> bool:
    status = obj.get("status") or {}
    replicas = (obj.get("spec") or {}).get("replicas")
    desired = 1 if replicas is None else replicas
    return (
        _observed(obj)
        and (status.get("availableReplicas") or 0) == desired
        and (status.get("updatedReplicas") or 0) == desired
        and not status.get("unavailableReplicas")
    )


def _stateful_set(obj: Object) -> bool:
    status = obj.get("status") or {}
    replicas = (obj.get("spec") or {}).get("replicas")
    desired = 1 if replicas is None else replicas
    return (
        _observed(obj)
        and (status.get("availableReplicas") or 0) == desired
        and (status.get("currentReplicas") or 0) == (status.get("updatedReplicas") or 0)
        and status.get("currentRevision") == status.get("updateRevision")
    )


def _daemon_set(obj: Object) -> bool:
    status = obj.get("status") or {}
    desired = status.get("desiredNumberScheduled") or 0
    return (
        _observed(obj)
        and (status.get("numberAvailable") or 0) == desired
        and (status.get("currentNumberScheduled") or 0)
        == (status.get("updatedNumberScheduled") or 0)
    )


def _service(obj: Object) -> bool | None:
    spec = obj.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return None
    if spec.get("type") == "LoadBalancer":
        balancer = (obj.get("status") or {}).get("loadBalancer") or {}
        return any(i.get("ip") or i.get("hostname") for i in balancer.get("ingress") or ())
    return bool(spec.get("clusterIP"))


def _crd(obj: Object) -> bool:
    held = {
        condition.get("type")
        for condition in (obj.get("status") or {}).get("conditions") or ()
        if condition.get("status") == "True"
    }
    return {"Established", "NamesAccepted"} <= held


def _budget(obj: Object) -> bool:
    return _observed(obj)


_RULES: dict[str, Callable[[Object], bool | None]] = {
    "batch/Job": _job,
    "apps/Deployment": _deployment,
    "apps/StatefulSet": _stateful_set,
    "apps/DaemonSet": _daemon_set,
    "v1/Service": _service,
    "apiextensions.k8s.io/CustomResourceDefinition": _crd,
    "policy/PodDisruptionBudget": _budget,
}
# Kinds that hold data or rules: there as soon as they are stored.
_AT_ONCE = frozenset(
    {
        "Namespace",
        "Secret",
        "ConfigMap",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
        "ServiceAccount",
        "NetworkPolicy",
        "StorageClass",
        "CSIDriver",
        "CSINode",
        "CSIStorageCapacity",
        "ControllerRevision",
        "IngressClass",
        "LimitRange",
        "ResourceQuota",
        "PriorityClass",
        "ResourceFlavor",
        "WorkloadPriorityClass",
    }
)

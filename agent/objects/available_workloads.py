"""When what runs pods does its work: all the replicas it should have, of the present template. Pure."""

from typing import Any, Final

from agent.objects.facts import parse_time
from agent.objects.verdict import AVAILABLE, Object, Verdict, condition, no, observed

_SHORT: Final = "ReplicasNotAvailable"
_OLD: Final = "ReplicasNotUpdated"
# Conditions in which controllers say what keeps them: kind, and the status that means trouble.
_TROUBLES: Final = (("ReplicaFailure", "True"), ("Progressing", "False"))


def deployment(obj: Object) -> Verdict:
    """As many available and updated as asked for, and none beside them that is not available."""
    desired, status = _desired(obj), obj.get("status") or {}
    late = observed(obj)
    if late is not None:
        return late
    if _count(status, "updatedReplicas") != desired:
        return _of(obj, _OLD, _count(status, "updatedReplicas"), desired, "updated")
    if _count(status, "availableReplicas") != desired:
        return _of(obj, _SHORT, _count(status, "availableReplicas"), desired, "available")
    unavailable = _count(status, "unavailableReplicas")
    if unavailable:
        text = f"{_replicas(unavailable)} more than asked for and not available, not gone yet"
        return no(_OLD, text)
    return AVAILABLE


def replica_set(obj: Object) -> Verdict:
    """As many available as asked for."""
    desired, status = _desired(obj), obj.get("status") or {}
    late = observed(obj)
    if late is not None:
        return late
    if _count(status, "availableReplicas") != desired:
        return _of(obj, _SHORT, _count(status, "availableReplicas"), desired, "available")
    return AVAILABLE


def stateful_set(obj: Object) -> Verdict:
    """As many available as asked for, all of the revision that is to be."""
    desired, status = _desired(obj), obj.get("status") or {}
    late = observed(obj)
    if late is not None:
        return late
    if _count(status, "availableReplicas") != desired:
        return _of(obj, _SHORT, _count(status, "availableReplicas"), desired, "available")
    current, updated = _count(status, "currentReplicas"), _count(status, "updatedReplicas")
    if current != updated or status.get("currentRevision") != status.get("updateRevision"):
        return _of(obj, _OLD, updated, desired, "updated")
    return AVAILABLE


def daemon_set(obj: Object) -> Verdict:
    """Available and of the present template on each node that it is wanted on."""
    status = obj.get("status") or {}
    late = observed(obj)
    if late is not None:
        return late
    desired = _count(status, "desiredNumberScheduled")
    if _count(status, "numberAvailable") != desired:
        text = f"it is available on {_count(status, 'numberAvailable')} of {_nodes(desired)}"
        return no(_SHORT, text)
    scheduled = _count(status, "currentNumberScheduled")
    updated = _count(status, "updatedNumberScheduled")
    if scheduled != updated:
        return no(_OLD, f"it is updated on {updated} of {_nodes(scheduled)}")
    return AVAILABLE


def pod(obj: Object) -> Verdict:
    """Ready, or ended in success."""
    status = obj.get("status") or {}
    phase = status.get("phase")
    if phase == "Succeeded" or condition(obj, "Ready").get("status") == "True":
        return AVAILABLE
    if phase == "Failed":
        return no(str(status.get("reason") or "Failed"), str(status.get("message") or "it failed"))
    waiting = _waiting(status)
    if waiting:
        reason = str(waiting["reason"])
        return no(reason, str(waiting.get("message") or f"a container of it waits: {reason}"))
    for kind in ("PodScheduled", "Ready"):
        held = condition(obj, kind)
        if held.get("status") == "False" and held.get("message"):
            return no(str(held.get("reason") or "NotReady"), str(held["message"]))
    return no("NotReady", f"it is {phase or 'Pending'} and not ready")


def job(obj: Object) -> Verdict:
    """A pod of it is ready, or it has succeeded."""
    status = obj.get("status") or {}
    if condition(obj, "Complete").get("status") == "True":
        return AVAILABLE
    failed = condition(obj, "Failed")
    if failed.get("status") == "True":
        return no(str(failed.get("reason") or "Failed"), str(failed.get("message") or "it failed"))
    if (obj.get("spec") or {}).get("suspend"):
        return no("Suspended", "it is suspended")
    if _count(status, "ready") > 0:
        return AVAILABLE
    return no("NotReady", "no pod of it is ready")


def cron_job(obj: Object) -> Verdict:
    """Stored, and its last run that has ended was a success: runs that go on speak for nobody.

    Of a run its controller notes the scheduled time, and of a success the time it ended.
    """
    status = obj.get("status") or {}
    begun = parse_time(status.get("lastScheduleTime"))
    if begun is None or status.get("active"):
        return AVAILABLE
    done = parse_time(status.get("lastSuccessfulTime"))
    if done is not None and done >= begun:
        return AVAILABLE
    return no("LastRunFailed", f"its run of {status['lastScheduleTime']} has not succeeded")


def _desired(obj: Object) -> int:
    replicas = (obj.get("spec") or {}).get("replicas")
    return 1 if replicas is None else int(replicas)


def _count(status: Object, name: str) -> int:
    return int(status.get(name) or 0)


def _of(obj: Object, reason: str, count: int, desired: int, word: str) -> Verdict:
    """`2 of 3 replicas are available`, and what the controller says that keeps it."""
    verb = "is" if desired == 1 else "are"
    text = f"{count} of {_replicas(desired)} {verb} {word}"
    for kind, status in _TROUBLES:
        held = condition(obj, kind)
        if held.get("status") == status and held.get("message"):
            return no(str(held.get("reason") or reason), f"{text}: {held['message']}")
    return no(reason, text)


def _waiting(status: Object) -> dict[str, Any] | None:
    """The state of the first container that waits for more than its turn."""
    for group in ("initContainerStatuses", "containerStatuses"):
        for each in status.get(group) or ():
            waiting = (each.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") not in {None, "", "ContainerCreating", "PodInitializing"}:
                return dict(waiting)
    return None


def _replicas(count: int) -> str:
    return "1 replica" if count == 1 else f"{count} replicas"


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"

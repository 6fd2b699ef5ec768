"""Progress of a Deployment, and the next number of replicas for each of its ReplicaSets. Pure.

The arithmetic of surge and unavailability and the conditions are those of Kubernetes'
pkg/controller/deployment (rolling.go, recreate.go, sync.go).
"""

from collections.abc import Iterator
from typing import Any

from shared.kubesim.apimachinery.strategies import Object

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"


def is_ready(pod: Object) -> bool:
    """Whether the pod has Ready=True."""
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in (pod.get("status") or {}).get("conditions") or ()
    )


def removal_order(pod: Object) -> tuple[Any, ...]:
    """Sorts those first that are cheapest to lose: unbound, not running, not ready, then younger."""
    spec, status = pod["spec"], pod.get("status") or {}
    created = pod["metadata"]["creationTimestamp"]
    youth = tuple(-ord(character) for character in created)
    name = pod["metadata"]["name"]
    return (
        bool(spec.get("nodeName")),
        status.get("phase") == "Running",
        is_ready(pod),
        youth,
        name,
    )


def revision(replica_set: Object) -> int:
    """The Deployment's revision that a ReplicaSet stands for."""
    text = (replica_set["metadata"].get("annotations") or {}).get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def replica_set_status(replica_set: Object, active: list[Object], stopping: int) -> dict[str, Any]:
    """A ReplicaSet's status, given its pods that are neither ended nor going, and how many go."""
    ready = sum(is_ready(pod) for pod in active)
    status: dict[str, Any] = {"replicas": len(active)}
    if active:
        status["fullyLabeledReplicas"] = len(active)
    if ready:
        status["readyReplicas"] = status["availableReplicas"] = ready
    status["terminatingReplicas"] = stopping
    status["observedGeneration"] = replica_set["metadata"].get("generation", 1)
    return status


def scaled(
    deployment: Object, current: Object | None, owned: list[Object], *, old_pods_run: bool
) -> Iterator[tuple[Object, int]]:
    """(ReplicaSet, replicas) for those that must change now.

    `old_pods_run`: pods of former versions have not ended yet, be it that they are stopping.
    """
    wanted = _given(deployment["spec"].get("replicas"), 1)
    old = [one for one in owned if one is not current]
    if current is None or deployment["spec"].get("paused"):
        return
    have, total = _spec(current), sum(_spec(one) for one in owned)
    if _recreates(deployment):
        stale = [one for one in old if _spec(one)]
        yield from ((one, 0) for one in stale)
        if have != wanted and not stale and not old_pods_run:
            yield current, wanted
        return
    surge, unavailable = allowances(deployment, wanted)
    if have > wanted:
        yield current, wanted
    elif have < wanted:
        room = max(0, wanted + surge - total)
        if not old or not any(_spec(one) for one in old):
            room = wanted - have
        if room:
            yield current, min(wanted, have + room)
    yield from _shrunk(old, current, wanted - unavailable, total)


def _shrunk(
    old: list[Object], current: Object, must_stay: int, total: int
) -> Iterator[tuple[Object, int]]:
    """Take from old ReplicaSets, oldest first, what may go without too few being available."""
    new_unavailable = max(0, _spec(current) - _reported(current, "availableReplicas"))
    spare = total - must_stay - new_unavailable
    for one in sorted(old, key=revision):
        have = _spec(one)
        if spare <= 0 or not have:
            continue
        going = min(have, spare)
        spare -= going
        yield one, have - going


def deployment_status(
    deployment: Object, current: Object | None, owned: list[Object], stamp: str
) -> dict[str, Any]:
    """A Deployment's status, given its ReplicaSets; zeros of optional counts are left out."""
    wanted = _given(deployment["spec"].get("replicas"), 1)
    total = sum(_reported(one, "replicas") for one in owned)
    ready = sum(_reported(one, "readyReplicas") for one in owned)
    available = sum(_reported(one, "availableReplicas") for one in owned)
    updated = _reported(current, "replicas") if current else 0
    counts = {
        "replicas": total,
        "updatedReplicas": updated,
        "readyReplicas": ready,
        "availableReplicas": available,
        "unavailableReplicas": max(0, wanted - available, total - available),
    }
    status: dict[str, Any] = {name: count for name, count in counts.items() if count}
    status["terminatingReplicas"] = sum(_reported(one, "terminatingReplicas") for one in owned)
    status["observedGeneration"] = deployment["metadata"].get("generation", 1)
    before = {c["type"]: c for c in (deployment.get("status") or {}).get("conditions") or ()}
    _, unavailable = allowances(deployment, wanted)
    if _recreates(deployment):
        unavailable = 0
    rows = []
    if available >= wanted - unavailable:
        rows.append(
            (
                "Available",
                "True",
                "MinimumReplicasAvailable",
                "Deployment has minimum availability.",
            )
        )
    else:
        message = "Deployment does not have minimum availability."
        rows.append(("Available", "False", "MinimumReplicasUnavailable", message))
    name = current["metadata"]["name"] if current else deployment["metadata"]["name"]
    if updated == wanted and total == updated and available == wanted:
        message = f'ReplicaSet "{name}" has successfully progressed.'
        rows.append(("Progressing", "True", "NewReplicaSetAvailable", message))
    else:
        message = f'ReplicaSet "{name}" is progressing.'
        rows.append(("Progressing", "True", "ReplicaSetUpdated", message))
    status["conditions"] = [_condition(before.get(row[0]), row, stamp) for row in rows]
    return status


def _condition(
    before: dict[str, Any] | None, row: tuple[str, str, str, str], stamp: str
) -> dict[str, Any]:
    kind, value, reason, message = row
    if before and (before["status"], before["reason"], before["message"]) == row[1:]:
        return before
    since = before["lastTransitionTime"] if before and before["status"] == value else stamp
    return {
        "type": kind,
        "status": value,
        "reason": reason,
        "message": message,
        "lastUpdateTime": stamp,
        "lastTransitionTime": since,
    }


def allowances(deployment: Object, wanted: int) -> tuple[int, int]:
    """(maxSurge, maxUnavailable) as counts: surge rounds up, unavailable down, never both zero."""
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    surge = _count(rolling.get("maxSurge", "25%"), wanted, up=True)
    unavailable = _count(rolling.get("maxUnavailable", "25%"), wanted, up=False)
    return (surge, 1) if surge == unavailable == 0 else (surge, unavailable)


def _count(value: Any, wanted: int, *, up: bool) -> int:
    if isinstance(value, str) and value.endswith("%"):
        share = int(value[:-1]) * wanted
        return -(-share // 100) if up else share // 100
    return int(value)


def _recreates(deployment: Object) -> bool:
    return (deployment["spec"].get("strategy") or {}).get("type") == "Recreate"


def _spec(replica_set: Object) -> int:
    return _given(replica_set["spec"].get("replicas"), 1)


def _reported(replica_set: Object, name: str) -> int:
    return int((replica_set.get("status") or {}).get(name, 0))


def _given(value: Any, default: int) -> int:
    return default if value is None else int(value)

"""What the controllers of kinds that never end make of an object, and what they write of it. Pure.

LeaderWorkerSet v0.7: a StatefulSet of the leaders; for each leader pod a StatefulSet of its workers, owned
by that pod. KubeRay v1: a RayService makes one RayCluster. Kubernetes: a StatefulSet keeps pods by number.
Only those StatefulSets are run whose pods are of jobs.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from shared import labels
from shared.kubesim.operators.parts import (
    RAY_CLUSTERS,
    Object,
    OperatorChild,
    phase_of,
    pod_child,
)

STATEFUL_SETS: Final = "statefulsets.apps"
LEADER_WORKER_SETS: Final = "leaderworkersets.leaderworkerset.x-k8s.io"
LWS_NAME: Final = "leaderworkerset.sigs.k8s.io/name"
_GROUP: Final = "leaderworkerset.sigs.k8s.io/group-index"
_INDEX: Final = "leaderworkerset.sigs.k8s.io/worker-index"
_SIZE: Final = "leaderworkerset.sigs.k8s.io/size"
_ORDINAL: Final = "apps.kubernetes.io/pod-index"


def is_leader(pod: Object) -> bool:
    """Whether a pod leads a group: another controller makes its workers."""
    return (pod["metadata"].get("labels") or {}).get(_INDEX) == "0"


def is_ready(pod: Object) -> bool:
    return phase_of(pod) == "Running" and any(
        each.get("type") == "Ready" and each.get("status") == "True"
        for each in (pod.get("status") or {}).get("conditions") or ()
    )


# --- StatefulSets ------------------------------------------------------------------------------------


def _is_run(stateful: Object) -> bool:
    marks = (stateful["spec"]["template"].get("metadata") or {}).get("labels") or {}
    return labels.JOB_UID in marks


def pods_of_set(stateful: Object, _: Mapping[str, Object]) -> list[OperatorChild]:
    """All at once, as with podManagementPolicy Parallel."""
    if not _is_run(stateful):
        return []
    spec, name = stateful["spec"], stateful["metadata"]["name"]
    first = (spec.get("ordinals") or {}).get("start") or 0
    replicas = spec.get("replicas")
    numbers = range(first, first + (1 if replicas is None else replicas))
    return [pod_child(spec["template"], f"{name}-{n}", **_numbered(spec, n)) for n in numbers]


def _numbered(spec: Object, number: int) -> dict[str, str]:
    marks = (spec["template"].get("metadata") or {}).get("labels") or {}
    told = {_ORDINAL: str(number)}
    if _SIZE in marks:  # of a LeaderWorkerSet: leaders number groups, workers their places in one
        leads = _GROUP not in marks
        told |= {_GROUP: str(number), _INDEX: "0"} if leads else {_INDEX: str(number)}
    return told


def status_of_stateful_set(stateful: Object, there: Mapping[str, Object], _: str) -> Object:
    if not _is_run(stateful):
        return stateful.get("status") or {}
    return {
        "observedGeneration": stateful["metadata"].get("generation") or 1,
        "replicas": len(there),
        "readyReplicas": sum(map(is_ready, there.values())),
    }


# --- LeaderWorkerSets --------------------------------------------------------------------------------


def leaders(lws: Object, _: Mapping[str, Object]) -> list[OperatorChild]:
    """The StatefulSet of its leaders; the template of the workers goes along with each leader."""
    group, spec = lws["spec"]["leaderWorkerTemplate"], lws["spec"]
    worker = group["workerTemplate"]
    template = group.get("leaderTemplate") or worker
    replicas = spec.get("replicas")
    replicas = 1 if replicas is None else replicas
    name = lws["metadata"]["name"]
    return [_stateful_set(name, replicas, template, {_SIZE: str(group.get("size") or 1)}, name)]


def workers(lws: Object, leader: Object) -> list[OperatorChild]:
    """The StatefulSet of one group's workers, numbered from 1."""
    group = lws["spec"]["leaderWorkerTemplate"]
    size = group.get("size") or 1
    number = (leader["metadata"].get("labels") or {})[_GROUP]
    marks = {_SIZE: str(size), _GROUP: number}
    name = leader["metadata"]["name"]
    lws_name = lws["metadata"]["name"]
    made = _stateful_set(name, size - 1, group["workerTemplate"], marks, lws_name, first=1)
    return [made] if size > 1 else []


def status_of_lws(lws: Object, below: Mapping[str, Object], at: str) -> Object:
    """Groups of which all pods are ready; `below`: all that it has, its pods among them."""
    wanted = lws["spec"].get("replicas")
    wanted = 1 if wanted is None else wanted
    size = lws["spec"]["leaderWorkerTemplate"].get("size") or 1
    pods = [each for each in below.values() if each["kind"] == "Pod"]
    ready = Counter(each["metadata"]["labels"].get(_GROUP) for each in pods if is_ready(each))
    groups = sum(count == size for count in ready.values())
    done = "True" if groups >= wanted else "False"
    before = (lws.get("status") or {}).get("conditions") or [{}]
    since = before[0].get("lastTransitionTime", at) if before[0].get("status") == done else at
    available = {
        "type": "Available",
        "status": done,
        "reason": "AllGroupsReady" if done == "True" else "GroupsNotReady",
        "lastTransitionTime": since,
    }
    return {
        "replicas": len({each["metadata"]["labels"].get(_GROUP) for each in pods}),
        "readyReplicas": groups,
        "conditions": [available],
    }


def _stateful_set(
    name: str, replicas: int, template: Object, marks: dict[str, str], lws: str, first: int = 0
) -> OperatorChild:
    given = template.get("metadata") or {}
    metadata = {**given, "labels": {**(given.get("labels") or {}), **marks}}
    selector = {"matchLabels": {LWS_NAME: lws, **marks}}
    metadata["labels"] |= selector["matchLabels"]
    spec: Object = {
        "replicas": replicas,
        "serviceName": name,
        "podManagementPolicy": "Parallel",
        "selector": selector,
        "template": {**template, "metadata": metadata},
        "ordinals": {"start": first},
    }
    manifest = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}}
    return OperatorChild(STATEFUL_SETS, {**manifest, "spec": spec})


# --- RayServices -------------------------------------------------------------------------------------


def is_held_ray_service(service: Object) -> bool:
    return bool((service["spec"].get("rayClusterConfig") or {}).get("suspend"))


def cluster_of_ray_service(service: Object, _: Mapping[str, Object]) -> list[OperatorChild]:
    """KubeRay copies the labels of a RayService to its cluster."""
    marks = dict(service["metadata"].get("labels") or {})
    metadata = {"name": f"{service['metadata']['name']}-cluster", "labels": marks}
    manifest = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata}
    spec = service["spec"].get("rayClusterConfig") or {}
    return [OperatorChild(RAY_CLUSTERS, {**manifest, "spec": spec})]


def status_of_ray_service(service: Object, there: Mapping[str, Object], at: str) -> Object:
    serves = any((each.get("status") or {}).get("state") == "ready" for each in there.values())
    done = "True" if serves else "False"
    before = ((service.get("status") or {}).get("conditions") or [{}])[0]
    since = before.get("lastTransitionTime", at) if before.get("status") == done else at
    reason = "NonZeroServeEndpoints" if serves else "ZeroServeEndpoints"
    told = {"type": "Ready", "status": done, "reason": reason, "lastTransitionTime": since}
    return {"conditions": [told], "numServeEndpoints": int(serves)}

"""What a schedule submits: queues, priorities and Jobs as manifests. Pure."""

import json
from typing import Any

from shared import labels
from shared.kinds.placement_v1 import GROUP as PLACEMENT

Json = dict[str, Any]
NAMESPACE = "team-a"
TIGHT = "tight"
STEERED = "steered"  # a queue that placements select at times
KUEUE = "kueue.x-k8s.io/v1beta2"
MAPS = ("c0", "c1", "c2")  # ConfigMaps of the hub; the first member has a `c0` of its own
KEPT = "k0"


def pools() -> list[Json]:
    """A member's nodes: room for most of a schedule's jobs at once."""
    allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return [{"name": "main", "count": 4, "labels": {}, "allocatable": allocatable}]


def queues(quota: int) -> bytes:
    """The namespace, its queues, and two priorities. `quota`: cores of the queue `tight`."""
    documents: list[Json] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}},
        cluster_queue(TIGHT, quota),
        cluster_queue(STEERED, 8),
        local_queue(TIGHT),
        local_queue(STEERED),
    ]
    for name, value in (("low", 10), ("high", 1000)):
        kind = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass"}
        documents.append({**kind, "metadata": {"name": name}, "value": value})
    return json.dumps(documents).encode()


def cluster_queue(name: str, quota: int, stop: str = "None") -> Json:
    """A ClusterQueue with a quota of cores in which higher priorities preempt."""
    flavor = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": quota}]}
    spec = {
        "namespaceSelector": {},
        "stopPolicy": stop,
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}],
    }
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}


def local_queue(name: str) -> Json:
    """The LocalQueue of a ClusterQueue of its name."""
    metadata = {"name": name, "namespace": NAMESPACE}
    spec = {"clusterQueue": name}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": spec}


def config_map(name: str, of: str = "hub") -> Json:
    """A ConfigMap that says whose it is."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"of": of}}


def placement(
    name: str, selects: list[str], picks: str, *, per_object: bool, take_over: str
) -> Json:
    """A placement as a scene draws it: `selects` says of which scope, then what."""
    scope, what, more = selects
    if scope == "cluster":
        space = {"version": "v1", "kind": "Namespace", "name": NAMESPACE, "selectionScope": what}
        chosen = [{"group": "", **space}]
        if more:
            group, _, version = KUEUE.partition("/")
            queue = {"version": version, "kind": "ClusterQueue", "name": more}
            chosen.append({"group": group, **queue})
    else:
        maps = [{"group": "", "version": "v1", "kind": "ConfigMap", "name": m} for m in MAPS]
        jobs = [
            {"group": "batch", "version": "v1", "kind": "Job", "name": f"{more}-{number:02d}"}
            for number in range(3)
        ]
        chosen = [*(maps if what != "jobs" else ()), *(jobs if what != "maps" else ())]
    policies: dict[str, Json] = {
        "all": {"placementType": "PickAll"},
        "one": {"placementType": "PickN", "numberOfClusters": 1},
    }
    fixed = {"placementType": "PickFixed", "clusterNames": [picks]}
    metadata: Json = {"name": name}
    if scope != "cluster":
        metadata["namespace"] = NAMESPACE
    if per_object:
        metadata["annotations"] = {labels.PER_OBJECT: "true"}
    spec = {
        "resourceSelectors": chosen,
        "policy": policies.get(picks, fixed),
        "strategy": {
            "applyStrategy": {"whenToTakeOver": take_over},
            "rollingUpdate": {"maxUnavailable": "100%", "unavailablePeriodSeconds": 1},
        },
    }
    kind = "ClusterResourcePlacement" if scope == "cluster" else "ResourcePlacement"
    return {"apiVersion": f"{PLACEMENT}/v1", "kind": kind, "metadata": metadata, "spec": spec}


def kept() -> Json:
    """The placement that stays to the end, of ConfigMap `kept`."""
    selects = ["own", "maps", ""]
    manifest = placement("kept", selects, "all", per_object=False, take_over="IfNoDiff")
    manifest["spec"]["resourceSelectors"] = [
        {"group": "", "version": "v1", "kind": "ConfigMap", "name": KEPT}
    ]
    return manifest


def job(given: Json) -> Json:
    """The Job that a schedule's entry describes: `indexes` pods of one core that run `run_s`."""
    marks = {}
    if given.get("tight") or given.get("queue"):
        marks[labels.QUEUE_NAME] = given.get("queue") or TIGHT
    if given.get("most_s"):
        marks[labels.MAX_EXEC_TIME] = str(given["most_s"])
    if given.get("priority"):
        marks[labels.PRIORITY_CLASS] = given["priority"]
    pods = given["indexes"]
    size: Json = {"parallelism": pods, "completions": pods, "completionMode": "Indexed"}
    if given.get("grows"):
        size = {"parallelism": 1, "completions": 3}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": given["name"], "namespace": NAMESPACE, "labels": marks},
        "spec": {
            **size,
            "backoffLimit": 0,
            "template": {
                "metadata": {"annotations": {labels.SIM_RUN_SECONDS: str(given["run_s"])}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {
                            "name": "main",
                            "image": "example.com/task:1",
                            "resources": {"requests": {"cpu": "1"}},
                        }
                    ],
                },
            },
        },
    }


def stranger(name: str) -> Json:
    """Somebody else's suspended Job of that name."""
    manifest = job({"name": name, "run_s": 1, "indexes": 1})
    manifest["spec"]["suspend"] = True
    return manifest

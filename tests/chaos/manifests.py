"""What a schedule submits: queues, priorities and Jobs as manifests. Pure."""

import json
from typing import Any

from shared import labels

Json = dict[str, Any]
NAMESPACE = "team-a"
TIGHT = "tight"


def pools() -> list[Json]:
    """A member's nodes: room for most of a schedule's jobs at once."""
    allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return [{"name": "main", "count": 4, "labels": {}, "allocatable": allocatable}]


def queues(quota: int) -> bytes:
    """A ClusterQueue `tight` of so many cores in which higher priorities preempt."""
    kueue = "kueue.x-k8s.io/v1beta2"
    resource = {"name": "cpu", "nominalQuota": quota}
    documents: list[Json] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": kueue, "kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}},
        {
            "apiVersion": kueue,
            "kind": "ClusterQueue",
            "metadata": {"name": TIGHT},
            "spec": {
                "namespaceSelector": {},
                "preemption": {"withinClusterQueue": "LowerPriority"},
                "resourceGroups": [
                    {
                        "coveredResources": ["cpu"],
                        "flavors": [{"name": "any", "resources": [resource]}],
                    }
                ],
            },
        },
        {
            "apiVersion": kueue,
            "kind": "LocalQueue",
            "metadata": {"name": TIGHT, "namespace": NAMESPACE},
            "spec": {"clusterQueue": TIGHT},
        },
    ]
    for name, value in (("low", 10), ("high", 1000)):
        metadata = {"name": name}
        documents.append(
            {
                "apiVersion": kueue,
                "kind": "WorkloadPriorityClass",
                "metadata": metadata,
                "value": value,
            }
        )
    return json.dumps(documents).encode()


def job(given: Json) -> Json:
    """The Job that a schedule's entry describes: `indexes` pods of one core that run `run_s`."""
    marks = {}
    if given.get("tight"):
        marks[labels.QUEUE_NAME] = TIGHT
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

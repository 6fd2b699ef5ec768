"""Queues in cohorts, Jobs and preemption policies of cpu on a live hub, and the steps that stories share."""

from typing import Any

from hub.services.explain import study
from hub.store.tables import clusters
from hub.store.transaction import Transaction
from tests.services.hubs import KUEUE, Running, a_job

WITHIN = {"withinClusterQueue": "LowerPriority"}
RECLAIM = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}


def in_cohort(
    name: str, nominal: str, cohort: str = "all", flavor: str = "any", **given: Any
) -> list[dict[str, Any]]:
    """Queue and door of one name with cpu of one flavor; `borrow`, `lend`, `preemption`, `strict`."""
    limits = {"borrowingLimit": given.get("borrow"), "lendingLimit": given.get("lend")}
    resource = {"name": "cpu", "nominalQuota": nominal} | {k: v for k, v in limits.items() if v}
    spec: dict[str, Any] = {
        "namespaceSelector": {},
        "resourceGroups": [
            {
                "coveredResources": ["cpu"],
                "flavors": [{"name": flavor, "resources": [resource]}],
            }
        ],
    }
    if cohort:
        spec["cohortName"] = cohort
    if given.get("preemption"):
        spec["preemption"] = given["preemption"]
    if given.get("strict"):
        spec["queueingStrategy"] = "StrictFIFO"
    return [
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": flavor}},
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec},
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": "team-a"},
            "spec": {"clusterQueue": name},
        },
    ]


def a_cohort(name: str, cpu: str = "", parent: str = "") -> dict[str, Any]:
    """A Cohort with quota of its own."""
    spec: dict[str, Any] = {"parentName": parent} if parent else {}
    if cpu:
        flavor = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
        spec["resourceGroups"] = [{"coveredResources": ["cpu"], "flavors": [flavor]}]
    return {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}


async def submit(hub: Running, queue: str, cpu: str, *names: str) -> list[str]:
    """Jobs of one pod, a moment apart."""
    uids = []
    for name in names:
        uids += await hub.apply(a_job(name, queue=queue, requests={"cpu": cpu}))
        hub.clock.advance(1)
    return uids


async def states(hub: Running, uids: list[str]) -> list[str]:
    return [(await hub.job(uid)).state for uid in uids]


def a_class(name: str, value: int) -> dict[str, Any]:
    return {
        "apiVersion": KUEUE,
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


async def urgent(hub: Running, name: str, queue: str, cpu: str, **given: Any) -> str:
    """A Job of priority class `high` (100)."""
    await hub.apply(a_class("high", 100))
    label = {"kueue.x-k8s.io/priority-class": "high"}
    job = a_job(name, queue=queue, requests={"cpu": cpu}, labels=label, **given)
    (uid,) = await hub.apply(job)
    hub.clock.advance(1)
    return uid


async def start(hub: Running, *uids: str) -> None:
    """As agents would report: offered, applied, running."""
    for uid in uids:
        for move in ("offer", "apply", "start"):
            await hub.transition(move, uid)
    await hub.settle()


def a_workload(name: str, queue: str = "a", **given: Any) -> dict[str, Any]:
    """A Workload of one pod of 1 cpu; `cpu`, `count`, `min_count`, and any field of its spec."""
    requests = {"cpu": str(given.pop("cpu", 1))}
    pod_set: dict[str, Any] = {
        "name": given.pop("pod_set", "main"),
        "count": given.pop("count", 1),
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "c", "image": "x", "resources": {"requests": requests}}],
            }
        },
    }
    if "min_count" in given:
        pod_set["minCount"] = given.pop("min_count")
    return {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": given.pop("namespace", "team-a")},
        "spec": {"queueName": queue, "podSets": [pod_set], **given},
    }


def heard(tx: Transaction) -> None:
    """Agents report that they are there."""
    tx.conn.execute(clusters.update().values(heartbeat_at=tx.now))


async def told(hub: Running, uid: str) -> dict[str, Any]:
    """Explanation of one job as REST gives it."""
    return await study.explain(hub.hub, uid, lambda: hub.scheduler.index)

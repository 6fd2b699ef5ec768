"""Stories of preemptors that get the room which their victims left, for simulated and for real members.

`pods` reads a member's pods from its own API server: the member's scheduler has the last word.
"""

from collections.abc import Callable, Mapping
from typing import Any

from roadstead import Client
from tests.e2e.running import a_job, until

GROUP = "kueue.x-k8s.io/v1beta2"
Pods = Callable[[str], list[dict[str, Any]]]  # of one member
MEMBERS: Mapping[str, tuple[int, str]] = {"gpu-1": (3, "24"), "m1": (2, "8"), "m2": (2, "8")}
SETTINGS: Mapping[str, str] = {
    "ROADSTEAD_QUEUEING_PREEMPT_FOR_CAPACITY": "On",
    "ROADSTEAD_QUEUEING_MAX_PREEMPTED_WORKLOADS": "2",
}


def queues() -> list[dict[str, Any]]:
    """Namespace `pre` with 60 cpu for findings B6, and namespace `room` with quota for far more."""
    listed: list[dict[str, Any]] = [
        {"apiVersion": GROUP, "kind": "ResourceFlavor", "metadata": {"name": "std"}},
        {
            "apiVersion": GROUP,
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": "deadline"},
            "value": 1000,
        },
    ]
    for name, cpu in (("pre", 60), ("room", 1000)):
        resources = [
            {"name": "cpu", "nominalQuota": cpu},
            {"name": "memory", "nominalQuota": "160Gi"},
        ]
        group = {
            "coveredResources": ["cpu", "memory"],
            "flavors": [{"name": "std", "resources": resources}],
        }
        spec = {
            "namespaceSelector": {},
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "resourceGroups": [group],
        }
        door = {"name": "default", "namespace": name}
        listed += [
            {
                "apiVersion": GROUP,
                "kind": "ClusterQueue",
                "metadata": {"name": name},
                "spec": spec,
            },
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
            {
                "apiVersion": GROUP,
                "kind": "LocalQueue",
                "metadata": door,
                "spec": {"clusterQueue": name},
            },
        ]
    return listed


def one_victim_is_enough(hub: Client, pods: Pods) -> None:
    """Finding B6: one of four jobs goes, and the urgent one runs on the node that it left."""
    low = []
    for number in range(4):
        low.append(_submit(hub, f"low-{number}", "pre", "12", "gpu-1"))
        until(lambda: _is_running(hub, low[-1]), 30, f"{low[-1]} runs")
    node_of = _nodes(pods("gpu-1"))
    urgent = _submit(hub, "urgent", "pre", "16", "gpu-1", "deadline")
    until(lambda: _is_running(hub, urgent), 60, "the urgent job runs")
    still = [uid for uid in low if _is_running(hub, uid)]
    assert len(still) == 3, [hub.job(uid).state for uid in low]
    (gone,) = set(low) - set(still)
    assert _nodes(pods("gpu-1"))[urgent] == node_of[gone]
    _prefers(pods("gpu-1"), urgent, node_of[gone])
    assert list(hub.drift()) == []  # what the hub adds to a Job has not drifted
    for uid in (*low, urgent):
        hub.cancel(uid)


def two_victims_on_one_node(hub: Client, pods: Pods) -> None:
    """Finding K11: eight jobs of 4 cpu fill four nodes; for 8 cpu two go that stand on one node."""
    low = [_submit(hub, f"low-{number}", "room", "4", "m1,m2") for number in range(8)]
    until(lambda: all(_is_running(hub, uid) for uid in low), 60, "the members are full")
    node_of = {m: _nodes(pods(m)) for m in ("m1", "m2")}
    urgent = _submit(hub, "urgent", "room", "8", "m1,m2", "deadline")
    until(lambda: _is_running(hub, urgent), 60, "the urgent job runs")
    gone = [uid for uid in low if not _is_running(hub, uid)]
    member = hub.job(urgent).cluster
    assert len(gone) == 2, [hub.job(uid).state for uid in low]
    assert {node_of[member].get(uid) for uid in gone} == {_nodes(pods(member))[urgent]}
    for uid in (*low, urgent):
        hub.cancel(uid)


def _submit(
    hub: Client, name: str, namespace: str, cpu: str, clusters: str, priority: str = ""
) -> str:
    job = a_job(name, namespace=namespace, run_s=900, cpu=cpu, memory="1Gi")
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "default"}
    if priority:
        job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = priority
    job["metadata"]["annotations"] = {"roadstead.dev/clusters": clusters}
    return hub.submit(job).uid


def _is_running(hub: Client, uid: str) -> bool:
    return hub.job(uid).state == "Running"


def _nodes(pods: list[dict[str, Any]]) -> dict[str, str]:
    """Node by uid of the job, of pods that are there to stay."""
    return {
        pod["metadata"]["labels"]["roadstead.dev/job-uid"]: pod["spec"].get("nodeName", "")
        for pod in pods
        if "deletionTimestamp" not in pod["metadata"]
        and "roadstead.dev/job-uid" in (pod["metadata"].get("labels") or {})
    }


def _prefers(pods: list[dict[str, Any]], uid: str, node: str) -> None:
    """The pod carries the preference for the node on which room was kept, and no requirement."""
    (pod,) = [p for p in pods if p["metadata"]["labels"].get("roadstead.dev/job-uid") == uid]
    (term,) = pod["spec"]["affinity"]["nodeAffinity"].pop(
        "preferredDuringSchedulingIgnoredDuringExecution"
    )
    (name,) = term["preference"]["matchExpressions"]
    assert name == {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    assert not pod["spec"]["affinity"]["nodeAffinity"]

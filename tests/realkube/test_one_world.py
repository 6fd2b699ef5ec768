"""What came by REST on a real hub cluster: shown there, kept by the hub alone, and never run there.

Its nodes would run what its Job controller starts. What is typed is what people type; rights and policies
are those of `deploy/hub-cluster` as they stand.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from roadstead import Client
from tests.e2e.running import until
from tests.realkube import build
from tests.realkube.plane import Fleet, Plane, equal_members
from tests.realkube.processes import (
    hub_and_agents,
    kubeconfig_by_script,
    member,
    prepare,
    protect,
    token_of_hub,
)

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(400)]
MEMBERS = [member("north", 2, "8", "32Gi")]
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: main}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu]
      flavors: [{name: plain, resources: [{name: cpu, nominalQuota: 8}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: lab}
spec: {clusterQueue: main}
"""
KEPT = "only the hub changes it"
MARK = "roadstead.dev/origin=rest"


def a_job(name: str, run_s: int) -> dict[str, Any]:
    """A Job in the queue of namespace lab."""
    resources = {"requests": {"cpu": "1000m"}}
    container = {"name": "main", "image": "example.test/job", "resources": resources}
    notes = {"sim.roadstead.dev/run-seconds": str(run_s)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "lab",
            "labels": {"kueue.x-k8s.io/queue-name": "team"},
        },
        "spec": {
            "ttlSecondsAfterFinished": 3600,
            "template": {
                "metadata": {"annotations": notes},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }


class Kubectl:
    """What the administrator of the hub cluster types."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane

    def get(self, plural: str, name: str = "", namespace: str = "") -> dict[str, Any]:
        """An object of the queues, or a list; {} where there is none."""
        return self.plane.find(f"{plural}.v1beta2.kueue.x-k8s.io", name, namespace)

    def job(self, name: str) -> dict[str, Any]:
        return self.plane.find("jobs.v1.batch", name, "lab")

    def has(self, name: str, condition: str) -> bool:
        conditions = self.job(name).get("status", {}).get("conditions", [])
        return any(c["type"] == condition and c["status"] == "True" for c in conditions)

    def workload_of(self, name: str) -> dict[str, Any]:
        """The Workload that a Job owns."""
        uid = self.job(name)["metadata"]["uid"]
        for each in self.get("workloads", namespace="lab").get("items", []):
            if any(o["uid"] == uid for o in each["metadata"].get("ownerReferences", [])):
                found: dict[str, Any] = each
                return found
        return {}


def test_one_world(real_fleet: Any, tmp_path: Path) -> None:
    """REST's queues and Jobs are seen with kubectl, refused to everybody there, and end where REST says."""
    planes: Fleet = real_fleet(MEMBERS)
    planes.hub.add_pools(equal_members(1)[0]["pools"])
    protect(planes.hub)
    prepare(planes)
    until(lambda: token_of_hub(planes.hub), 30, "its token is made")
    own = kubeconfig_by_script(planes.hub, tmp_path / "hub.kubeconfig")
    env = {"ROADSTEAD_BRIDGE_JOBS": "On"}
    with hub_and_agents(planes, tmp_path, env, hub_kubeconfig=own) as hub:
        there = Kubectl(planes.hub)
        hub.apply(QUEUES)
        _queues_are_shown(there)
        assert until(lambda: hub.hub_cluster().mirrors, 30, "it has asked") == "Guarded"
        _a_job_is_shown_to_its_end(hub, there)
        _nobody_else_writes(hub, there)
        _kubectl_holds_and_rest_releases(hub, there)
        _a_namespace_that_goes_takes_nothing_of_rest(hub, there)
        assert planes.hub.kubectl("get", "pods", "-n", "lab", "--no-headers") == ""


def _queues_are_shown(there: Kubectl) -> None:
    until(lambda: there.get("localqueues", "team", "lab"), 60, "its mirror is there")
    shown = there.plane.kubectl("get", "clusterqueues", "-l", MARK)
    assert "main" in shown
    until(
        lambda: "pendingWorkloads" in there.get("clusterqueues", "main").get("status", {}),
        30,
        "its figures are there",
    )
    shown = "memberclusters.v1.cluster.kubernetes-fleet.io"
    until(lambda: there.plane.find(shown, "north"), 30, "members are shown, too")


def _a_job_is_shown_to_its_end(hub: Client, there: Kubectl) -> None:
    hub.submit(a_job("short", 1))
    job = until(lambda: there.job("short"), 30, "its mirror is there")
    assert job["spec"]["suspend"] is True
    assert ("managedBy" in job["spec"]) is (build.version() >= (1, 32))
    assert job["metadata"]["annotations"]["roadstead.dev/submitted-by"] == "admin"
    assert "ttlSecondsAfterFinished" not in job["spec"]
    until(lambda: there.has("short", "Complete"), 60, "its end is shown")
    until(
        lambda: there.workload_of("short")["status"].get("clusterName") == "north",
        30,
        "its Workload says where it ran",
    )


def _nobody_else_writes(hub: Client, there: Kubectl) -> None:
    hub.submit(a_job("long", 600))
    until(lambda: there.workload_of("long") if there.job("long") else {}, 30, "it is shown")
    job = ("-n", "lab", "job", "long")
    change = '{"spec":{"suspend":false}}'
    assert KEPT in there.plane.refusal("-n", "lab", "patch", "job", "long", "-p", change)
    assert KEPT in there.plane.refusal(
        "-n", "lab", "label", "job", "long", "roadstead.dev/origin-"
    )
    assert KEPT in there.plane.refusal("delete", *job)
    assert KEPT in there.plane.refusal("delete", "clusterqueue", "main")
    changed = QUEUES.replace("nominalQuota: 8", "nominalQuota: 80")
    assert KEPT in there.plane.refusal(
        "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=changed
    )
    forged = a_job("forged", 1)
    forged["metadata"]["labels"]["roadstead.dev/origin"] = "rest"
    forged["spec"]["suspend"] = True
    assert "leave it out" in there.plane.refusal("create", "-f", "-", stdin=json.dumps(forged))


def _kubectl_holds_and_rest_releases(hub: Client, there: Kubectl) -> None:
    name = there.workload_of("long")["metadata"]["name"]
    change = ("--type=merge", "-p", '{"spec":{"active":false}}')
    there.plane.kubectl("-n", "lab", "patch", "workload", name, *change)
    until(lambda: hub.job("lab/long").state == "Held", 60, "it is held")
    until(lambda: there.has("long", "Suspended"), 30, "which is shown")
    hub.release("lab/long")
    until(lambda: hub.job("lab/long").state == "Running", 60, "it runs again")
    until(lambda: there.workload_of("long")["spec"]["active"], 30, "which is shown")


def _a_namespace_that_goes_takes_nothing_of_rest(hub: Client, there: Kubectl) -> None:
    before = there.job("long")["metadata"]["uid"]
    epoch = hub.job("lab/long").epoch
    there.plane.kubectl("delete", "namespace", "lab", "--timeout=50s")
    again = until(
        lambda: there.job("long").get("metadata", {}).get("uid", before) != before,
        90,
        "it is shown again",
    )
    assert again
    assert (hub.job("lab/long").state, hub.job("lab/long").epoch) == ("Running", epoch)
    hub.delete_job("lab/long")
    until(lambda: there.job("long") == {}, 60, "it went where REST deleted it")

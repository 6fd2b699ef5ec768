"""A controller of an admission check that knows only kubectl, on the hub cluster of an embedded fleet."""

import json

import pytest
import yaml

from tests.e2e.running import running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(180)]
MEMBERS = [
    {"name": "one", "pools": [{"name": "n", "allocatable": {"cpu": "8", "memory": "16Gi"}}]}
]
KUEUE = "kueue.x-k8s.io/v1beta2"
QUOTA = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": 4}]}
OBJECTS = [
    {
        "apiVersion": KUEUE,
        "kind": "AdmissionCheck",
        "metadata": {"name": "approval"},
        "spec": {"controllerName": "example.com/approval"},
    },
    {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "any"}},
    {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": "gold"},
        "spec": {
            "namespaceSelector": {},
            "admissionChecksStrategy": {"admissionChecks": [{"name": "approval"}]},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [QUOTA]}],
        },
    },
    {
        "apiVersion": KUEUE,
        "kind": "LocalQueue",
        "metadata": {"name": "gold", "namespace": "default"},
        "spec": {"clusterQueue": "gold"},
    },
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "asked",
            "namespace": "default",
            "labels": {"kueue.x-k8s.io/queue-name": "gold"},
        },
        "spec": {
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {
                            "name": "main",
                            "image": "busybox:1.37",
                            "resources": {"requests": {"cpu": "1"}},
                        }
                    ],
                }
            }
        },
    },
]


def test_a_check_is_served_and_answered_by_kubectl(tmp_path):
    """Active on the AdmissionCheck opens the queue; Ready on the Workload starts the Job, with its label."""
    with running_fleet(tmp_path, MEMBERS, packed=True) as fleet, fleet.client() as hub:
        done = fleet.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(OBJECTS))
        assert done.returncode == 0, done.stderr
        until(lambda: _says(hub, "AdmissionCheckInactive"), 30, "the queue waits for its check")
        condition = {"type": "Active", "status": "True", "reason": "Serving", "message": "here"}
        _patch_status(
            fleet,
            "admissioncheck",
            "approval",
            {"conditions": [condition | {"lastTransitionTime": NOW}]},
        )
        workload = until(lambda: _reserved(fleet), 30, "the Workload holds a reservation")
        (check,) = workload["status"]["admissionChecks"]
        assert (check["name"], check["state"]) == ("approval", "Pending")
        update = {"name": "main", "labels": {"approved-by": "kubectl"}}
        answered = check | {"state": "Ready", "message": "fine", "podSetUpdates": [update]}
        _patch_status(
            fleet, "workload", workload["metadata"]["name"], {"admissionChecks": [answered]}
        )
        job = until(lambda: _started(hub), 30, "the job was placed")
        assert job.cluster == "one"
        copy = until(lambda: _in_member(fleet), 30, "the Job is in the member")
        assert copy["spec"]["template"]["metadata"]["labels"]["approved-by"] == "kubectl"


NOW = "2026-03-01T12:00:00Z"


def _patch_status(fleet, kind, name, status):
    patch = json.dumps({"status": status})
    done = fleet.kubectl(
        "patch", kind, name, "-n", "default", "--subresource=status", "--type=merge", "-p", patch
    )
    assert done.returncode == 0, done.stderr


def _says(hub, text):
    return any(text in hub.explain(job.uid).message for job in hub.jobs())


def _reserved(fleet):
    for each in fleet.find("workloads.v1beta2.kueue.x-k8s.io", namespace="default")["items"]:
        conditions = {c["type"]: c["status"] for c in each.get("status", {}).get("conditions", [])}
        if conditions.get("QuotaReserved") == "True" and each["status"].get("admissionChecks"):
            return each
    return None


def _started(hub):
    (job,) = hub.jobs()
    return job if job.state in {"Placed", "Offered", "Applied", "Running", "Succeeded"} else None


def _in_member(fleet):
    return fleet.find("jobs.v1.batch", "asked", "default", cluster="one")

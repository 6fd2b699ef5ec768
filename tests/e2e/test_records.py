"""Records of a placement, a rollback of it, and Jobs placed one by one, through kubectl and the command line.

hub cluster: ConfigMap ──placement──► m1 … m3, green and back to blue; Jobs ──placement──► one cluster each
"""

import json
from collections import Counter
from typing import Any

import pytest
import yaml

from tests.e2e.running import RunningFleet, a_job, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(240)]
MEMBERS = ("m1", "m2", "m3")
CONFIG = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: blue}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
"""
QUEUES = """
apiVersion: v1
kind: Namespace
metadata: {name: train}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: train}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: plain
      resources: [{name: cpu, nominalQuota: 100}, {name: memory, nominalQuota: 1Ti}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: train, namespace: train}
spec: {clusterQueue: train}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: queue}
spec:
  resourceSelectors: [{group: kueue.x-k8s.io, version: v1beta2, kind: ClusterQueue, name: train}]
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata:
  name: each
  namespace: train
  annotations: {roadstead.dev/per-object: "true"}
spec:
  resourceSelectors: [{group: batch, version: v1, kind: Job, labelSelector: {matchLabels: {app: train}}}]
"""


def applied(fleet: RunningFleet, text: str) -> None:
    done = fleet.kubectl("apply", "-f", "-", stdin=text)
    assert done.returncode == 0, done.stderr


def listed(fleet: RunningFleet, plural: str) -> list[Any]:
    return list(fleet.find(f"{plural}.v1.placement.kubernetes-fleet.io").get("items") or ())


def colors(fleet: RunningFleet) -> list[str]:
    found = []
    for member in MEMBERS:
        settings = fleet.find("configmaps.v1", "settings", "shop", cluster=member)
        found.append(settings["data"]["color"] if settings else "-")
    return found


def available(fleet: RunningFleet) -> int:
    """Bindings that say that all is available."""
    found = 0
    for each in listed(fleet, "clusterresourcebindings"):
        conditions = (each.get("status") or {}).get("conditions") or ()
        found += any(c["type"] == "Available" and c["status"] == "True" for c in conditions)
    return found


def test_a_rollback_and_what_kubectl_shows_of_it(tmp_path):
    """Bindings, snapshots and works are there; the older revision comes back, and says so until released."""
    with running_fleet(tmp_path, equal_members(3), packed=True) as fleet, fleet.client() as hub:
        applied(fleet, CONFIG)
        until(lambda: colors(fleet) == ["blue"] * 3, 60, "blue is everywhere")
        until(lambda: available(fleet) == 3, 60, "and its bindings say so")
        assert len(listed(fleet, "works")) == 3
        applied(fleet, CONFIG.replace("blue", "green"))
        until(lambda: colors(fleet) == ["green"] * 3, 60, "green is everywhere")
        older = hub.revisions("shop")[1]
        hub.roll_back("shop", older.index)
        until(lambda: colors(fleet) == ["blue"] * 3, 60, "blue is back")
        placement = json.loads(fleet.kubectl("get", "crp", "shop", "-o", "json").stdout)
        assert placement["status"]["rollback"]["resourceSnapshotIndex"] == str(older.index)
        until(lambda: len(listed(fleet, "clusterresourcesnapshots")) > 1, 60, "both are shown")
        done = fleet.kubectl("delete", "clusterresourcebindings", "--all")
        assert done.returncode != 0
        hub.release_rollback("shop")
        until(lambda: colors(fleet) == ["green"] * 3, 60, "green again")


def test_one_placement_places_many_jobs_each_by_itself(tmp_path):
    """Thirty Jobs of one placement are spread over three equal members, one cluster each."""
    with running_fleet(tmp_path, equal_members(3), packed=True) as fleet, fleet.client() as hub:
        applied(fleet, QUEUES)
        jobs = []
        for number in range(30):
            job = a_job(f"job-{number}", run_s=0.5, namespace="train")
            job["metadata"]["labels"] = {"app": "train", "kueue.x-k8s.io/queue-name": "train"}
            jobs.append(yaml.safe_dump(job))
        applied(fleet, "\n---\n".join(jobs))

        def placed() -> Counter[str]:
            return Counter(job.cluster for job in hub.jobs(namespace="train") if job.cluster)

        until(lambda: sum(placed().values()) == 30, 60, "every job has its cluster")
        assert max(placed().values()) <= 12, placed()
        until(
            lambda: all(job.state == "Succeeded" for job in hub.jobs(namespace="train")),
            60,
            "ended",
        )
        status = json.loads(fleet.kubectl("get", "rp", "each", "-n", "train", "-o", "json").stdout)
        told = status["status"]["perObject"]
        assert len(told) == 30
        assert {each["clusterName"] for each in told} == set(MEMBERS)

"""Where jobs go and why they wait, told from outside on a running fleet."""

import collections

import pytest

from tests.e2e.running import a_job, a_pool, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def test_a_burst_of_equal_jobs_spreads_over_equal_clusters(tmp_path):
    """100 equal jobs at once to three equal clusters: at most 35 each, whatever agents report."""
    members = equal_members(3, nodes=8)
    with running_fleet(tmp_path, members, packed=True) as fleet, fleet.client() as hub:
        manifests = [a_job(f"job-{i:03d}", run_s=30) for i in range(100)]
        hub.submit_many(manifests)
        jobs = until(lambda: _all_placed(hub, 100), 30, "all are placed")
        by_cluster = collections.Counter(job.cluster for job in jobs)
        assert max(by_cluster.values()) <= 35, by_cluster


def test_a_job_that_fits_nowhere_waits_for_a_node_that_holds_it(tmp_path):
    """It waits with the nearest miss named in numbers, and runs once a large enough node appears."""
    members = [
        {"name": "small", "pools": [a_pool(2, cpu="4")]},
        {"name": "large", "pools": [a_pool(2, cpu="16")]},
    ]
    with running_fleet(tmp_path, members, packed=True) as fleet, fleet.client() as hub:
        job = hub.submit(a_job("wide", run_s=0.5, cpu="24"))
        told = until(lambda: _told(hub, job.uid), 20, "it says why it waits")
        assert told.reason == "NoClusterFits"
        assert told.waiting["nearest"]["cluster"] == "large"
        assert told.waiting["nearest"]["missing"] == {"cpu": "8"}
        done = fleet.kubectl("apply", "-f", "-", cluster="large", stdin=_NODE)
        assert done.returncode == 0, done.stderr
        assert hub.wait(job.uid, timeout_s=60).state == "Succeeded"


_NODE = """
apiVersion: v1
kind: Node
metadata: {name: new-node, labels: {kubernetes.io/hostname: new-node}}
status:
  allocatable: {cpu: "32", memory: 64Gi, pods: "110"}
  capacity: {cpu: "32", memory: 64Gi, pods: "110"}
  conditions: [{type: Ready, status: "True"}]
"""


def _all_placed(hub, count: int):
    jobs = [job for job in hub.jobs() if job.cluster]
    return jobs if len(jobs) == count else None


def _told(hub, uid: str):
    """The explanation, once both agents have reported that the namespace accepts the hub."""
    told = hub.explain(uid)
    nearest = (told.waiting or {}).get("nearest")
    asked = all(
        each["reason"] == "InsufficientRoom" for each in (told.waiting or {}).get("clusters", ())
    )
    return told if nearest and asked else None

"""An autoscaled pool, told from outside: a job goes where nodes may come, waits for them, and runs."""

import json

import pytest

from tests.e2e.running import a_job, a_pool, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

DECLARED = {
    "apiVersion": "cluster.kubernetes-fleet.io/v1",
    "kind": "MemberCluster",
    "metadata": {"name": "grows"},
    "spec": {
        "pools": [
            {
                "name": "burst", "maxNodes": 2, "labels": {"pool": "burst"},
                "allocatable": {"cpu": "32", "memory": "64Gi", "pods": "110"},
            }
        ]
    },
}  # fmt: skip
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "burst-1", "labels": {"pool": "burst"}},
    "status": {
        "allocatable": {"cpu": "32", "memory": "64Gi", "pods": "110"},
        "capacity": {"cpu": "32", "memory": "64Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}


def test_a_job_runs_once_the_nodes_came_that_it_was_placed_for(tmp_path):
    """Too large for every node there is: placed on the pool that may grow; the node comes; it runs."""
    members = [
        {"name": "fixed", "pools": [a_pool(2, cpu="8")]},
        {"name": "grows", "pools": [a_pool(1, cpu="8")]},
    ]
    with running_fleet(tmp_path, members, packed=True) as fleet, fleet.client() as hub:
        (applied,) = hub.apply(json.dumps(DECLARED).encode())
        assert applied.result == "configured", applied
        until(lambda: hub.cluster("grows").growing_pools, 30, "the pool counts")
        job = hub.submit(a_job("wide", run_s=0.5, cpu="24"))
        placed = until(lambda: _on_a_cluster(hub, job.uid), 30, "it is placed")
        assert placed.cluster == "grows"
        chosen = hub.explain(job.uid).decision["clusters"][0]
        assert "needs 1 new node of pool burst" in chosen["message"]
        done = fleet.kubectl("apply", "-f", "-", cluster="grows", stdin=json.dumps(NODE))
        assert done.returncode == 0, done.stderr
        assert hub.wait(job.uid, timeout_s=60).state == "Succeeded"
        (pool,) = until(lambda: _shrunk(hub), 30, "the node is counted")
        assert pool.may_add == 1


def test_a_pool_scaled_to_nothing_grows_for_a_gang(tmp_path):
    """No node is there at all: the gang is placed, the simulated autoscaler adds two, the gang runs."""
    pool = {**a_pool(0, name="burst", cpu="8"), "maxNodes": 3, "addSeconds": 1}
    members = [
        {"name": "fixed", "pools": [a_pool(1, cpu="2")]},
        {"name": "grows", "pools": [pool]},
    ]
    with running_fleet(tmp_path, members, packed=True) as fleet, fleet.client() as hub:
        until(lambda: hub.cluster("grows").growing_pools, 30, "the pool counts")
        gang = a_job("gang", run_s=1, indexes=4, cpu="4")
        job = hub.submit(gang)
        assert hub.wait(job.uid, timeout_s=60).state == "Succeeded"
        assert hub.job(job.uid).cluster == "grows"
        nodes = hub.cluster("grows").pools
        assert sum(pool.nodes for pool in nodes) == 2


def _on_a_cluster(hub, uid: str):
    job = hub.job(uid)
    return job if job.cluster else None


def _shrunk(hub):
    pools = hub.cluster("grows").growing_pools
    return pools if pools and pools[0].may_add == 1 else None

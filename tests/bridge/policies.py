"""Jobs that a hub cluster's policies judge, and a hub cluster without those policies."""

from pathlib import Path
from typing import Any

from shared import labels
from shared.kubesim.cluster import SimCluster
from tests.bridge.defined import with_hub_kinds
from tests.bridge.hub_cluster import FIELDS, World
from tests.e2e.running import REPOSITORY

GUARD = REPOSITORY / "deploy" / "hub-cluster" / "job-guard.yaml"
QUEUE = {labels.QUEUE_NAME: "local-queue"}


def a_job(name: Any = "flood", *, own: Any = (), template: Any = ()) -> dict[str, Any]:
    """A Job of the guide's queue, with these labels on itself and on its pods."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "compute-jobs",
            "labels": {**dict(own), **QUEUE},
        },
        "spec": {
            "template": {
                "metadata": {"labels": dict(template)},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "example.test/job"}],
                },
            }
        },
    }


async def without_policy(folder: Path) -> SimCluster:
    """A hub cluster without the policies about Jobs."""
    cluster = with_hub_kinds(job_policy=False)
    await cluster.start()
    return cluster


async def submit(it: World, job: dict[str, Any]) -> None:
    """As kubectl create does."""
    await it.kube.create(job, field_manager=FIELDS)

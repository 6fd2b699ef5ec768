"""The manifest of a job of the model, and how it is sent."""

from typing import Any

from shared import labels

Row = dict[str, Any]


def manifest(job: Row) -> Row:
    """As its user submitted it."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job["name"],
            "namespace": job["namespace"],
            "annotations": job["annotations"] or {},
        },
        "spec": {"parallelism": job["parallelism"], "completions": job["completions"]},
    }


def compose_job(_manifest: Row, options: Row, stamp: Any) -> Row:
    """The Job as the hub sends it: `hub.services.works.compose` without what pods and queues need."""
    job = {**_manifest, "metadata": dict(_manifest["metadata"])}
    job["metadata"]["labels"] = {
        labels.MANAGED_BY: stamp.hub_id,
        labels.JOB_UID: stamp.uid,
        labels.EPOCH: str(stamp.epoch),
    }
    job["metadata"]["annotations"] = {
        **_manifest["metadata"]["annotations"],
        labels.GENERATION: str(stamp.generation),
        labels.SPEC_HASH: stamp.hash,
        labels.INCARNATION: stamp.incarnation,
    }
    return job

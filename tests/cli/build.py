"""Manifests and answers for the tests of the command."""

from typing import Any

import yaml


def a_job(name: str = "ok", namespace: str = "team-a", **spec: Any) -> dict[str, Any]:
    """A Job of one pod that asks one CPU."""
    container = {"name": "main", "image": "busybox:1.36", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
            **spec,
        },
    }


def a_namespace(name: str) -> dict[str, Any]:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def text(*documents: dict[str, Any]) -> str:
    """Several documents as one YAML stream."""
    return yaml.safe_dump_all(documents)


def a_listed_job(name: str = "ok", **more: Any) -> dict[str, Any]:
    """A job as the hub lists it."""
    return {
        "uid": "01a1feaf-1339-78fd-a076-6ec8b2409717",
        "namespace": "team-a",
        "name": name,
        "queue": "local-queue",
        "state": "Running",
        "reason": "",
        "cluster": "gpu-1",
        "epoch": 1,
        "createdAt": "2026-03-01T12:00:00.123456Z",
        "startedAt": "2026-03-01T12:00:01.000000Z",
        "finishedAt": None,
        **more,
    }


def a_join_token(name: str = "c9") -> dict[str, Any]:
    """A member just declared, as the hub answers."""
    return {
        "name": name,
        "state": "Declared",
        "joinToken": "t",
        "joinTokenExpiresAt": "2026-03-01T12:15:00Z",
    }


def a_listed_cluster(name: str = "gpu-1", **more: Any) -> dict[str, Any]:
    """A member as the hub lists it."""
    return {"name": name, "state": "Ready", "ready": True, **more}

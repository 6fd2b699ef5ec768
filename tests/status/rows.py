"""Rows of workloads as the store keeps them, for views that are made of rows."""

import datetime as dt
from typing import Any

NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)

A_SHAPE = [
    {
        "name": "main", "count": 1, "requests": {"cpu": 1000}, "nodeSelector": {},
        "affinity": None, "tolerations": [], "minCount": None,
    }
]  # fmt: skip


def minutes(count: float) -> dt.datetime:
    """`count` minutes after NOW."""
    return NOW + dt.timedelta(minutes=count)


def a_row(**columns: Any) -> dict[str, Any]:
    """A row of `workloads`: a Job of one pod that waits, has not been looked at, and never moved."""
    row: dict[str, Any] = {
        "uid": "u-1", "kind": "Job", "namespace": "team-a", "name": "train", "live": True,
        "origin": "rest", "labels": {}, "annotations": {}, "queue": "gpu", "priority": 0,
        "priority_class": "", "shape": "s", "parallelism": 1, "completions": 1, "ttl_s": None,
        "generation": 1, "state": "Pending", "reason": "", "message": "", "cluster_queue": "",
        "admission": None, "placement": "", "scores": None, "cluster": "", "epoch": 0,
        "nomination": None, "checks": None, "withdraw_to": "", "set_aside": None, "succeeded": 0,
        "failed": 0, "active": 0, "ready": 0, "created_at": NOW, "queued_at": NOW,
        "requeue_at": None, "requeues": 0, "evicted": None, "evictions": None,
        "max_runtime_s": None, "ran_s": 0, "reserved_at": None, "placed_at": None,
        "applied_at": None, "started_at": None, "finished_at": None, "deleted_at": None,
        "pods_ready_at": None, "pods_lost_at": None,
    }  # fmt: skip
    return row | columns


def an_admitted_row(**columns: Any) -> dict[str, Any]:
    """The same, placed on cluster north one minute later, charged 1 cpu of flavor spot."""
    given = {
        "state": "Running",
        "cluster": "north",
        "cluster_queue": "all",
        "epoch": 1,
        "placed_at": minutes(1),
        "started_at": minutes(2),
        "admission": {
            "podSets": [
                {"name": "main", "count": 1, "flavors": {"cpu": "spot"}, "usage": {"cpu": 1000}}
            ]
        },
    }
    return a_row(**(given | columns))


def evicted(
    reason: str, message: str = "told so", cause: str = "", at: float = 5
) -> dict[str, str]:
    """What a row remembers of its last eviction."""
    said = {"reason": reason, "message": message, "at": minutes(at).isoformat()}
    return said | ({"cause": cause} if cause else {})

"""Rows of workloads as the store keeps them, for views that are made of rows."""

import datetime as dt
from typing import Any

from hub.store.records.workloads import Workload
from tests.store.build import a_workload

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


def a_row(**columns: Any) -> Workload:
    """A row of `workloads`: a Job of one pod that waits, has not been looked at, and never moved."""
    row = a_workload("u-1", name="train", queue="gpu", created_at=NOW, queued_at=NOW)
    return row._replace(**columns)


def an_admitted_row(**columns: Any) -> Workload:
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

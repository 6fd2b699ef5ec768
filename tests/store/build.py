"""Builders for tests of the store: a database in a folder, and rows that hold what does not matter."""

import contextlib
import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from hub.store.engine import Database
from shared.clock import ManualClock

START = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


@contextlib.asynccontextmanager
async def opened(folder: Path, clock: ManualClock | None = None) -> AsyncIterator[Database]:
    """A database on a real SQLite file."""
    db = Database.open(f"sqlite:///{folder}/hub.db", clock or ManualClock(START))
    try:
        yield db
    finally:
        await db.close()


def a_workload(uid: str, **columns: Any) -> dict[str, Any]:
    """A pending Job."""
    return {
        "uid": uid,
        "kind": "Job",
        "namespace": "team-a",
        "name": uid,
        "live": True,
        "origin": "rest",
        "labels": {},
        "annotations": {},
        "queue": "default",
        "priority": 0,
        "priority_class": "",
        "shape": "s",
        "parallelism": 1,
        "completions": 1,
        "ttl_s": None,
        "generation": 1,
        "state": "Pending",
        "reason": "",
        "message": "",
        "cluster_queue": "",
        "admission": None,
        "placement": "",
        "scores": None,
        "cluster": "",
        "epoch": 0,
        "withdraw_to": "",
        "set_aside": None,
        "succeeded": 0,
        "failed": 0,
        "active": 0,
        "ready": 0,
        "created_at": START,
        "queued_at": START,
        "placed_at": None,
        "applied_at": None,
        "started_at": None,
        "finished_at": None,
        "deleted_at": None,
        **columns,
    }

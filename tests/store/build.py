"""Builders for tests of the store: a database in a folder, and rows that hold what does not matter."""

import contextlib
import datetime as dt
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State
from hub.store.engine import Database
from hub.store.records.members import Member
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from hub.store.records.works import WantedWork, Work
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from tests.prepared import url_of

T = TypeVar("T")
START = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


@contextlib.asynccontextmanager
async def opened(folder: Path, clock: ManualClock | None = None) -> AsyncIterator[Database]:
    """The database of `folder`."""
    db = Database.open(url_of(folder), clock or ManualClock(START))
    try:
        yield db
    finally:
        await db.close()


def call(fn: Callable[..., T], *args: Any, **named: Any) -> Callable[[Transaction], T]:
    """What a transaction is to do: `fn` on it, with these."""
    return lambda tx: fn(tx, *args, **named)


def a_workload(uid: str, **columns: Any) -> Workload:
    """A pending Job."""
    row = Workload(
        uid=uid,
        kind="Job",
        namespace="team-a",
        name=uid,
        origin="rest",
        labels={},
        annotations={},
        queue="default",
        priority=0,
        priority_class="",
        shape="s",
        parallelism=1,
        completions=1,
        ttl_s=None,
        generation=1,
        state=State.PENDING,
        reason="",
        message="",
        created_at=START,
        queued_at=START,
    )
    return row._replace(**columns)


def a_member(name: str, **columns: Any) -> Member:
    """A member that was declared and has not joined."""
    row = Member(name=name, object=f"object-{name}", labels={}, taints=[], created_at=START)
    return row._replace(**columns)


def a_work(cluster: str, uid: str, **columns: Any) -> Work:
    """A Job's first epoch, given to a cluster that has not said anything of it."""
    row = Work(
        cluster=cluster,
        uid=uid,
        epoch=1,
        generation=1,
        api_version="batch/v1",
        kind="Job",
        namespace="team-a",
        name=uid,
        action="Apply",
        hash="",
        options=ApplyOptions(),
        placed_by="",
        offered=False,
        seen=False,
        phase="",
        observed_generation=0,
        observed=None,
        drift=None,
        reason="",
        message="",
        available=None,
        observed_at=None,
        created_at=START,
        content="",
    )
    return row._replace(**columns)


def a_wanted_work(cluster: str, uid: str, **columns: Any) -> WantedWork:
    """What a cluster is given to hold of a Job, as placing it writes it."""
    row = WantedWork(
        cluster=cluster,
        uid=uid,
        epoch=1,
        generation=1,
        api_version="batch/v1",
        kind="Job",
        namespace="team-a",
        name=uid,
        options=ApplyOptions(),
        placed_by="",
    )
    row.update(columns)  # type: ignore[typeddict-item]  # names of its own
    return row


def an_object(uid: str, **columns: Any) -> StoredObject:
    """A ConfigMap that came by REST."""
    row = StoredObject(
        uid=uid,
        api_group="",
        api_version="v1",
        kind="ConfigMap",
        namespace="team-a",
        name=uid,
        origin="rest",
        generation=1,
        labels={},
        annotations={},
        spec=None,
        manifest={},
        hash="",
        status=None,
        created_at=START,
        updated_at=START,
        deleted_at=None,
    )
    return row._replace(**columns)

"""Reservations in a store whose checks have answered, and one settlement at a time."""

import datetime as dt
from typing import Any

from hub.domain.cycle.profile import Profile
from hub.domain.workloads.states import State
from hub.services.index.check_catalog import Gate
from hub.services.index.index import ScheduleIndex
from hub.services.index.reservations import Settlement
from hub.services.scheduling.grounds import Grounds
from hub.services.scheduling.settle import carry_out
from hub.store import clusters, leases, workloads
from hub.store.engine import Database
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from tests.store.build import START, a_member, a_workload, call

READY = {"budget": {"state": "Ready", "message": "fine", "at": "t"}}
RETRIED = {"budget": {"state": "Retry", "message": "no", "at": "t", "retryCount": 1}}


def reserved(uid: str = "one", **columns: Any) -> Workload:
    """A job whose quota is charged, on tentative cluster `north`."""
    given: dict[str, Any] = {
        "state": State.RESERVED,
        "cluster": "north",
        "cluster_queue": "q",
        "admission": {"podSets": []},
        "reserved_at": START,
        "checks": READY,
        "epoch": 2,
        **columns,
    }
    return a_workload(uid, **given)


async def fill(db: Database, *rows: Workload) -> None:
    def run(tx: Transaction) -> None:
        leases.take(tx, "leader", dt.timedelta(hours=9))
        clusters.add(tx, a_member("north"))
        workloads.add(tx, rows)

    await db.write(run)


def as_decided(db: Database) -> Grounds:
    """Nothing has changed since it was decided."""
    index = ScheduleIndex(None, 45.0)
    index.revision = db.revision
    return Grounds.of(index, Profile())


async def settled(db: Database, settlement: Settlement) -> list[str]:
    return await db.write(call(carry_out, settlement, Gate(), 1, as_decided(db)))


async def row(db: Database, uid: str = "one") -> Workload:
    found = await db.read(call(workloads.get, uid))
    assert found is not None
    return found

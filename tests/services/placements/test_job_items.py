"""A placement's Job in its status: applied and available, by its state and by what it has lived to see."""

from pathlib import Path

import pytest

from hub.domain.workloads.states import State
from hub.store import workloads
from hub.store.records.workloads import WorkloadColumns, change_of
from hub.store.tables import workloads as table
from hub.store.transaction import Transaction
from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import JOBS, Fleet, conditions

pytestmark = pytest.mark.anyio
ONE_JOB = JOBS + "  policy: {placementType: PickN, numberOfClusters: 1}\n"


@pytest.mark.parametrize(
    ("state", "lived", "applied", "available"),
    [
        (State.PLACED, "", "Unknown", None),
        (State.OFFERED, "", "Unknown", None),
        (State.APPLIED, "applied", "True", "False"),
        (State.RUNNING, "applied started", "True", "True"),
        (State.SUCCEEDED, "applied started", "True", "True"),
        (State.FAILED, "", "False", None),
        (State.FAILED, "applied", "True", "False"),
        (State.FAILED, "started", "True", "False"),
        (State.UNKNOWN, "applied started", "True", "True"),
        (State.UNKNOWN, "applied", "True", "False"),
        (State.WITHDRAWING, "applied started", "Unknown", None),
    ],
)
async def test_a_job_is_applied_and_available_as_far_as_it_has_come(
    tmp_path: Path, state: State, lived: str, applied: str, available: str | None
):
    """One that failed was applied if it was ever there or ran; one that is not heard of stays as it was."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(ONE_JOB)
        found = await hub.hub.read(workloads.live_by_name, [("shop", "one")])
        uid = found[("shop", "one")].uid
        await hub.place(uid, "m1")
        columns: WorkloadColumns = {"reason": "Because"}
        if "applied" in lived:
            columns["applied_at"] = hub.clock.now()
        if "started" in lived:
            columns["started_at"] = hub.clock.now()

        def as_if(tx: Transaction) -> None:
            tx.conn.execute(table.update().where(table.c.uid == uid).values(state=state))
            workloads.change(tx, [change_of(uid, columns)])

        await hub.write(as_if)
        await fleet.turn()
        told = conditions(await fleet.status("ResourcePlacement", "jobs", "shop"))
        assert told["ResourcePlacementApplied"][0] == applied
        assert told.get("ResourcePlacementAvailable", (None,))[0] == available


@pytest.mark.parametrize(
    ("state", "scheduled"), [(State.PENDING, "False"), (State.CANCELLED, "True")]
)
async def test_a_job_that_ended_before_it_had_a_cluster_waits_for_none(
    tmp_path: Path, state: State, scheduled: str
):
    """A placement waits for the clusters of Jobs that may still be placed."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(ONE_JOB)
        found = await hub.hub.read(workloads.live_by_name, [("shop", "one")])
        uid = found[("shop", "one")].uid

        def as_if(tx: Transaction) -> None:
            tx.conn.execute(table.update().where(table.c.uid == uid).values(state=state))
            workloads.change(tx, [change_of(uid, {"reason": "Because"})])

        await hub.write(as_if)
        await fleet.turn()
        told = conditions(await fleet.status("ResourcePlacement", "jobs", "shop"))
        assert told["ResourcePlacementScheduled"][0] == scheduled

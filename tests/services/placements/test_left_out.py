"""Reason JobNeedsOneCluster goes with the placement that gives it: deleted, changed, or not the only one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.store import objects, workloads
from hub.store.engine import Database
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.documents import Json
from tests.services.placements.stored import JOBS, ONE, a_placement, fill, reconciled, with_status
from tests.store.build import START, a_workload, call, opened

pytestmark = pytest.mark.anyio
NAMED: Json = {**JOBS, "name": "other"}


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    """A Job that waits, and placements p and q of all Jobs, each for every cluster; p has said so."""
    async with opened(tmp_path, ManualClock(START)) as it:
        waits = a_workload("j", name="j", reason="AwaitingPlacement")
        await fill(it, a_placement("p", JOBS), a_placement("q", JOBS, name="q"), jobs=(waits,))
        await with_status(it)
        yield it


async def reason(db: Database) -> str:
    row = await db.read(call(workloads.get, "j"))
    assert row is not None
    return str(row.reason)


async def changed(db: Database, *selectors: Json, **given: object) -> None:
    """Placement p as it is applied from now on."""

    def run(tx: Transaction) -> None:
        old = objects.get(tx, "p")
        assert old is not None
        new = a_placement("p", *selectors, **given)
        objects.change(tx, "p", spec=new.spec, generation=old.generation + 1)

    await db.write(run)
    await with_status(db)


async def test_it_stays_while_the_placement_stays(db: Database) -> None:
    """Also when the placement is reconciled again."""
    assert await reason(db) == "JobNeedsOneCluster"
    await with_status(db)
    assert await reason(db) == "JobNeedsOneCluster"


async def test_it_goes_when_the_placement_is_deleted(db: Database) -> None:
    """The Job awaits a placement as before."""
    await db.write(lambda tx: objects.change(tx, "p", deleted_at=tx.now))
    await reconciled(db)
    assert await reason(db) == "AwaitingPlacement"


@pytest.mark.parametrize(
    ("selectors", "policy"), [((NAMED,), {"placementType": "PickAll"}), ((JOBS,), ONE)]
)
async def test_it_goes_when_the_placement_changes(
    db: Database, selectors: tuple[Json, ...], policy: Json
) -> None:
    """It selects the Job no longer, or is for one cluster now."""
    await changed(db, *selectors, policy=policy)
    assert await reason(db) == "AwaitingPlacement"


async def test_another_placement_that_leaves_the_job_out_says_so_again(db: Database) -> None:
    """Its look follows the change of the Job."""
    await changed(db, NAMED)
    await with_status(db, "q")
    assert await reason(db) == "JobNeedsOneCluster"


async def test_a_change_that_leaves_the_job_out_still_keeps_the_reason(db: Database) -> None:
    """The row of the Job is not written."""
    row = await db.read(call(workloads.get, "j"))
    await changed(db, JOBS, policy={"placementType": "PickN", "numberOfClusters": 2})
    assert await db.read(call(workloads.get, "j")) == row

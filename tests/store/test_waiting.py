"""Who waits, as a start reads it: a thousand rows at a time, by the driver's own cursor."""

from pathlib import Path

import pytest

from hub.services.index.waiting.at_start import read_at_start
from hub.store import schedule, workloads
from hub.store.transaction import Transaction
from tests.store.build import a_workload, opened

pytestmark = pytest.mark.anyio

MORE_THAN_ONE_BATCH = 1500


async def test_a_start_reads_everybody_who_waits(tmp_path: Path) -> None:
    """Each once, in batches; equals are one class."""
    jobs = [a_workload(f"u{number}") for number in range(MORE_THAN_ONE_BATCH)]

    def sizes(tx: Transaction) -> list[int]:
        return [len(rows) for rows in schedule.waiting(tx)]

    async with opened(tmp_path) as db:
        await db.write(lambda tx: workloads.add(tx, jobs))
        assert await db.read(sizes) == [1000, 500]
        found = await db.read(read_at_start)
    (entries,) = found.classes.values()
    assert {each.uid for each in entries} == {job.uid for job in jobs}


async def test_a_read_that_is_given_up_leaves_the_connection_usable(tmp_path: Path) -> None:
    """Only the first batch is taken; the next query of the transaction gets its rows."""
    jobs = [a_workload(f"u{number}") for number in range(MORE_THAN_ONE_BATCH)]

    def twice(tx: Transaction) -> tuple[int, int]:
        batches = schedule.waiting(tx)
        first = len(next(iter(batches)))
        del batches
        return first, sum(map(len, schedule.waiting(tx)))

    async with opened(tmp_path) as db:
        await db.write(lambda tx: workloads.add(tx, jobs))
        assert await db.read(twice) == (1000, MORE_THAN_ONE_BATCH)

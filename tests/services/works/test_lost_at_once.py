"""How many jobs of lost clusters one transaction moves, and that the others have their turn at once."""

import datetime as dt
from pathlib import Path

import pytest

from hub.services.works.cluster_loss import LOSS, MOST_AT_ONCE, due
from hub.store import clusters, workloads
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from tests.store.build import START, a_member, a_workload, call, opened

pytestmark = pytest.mark.anyio
MINUTE = dt.timedelta(minutes=1)


def job(number: int, policy: str) -> Workload:
    return a_workload(
        f"{policy}-{number:04}",
        state="Unknown",
        cluster="north",
        epoch=1,
        annotations={LOSS: policy},
    )


@pytest.mark.parametrize(
    ("more", "again"), [(0, START + 7 * MINUTE), (1, START)], ids=["all of them", "one more"]
)
async def test_what_is_over_the_bound_is_due_at_once(
    tmp_path: Path, more: int, again: dt.datetime
):
    """Else when the next job is, which may wait for longer."""
    jobs = [job(number, "RescheduleAfter(5m)") for number in range(MOST_AT_ONCE + more)]
    later = job(0, "RescheduleAfter(12m)")
    async with opened(tmp_path, ManualClock(START)) as db:

        def fill(tx: Transaction) -> None:
            clusters.add(tx, a_member("north"))
            workloads.add(tx, [*jobs, later])

        await db.write(fill)
        found, at = await db.read(call(due, {"north": START - 5 * MINUTE}))
        assert (len({each.uid for each in found}), at) == (MOST_AT_ONCE, again)
        assert later.uid not in {each.uid for each in found}

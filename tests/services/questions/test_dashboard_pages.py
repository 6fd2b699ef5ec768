"""The live page's jobs, page after page: those that wait, then those that have ended."""

import datetime as dt
from pathlib import Path

import pytest

from hub.domain.workloads.states import State
from hub.services.questions import dashboard
from hub.store import workloads
from tests.store.build import START, a_workload, call, opened

pytestmark = pytest.mark.anyio


async def test_the_page_of_jobs_goes_from_those_that_wait_to_those_that_have_ended(
    tmp_path: Path, monkeypatch
):
    """Page after page everybody once; text and group narrow both parts alike."""
    monkeypatch.setattr(dashboard, "JOBS_PER_PAGE", 3)
    async with opened(tmp_path) as db:
        instants = [START + dt.timedelta(seconds=n) for n in range(9)]
        rows = [a_workload(f"wait-{n}", created_at=instants[n]) for n in range(4)]
        rows += [
            a_workload(f"end-{n}", state=State.FAILED, queue="q", finished_at=instants[n])
            for n in range(3)
        ]
        rows += [a_workload("off", state=State.DEACTIVATED, finished_at=instants[8], cluster="c%")]
        await db.write(call(workloads.add, rows))

        async def asked(page: int, group: str = "", text: str = "") -> tuple[list[str], bool]:
            found = await db.read(call(dashboard.find_jobs, dashboard.Asked(group, text, page)))
            return [row.uid for row in found.rows], found.more

        assert await asked(1) == (["wait-0", "wait-1", "wait-2"], True)
        assert await asked(2) == (["wait-3", "off", "end-2"], True)
        assert await asked(3) == (["end-1", "end-0"], False)
        assert await asked(1, "failed") == (["off", "end-2", "end-1"], True)
        assert await asked(2, "failed") == (["end-0"], False)
        assert await asked(1, "failed", "end") == (["end-2", "end-1", "end-0"], False)
        assert await asked(1, "waiting", "-3") == (["wait-3"], False)
        assert await asked(1, "", "-0") == (["wait-0", "end-0"], False)
        assert await asked(2, "", "t-") == (["wait-3"], False)
        assert await asked(2, "", "nd-") == ([], False)
        assert await asked(1, "", "c%") == (["off"], False)
        assert await asked(1, "", "q") == (["end-2", "end-1", "end-0"], False)

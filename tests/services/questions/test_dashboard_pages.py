"""The live page's jobs, page after page: those that wait, then those that have ended."""

import datetime as dt
from pathlib import Path

import pytest

from hub.domain.workloads.states import State
from hub.services.questions import dashboard
from hub.store import workloads
from tests.store.build import START, a_workload, call, opened

pytestmark = pytest.mark.anyio


async def test_the_page_of_jobs_goes_from_those_that_wait_to_those_that_have_ended(tmp_path: Path):
    """Page after page everybody once; text and group narrow both parts alike."""
    many = dashboard.JOBS_PER_PAGE
    async with opened(tmp_path) as db:
        instants = [START + dt.timedelta(seconds=n) for n in range(many + 1)]
        rows = [a_workload(f"wait-{n:02}", created_at=instants[n]) for n in range(many + 1)]
        rows += [
            a_workload(f"end-{n:02}", state=State.FAILED, queue="q", finished_at=instants[n])
            for n in range(many)
        ]
        rows += [
            a_workload("off", state=State.DEACTIVATED, finished_at=instants[many], cluster="c%")
        ]
        await db.write(call(workloads.add, rows))
        waiting = [f"wait-{n:02}" for n in range(many + 1)]
        ended = [f"end-{n:02}" for n in reversed(range(many))]

        async def asked(page: int, group: str = "", text: str = "") -> tuple[list[str], bool]:
            found = await db.read(call(dashboard.find_jobs, dashboard.Asked(group, text, page)))
            return [row.uid for row in found.rows], found.more

        assert await asked(1) == (waiting[:-1], True)
        assert await asked(2) == ([waiting[-1], "off", *ended[:-2]], True)
        assert await asked(3) == (ended[-2:], False)
        assert await asked(1, "failed") == (["off", *ended[:-1]], True)
        assert await asked(2, "failed") == (ended[-1:], False)
        assert await asked(1, "failed", "end") == (ended, False)
        assert await asked(1, "waiting", f"-{many}") == (waiting[-1:], False)
        assert await asked(1, "", "-00") == (["wait-00", "end-00"], False)
        assert await asked(2, "", "t-") == (waiting[-1:], False)
        assert await asked(2, "", "nd-") == ([], False)
        assert await asked(1, "", "c%") == (["off"], False)
        assert await asked(1, "", "q") == (ended, False)

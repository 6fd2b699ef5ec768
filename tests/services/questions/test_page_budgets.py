"""Pages are measured before they are read: they end within a budget of bytes, and lists read no labels."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from hub.services.context.paging import PAGE_BYTES, Pager, within
from hub.services.kueue_view import pages as kueue_pages
from hub.services.questions import jobs, objects as questions, overview, placed
from hub.store import manifests, objects, workloads, works
from hub.store.engine import Database
from hub.store.transaction import Transaction
from shared.documents import Json
from tests.store.build import START, a_wanted_work, a_workload, an_object, call, opened

pytestmark = pytest.mark.anyio
PAGER = Pager(b"key", "ada", {}, START, dt.timedelta(hours=1))
LARGE = {f"k{n:05d}": "v" * 10 for n in range(60_000)}  # as the door took them once
THIRD = "x" * (PAGE_BYTES // 3)


async def sizes(db: Database, ask: Callable[[Transaction, str | None], Json]) -> list[int]:
    """The number of items on each page, to the last one."""
    found, token = [], None
    while token != "":
        page = await db.read(call(ask, token))
        found.append(len(page["items"]))
        token = page["continue"]
    return found


def numbered(count: int, **columns: Any) -> list[Any]:
    """Jobs, one a second."""
    return [
        a_workload(f"u{n:03d}", created_at=START + dt.timedelta(seconds=n), **columns)
        for n in range(count)
    ]


async def test_a_list_of_jobs_reads_no_labels(tmp_path):
    """Without a selector it does not matter what is in that column."""
    async with opened(tmp_path) as db:
        await db.write(call(workloads.add, numbered(3)))
        await db.write(lambda tx: tx.conn.execute(text("UPDATE workloads SET labels = 'odd'")))

        def ask(tx: Transaction, token: str | None) -> Json:
            return jobs.list_jobs(tx, {}, None, PAGER, token, 2)

        assert await sizes(db, ask) == [2, 1]


async def test_a_selector_reads_large_labels_within_a_budget(tmp_path, monkeypatch):
    """The page ends after as many bytes of labels; the cursor leads to every job that matches, once."""
    monkeypatch.setattr(jobs, "MOST_LABEL_BYTES", 2_000_000)
    rows = [*numbered(6, labels={**LARGE, "team": "a"}), a_workload("v", labels={"team": "a"})]
    async with opened(tmp_path) as db:
        await db.write(call(workloads.add, rows))

        def ask(tx: Transaction, token: str | None) -> Json:
            return jobs.list_jobs(
                tx, {}, lambda found: found.get("team") == "a", PAGER, token, 500
            )

        assert await sizes(db, ask) == [2, 2, 3]


async def test_a_page_of_workloads_ends_within_the_budget(tmp_path):
    """Labels, manifests and pod sets are counted."""
    async with opened(tmp_path) as db:
        await db.write(call(workloads.add, numbered(4, labels=LARGE)))
        sent = [
            {
                "uid": f"u{n:03d}",
                "generation": 1,
                "manifest": b'"%b"' % THIRD.encode(),
                "hash": "h",
            }
            for n in range(4)
        ]
        await db.write(call(manifests.add, sent))
        seen = await sizes(
            db, lambda tx, token: kueue_pages.list_workloads(tx, {}, PAGER, token, 500)
        )
        assert sum(seen) == 4
        assert max(seen) == 2


async def test_a_page_of_objects_ends_within_the_budget(tmp_path):
    """Three thirds fill a page; the next one is on the next."""
    rows = [an_object(f"o{n}", manifest={"data": {"k": THIRD}}) for n in range(7)]
    async with opened(tmp_path) as db:
        for row in rows:
            await db.write(call(objects.add, row))

        def ask(tx: Transaction, token: str | None) -> Json:
            return questions.list_objects(tx, "", "ConfigMap", "", PAGER, token, 500)

        assert await sizes(db, ask) == [3, 3, 1]


async def test_an_object_that_is_larger_than_a_page_is_shown_alone(tmp_path):
    """A list gets past every row."""
    rows = [an_object(f"o{n}", manifest={"data": {"k": THIRD * 4}}) for n in range(2)]
    async with opened(tmp_path) as db:
        for row in rows:
            await db.write(call(objects.add, row))

        def ask(tx: Transaction, token: str | None) -> Json:
            return questions.list_objects(tx, "", "ConfigMap", "", PAGER, token, 500)

        assert await sizes(db, ask) == [1, 1]


@pytest.mark.parametrize("of", ["works", "drift"])
async def test_a_page_of_works_ends_within_the_budget(tmp_path, of):
    """The report of the agent counts."""
    said = {
        "observed_generation": 1, "phase": "Applied", "observed": {}, "seen": True, "reason": "",
        "drift": [{"path": "/a", "member": THIRD}], "message": "", "available": None,
    }  # fmt: skip
    keys = [("c1", f"u{n}") for n in range(4)]

    def ask(tx: Transaction, token: str | None) -> Json:
        if of == "drift":
            return overview.list_drift(tx, PAGER, token, 500)
        return placed.list_works(tx, placed.Of(), PAGER, token, 500)

    async with opened(tmp_path) as db:
        await db.write(lambda tx: works.upsert(tx, [a_wanted_work(*key) for key in keys]))
        rows: Any = [{"cluster": cluster, "uid": uid, **said} for cluster, uid in keys]
        await db.write(lambda tx: works.observe(tx, rows))
        assert await sizes(db, ask) == [3, 1]


@pytest.mark.parametrize(
    ("sizes_of_rows", "room", "taken"),
    [
        ([], 10, 0),
        ([4, 4, 4], 12, 3),
        ([4, 4, 4], 9, 3),
        ([4, 4, 4], 8, 2),
        ([20, 1], 10, 1),
        ([1], 0, 0),
    ],
)
def test_a_page_takes_rows_until_its_room_is_used(sizes_of_rows, room, taken):
    """The row that exceeds the room is the last."""
    assert within(sizes_of_rows, room) == (taken, sum(sizes_of_rows[:taken]))

"""Pages of lists look at few rows; followed to the end they are the whole list, in its order."""

import asyncio
import datetime as dt
import tempfile
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given, strategies as st

from hub.domain.access import Area, Scope
from hub.store import jobs, workload_pages, workloads
from hub.store.records.workloads import Workload
from hub.store.spans import Position
from hub.store.transaction import Transaction
from tests.examples import Contents, examples, sample
from tests.store.build import START, a_workload, opened

pytestmark = pytest.mark.anyio
CUT = Contents()
FEW = 3  # rows that a page looks at, in these tests
ROW = st.fixed_dictionaries(
    {
        "namespace": st.sampled_from(["team-a", "team-b"]),
        "queue": st.sampled_from(["main", "other"]),
        "state": st.sampled_from(["Pending", "Pending", "Running", "Failed"]),
        "cluster": st.sampled_from(["", "north"]),
        "owner": st.sampled_from(["", "ann", "bob"]),
        "created_at": st.integers(0, 4).map(lambda s: START + dt.timedelta(seconds=s)),
    }
)
NAMES = st.sampled_from(["train", "tr", "x", "50%"])
ASKED = st.fixed_dictionaries(
    {},
    optional={
        "namespace": st.sampled_from(["team-a", "team-c"]),
        "queue": st.just("main"),
        "state": st.sampled_from(["Pending", "Failed"]),
        "cluster": st.just("north"),
        "owner": st.sampled_from(["ann", "unknown"]),
        "name": NAMES,
    },
)
SCOPES = st.sampled_from(
    [
        None,
        [Area(namespaces=frozenset({"team-b"}))],
        [Area(namespaces=frozenset({"team-a"}), queues=frozenset({"other"})), Area(owner="ann")],
    ]
)


def is_asked_for(row: Workload, asked: dict[str, str]) -> bool:
    """The plain reading of the filters."""
    wanted = {"owner": "" if asked.get("owner") == "unknown" else asked.get("owner")}
    wanted |= {name: asked.get(name) for name in ("namespace", "queue", "state", "cluster")}
    exact = all(value is None or getattr(row, name) == value for name, value in wanted.items())
    return exact and row.name.startswith(asked.get("name", ""))


def is_seen(row: Workload, areas: list[Area] | None) -> bool:
    return areas is None or any(a.holds(row.namespace, row.queue, row.owner) for a in areas)


def followed(tx: Transaction, asked: dict[str, str], limit: int) -> list[str]:
    """All pages, each after the last; no page has more rows than its limit."""
    found: list[str] = []
    after: Position | None = None
    while True:
        page = jobs.page(tx, asked, after, limit, FEW)
        assert len(page.rows) <= limit
        found += [row.uid for row in page.rows]
        CUT.note(page.until)
        if len(page.rows) == limit:
            after = (page.rows[-1].created_at, page.rows[-1].uid)
        elif page.until is None:
            return found
        else:
            assert after is None or page.until < after
            after = page.until


async def compared(rows: list[Workload], asked: dict[str, str], areas: Any, limit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with opened(Path(folder)) as db:
            await db.write(lambda tx: workloads.add(tx, rows))

            def look(tx: Transaction) -> list[str]:
                if areas is not None:
                    tx.scope = Scope(tuple(areas), tuple(areas))
                return followed(tx, asked, limit)

            found = await db.read(look)
    wanted = [row for row in rows if is_asked_for(row, asked) and is_seen(row, areas)]
    wanted.sort(key=lambda row: (row.created_at, row.uid), reverse=True)
    assert found == [row.uid for row in wanted]


def play(settings: hypothesis.settings) -> None:
    @settings
    @given(
        rows=st.lists(st.tuples(NAMES, ROW), max_size=9),
        asked=ASKED,
        areas=SCOPES,
        limit=st.integers(1, 4),
    )
    def one(rows: list[Any], asked: dict[str, str], areas: Any, limit: int) -> None:
        made = [
            a_workload(f"u{n}", **{**row, "name": f"{name}-{n}"})
            for n, (name, row) in enumerate(rows)
        ]
        asyncio.run(compared(made, asked, areas, limit))

    one()


def test_pages_that_look_at_few_rows_are_together_the_whole_list(store: str) -> None:
    """For any filters and any scope: each row once, the newest first."""
    play(examples(60 if store == "sqlite" else 15))


def test_some_pages_end_before_they_are_full() -> None:
    """The property before meets pages that looked at as many rows as they may."""
    CUT.seen.clear()
    play(sample(30))
    assert CUT.are_in(0.1), CUT.seen


async def test_a_page_of_workloads_says_where_it_ended(tmp_path: Path) -> None:
    """Those of another kind of list too: what is read in their order is as little."""
    rows = [
        a_workload(f"u{n}", name=f"j{n}", created_at=START + dt.timedelta(seconds=n))
        for n in range(9)
    ]
    async with opened(tmp_path) as db:
        await db.write(lambda tx: workloads.add(tx, rows))
        page = await db.read(
            lambda tx: workload_pages.sizes(tx, {"cluster": "north"}, (), None, None, 2, FEW)
        )
    assert (page.rows, page.until) == ([], (rows[-FEW].created_at, rows[-FEW].uid))

"""Workloads are counted as they change: the numbers are those that counting all rows gives."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from sqlalchemy import select, text

from hub.domain.workloads.states import State
from hub.store import retention, tables, tallies, workloads
from hub.store.backends.choose import backend_of
from tests import databases
from tests.databases import url_of
from tests.examples import examples
from tests.store.build import START, a_workload, call, opened

COUNTED = (
    "SELECT namespace, queue, state, deleted_at IS NULL OR live IS NOT NULL, count(*) "
    "FROM workloads GROUP BY 1, 2, 3, 4"
)
KEPT = "SELECT namespace, queue, state, shown, number FROM tallies WHERE number <> 0"

uids = st.sampled_from([f"w{i}" for i in range(6)])
states = st.sampled_from([state.value for state in State])
queues = st.sampled_from(["", "default", "a"])
steps = st.one_of(
    st.tuples(st.just("add"), uids, queues, states),
    st.tuples(st.just("state"), uids, states),
    st.tuples(st.just("queue"), uids, queues),
    st.tuples(st.just("namespace"), uids, st.sampled_from(["team-a", "team-b"])),
    st.tuples(st.just("live"), uids, st.sampled_from([None, True])),
    st.tuples(st.just("deleted_at"), uids, st.sampled_from([None, START])),
    st.tuples(st.just("reason"), uids, st.sampled_from(["", "why"])),
    st.tuples(st.just("remove"), uids),
)


def take(tx, step):
    verb, uid, *values = step
    if verb == "add":
        present = tx.conn.execute(
            text("SELECT 1 FROM workloads WHERE uid = :uid"), {"uid": uid}
        ).scalar()
        if not present:
            queue, state = values
            row = a_workload(uid, name=f"{uid}", queue=queue, state=state, live=None)
            workloads.add(tx, [row])
    elif verb == "remove":
        tx.conn.execute(text("DELETE FROM workloads WHERE uid = :uid"), {"uid": uid})
    else:
        change: Any = {"uid": uid, verb: values[0]}
        workloads.change(tx, [change])


def same(tx):
    kept, counted = (
        sorted(tuple(row) for row in tx.conn.execute(text(query))) for query in (KEPT, COUNTED)
    )
    return kept == counted


TURNS = st.lists(st.lists(steps, max_size=8), max_size=8)
LIVE_ONCE = [[("add", "w0", "", "Pending"), ("deleted_at", "w0", START)], [("live", "w0", True)]]


@pytest.mark.store("sqlite")
@examples(60)
@given(turns=TURNS)
@example(turns=LIVE_ONCE)
def test_the_numbers_are_those_of_the_rows(turns):
    """After any changes in any transactions, failed ones among them, and after a restart."""
    asyncio.run(play(turns))


@pytest.mark.store("postgres")
@examples(10)  # each makes a database
@given(turns=TURNS)
@example(turns=LIVE_ONCE)
def test_the_numbers_are_those_of_the_rows_on_postgresql_too(turns):
    """Whose triggers are others."""
    asyncio.run(play(turns))


async def play(turns):
    with tempfile.TemporaryDirectory() as folder:
        async with opened(Path(folder)) as db:
            for number, turn in enumerate(turns):

                def run(tx, turn=turn, fails=number % 3 == 2):
                    for step in turn:
                        take(tx, step)
                    if fails:
                        raise LookupError

                await asyncio.gather(db.write(run), return_exceptions=True)
                assert await db.read(same)
        async with opened(Path(folder)) as db:
            assert await db.read(same)
        databases.drop(Path(folder))


@pytest.mark.anyio
async def test_lost_triggers_are_made_anew_and_everything_is_counted(tmp_path):
    """A revision that makes the table anew drops them; the next start puts that right."""
    async with opened(tmp_path) as db:
        await db.write(lambda tx: workloads.add(tx, [a_workload("a"), a_workload("b")]))
    engine = backend_of(url_of(tmp_path)).writer_engine()
    with engine.begin() as conn:
        of = " ON workloads" if conn.dialect.name != "sqlite" else ""
        conn.execute(text(f"DROP TRIGGER tally_removed{of}"))
        conn.execute(text("DELETE FROM workloads WHERE uid = 'a'"))
    engine.dispose()
    async with opened(tmp_path) as db:
        assert await db.read(same)
        assert await db.read(tallies.by_state) == {"Pending": 1}
        waiting = await db.read(lambda tx: tallies.in_state(tx, State.PENDING))
        assert waiting == [("team-a", "default", 1)]


@pytest.mark.anyio
async def test_numbers_that_came_down_to_nothing_go(tmp_path):
    """Namespaces come and go: what nobody is counted under any more is not kept, and nothing else goes."""
    async with opened(tmp_path) as db:
        await db.write(call(workloads.add, [a_workload("a"), a_workload("b", namespace="team-b")]))
        await db.write(call(retention.remove_jobs, ["b"]))
        assert await db.write(call(tallies.trim, 10)) == 1
        kept = await db.read(lambda tx: tx.conn.execute(select(tables.tallies)).all())
        assert [(row.namespace, row.number) for row in kept] == [("team-a", 1)]

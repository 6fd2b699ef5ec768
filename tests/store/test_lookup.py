"""Lookups and prepared queries are equal to what the same query says in SQLAlchemy."""

import datetime as dt

import pytest
from sqlalchemy import bindparam, select

from hub.store import workloads
from hub.store.lookup import Lookup, Prepared
from hub.store.tables import workloads as table
from tests.store.build import START, a_workload, opened

pytestmark = pytest.mark.anyio

WHOLE = Lookup(lambda among: select(table).where(among(table.c.uid)))
IN_TEAM = Lookup(
    lambda among: select(table.c.uid).where(
        among(table.c.uid), table.c.namespace == bindparam("team"), table.c.live.is_(True)
    )
)


BY_NAME = Lookup(lambda among: select(table.c.uid).where(among(table.c.namespace, table.c.name)))


async def with_jobs(db, count):
    rows = [
        a_workload(f"u{i:05d}", labels={"a": "ü"}, started_at=START, set_aside=None)
        for i in range(count)
    ]
    await db.write(lambda tx: workloads.add(tx, rows))


async def test_values_are_those_of_the_query(tmp_path):
    """JSON, instants, booleans and nulls come back as Python values."""
    async with opened(tmp_path) as db:
        await with_jobs(db, 2)
        expected = await db.read(
            lambda tx: [tuple(row) for row in tx.conn.execute(select(table)).all()]
        )
        found = await db.read(lambda tx: WHOLE.rows(tx.conn, {"u00000", "u00001", "none"}))
        assert sorted(found) == sorted(expected)


async def test_further_conditions_are_bound_by_name(tmp_path):
    """What is not a key is given when the lookup is run."""
    async with opened(tmp_path) as db:
        await with_jobs(db, 2)
        ours = await db.read(lambda tx: IN_TEAM.rows(tx.conn, ["u00001"], team="team-a"))
        theirs = await db.read(lambda tx: IN_TEAM.rows(tx.conn, ["u00001"], team="team-b"))
        assert (ours, theirs) == ([("u00001",)], [])


@pytest.mark.parametrize("count", [0, 1, 2500])
async def test_any_number_of_keys_is_one_statement(tmp_path, count):
    """No limit of bound parameters applies; no keys, no rows."""
    async with opened(tmp_path) as db:
        await with_jobs(db, 2500)
        keys = [f"u{i:05d}" for i in range(count)]
        found = await db.read(lambda tx: IN_TEAM.rows(tx.conn, keys, team="team-a"))
        assert sorted(uid for (uid,) in found) == keys


async def test_keys_may_be_pairs(tmp_path):
    """Rows by namespace and name: no other combination of the same parts is found."""
    async with opened(tmp_path) as db:
        rows = [
            a_workload(f"{team}-{name}", namespace=team, name=name)
            for team in ("a", "b")
            for name in ("x", "y", "odd'\"ü")
        ]
        await db.write(lambda tx: workloads.add(tx, rows))
        pairs = [("a", "x"), ("b", "y"), ("b", "odd'\"ü"), ("c", "x")]
        found = await db.read(lambda tx: BY_NAME.rows(tx.conn, pairs))
        assert sorted(uid for (uid,) in found) == ["a-x", "b-odd'\"ü", "b-y"]


STATES = Prepared(
    select(table).where(
        table.c.state.in_(["Pending", "Held"]), table.c.created_at <= bindparam("until")
    )
)


async def test_a_prepared_query_finds_what_the_query_finds(tmp_path):
    """Lists that the query holds itself, instants that are bound, and values of columns are converted."""
    async with opened(tmp_path) as db:
        await with_jobs(db, 2)
        expected = await db.read(
            lambda tx: [tuple(row) for row in tx.conn.execute(select(table)).all()]
        )
        until = max(row.created_at for row in await db.read(_whole))
        found = await db.read(lambda tx: STATES.rows(tx.conn, until=until))
        before = await db.read(
            lambda tx: STATES.rows(tx.conn, until=until - dt.timedelta(seconds=1))
        )
        assert (sorted(found), before) == (sorted(expected), [])


async def test_the_first_value_of_a_prepared_query_is_none_without_a_row(tmp_path):
    """As `Result.scalar` has it."""
    named = Prepared(select(table.c.uid).where(table.c.uid == bindparam("given")))
    async with opened(tmp_path) as db:
        await with_jobs(db, 1)
        found = await db.read(lambda tx: named.scalar(tx.conn, given="u00000"))
        nothing = await db.read(lambda tx: named.scalar(tx.conn, given="none"))
        assert (found, nothing) == ("u00000", None)


def _whole(tx):
    return tx.conn.execute(select(table)).all()

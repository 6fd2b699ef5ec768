"""A start compares the tables with those of this release, on both databases and in every process."""

import pytest

from hub.store import form, schema
from hub.store.backends.choose import backend_of
from tests.databases import url_of

CHANGES = {
    "a column is gone": ("ALTER TABLE workloads DROP COLUMN pods_ready_at", "pods_ready_at"),
    "a column must be given": (
        "ALTER TABLE workloads ADD COLUMN hue VARCHAR(9) NOT NULL DEFAULT ''",
        "hue",
    ),
    "an index is gone": ("DROP INDEX ix_workloads_state", "index workloads"),
    "an index forbids": (
        "CREATE UNIQUE INDEX one ON workloads (queue)",
        "unique workloads(queue)",
    ),
    "a table is gone": ("DROP TABLE usage", "column usage."),
}


@pytest.fixture
def conn(tmp_path):
    """A database of this release, as the first start of a hub leaves it."""
    engine = backend_of(url_of(tmp_path)).writer_engine()
    with engine.begin() as connection:
        schema.migrate(connection)
        yield connection
    engine.dispose()


def test_a_new_database_does_not_differ(conn):
    """`create` makes the tables that a start checks for."""
    assert form.differences(conn) == []


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_by_hand_is_found_after_a_good_start(conn, name):
    """A start that found the tables as they should be does not excuse the next one from looking."""
    statement, named = CHANGES[name]
    conn.exec_driver_sql(statement)
    with pytest.raises(schema.UnknownSchema) as refused:
        schema.migrate(conn)
    assert named in str(refused.value)


def test_a_table_made_by_another_text_is_judged_by_its_columns(conn):
    """An index that others add changes what the catalog holds, not what the hub needs."""
    conn.exec_driver_sql("CREATE INDEX mine ON workloads (labels)")
    assert form.differences(conn) == []


@pytest.mark.store("postgres")
@pytest.mark.parametrize(
    "kind", ['TEXT COLLATE "default"', 'VARCHAR(64) COLLATE "C"'], ids=["collation", "length"]
)
def test_the_type_of_a_column_counts(conn, kind):
    """Another collation sorts names otherwise; another length refuses some."""
    conn.exec_driver_sql(f"ALTER TABLE settings ALTER COLUMN name TYPE {kind}")
    assert "column settings.name" in form.told(form.differences(conn))

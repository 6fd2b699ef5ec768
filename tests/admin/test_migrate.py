"""The schema of a store: looked at, brought up to date, taken back; and who may run beside whom."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from hub import folder
from hub.admin import migrate
from hub.admin.opening import HubAlive
from hub.store import compatibility, form, schema, workloads
from hub.store.backends.choose import backend_of
from hub.store.engine import Database
from hub.store.errors import UnusableDatabase
from hub.store.tables import metadata
from shared.clock import ManualClock
from tests.databases import url_of
from tests.store.build import START, a_workload
from tests.store.dumps import DUMPS, loaded, revision_of

pytestmark = pytest.mark.anyio
NEWER = "2999_01_01_newer"
# Earlier forms of a revision that was added to while in use: back is to the last of them.
REFORMED = tuple(f"evictions-{number}" for number in (1, 2, 3, 4))


@contextlib.contextmanager
def connected(url: str, name: str = "") -> Iterator[Connection]:
    """A transaction on the database of an address."""
    engine = backend_of(url, name).writer_engine()
    with engine.begin() as conn:
        yield conn
    engine.dispose()


def opens(url: str, *, may_migrate: bool = True) -> Database:
    return Database.open(url, ManualClock(START), may_migrate=may_migrate)


def make_newer(url: str, beside: tuple[str, ...]) -> None:
    """What a later release would leave: a revision of its own, with a column that we do not know."""
    with connected(url) as conn:
        conn.execute(text("ALTER TABLE workloads ADD COLUMN hue VARCHAR(10)"))
        conn.execute(text("UPDATE alembic_version SET version_num = :to"), {"to": NEWER})
        compatibility.tell(conn, NEWER, beside)


@pytest.mark.parametrize("dump", DUMPS)
def test_a_schema_goes_up_and_back(tmp_path: Path, dump: str) -> None:
    """From each landed revision: behind, then current, then what it was, with what it held, and up again."""
    url = url_of(tmp_path)
    loaded(dump, url)
    then = revision_of(dump)
    with connected(url) as conn:
        was = form.facts(conn)
    if then != schema.HEAD:
        assert migrate.check(url).state == migrate.BEHIND
    before, now = migrate.up(url)
    assert (before, now.state, now.differing) == (then, migrate.CURRENT, "")
    if then != schema.HEAD:
        before, now = migrate.down(url, then)
        assert (before, now.found, now.state) == (schema.HEAD, then, migrate.BEHIND)
        with connected(url) as conn:
            assert "old" in conn.execute(text("SELECT name FROM workloads")).scalars().all()
            assert schema.revision(conn) == then
            assert form.facts(conn) == was or dump.startswith(REFORMED), "a hub of that day starts"
    migrate.up(url)
    assert migrate.check(url).usable


def test_to_look_makes_and_changes_nothing(tmp_path: Path) -> None:
    """An empty database stays one; of a file that is not there nothing is made."""
    url = url_of(tmp_path)
    if url.startswith("sqlite:"):
        with pytest.raises(UnusableDatabase, match="is not there"):
            migrate.check(url)
        assert list(tmp_path.iterdir()) == []
    else:
        assert migrate.check(url).state == migrate.EMPTY
        assert migrate.check(url).state == migrate.EMPTY


async def test_a_hub_that_may_not_migrate_refuses_an_older_schema(tmp_path: Path) -> None:
    """It names the command, and opens once that has run; a new database is refused in the same way."""
    url = url_of(tmp_path)
    with pytest.raises(schema.SchemaBehind, match=r"is empty.*roadstead admin migrate"):
        opens(url, may_migrate=False)
    migrate.up(url)
    await opens(url, may_migrate=False).close()
    migrate.down(url, schema.FIRST_OF_POSTGRES)
    with pytest.raises(schema.SchemaBehind, match="roadstead admin migrate"):
        opens(url, may_migrate=False)


async def test_a_hub_runs_beside_a_newer_schema_that_says_so(tmp_path: Path) -> None:
    """It starts, writes, and leaves the schema and what it says of itself alone."""
    url = url_of(tmp_path)
    migrate.up(url)
    make_newer(url, (schema.HEAD,))
    assert migrate.check(url).state == migrate.BESIDE
    db = opens(url)
    await db.write(lambda tx: workloads.add(tx, [a_workload("w")]))
    await db.close()
    with connected(url) as conn:
        assert schema.revision(conn) == NEWER
        assert compatibility.beside(conn, NEWER) == (schema.HEAD,)


def test_a_hub_refuses_a_newer_schema_that_does_not(tmp_path: Path) -> None:
    """After a step that contracts, or where what it needs is gone after all: the line says what to do."""
    url = url_of(tmp_path)
    migrate.up(url)
    make_newer(url, ())
    with pytest.raises(schema.UnknownSchema, match=f"{NEWER}.*--down {schema.HEAD}"):
        opens(url)
    with connected(url) as conn:
        compatibility.tell(conn, NEWER, (schema.HEAD,))
        conn.execute(text("DROP TABLE usage"))
    with pytest.raises(schema.UnknownSchema, match=r"usage.* is missing"):
        opens(url)


def test_what_was_said_of_another_revision_counts_for_nothing(tmp_path: Path) -> None:
    """A hub of an older release may have left it there: it tells nothing of the schema that came since."""
    url = url_of(tmp_path)
    migrate.up(url)
    make_newer(url, ())
    with connected(url) as conn:
        compatibility.tell(conn, "2026_01_01_another", (schema.HEAD,))
    assert migrate.check(url).state == migrate.NEWER
    with pytest.raises(schema.UnknownSchema):
        opens(url)


@pytest.mark.store("postgres")
def test_a_schema_is_not_contracted_under_older_hubs(tmp_path: Path) -> None:
    """Hubs of a revision beside which the new one can not be must be stopped first; others go on."""
    url = url_of(tmp_path)
    loaded("replicas.pg", url)
    with connected(url, "roadstead-hub 2026_11_22_api_servers"):
        with pytest.raises(schema.SchemaBehind, match=r"2026_11_22_api_servers.*stop them first"):
            migrate.up(url)
        assert migrate.check(url).hubs == ("2026_11_22_api_servers",)
    with connected(
        url, "roadstead-hub"
    ):  # of a release that does not say: at home on what is there
        assert migrate.up(url)[1].state == migrate.CURRENT


@pytest.mark.store("postgres")
async def test_what_the_older_schema_can_not_hold_is_not_taken_back(tmp_path: Path) -> None:
    """A number of more than 32 bits has no place in it: it is refused, and the database as it was."""
    url = url_of(tmp_path)
    db = opens(url)
    await db.write(lambda tx: workloads.add(tx, [a_workload("w")]))
    await db.close()
    with connected(url) as conn:
        conn.execute(text("UPDATE workloads SET epoch = 2147483648"))
    with pytest.raises(schema.UnknownSchema, match=r"can not be taken back to .*: integer out"):
        migrate.down(url, schema.FIRST_OF_POSTGRES)
    assert migrate.check(url).state == migrate.CURRENT
    with connected(url) as conn:
        conn.execute(text("UPDATE workloads SET epoch = 2147483647"))
    assert migrate.down(url, schema.FIRST_OF_POSTGRES)[1].state == migrate.BEHIND


@pytest.mark.store("postgres")
def test_a_hub_that_ends_is_waited_for(tmp_path: Path) -> None:
    """The server lists the connection of a stopped hub for a moment: that is no hub that runs."""
    url = url_of(tmp_path)
    migrate.up(url)
    begun, listed = threading.Event(), threading.Event()

    def end() -> None:
        with connected(url, f"roadstead-hub {schema.HEAD}") as conn:
            conn.execute(text("SELECT 1"))
            begun.set()
            assert listed.wait(60)
            conn.execute(text("SELECT pg_sleep(0.3)"))

    hub = threading.Thread(target=end)
    hub.start()
    assert begun.wait(60)
    assert migrate.check(url).hubs == (schema.HEAD,)
    listed.set()
    assert migrate.down(url, schema.FIRST_OF_POSTGRES)[1].state == migrate.BEHIND
    hub.join()


@pytest.mark.store("postgres")
def test_hubs_that_run_on_ask_anew_after_a_migration(tmp_path: Path) -> None:
    """What they had prepared would be refused over a column that became wider; their connections end."""
    url = url_of(tmp_path)
    loaded("credentials.pg", url)
    engine = backend_of(url, "roadstead-hub 2026_11_23_credentials").reader_engine(1)

    def ask() -> list[int]:
        with engine.connect() as conn:
            return list(conn.execute(text("SELECT epoch FROM workloads")).scalars())

    before = [ask() for _ in range(20)]  # by then the driver has prepared it
    migrate.up(url)
    with pytest.raises(OperationalError) as ended:
        ask()
    assert ended.value.connection_invalidated, "a hub reads again after that"
    assert ask() == before[0]
    engine.dispose()


@pytest.mark.store("postgres")
def test_hubs_of_another_database_go_on(tmp_path: Path) -> None:
    """One server may serve several fleets: those of another do not count here and keep their connections."""
    url, other = url_of(tmp_path), url_of(tmp_path / "other")
    loaded("credentials.pg", url)
    with connected(other, "roadstead-hub 2026_11_22_api_servers") as conn:
        assert migrate.check(url).hubs == ()
        assert migrate.up(url)[1].state == migrate.CURRENT
        with connected(url) as ours:
            backend_of(url).disconnect(ours)
        assert conn.execute(text("SELECT 1")).scalar() == 1


def test_a_schema_is_not_taken_back_under_a_hub(tmp_path: Path) -> None:
    """A hub that runs would fail on every write."""
    url = url_of(tmp_path)
    migrate.up(url)
    if url.startswith("sqlite:"):
        with folder.locked(tmp_path), pytest.raises(HubAlive, match="another hub is running"):
            migrate.down(url, schema.FIRST_OF_POSTGRES)
    else:
        hub = connected(url, f"roadstead-hub {schema.HEAD}")
        with hub, pytest.raises(schema.SchemaBehind, match="stop them first"):
            migrate.down(url, schema.FIRST_OF_POSTGRES)
    assert migrate.check(url).state == migrate.CURRENT


@pytest.mark.parametrize("to", ["nothing", schema.HEAD, "base", "../x"])
def test_only_an_older_revision_can_be_gone_back_to(tmp_path: Path, to: str) -> None:
    """Anything else is refused with those that there are, and nothing is changed."""
    url = url_of(tmp_path)
    migrate.up(url)
    with pytest.raises(schema.UnknownSchema, match=schema.FIRST_OF_POSTGRES):
        migrate.down(url, to)
    assert migrate.check(url).state == migrate.CURRENT


@pytest.mark.parametrize("older", schema.BESIDE)
def test_what_came_since_those_that_may_stay_only_expands(tmp_path: Path, older: str) -> None:
    """A hub of that revision finds all that it has, and may leave out whatever was added to a row."""
    url = url_of(tmp_path)
    migrate.up(url)
    migrate.down(url, older)
    with connected(url) as conn:
        there = form.facts(conn)
    migrate.up(url)
    with connected(url) as conn:
        assert form.unmet(there, form.facts(conn)) == set()
    had = {fact.split(" ")[1] for fact in there if fact.startswith("column ")}
    for table in metadata.sorted_tables:
        if f"table {table.name}" not in there:
            continue
        for column in table.columns:
            if f"{table.name}.{column.name}" not in had:
                assert column.nullable or column.server_default is not None, column

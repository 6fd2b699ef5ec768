"""The database that tests copy is what a hub creates, and nothing more."""

import pytest
from sqlalchemy import text

from hub.services.context import identity
from hub.store import form, schema
from hub.store.backends.choose import backend_of
from hub.store.engine import Database
from hub.store.keyring import Keyring
from hub.store.tables import metadata
from shared.clock import ManualClock
from tests import databases, prepared
from tests.store.build import START, opened

pytestmark = pytest.mark.anyio


def content(url):
    """The form of a database, its revision, and all rows of each table."""
    engine = backend_of(url).reader_engine(1)
    try:
        with engine.connect() as conn:
            rows = {
                name: [tuple(row) for row in conn.execute(text(f"SELECT * FROM {name}"))]
                for name in metadata.tables
            }
            return form.facts(conn), schema.revision(conn), rows
    finally:
        engine.dispose()


async def test_a_copy_equals_what_a_start_without_keys_creates(tmp_path):
    """The same columns, indexes and revision, and the same rows in every table."""
    created, copied = tmp_path / "created", tmp_path / "copied"
    await Database.open(databases.url_of(created), ManualClock(START)).close()
    assert content(prepared.url_of(copied)) == content(databases.url_of(created))


async def test_each_copy_gets_an_identity_of_its_own(tmp_path):
    """The hub id, the incarnation and the page key come with the first start, not with the copy."""
    known = []
    for name in ("one", "other"):
        async with opened(tmp_path / name) as db:
            known.append(await db.write(identity.load))
    for field in ("hub_id", "incarnation", "page_key"):
        assert getattr(known[0], field) != getattr(known[1], field), field


async def test_a_copy_belongs_to_no_secrets_key(tmp_path):
    """Hubs with different secrets keys start on two copies."""
    for number in (b"1", b"2"):
        url = prepared.url_of(tmp_path / number.decode())
        db = Database.open(url, ManualClock(START), keys=Keyring([number * 32]))
        await db.close()


@pytest.mark.store("sqlite")
def test_a_copied_file_is_its_owners_alone(tmp_path):
    """As the hub makes it."""
    prepared.url_of(tmp_path / "hub")
    assert (tmp_path / "hub" / "hub.db").stat().st_mode & 0o777 == 0o600


async def test_a_database_that_is_there_is_not_replaced(tmp_path):
    """A hub that is opened again finds its data."""
    async with opened(tmp_path) as db:
        first = await db.write(identity.load)
    async with opened(tmp_path) as db:
        assert await db.write(identity.load) == first

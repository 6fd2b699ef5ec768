"""Engines of a process share compiled statements, except where their keys differ."""

import pytest
from sqlalchemy import LargeBinary, select, type_coerce

from hub.store import manifests
from hub.store.backends.choose import backend_of
from hub.store.engine import Database
from hub.store.keyring import NO_KEYS, Keyring, Sealed
from hub.store.tables import manifests as table
from shared.clock import ManualClock
from tests import prepared
from tests.store.build import START

pytestmark = pytest.mark.anyio
OF_A_FILE = pytest.mark.store("sqlite")
ONE, TWO = Keyring([b"1" * 32]), Keyring([b"2" * 32])
TEXT = b'{"password":"canary"}'
PLACE = "manifests.manifest"


async def kept(folder, keys):
    """Write one manifest as a hub with these keys; the bytes that the file holds for it."""

    def run(tx):
        manifests.add(tx, [{"uid": "j", "generation": 1, "manifest": TEXT, "hash": ""}])
        assert manifests.latest(tx, "j")[1] == TEXT
        return tx.conn.execute(select(type_coerce(table.c.manifest, LargeBinary))).scalar_one()

    db = Database.open(prepared.url_of(folder), ManualClock(START), keys=keys)
    try:
        return await db.write(run)
    finally:
        await db.close()


@OF_A_FILE
async def test_each_hub_of_a_process_seals_with_its_own_keys(tmp_path):
    """The statement that another hub compiled before seals with the keys of that one."""
    for name, mine, others in (("one", ONE, TWO), ("two", TWO, ONE)):
        raw = await kept(tmp_path / name, mine)
        assert mine.unseal(raw, PLACE) == TEXT
        with pytest.raises(Sealed):
            others.unseal(raw, PLACE)


@OF_A_FILE
@pytest.mark.parametrize("order", [(ONE, NO_KEYS), (NO_KEYS, ONE)], ids=["after", "before"])
async def test_a_hub_without_keys_writes_clear_text_beside_one_with_keys(tmp_path, order):
    """Whichever of them compiled the statement first."""
    for number, keys in enumerate(order):
        raw = await kept(tmp_path / str(number), keys)
        assert (raw == TEXT) is (keys is NO_KEYS)


def test_engines_with_one_keyring_share_compiled_statements(tmp_path):
    """The second engine does not compile what the first has; one with another keyring does."""
    statement = select(table.c.manifest).where(table.c.uid == "shared by two engines")
    url, found = prepared.url_of(tmp_path), []
    for keys in (ONE, ONE, TWO):
        engine = backend_of(url, keys=keys).writer_engine()
        with engine.begin() as conn:
            found.append(conn.execute(statement).context.cache_hit.name)
        engine.dispose()
    assert found == ["CACHE_MISS", "CACHE_HIT", "CACHE_MISS"]

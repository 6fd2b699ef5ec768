"""Secrets in the database: encrypted, refused without their key, brought under another one while in use."""

import contextlib

import pytest
from sqlalchemy import LargeBinary, select, type_coerce

from hub.store import idempotency, manifests, objects, sealing, settings
from hub.store.engine import Database
from hub.store.errors import UnusableDatabase
from hub.store.keyring import NO_KEYS, Keyring, Sealed
from hub.store.sealing import START
from hub.store.tables import objects as objects_table, settings as settings_table
from shared.clock import ManualClock
from tests.prepared import url_of
from tests.store.build import START as NOW, an_object, call

pytestmark = pytest.mark.anyio
ONE, TWO = b"1" * 32, b"2" * 32
OLD, NEW = Keyring([ONE]), Keyring([TWO])
CANARY = "canary-5d1e-not-a-real-secret"


@contextlib.asynccontextmanager
async def opened(folder, keys=NO_KEYS):
    db = Database.open(url_of(folder), ManualClock(NOW), keys=keys)
    try:
        yield db
    finally:
        await db.close()


def a_secret(uid="s"):
    manifest = {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": CANARY}}
    return an_object(uid, kind="Secret", manifest=manifest, annotations={"was": CANARY})


def keys_in_use(tx):
    return settings.get(tx, sealing.STATE)["ids"]


def fill(tx):
    objects.add(tx, a_secret())
    manifests.add(
        tx, [{"uid": "j", "generation": 1, "manifest": f'"{CANARY}"'.encode(), "hash": ""}]
    )
    idempotency.add(tx, {("p", "k"): ("h", 201, CANARY.encode())})
    settings.put(tx, "page_key", CANARY)


def read_all(tx):
    found = objects.get(tx, "s")
    return [
        found.manifest["stringData"]["password"],
        found.annotations["was"],
        manifests.latest(tx, "j")[1].decode().strip('"'),
        idempotency.find(tx, [("p", "k")])[("p", "k")][2].decode(),
        settings.get(tx, "page_key"),
    ]


def kept(tx):
    """Everything that the sealed columns hold, as it is kept."""
    asked = select(settings_table.c.value).where(settings_table.c.name == "page_key")
    found = [str(tx.conn.execute(asked).scalar())]
    for table, column in sealing.COLUMNS:
        raw = tx.conn.execute(select(type_coerce(column, LargeBinary)).select_from(table))
        found += [str(bytes(each)) for each in raw.scalars()]
    return found


async def resealed(db, most=2):
    """Take steps until a pass is over; how many rows changed."""
    place, changed = START, 0
    while place is not None:
        step = await db.write(call(sealing.reseal, place, most))
        place, changed = step.next, changed + step.changed
    await db.write(sealing.finish)
    return changed


def test_every_column_for_secrets_is_known():
    """Manifests of jobs, of objects and of what was given, annotations, replies that are replayed."""
    assert {f"{table.name}.{column.name}" for table, column in sealing.COLUMNS} == {
        "contents.manifest",
        "idempotency.response",
        "manifests.manifest",
        "objects.annotations",
        "objects.manifest",
    }
    places = {getattr(column.type, "place", "") for _, column in sealing.COLUMNS}
    assert places == {f"{table.name}.{column.name}" for table, column in sealing.COLUMNS}


async def test_with_a_key_nothing_is_in_clear(tmp_path):
    """What is read is what was written; what is kept says nothing of it."""
    async with opened(tmp_path, OLD) as db:
        await db.write(fill)
        assert await db.read(read_all) == [CANARY] * 5
        assert CANARY not in " ".join(await db.read(kept))
        assert await resealed(db) == 1, (
            "a pass finds nothing but the setting, which it writes anew"
        )


@pytest.mark.store("sqlite")
async def test_the_file_holds_no_secret(tmp_path):
    """Neither the database nor its log."""
    async with opened(tmp_path, OLD) as db:
        await db.write(fill)
    content = b"".join(path.read_bytes() for path in tmp_path.glob("hub.db*"))
    assert CANARY.encode() not in content
    async with opened(tmp_path / "clear") as db:
        await db.write(fill)
    content = b"".join(path.read_bytes() for path in (tmp_path / "clear").glob("hub.db*"))
    assert CANARY.encode() in content, "the test can tell"


@pytest.mark.parametrize(
    ("keys", "says"),
    [(NO_KEYS, "no --secrets-key was given"), (NEW, "--secrets-key has another")],
)
async def test_without_its_key_it_is_not_opened(tmp_path, keys, says):
    """At start, by the key's id, and never later."""
    async with opened(tmp_path, OLD) as db:
        await db.write(fill)
    with pytest.raises(UnusableDatabase, match=says) as refusal:
        Database.open(url_of(tmp_path), ManualClock(NOW), keys=keys)
    assert OLD.writes in str(refusal.value)
    async with opened(tmp_path, OLD) as db:
        assert await db.read(read_all) == [CANARY] * 5


async def test_a_database_in_clear_is_encrypted_while_in_use(tmp_path):
    """What was written before there was a key is read from the first moment on, and closed step by step."""
    async with opened(tmp_path) as db:
        await db.write(fill)
        assert CANARY in " ".join(await db.read(kept))
        assert not await db.read(sealing.is_due)
    async with opened(tmp_path, OLD) as db:
        assert await db.read(read_all) == [CANARY] * 5
        assert await db.read(sealing.is_due)
        assert await resealed(db) == 5
        assert CANARY not in " ".join(await db.read(kept))
        assert await db.read(read_all) == [CANARY] * 5
        assert not await db.read(sealing.is_due)


async def test_a_key_is_changed_while_in_use(tmp_path):
    """Both keys are needed until a pass is over, then the new one alone is."""
    async with opened(tmp_path, OLD) as db:
        await db.write(fill)
    both = Keyring([TWO, ONE])
    async with opened(tmp_path, both) as db:
        await db.write(call(objects.add, a_secret("later")))
        assert set(await db.read(keys_in_use)) == {OLD.writes, NEW.writes}
    with pytest.raises(UnusableDatabase):
        Database.open(url_of(tmp_path), ManualClock(NOW), keys=NEW)
    async with opened(tmp_path, both) as db:
        assert await resealed(db) == 5
        assert await db.read(keys_in_use) == [NEW.writes]
    async with opened(tmp_path, NEW) as db:
        assert await db.read(read_all) == [CANARY] * 5
        assert not await db.read(sealing.is_due)


async def test_encryption_is_taken_back(tmp_path):
    """With `plain` first everything is in clear after a pass, and no key is needed any more."""
    async with opened(tmp_path, OLD) as db:
        await db.write(fill)
    async with opened(tmp_path, Keyring([None, ONE])) as db:
        assert await db.read(sealing.is_due)
        await resealed(db)
    async with opened(tmp_path) as db:
        assert await db.read(read_all) == [CANARY] * 5


async def test_a_step_has_a_bound(tmp_path):
    """Many rows are many transactions, each of which changes no more than it may."""
    async with opened(tmp_path) as db:
        await db.write(call(_add, *(f"s{n:02}" for n in range(20))))
    async with opened(tmp_path, OLD) as db:
        steps: list[int] = []
        place = START
        while place is not None:
            step = await db.write(call(sealing.reseal, place, 7))
            place = step.next
            steps.append(step.changed)
        assert max(steps) == 7
        assert sum(steps) >= 40


async def test_a_row_that_does_not_open_stops_nothing(tmp_path):
    """It is named and left as it is; reading it is refused, other rows are read."""
    async with opened(tmp_path, OLD) as db:
        await db.write(call(_add, "good", "bad"))
        spoilt = type_coerce(OLD.seal(b"{ }", "another.place"), LargeBinary)
        await db.write(
            lambda tx: tx.conn.execute(
                objects_table.update().where(objects_table.c.uid == "bad").values(manifest=spoilt)
            )
        )
        with pytest.raises(Sealed):
            await db.read(call(objects.get, "bad"))
    async with opened(tmp_path, Keyring([TWO, ONE])) as db:
        unreadable: list[str] = []
        place = START
        while place is not None:
            step = await db.write(call(sealing.reseal, place, 10))
            place = step.next
            unreadable += step.unreadable
        assert unreadable == ["objects.manifest bad"]
        assert (await db.read(call(objects.get, "good"))).manifest["kind"] == "Secret"


@pytest.mark.store("postgres")
async def test_what_a_hub_writes_with_the_earlier_key_is_not_forgotten(tmp_path):
    """It says so in the same transaction, though another hub took all for done: another pass is due."""
    async with (
        opened(tmp_path, Keyring([ONE, TWO])) as late,
        opened(tmp_path, Keyring([TWO, ONE])) as first,
    ):
        place = START
        while place is not None:
            place = (await first.write(call(sealing.reseal, place, 10))).next
        await first.write(sealing.finish)
        assert not await first.read(sealing.is_due)
        await late.write(call(objects.add, a_secret()))
        assert await first.read(sealing.is_due)
    with pytest.raises(UnusableDatabase, match=OLD.writes):
        Database.open(url_of(tmp_path), ManualClock(NOW), keys=NEW)


def _add(tx, *uids):
    for uid in uids:
        objects.add(tx, a_secret(uid))

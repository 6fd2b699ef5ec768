"""Encryption keys of a database's secrets, and their rotation, row by row.

The database says which keys its values may need (setting `secrets_keys`), so that a hub without one of them
does not start. A key is in it before anything is written with it, and is taken out when a pass over
all rows has found nothing of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import LargeBinary, Table, select, tuple_, type_coerce, update

from hub.store import settings
from hub.store.columns import SealedColumn, SealedJsonColumn, keys_of
from hub.store.errors import UnusableDatabase
from hub.store.keyring import Keyring, Sealed
from hub.store.tables import metadata
from hub.store.transaction import Transaction

STATE: Final = "secrets_keys"  # {"ids": [key id], "done": key id that everything is under}
Place = tuple[int, tuple[str | int, ...]]  # which column, and the key of the last checked row
START: Final[Place] = (0, ())


@dataclass(frozen=True, slots=True)
class Resealed:
    """The result of one step. `next`: position, None at the end; `unreadable`: rows that do not open."""

    next: Place | None
    changed: int
    unreadable: tuple[str, ...] = ()


# Every column that holds what only some may see; settings have theirs by their names.
COLUMNS: Final = tuple(
    (table, column)
    for table in metadata.sorted_tables
    for column in table.columns
    if isinstance(column.type, SealedColumn | SealedJsonColumn)
)


def enter(tx: Transaction, where: str) -> None:
    """See that this hub can read every secret here, and say what it will write with.

    Raises UnusableDatabase: a key is missing, or is not the one.
    """
    keys = keys_of(tx.conn.dialect)
    ids, _ = _state(tx)
    if missing := [each for each in ids if not keys.knows(each)]:
        given = "--secrets-key has another" if keys else "no --secrets-key was given"
        raise UnusableDatabase(
            f"{where}: its secrets are encrypted with key {', '.join(missing)}, and {given}; "
            "give the file with that key"
        )
    claim(tx)
    try:
        for name in settings.SECRET:
            settings.get(tx, name)
    except Sealed as error:
        raise UnusableDatabase(f"{where}: {error}; give the file with that key") from error


def claim(tx: Transaction) -> None:
    """Say that this hub writes with its first key; in every transaction: another hub may have unsaid it."""
    writes = keys_of(tx.conn.dialect).writes
    if not writes:
        return
    ids, done = tx.remembered("settings", STATE, lambda: _state(tx))
    if writes not in ids:
        _put(tx, [*ids, writes], done)


def is_due(tx: Transaction) -> bool:
    """True if any value may be under another key than the first, or in clear where it should be encrypted."""
    writes = keys_of(tx.conn.dialect).writes
    ids, done = _state(tx)
    return ids != ([writes] if writes else []) or done != writes


def reseal(tx: Transaction, place: Place, most: int) -> Resealed:
    """Bring the next `most` rows under the first key; one that does not open stays as it is."""
    number, after = place
    if number == len(COLUMNS):
        return Resealed(None, _reseal_settings(tx))
    table, column = COLUMNS[number]
    key = list(table.primary_key.columns)
    kept = type_coerce(column, LargeBinary)
    query = select(*key, kept).order_by(*key).limit(most)
    if after:
        query = query.where(tuple_(*key) > tuple_(*after))
    rows = tx.conn.execute(query).all()
    changed, unreadable = 0, []
    for row in rows:
        try:
            changed += _renew(tx, table, column.name, tuple(row[:-1]), row[-1])
        except Sealed:
            unreadable.append(f"{table.name}.{column.name} {'/'.join(map(str, row[:-1]))}")
    last = None if len(rows) < most else tuple(rows[-1][:-1])
    return Resealed(
        (number + 1, ()) if last is None else (number, last), changed, tuple(unreadable)
    )


def finish(tx: Transaction) -> None:
    """A whole pass has been made: no other key is needed any more."""
    writes = keys_of(tx.conn.dialect).writes
    _put(tx, [writes] if writes else [], writes)


def _renew(
    tx: Transaction, table: Table, column: str, key: tuple[str | int, ...], kept: bytes | None
) -> int:
    keys: Keyring = keys_of(tx.conn.dialect)
    if kept is None or keys.is_current(kept):
        return 0
    place = f"{table.name}.{column}"
    again = keys.seal(keys.unseal(kept, place), place)
    statement = update(table).values({column: type_coerce(again, LargeBinary)})
    for of, value in zip(table.primary_key.columns, key, strict=True):
        statement = statement.where(of == value)
    tx.conn.execute(statement)
    return 1


def _reseal_settings(tx: Transaction) -> int:
    names = settings.secret_names(tx)
    for name in names:
        settings.put(tx, name, settings.get(tx, name))
    return len(names)


def _state(tx: Transaction) -> tuple[list[str], str]:
    found = settings.get(tx, STATE) or {}
    return list(found.get("ids", ())), str(found.get("done", ""))


def _put(tx: Transaction, ids: Iterable[str], done: str) -> None:
    settings.put(tx, STATE, {"ids": list(ids), "done": done})

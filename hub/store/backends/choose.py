"""Chooses the database of an address."""

from hub.store.backends.backend import Backend
from hub.store.backends.sqlite import Sqlite
from hub.store.errors import UnusableDatabase
from hub.store.keyring import NO_KEYS, Keyring

_POSTGRES = ("postgresql://", "postgres://", "postgresql+psycopg://")


def backend_of(url: str, name: str = "", keys: Keyring = NO_KEYS) -> Backend:
    """The database at `url`, with what opens its secrets.

    `name`: the application name for a server, of a process that is no hub. Raises UnusableDatabase.
    """
    if url.startswith("sqlite:"):
        return Sqlite(url, keys)
    if url.startswith(_POSTGRES):
        from hub.store.backends.postgres import Postgres  # noqa: PLC0415 - its driver, where it is used

        return Postgres(url, name, keys) if name else Postgres(url, keys=keys)
    raise UnusableDatabase("the database's address is neither sqlite:///PATH nor postgresql://…")

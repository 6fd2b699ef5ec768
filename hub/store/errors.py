"""What can go wrong between a transaction and its caller, besides a refusal of the input.

StoreError
├── UnknownSchema      the database is of a newer release, or not the hub's (hub.store.schema)
├── UnusableDatabase   the file can not be opened, is damaged, or is no database
├── StoreUnavailable   the database could not answer or commit: nothing was acknowledged (503)
│   └── Damaged        … and will not: a part of the file is not what it should be
└── StaleTerm          a controller wrote under a term of leadership that has ended: it must stop
"""

from sqlalchemy.exc import DatabaseError, InterfaceError, OperationalError


class StoreError(Exception):
    """Base of the store's own errors."""


class StoreUnavailable(StoreError):
    """The database could not answer or commit. Nothing of the transaction is kept."""


class Damaged(StoreUnavailable):
    """A part of the file can not be read. Only a backup helps."""


class UnusableDatabase(StoreError):
    """Nothing can be done with the file; said at start, in one line."""


class StaleTerm(StoreError):
    """Another holder leads since; the transaction is rolled back."""


def told(error: Exception) -> Exception:
    """What a caller hears of `error`: StoreUnavailable where the database or its file is at fault."""
    if type(error) is DatabaseError:
        return Damaged(str(error.orig))
    if isinstance(error, OperationalError | InterfaceError):
        return StoreUnavailable(str(error.orig))
    return error

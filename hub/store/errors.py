"""Errors between a transaction and its caller, except rejections of the input.

StoreError
├── UnknownSchema      the database is of a newer release, or not the hub's (hub.store.schema)
├── SchemaBehind       … of an older one, and may not be changed now (hub.store.schema)
├── UnusableDatabase   the file can not be opened, is damaged, or is no database
├── StoreUnavailable   the database could not answer or commit: nothing was acknowledged (503)
│   ├── Damaged        … and will not: a part of the file is not what it should be
│   ├── OutcomeUnknown … and nobody can say whether it has committed
│   └── LeftBehind     others wrote more than is kept while this process stood still: start it anew
├── FeedTrimmed        changes that a decision must know of are no longer kept: read, and decide again
└── StaleTerm          a controller wrote under a term of leadership that has ended: it must stop
"""

from typing import Final

from sqlalchemy.exc import DatabaseError, DBAPIError, InterfaceError, OperationalError

REMEDY: Final = "restore a backup"


class StoreError(Exception):
    """Base of the store's own errors."""


class StoreUnavailable(StoreError):
    """The database could not answer or commit. Nothing of the transaction is kept."""


class Damaged(StoreUnavailable):
    """A part of the file can not be read. Only a backup helps."""


class UnusableDatabase(StoreError):
    """Nothing can be done with the file; said at start, in one line."""


class FeedTrimmed(StoreError):
    """The feed no longer names what was touched since a revision; the transaction is rolled back."""


class StaleTerm(StoreError):
    """Another holder leads since; the transaction is rolled back."""


class OutcomeUnknown(StoreUnavailable):
    """A commit broke and its outcome is unknown. The transaction must not be retried automatically."""


class LeftBehind(StoreUnavailable):
    """Later commits of others are no longer kept; this process must forget everything it remembers."""


# Of PostgreSQL: its connection, its resources, an administrator at work, transactions that it ended, and
# a missing table or column, as during a migration of another release.
_OF_THE_SERVER: Final = ("08", "25", "40", "53", "55", "57", "58", "XX", "F0", "42P01", "42703")
_DAMAGED: Final = ("XX001", "XX002")


def told(error: Exception) -> Exception:
    """The caller's view of `error`: StoreUnavailable where the database or its file is at fault."""
    if not isinstance(error, DBAPIError):
        return error
    state = getattr(error.orig, "sqlstate", None)
    text = " ".join(str(error.orig).split())
    if state is not None:
        if state in _DAMAGED:
            return Damaged(text)
        return StoreUnavailable(text) if state.startswith(_OF_THE_SERVER) else error
    if type(error) is DatabaseError:
        return Damaged(text)
    if isinstance(error, OperationalError | InterfaceError):
        return StoreUnavailable(text)
    return error

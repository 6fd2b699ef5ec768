"""Differences between databases as a whole: opening one, beginning a write, and the outcome of a commit.

`hub.store.dialect` spells single expressions; everything else in the store is the same.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection, Engine


@dataclass(frozen=True, slots=True)
class Entered:
    """A writing transaction has begun, and no other one is under way.

    `ticket`: with it the database can tell the outcome later; "" if that is never in doubt.
    """

    ticket: str = ""


class Feed(Protocol):
    """Notifications of other hubs' commits."""

    def wait(self, seconds: float) -> int:
        """Wait for a commit, at most `seconds`: the notified revision; 0 for none.

        Raises what the driver raises where the connection is gone; `open` then makes another one.
        """
        ...

    @property
    def connection(self) -> Connection:
        """To read with what was committed, beside everybody else."""
        ...

    def end_stopped(self) -> None:
        """End the connections of hubs that have stopped in the middle of a write: others wait for them."""
        ...

    def interrupt(self) -> None:
        """End a wait, from another thread; the connection is useless afterwards."""
        ...

    def close(self) -> None: ...


class Backend(Protocol):
    """One database. `where` names it in messages, without a password."""

    where: str
    shared: bool  # by several hubs: others write too

    def prepare(self) -> None:
        """Before the first connection. Raises OSError."""
        ...

    def writer_engine(self) -> Engine:
        """For the one thread that writes."""
        ...

    def reader_engine(self, size: int) -> Engine:
        """`size` connections that can not write; each transaction sees one state of the database."""
        ...

    def check(self, conn: Connection) -> None:
        """Can a hub keep its data here? Raises UnusableDatabase."""
        ...

    def enter(self, conn: Connection, *, first: bool = False) -> Entered:
        """At the beginning of a writing transaction: no other process writes until it ends.

        `first`: nothing else in this process ends stopped and awaited sessions.
        """
        ...

    def has_committed(self, engine: Engine, ticket: str) -> bool | None:
        """The outcome of a transaction whose COMMIT raised; None if unknown."""
        ...

    def hubs(self, conn: Connection) -> list[str]:
        """Other hubs that are on this database now: the revision each needs, "" if it does not say."""
        ...

    def staying_hubs(self, conn: Connection) -> list[str]:
        """Those of `hubs` that are not ending: the server lists a closed connection a moment longer.

        It may take two seconds.
        """
        ...

    def disconnect(self, conn: Connection) -> None:
        """Within the transaction that has altered tables: other hubs reconnect."""
        ...

    def now(self, conn: Connection) -> dt.datetime:
        """The database's own clock."""
        ...

    def tell(self, conn: Connection, revision: int) -> None:
        """Within a transaction: that others hear of `revision` once it is committed."""
        ...

    def open_feed(self) -> Feed | None:
        """A connection by which this hub hears of others' commits; None where there are no others."""
        ...


Learn = Callable[[dt.datetime], None]

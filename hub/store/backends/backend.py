"""What differs between databases as a whole: opening one, beginning a write, and how a commit ended.

How a single expression is spelled is `hub.store.dialect`; everything else in the store is the same.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection, Engine


@dataclass(frozen=True, slots=True)
class Entered:
    """A writing transaction has begun, and no other one is under way.

    `ticket`: by which the database can be asked later how it ended; "" where that is never in doubt.
    """

    ticket: str = ""


class Feed(Protocol):
    """What tells one hub that another one has committed."""

    def wait(self, seconds: float) -> int:
        """Until somebody has committed, at most `seconds`: the revision that was told; 0 for none.

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
        """End a wait, from another thread; the connection is of no more use."""
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
        """At the beginning of a writing transaction: from here on nobody else writes until it ends.

        `first`: nothing else in this process ends those that have stopped and are waited for.
        """
        ...

    def has_committed(self, engine: Engine, ticket: str) -> bool | None:
        """How a transaction ended whose COMMIT raised; None where that can not be found out."""
        ...

    def hubs(self, conn: Connection) -> list[str]:
        """Other hubs that are on this database now: the revision each needs, "" if it does not say."""
        ...

    def disconnect(self, conn: Connection) -> None:
        """Within the transaction that has altered tables: other hubs ask anew, by connections of theirs."""
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

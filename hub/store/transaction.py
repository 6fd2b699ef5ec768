"""One transaction as the functions of store and services see it.

Inside a group commit it is a savepoint: what it touched and said counts only if it succeeds.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar, cast

from sqlalchemy import Connection, bindparam, select

from hub.domain.access import EVERYTHING
from hub.store.dialect import raise_idle_limit
from hub.store.errors import StaleTerm
from hub.store.lookup import Prepared
from hub.store.records.history import NO_FACTS, EventFacts, NewEvent
from hub.store.tables import leases

LEADER = "leader"
MESSAGE_CHARS = 4096
_TERM: Final = Prepared(select(leases.c.term).where(leases.c.name == bindparam("held")))


T = TypeVar("T")
# What the one writer knows to hold in the database, by kind; forgotten when that kind is touched.
Memory = dict[str, dict[Any, Any]]
Touched = dict[str, set[str]]  # keys by kind


class Identified(Protocol):
    """The subject of an event: a record that identifies itself."""

    @property
    def uid(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...


class Transaction:
    """One transaction: its connection, its instant, and the changes for followers when it commits."""

    __slots__ = ("conn", "earlier", "events", "memory", "now", "scope", "touched", "via")

    def __init__(
        self,
        conn: Connection,
        now: dt.datetime,
        memory: Memory | None = None,
        earlier: Touched | None = None,
    ) -> None:
        self.conn = conn
        self.now = now
        self.memory = memory
        self.touched: Touched = {}
        self.earlier: Touched = earlier or {}  # by others in this group commit: in no feed yet
        self.events: list[NewEvent] = []
        self.scope = EVERYTHING  # the caller's rights: lists and finds apply them
        self.via = ""  # by what way people came, where the audit says it: the page

    def touch(self, kind: str, *keys: str) -> None:
        """Enter `keys` of `kind` into the change feed of this transaction."""
        self.touched.setdefault(kind, set()).update(keys)

    def say(
        self,
        of: Identified,
        reason: str,
        message: str,
        *,
        warning: bool = False,
        facts: EventFacts = NO_FACTS,
    ) -> None:
        """Say what happened to a workload, an object, or whatever else is known by kind and name."""
        self.event(
            uid=of.uid,
            kind=of.kind,
            namespace=of.namespace,
            name=of.name,
            reason=reason,
            message=message,
            type="Warning" if warning else "Normal",
            facts=facts,
        )

    def event(
        self,
        *,
        uid: str,
        kind: str,
        namespace: str,
        name: str,
        reason: str,
        message: str,
        type: str = "Normal",  # noqa: A002 - the column's name, and Kubernetes' word
        facts: EventFacts = NO_FACTS,
    ) -> None:
        """Say what happened to one object; written in bulk when the transaction commits."""
        self.events.append(
            {
                "at": self.now,
                "uid": uid,
                "kind": kind,
                "namespace": namespace,
                "name": name,
                "type": type,
                "reason": reason,
                "message": message[:MESSAGE_CHARS],
                "cluster": facts.cluster,
                "epoch": facts.epoch,
                "cause": facts.cause,
                "subject": facts.subject,
                "member_at": facts.member_at,
            }
        )

    def remembered(self, kind: str, key: object, read: Callable[[], T]) -> T:
        """The result of `read`, which follows from rows of `kind` alone: read again once they changed.

        Only the writer's transactions remember; every change of such rows must touch `kind`.
        """
        if self.memory is None or kind in self.touched:
            return read()
        known = self.memory.setdefault(kind, {})
        if key not in known:
            known[key] = read()
        return cast("T", known[key])

    def require_term(self, term: int) -> None:
        """Go on only while leadership term `term` is the present one.

        Raises StaleTerm. Checked inside the transaction, so a paused former leader can not commit.
        """
        held = _TERM.scalar(self.conn, held=LEADER)
        if held != term:
            raise StaleTerm(f"term {term} has ended; the present one is {held}")

    def may_take_long(self) -> None:
        """Compute for many seconds between statements: the database waits for this transaction.

        Others' writes wait as long; if this process is paused meanwhile, ten minutes.
        """
        raise_idle_limit(self.conn)

    def absorb(self, part: "Transaction") -> None:
        """Take over what a succeeded part of this transaction touched and said."""
        for kind, keys in part.touched.items():
            self.touched.setdefault(kind, set()).update(keys)
        self.events.extend(part.events)

"""How long workloads are said to run, and since when they do."""

import datetime as dt
from collections.abc import Iterable
from typing import Final, NamedTuple

import orjson
from sqlalchemy import LargeBinary, select, type_coerce

from hub.store.lookup import Lookup
from hub.store.tables import workloads
from hub.store.transaction import Transaction
from shared import labels

_c = workloads.c
EXPECTED: Final = f"{labels.PREFIX}expected-runtime"


class Timed(NamedTuple):
    """A workload's own word of its runtime, its limit, and its times."""

    uid: str
    expected: str | None
    max_runtime_s: int | None
    ran_s: int
    placed_at: dt.datetime | None
    started_at: dt.datetime | None


_TIMED: Final = Lookup(
    lambda among: select(
        _c.uid,
        type_coerce(_c.annotations, LargeBinary).label("annotations"),
        _c.max_runtime_s,
        _c.ran_s,
        _c.placed_at,
        _c.started_at,
    ).where(among(_c.uid))
)
_MARK: Final = EXPECTED.encode()


def timed(tx: Transaction, uids: Iterable[str]) -> list[Timed]:
    """Those of these workloads that say how long they run, or may run no longer than that."""
    found = []
    for uid, annotations, limit, ran_s, placed_at, started_at in _TIMED.rows(tx.conn, uids):
        raw = bytes(annotations) if annotations else b""
        expected = orjson.loads(raw).get(EXPECTED) if _MARK in raw else None
        if expected is not None or limit is not None:
            found.append(Timed(uid, expected, limit, ran_s or 0, placed_at, started_at))
    return found

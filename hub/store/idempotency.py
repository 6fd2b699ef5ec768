"""Replayable replies: what a principal was answered under a key, for a while."""

import datetime as dt
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, select, tuple_

from hub.store.dialect import CHUNK
from hub.store.tables import idempotency
from hub.store.transaction import Transaction

_PLAIN, _PACKED = b"0", b"1"
_PACK_FROM_BYTES = 2048

Key = tuple[str, str]  # (principal, key)
Reply = tuple[str, int, bytes]  # (hash of the request, status, body)


def find(tx: Transaction, keys: Sequence[Key]) -> dict[Key, Reply]:
    """Replies stored under the given keys."""
    found: dict[Key, Reply] = {}
    for start in range(0, len(keys), CHUNK // 2):
        rows = tx.conn.execute(
            select(idempotency).where(
                tuple_(idempotency.c.principal, idempotency.c.key).in_(
                    keys[start : start + CHUNK // 2]
                )
            )
        )
        for row in rows:
            found[(row.principal, row.key)] = (row.request_hash, row.status, _unpack(row.response))
    return found


def add(tx: Transaction, replies: Mapping[Key, Reply]) -> None:
    """Store replies in the transaction that caused them."""
    if not replies:
        return
    rows: list[dict[str, Any]] = [
        {
            "principal": principal,
            "key": key,
            "request_hash": request_hash,
            "status": status,
            "response": _pack(body),
            "created_at": tx.now,
        }
        for (principal, key), (request_hash, status, body) in replies.items()
    ]
    tx.conn.execute(idempotency.insert(), rows)


def trim(tx: Transaction, before: dt.datetime, limit: int) -> int:
    """Delete at most `limit` replies older than `before`; how many."""
    old = (
        select(idempotency.c.principal, idempotency.c.key)
        .where(idempotency.c.created_at < before)
        .order_by(idempotency.c.created_at)
        .limit(limit)
    )
    return tx.conn.execute(
        delete(idempotency).where(
            tuple_(idempotency.c.principal, idempotency.c.key).in_(old.subquery().select())
        )
    ).rowcount


def _pack(body: bytes) -> bytes:
    if len(body) < _PACK_FROM_BYTES:
        return _PLAIN + body
    return _PACKED + zlib.compress(body, 1)


def _unpack(stored: bytes) -> bytes:
    return zlib.decompress(stored[1:]) if stored[:1] == _PACKED else stored[1:]

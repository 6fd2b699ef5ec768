"""Replayable replies: what a principal was answered under a key, for a while."""

import datetime as dt
import zlib
from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import delete, select, tuple_

from hub.store.bulk import Bulk
from hub.store.lookup import Lookup
from hub.store.tables import idempotency
from hub.store.transaction import Transaction
from shared.documents import Json

_PLAIN, _PACKED = b"0", b"1"
_PACK_FROM_BYTES = 2048

Key = tuple[str, str]  # (principal, key)
Reply = tuple[str, int, bytes]  # (hash of the request, status, body)
_ADD: Final = Bulk.insert(idempotency)
_BY_KEY: Final = Lookup(
    lambda among: select(
        idempotency.c.principal,
        idempotency.c.key,
        idempotency.c.request_hash,
        idempotency.c.status,
        idempotency.c.response,
    ).where(among(idempotency.c.principal, idempotency.c.key))
)


def find(tx: Transaction, keys: Sequence[Key]) -> dict[Key, Reply]:
    """Replies stored under the given keys."""
    return {
        (principal, key): (request_hash, status, _unpack(response))
        for principal, key, request_hash, status, response in _BY_KEY.rows(tx.conn, keys)
    }


def add(tx: Transaction, replies: Mapping[Key, Reply]) -> None:
    """Store replies in the transaction that caused them."""
    if not replies:
        return
    rows: list[Json] = [
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
    _ADD.run(tx.conn, rows)


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

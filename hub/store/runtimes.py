"""Declared runtimes of workloads, and their starts."""

import datetime as dt
from collections.abc import Iterable
from typing import Final, NamedTuple

import orjson
from sqlalchemy import LargeBinary, func, select, type_coerce

from hub.store.lookup import Lookup
from hub.store.tables import manifests, workloads
from hub.store.transaction import Transaction
from shared import labels

_c = workloads.c
EXPECTED: Final = f"{labels.PREFIX}expected-runtime"


class Timed(NamedTuple):
    """A workload's own word of its runtime, its limits, and its times.

    `max_runtime_s` counts over all its runs, `deadline_s` (activeDeadlineSeconds) from the start of each.
    """

    uid: str
    expected: str | None
    max_runtime_s: int | None
    ran_s: int
    placed_at: dt.datetime | None
    started_at: dt.datetime | None
    deadline_s: int | None = None


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

_DEADLINE: Final = "activeDeadlineSeconds"
# Manifests are sealed as a whole, so each has to be read: no more than this, and no large ones.
MOST_READ: Final = 1000
MOST_BYTES: Final = 64 << 10
_AT_ONCE: Final = 100
_m = manifests.c
_MANIFESTS: Final = Lookup(
    lambda among: select(_m.uid, _m.generation, _m.manifest).where(
        among(_m.uid), func.length(_m.manifest) <= MOST_BYTES
    )
)


def timed(tx: Transaction, uids: Iterable[str]) -> list[Timed]:
    """Those of these workloads that say how long they run, or may run no longer than that.

    A deadline is looked for in the manifests of the first `MOST_READ`.
    """
    found = []
    listed = list(uids)
    deadlines = _deadlines(tx, listed[:MOST_READ])
    for uid, annotations, limit, ran_s, placed_at, started_at in _TIMED.rows(tx.conn, listed):
        raw = bytes(annotations) if annotations else b""
        expected = orjson.loads(raw).get(EXPECTED) if _MARK in raw else None
        deadline = deadlines.get(uid)
        if expected is not None or limit is not None or deadline is not None:
            found.append(Timed(uid, expected, limit, ran_s or 0, placed_at, started_at, deadline))
    return found


def _deadlines(tx: Transaction, uids: list[str]) -> dict[str, int]:
    newest: dict[str, tuple[int, int | None]] = {}
    for start in range(0, len(uids), _AT_ONCE):
        some = uids[start : start + _AT_ONCE]
        for uid, generation, manifest in _MANIFESTS.rows(tx.conn, some):
            if generation >= newest.get(uid, (0, None))[0]:
                newest[uid] = generation, _deadline(bytes(manifest))
    return {uid: deadline for uid, (_, deadline) in newest.items() if deadline is not None}


def _deadline(manifest: bytes) -> int | None:
    """`spec.activeDeadlineSeconds`, or that of a `runPolicy` (Kubeflow)."""
    if _DEADLINE.encode() not in manifest:
        return None
    spec = orjson.loads(manifest).get("spec")
    if not isinstance(spec, dict):
        return None
    policy = spec.get("runPolicy")
    found = spec.get(_DEADLINE) or (policy.get(_DEADLINE) if isinstance(policy, dict) else None)
    return found if type(found) is int else None

"""Waiting workloads at a hub's start: maybe a million, so shared parts are created once.

Rows that agree in all but their place come as one class; the few that say more are read whole.
"""

import datetime as dt
import heapq
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hub.domain.instants import to_micros
from hub.domain.queueing.lanes import Entry
from hub.services.index.catalog import DEFAULT_QUEUE
from hub.store import schedule
from hub.store.schedule import OWN, Alike, WaitingRow
from hub.store.transaction import Transaction

_RUN: Final = (
    5000  # entries sorted by one call, which nobody else can interrupt: some milliseconds
)


@dataclass(frozen=True, slots=True)
class AtStart:
    """Who waits, in no order, by what they agree in; `apart`: uids of those whose rows say more."""

    classes: dict[Alike, list[Entry]] = field(default_factory=dict)
    apart: list[str] = field(default_factory=list)


def read_at_start(tx: Transaction) -> AtStart:
    """Everybody who waits."""
    return gather(schedule.waiting(tx))


def gather(batches: Iterable[Sequence[WaitingRow]]) -> AtStart:
    """Rows as `schedule.waiting` gives them, by class."""
    found = AtStart()
    known: dict[tuple[Any, ...], tuple[str, str, list[Entry]]] = {}
    last, queued_at = None, 0
    for rows in batches:
        for row in rows:
            uid, epoch, parallelism, completions, generation, at, says_more = row[:OWN]
            if says_more:
                found.apart.append(uid)
                continue
            if at != last:  # those who were submitted together have one instant
                last, queued_at = at, _micros(at)
            shared = row[OWN:]
            alike = known.get(shared)
            if alike is None:
                alike = known[shared] = _begin(found, Alike._make(shared))
            namespace, local_queue, entries = alike
            entries.append(
                Entry(
                    queued_at, uid, epoch, parallelism, completions, namespace, local_queue,
                    generation,
                )
            )  # fmt: skip
    return found


def _begin(found: AtStart, alike: Alike) -> tuple[str, str, list[Entry]]:
    entries = found.classes[alike] = []
    return alike.namespace, alike.queue or DEFAULT_QUEUE, entries


def _micros(at: str | dt.datetime) -> int:
    """An instant as a driver gives it: SQLite's is text in UTC, PostgreSQL's one of some zone."""
    instant = dt.datetime.fromisoformat(at) if isinstance(at, str) else at
    return to_micros(instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC))


def in_order(classes: Sequence[Sequence[Entry]], most: int = _RUN) -> list[Entry]:
    """The entries of all, sorted `most` at a time: others run in between."""
    runs = [
        sorted(entries[start : start + most])
        for entries in classes
        for start in range(0, len(entries), most)
    ]
    runs.sort(key=lambda run: run[0])
    found: list[Entry] = []
    if all(first[-1] < second[0] for first, second in itertools.pairwise(runs)):
        for run in runs:
            found.extend(run)
        return found
    for entry in heapq.merge(*runs):
        found.append(entry)  # noqa: PERF402 - one call over all would keep the interpreter
    return found

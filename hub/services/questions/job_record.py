"""One job as its page shows it: the record that REST gives to the same reader, and its newest events."""

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from hub.domain.access import Area
from hub.services.context import secrecy
from hub.services.questions import jobs
from hub.store import events
from hub.store.records.history import StoredEvent
from hub.store.transaction import Transaction
from shared.documents import Json

MOST_EVENTS: Final = 200


@dataclass(frozen=True, slots=True)
class JobRecord:
    """`shown`: as `GET /v1/jobs/{uid}` has it; `told`: its events, oldest first, all unless `cut`."""

    at: dt.datetime
    shown: Json
    told: Sequence[StoredEvent]
    cut: bool


def read_record(tx: Transaction, uid: str, shown_in: Collection[Area]) -> JobRecord:
    """One job; values of its variables by `secrecy.job_seen_by`. Raises Rejected: NotFound, Forbidden."""
    shown = secrecy.job_seen_by(tx, shown_in, jobs.get_job, uid)
    found = events.list_events(
        tx, uid=uid, limit=MOST_EVENTS + 1, newest_first=True, of_found=True
    )
    told = tuple(reversed(found[:MOST_EVENTS]))
    return JobRecord(tx.now, shown, told, cut=len(found) > MOST_EVENTS)

"""REST's objects for the bridge to mirror on the hub cluster: rows, and their events."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import orjson

from hub.domain.workloads.origin import Origin
from hub.store import events, manifests, objects, shown, workloads
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import JobPlace, Workload
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.groups import PLACEMENT
from shared.kinds.placement_status import STATUS_COPY

NOT_SHOWN: Final = "NotShownOnHubCluster"
SHOWN: Final = "ShownOnHubCluster"
TAKEN_AWAY: Final = "MirrorDeleted"
_REASONS: Final = frozenset({NOT_SHOWN, SHOWN})
_RECENT: Final = 20
_TOLD: Final = (PLACEMENT, STATUS_COPY)  # kept by the hub alone
Kind = tuple[str, str]  # group, kind
Position = tuple[dt.datetime, str]  # created_at, uid


class Facts(NamedTuple):
    """Rows by uid: of objects, and of Jobs."""

    objects: dict[str, StoredObject]
    jobs: dict[str, Workload]


class MirrorNews(NamedTuple):
    """What is to be said of a row: NOT_SHOWN, SHOWN or TAKEN_AWAY."""

    uid: str
    reason: str
    message: str


def objects_of_rest(tx: Transaction, kinds: Iterable[Kind]) -> list[str]:
    """Uids of the objects of these kinds that came by REST, or that the hub itself tells by."""
    return [
        row.uid
        for group, kind in kinds
        for row in objects.list_kind(tx, group, kind)
        if _is_shown(row)
    ]


def _is_shown(row: StoredObject) -> bool:
    return row.origin == Origin.REST or (row.api_group, row.kind) == _TOLD


def jobs_after(tx: Transaction, after: Position | None, limit: int) -> list[JobPlace]:
    """The next `limit` workloads by their time, whatever they are."""
    return shown.places_after(tx, after, limit)


def facts(tx: Transaction, uids: Sequence[str], kinds: frozenset[Kind]) -> Facts:
    """Those of these rows that came by REST and are not gone: objects of `kinds`, Jobs with their names."""
    found = {
        uid: row
        for uid, row in objects.get_many(tx, uids).items()
        if _is_shown(row) and (row.api_group, row.kind) in kinds
    }
    rest = [uid for uid in uids if uid not in found]
    jobs = {
        uid: row
        for uid, row in workloads.get_many(tx, rest).items()
        if row.origin == Origin.REST and row.kind == "Job" and row.live
    }
    return Facts(found, jobs)


def manifest_of(tx: Transaction, uid: str) -> Json | None:
    """A Job's newest manifest; None if it is not kept any more."""
    latest = manifests.latest(tx, uid)
    if latest is None:
        return None
    found: Json = orjson.loads(latest[1])
    return found


def labels_of_namespace(tx: Transaction, name: str) -> Mapping[str, str]:
    """Its labels; none where the hub does not have it."""
    row = objects.find(tx, "", "Namespace", "", name)
    return {} if row is None else row.labels


def say(tx: Transaction, term: int, told: Sequence[MirrorNews]) -> None:
    """Say of rows what became of their mirrors, unless it is what was said last. Raises StaleTerm."""
    tx.require_term(term)
    uids = [each.uid for each in told]
    rows: dict[str, Workload | StoredObject] = {
        **workloads.get_many(tx, uids),
        **objects.get_many(tx, uids),
    }
    for uid, reason, message in told:
        row = rows.get(uid)
        if row is None or (reason in _REASONS and _last(tx, uid) == _what(reason, message)):
            continue
        tx.say(row, reason, message, warning=reason != SHOWN)


def _last(tx: Transaction, uid: str) -> tuple[str, str] | None:
    """What was last said of its mirror, of what is said once."""
    for each in events.list_events(tx, uid=uid, limit=_RECENT, newest_first=True):
        if each.reason in _REASONS:
            return _what(each.reason, each.message)
    return None


def _what(reason: str, message: str) -> tuple[str, str]:
    """As far as it matters: the numbers in what an API server says change all the time."""
    return reason, "".join(each for each in message if not each.isdigit())


def ended_before(row: Workload, instant: dt.datetime) -> bool:
    """Has the job ended before then?"""
    return row.finished_at is not None and row.finished_at <= instant

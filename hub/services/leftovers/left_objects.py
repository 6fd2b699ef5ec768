"""Objects in members, no Jobs, that agents of this hub wrote and that its store has no work for.

Placements made them in the time that a restored backup lacks, or a create took effect too late. Nothing
removes them and nothing takes them over until an administrator decides (`hub.services.removals.decide`).
The agent tells by the managed fields that an object is this hub's; labels alone are not enough.

What no agent reports any more is not listed. A CronJob is kept all the same until its member is proven not
to hold it (`hub.services.leftovers.left_cron_jobs`). CronJobs have a bound of their own: no other object
takes their place.

A decision is a work that names the object by its uid (`ApplyOptions.object_uid`). While that work stands the
object stays listed, however long its agent is silent; the agent's `Gone` ends both.
"""

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Final, NotRequired, TypedDict

from hub.domain.instants import stamp
from hub.services.context import timeline
from hub.store import objects, settings, works
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.wire.agent_v1 import FULL_EVERY_S, Observed
from shared.wire.left_objects import CRON_JOB

MOST: Final = 200  # of one member that are kept to be shown, beside CronJobs
MOST_CRON_JOBS: Final = 500  # of one member that are kept
REMOVE: Final = "Remove"
ABANDON: Final = "Abandon"
ACTIONS: Final = {REMOVE: "Withdraw", ABANDON: "Keep"}  # by decision: that of its work
_DECISIONS: Final = {action: decision for decision, action in ACTIONS.items()}
PREFIX: Final = "left_objects:"  # and the name of the member
_BEYOND: Final = "left_objects_beyond:"  # the same: when one was last reported that is not kept
CRON_JOBS_BEYOND: Final = "left_cron_jobs_beyond:"  # the same, of CronJobs
# An agent reports everything every ten minutes: what it left out twice is gone.
_SHOWN: Final = dt.timedelta(seconds=2.5 * FULL_EVERY_S)
_AGAIN: Final = dt.timedelta(seconds=FULL_EVERY_S / 2)
_STOPPED: Final = "carried out once the restored store is accepted"
_NOT_TOLD: Final = "not sent to its agent yet"
_UNDER_WAY: Final = "its agent has not reported it yet"
_AFTER: Final = "decided about once another object of the same work is gone"


class LeftRow(TypedDict):
    """An object as its agent reported it: first at `since`, last at `seenAt`."""

    uid: str  # of the work that it was made for
    apiVersion: str
    kind: str
    namespace: str
    name: str
    created: bool
    since: str
    seenAt: str
    placedBy: NotRequired[str]  # kind and name of its placement; missing from older agents
    decided: NotRequired[bool]  # a work was made for the decision


def note(tx: Transaction, cluster: str, entries: Iterable[Observed]) -> None:
    """Keep what an agent reports of such objects; nothing is read or written where it reports none.

    `entries`: those for which the store has no work in this member.
    """
    found = [entry for entry in entries if entry.left is not None and entry.object_uid]
    if not found:
        return
    stored: dict[str, LeftRow] = settings.get(tx, PREFIX + cluster) or {}
    kept = _kept(stored, _works_of(tx, {cluster: stored}), cluster, tx.now)
    changed = len(kept) < len(stored)
    for entry in found:
        known = kept.get(entry.object_uid)
        row = _row(entry, known, tx.now)
        if known is None and _is_full(kept, row):
            _leave_out(tx, CRON_JOBS_BEYOND if is_cron_job(row) else _BEYOND, cluster)
            continue
        if known is None or _is_news(known, row):
            kept[entry.object_uid] = row
            changed = True
    if changed:
        settings.put(tx, PREFIX + cluster, kept)


def _is_full(kept: Mapping[str, LeftRow], row: LeftRow) -> bool:
    is_cron = is_cron_job(row)
    count = sum(is_cron_job(each) == is_cron for each in kept.values())
    return count >= (MOST_CRON_JOBS if is_cron else MOST)


def _leave_out(tx: Transaction, of: str, cluster: str) -> None:
    """One more than is kept was reported: remembered for as long as it would be listed."""
    told = settings.get(tx, of + cluster)
    if told is None or tx.now - dt.datetime.fromisoformat(told) >= _AGAIN:
        settings.put(tx, of + cluster, stamp(tx.now))


def has_more(tx: Transaction, cluster: str = "") -> bool:
    """Tell if the member, or any, lately reported more objects than are kept of it."""
    oldest = stamp(tx.now - _SHOWN) or ""
    return any(
        at >= oldest
        for of in (_BEYOND, CRON_JOBS_BEYOND)
        for name, at in settings.beginning_with(tx, of + cluster).items()
        if not cluster or name == of + cluster
    )


def decided_otherwise(tx: Transaction, rows: Iterable[Json]) -> set[str]:
    """Uids of those that have to wait: another object of the same work in their member is decided about."""
    listed = list(rows)
    held = {
        (work.cluster, work.uid): work.options.object_uid
        for work in works.of_keys(tx, [(row["cluster"], row["uid"]) for row in listed])
    }
    return {
        row["objectUid"]
        for row in listed
        if held.get((row["cluster"], row["uid"]), row["objectUid"]) != row["objectUid"]
    }


def list_left(tx: Transaction) -> list[Json]:
    """Those reported lately or decided about, and CronJobs that may be there, by member, kind and name.

    Those placed since are left out. `decided` and `message`: the decision, and how far it has come;
    `known`: the hub has the object, so that a placement may select it again.
    """
    stored = all_kept(tx)
    held = _works_of(tx, stored)
    known = objects.get_many(tx, {row["uid"] for rows in stored.values() for row in rows.values()})
    stopped = bool(timeline.stopped(tx))
    found = []
    for cluster, rows in stored.items():
        for object_uid, row in _kept(rows, held, cluster, tx.now).items():
            work = held.get((cluster, row["uid"]))
            decision = _decision(work, object_uid)
            if decision is None:
                continue
            found.append(
                {
                    **{name: value for name, value in row.items() if name != "decided"},
                    "placedBy": row.get("placedBy", ""),
                    "cluster": cluster,
                    "objectUid": object_uid,
                    "known": row["uid"] in known,
                    "decided": decision,
                    "message": _message(work, decision, stopped=stopped),
                }
            )
    return sorted(found, key=_place)


def decided(tx: Transaction, cluster: str, object_uids: Iterable[str]) -> None:
    """Note that works were made for these: they stay listed until those are done."""
    stored: dict[str, LeftRow] = settings.get(tx, PREFIX + cluster) or {}
    for object_uid in object_uids:
        stored[object_uid]["decided"] = True
    settings.put(tx, PREFIX + cluster, stored)


def count_undone(tx: Transaction, cluster: str) -> int:
    """Count the objects of a member about which a decision stands that its agent has not carried out."""
    stored: dict[str, LeftRow] = settings.get(tx, PREFIX + cluster) or {}
    meant = {object_uid: row for object_uid, row in stored.items() if "decided" in row}
    return len(_standing(meant, _works_of(tx, {cluster: meant}), cluster, tx.now))


def take_back(tx: Transaction, cluster: str) -> None:
    """Undo decisions about objects of a member whose agent reads no uid of an object in a work.

    It would remove or release a later object in the same place. They are listed
    without a decision again.
    """
    stored: dict[str, LeftRow] = settings.get(tx, PREFIX + cluster) or {}
    held = _works_of(tx, {cluster: stored})
    meant = {
        object_uid: (cluster, row["uid"])
        for object_uid, row in stored.items()
        if (work := held.get((cluster, row["uid"]))) is not None and _is_about(work, object_uid)
    }
    if not meant:
        return
    works.remove(tx, list(meant.values()))
    for object_uid in meant:
        del stored[object_uid]["decided"]
    settings.put(tx, PREFIX + cluster, stored)


def forget(tx: Transaction, cluster: str) -> None:
    """Drop what was kept of a member that is fenced: nothing that it reported is there any more."""
    for of in (PREFIX, _BEYOND, CRON_JOBS_BEYOND):
        if settings.get(tx, of + cluster) is not None:
            settings.remove(tx, of + cluster)


def taken_back(tx: Transaction, keys: Iterable[tuple[str, str]]) -> None:
    """Forget objects that placements have placed since, and that are gone by the word of their agents.

    `keys`: member and uid of each work. A CronJob stays until its absence is proven.
    """
    gone: dict[str, set[str]] = {}
    for cluster, uid in keys:
        gone.setdefault(cluster, set()).add(uid)
    for cluster, uids in gone.items():
        rows: dict[str, LeftRow] = settings.get(tx, PREFIX + cluster) or {}
        kept = {
            object_uid: row
            for object_uid, row in rows.items()
            if row["uid"] not in uids or is_unproven(row)
        }
        if len(kept) < len(rows):
            keep(tx, cluster, rows, kept)


def trim(tx: Transaction) -> None:
    """Drop those that no agent reports any more, and those about which a decision is carried out."""
    stored = all_kept(tx)
    held = _works_of(tx, stored)
    for cluster, rows in stored.items():
        keep(tx, cluster, rows, _kept(rows, held, cluster, tx.now))


def keep(
    tx: Transaction, cluster: str, rows: Mapping[str, LeftRow], kept: Mapping[str, LeftRow]
) -> None:
    """Store what is kept of the rows of a member, if that is not all."""
    if not kept:
        settings.remove(tx, PREFIX + cluster)
    elif len(kept) < len(rows):
        settings.put(tx, PREFIX + cluster, kept)


def is_cron_job(row: LeftRow) -> bool:
    """True for a CronJob."""
    return f"{row['apiVersion']}/{row['kind']}" == CRON_JOB


def is_unproven(row: LeftRow) -> bool:
    """True for a CronJob that only a proof removes; one that is decided about has a work."""
    return is_cron_job(row) and "decided" not in row


def all_kept(tx: Transaction) -> dict[str, dict[str, LeftRow]]:
    """By member and uid of the object."""
    found = settings.beginning_with(tx, PREFIX)
    return {name.removeprefix(PREFIX): rows for name, rows in found.items()}


def _works_of(
    tx: Transaction, stored: Mapping[str, Mapping[str, LeftRow]]
) -> dict[tuple[str, str], Work]:
    """Works of the hub for these objects, by member and uid of the work."""
    keys = [(cluster, row["uid"]) for cluster, rows in stored.items() for row in rows.values()]
    return {(work.cluster, work.uid): work for work in works.of_keys(tx, keys)} if keys else {}


def _standing(
    stored: Mapping[str, LeftRow],
    held: Mapping[tuple[str, str], Work],
    cluster: str,
    now: dt.datetime,
) -> dict[str, LeftRow]:
    """Those that agents reported lately; of what is decided, those whose work is not done."""
    oldest = stamp(now - _SHOWN) or ""
    kept = {}
    for object_uid, row in stored.items():
        work = held.get((cluster, row["uid"]))
        if "decided" in row:
            stands = work is not None and _is_about(work, object_uid)
        else:
            stands = row["seenAt"] >= oldest
        if stands:
            kept[object_uid] = row
    return kept


def _kept(
    stored: Mapping[str, LeftRow],
    held: Mapping[tuple[str, str], Work],
    cluster: str,
    now: dt.datetime,
) -> dict[str, LeftRow]:
    """Those that stand, and CronJobs that no agent reports any more: that proves nothing of a silent one."""
    standing = _standing(stored, held, cluster, now)
    for object_uid, row in stored.items():
        if is_unproven(row):
            standing[object_uid] = row
    return standing


def _is_about(work: Work, object_uid: str) -> bool:
    """Tell if a work is the decision about an object; a placement's is not."""
    return work.options.object_uid == object_uid and work.action in _DECISIONS


def _decision(work: Work | None, object_uid: str) -> str | None:
    """The decision about an object, "" for none; None: a placement has placed it since."""
    if work is None:
        return ""
    if _is_about(work, object_uid):
        return _DECISIONS[work.action]
    return "" if work.options.object_uid else None


def _message(work: Work | None, decision: str, *, stopped: bool) -> str:
    if work is None:
        return ""
    return _how_far(work, stopped=stopped) if decision else _AFTER


def _how_far(work: Work, *, stopped: bool) -> str:
    if work.phase:
        return work.message or work.reason
    if stopped:
        return _STOPPED
    return _UNDER_WAY if work.offered else _NOT_TOLD


def _row(entry: Observed, known: LeftRow | None, now: dt.datetime) -> LeftRow:
    left, at = entry.left, stamp(now) or ""
    assert left is not None
    row: LeftRow = {
        "uid": entry.uid[:64],
        "apiVersion": _printable(left.api_version),
        "kind": _printable(left.kind),
        "namespace": _printable(left.namespace),
        "name": _printable(left.name),
        "created": left.created,
        "since": at if known is None else known["since"],
        "seenAt": at,
    }
    if left.placed_by:
        row["placedBy"] = _printable(left.placed_by)
    return row


def _printable(text: str) -> str:
    """Names in Kubernetes are printable; other characters of a broken agent's report are dropped."""
    return "".join(each for each in text if each.isprintable())


def _is_news(known: LeftRow, row: LeftRow) -> bool:
    """Tell if more has changed than the time, or the time by much."""
    before, now = (dt.datetime.fromisoformat(each["seenAt"]) for each in (known, row))
    return {**known, "seenAt": ""} != {**row, "seenAt": ""} or now - before >= _AGAIN


def _place(row: Json) -> tuple[str, ...]:
    names = ("cluster", "kind", "namespace", "name", "objectUid")
    return tuple(str(row[name]) for name in names)

"""CronJobs whose schedule the hub keeps, for their users: look at them, suspend and resume them.

They are seen and changed by who may see and change their Jobs.
"""

from typing import Final

import orjson

from hub.services.context import rendering, secrecy
from hub.services.context.paging import PAGE_BYTES, Pager
from hub.services.jobs.cron.turns import is_shown, refusal_of
from hub.services.reading.cron_jobs import GROUP, KIND
from hub.services.reading.draft import hash_of
from hub.store import audit, objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode

_CHUNK: Final = 50  # rows read at once
_MOST_SCANNED: Final = 1000  # rows of one page


def find_cron_job(tx: Transaction, namespace: str, name: str) -> StoredObject:
    """The row. Raises Rejected: NotFound, also where the caller may not see it."""
    row = objects.find(tx, GROUP, KIND, namespace, name)
    if row is None or not row.is_scheduled or not is_shown(tx, row):
        text = f"there is no {KIND} {namespace[:64]}/{name[:64]} whose schedule the hub keeps"
        raise Rejected(RejectCode.NOT_FOUND, text)
    return row


def get_cron_job(tx: Transaction, namespace: str, name: str) -> Json:
    """One CronJob. Raises Rejected: NotFound."""
    return _told(tx, find_cron_job(tx, namespace, name))


def list_cron_jobs(
    tx: Transaction, namespace: str, pager: Pager, token: str | None, limit: int
) -> Json:
    """A page by namespace and name: {"items", "continue"}; shorter where others are between them."""
    position = pager.position(token)
    after = (position[0], position[1]) if position else None
    items: list[Json] = []
    size = scanned = 0
    while True:
        rows = objects.list_kind(tx, GROUP, KIND, namespace=namespace, after=after, limit=_CHUNK)
        for row in rows:
            if len(items) == limit or size >= PAGE_BYTES:
                return {"items": items, "continue": pager.token(list(after or ()))}
            after, scanned = (row.namespace, row.name), scanned + 1
            if row.is_scheduled and is_shown(tx, row):
                items.append(_told(tx, row))
                size += len(orjson.dumps(items[-1]))
        if len(rows) < _CHUNK:
            return {"items": items, "continue": ""}
        if scanned >= _MOST_SCANNED:
            return {"items": items, "continue": pager.token(list(after or ()))}


def set_suspended(
    tx: Transaction, namespace: str, name: str, principal: str, *, suspended: bool
) -> Json:
    """The CronJob as it is then, with this `spec.suspend` and nothing else changed.

    It is not validated again: one that breaks a rule of a later release must be suspendable all the same.
    Raises Rejected: NotFound, Forbidden.
    """
    row = find_cron_job(tx, namespace, name)
    if refusal := refusal_of(tx, row):
        raise refusal
    spec = row.spec or {}
    if bool(spec.get("suspend")) == suspended:
        return _told(tx, row)
    changed = {"suspend": suspended}
    manifest = {**row.manifest, "spec": {**row.manifest["spec"], **changed}}
    objects.change(
        tx,
        row.uid,
        spec={**spec, **changed},
        manifest=manifest,
        hash=hash_of(orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS)),
        generation=row.generation + 1,
        updated_at=tx.now,
    )
    verb = "suspend" if suspended else "resume"
    audit.add(tx, principal, verb, f"{KIND} {namespace}/{name} {row.uid}", "")
    tx.say(row, "Configured", f"generation {row.generation + 1}: {verb} by {principal}")
    return get_cron_job(tx, namespace, name)


def _told(tx: Transaction, row: StoredObject) -> Json:
    return secrecy.redacted(tx, rendering.whole_object(row))

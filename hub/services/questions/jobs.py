"""Questions about jobs and history: one snapshot each, rows in the shapes of `context.rendering`."""

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

import orjson

from hub.services.chains import shown
from hub.services.context import rendering
from hub.services.context.hub_cluster import hub_cluster_uid
from hub.services.context.paging import Pager
from hub.services.reading import member_status
from hub.services.works import cluster_loss
from hub.store import changes, events, jobs, manifests, objects, workloads
from hub.store.records.history import StoredEvent
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from hub.store.spans import MOST_READ, Position
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode

# Rows looked at for one page of a list with a label selector: a rare label costs several pages.
MAX_SCANNED: Final = 4_000
_CHUNK: Final = 500  # rows read at once
# … and bytes of their labels: rows may be older than the bound on labels.
MOST_LABEL_BYTES: Final = 8 << 20
LabelTest = Any  # a predicate over labels


def list_jobs(
    tx: Transaction,
    filters: Mapping[str, str],
    matches: LabelTest | None,
    pager: Pager,
    token: str | None,
    limit: int,
    most_scanned: int = MAX_SCANNED,
    most_read: int = MOST_READ,
) -> Json:
    """A page of jobs, newest first: {"items", "continue"}; "continue" is "" on the last one.

    It ends before it has `limit` of them where the filters have looked at `most_read` rows, or
    `matches` at `most_scanned`, or at `MOST_LABEL_BYTES` of labels.
    """
    position = pager.position(token)
    after = None if position is None else (dt.datetime.fromisoformat(position[0]), position[1])
    if matches is None:
        page = jobs.page(tx, filters, after, limit + 1, most_read)
        more, rows, last = len(page.rows) > limit, page.rows[:limit], page.until
        if more:
            last = (rows[-1].created_at, rows[-1].uid)
    else:
        uids, last = _matching(tx, filters, matches, after, limit, most_scanned)
        rows = jobs.listed(tx, uids)
    shapes = manifests.get_shapes(tx, {row.shape for row in rows})
    return {
        "items": [rendering.job(row, shapes.get(row.shape)) for row in rows],
        "continue": "" if last is None else _token(pager, last),
    }


def _matching(
    tx: Transaction,
    filters: Mapping[str, str],
    matches: LabelTest,
    after: Position | None,
    limit: int,
    most_scanned: int,
) -> tuple[list[str], Position | None]:
    """Uids of the next `limit` jobs whose labels match, and the position to continue from, None at the end.

    Stops early after `most_scanned` rows or `MOST_LABEL_BYTES` of labels.
    """
    found: list[str] = []
    scanned = size = 0
    while True:
        page = jobs.page_of_labels(tx, filters, after, min(_CHUNK, most_scanned))
        scanned += len(page.rows)
        for row in page.rows:
            if len(found) == limit or size >= MOST_LABEL_BYTES:
                return found, after
            after, size = (row.created_at, row.uid), size + row.size
            if matches(jobs.labels_of(tx, row.uid) if row.labels is None else row.labels):
                found.append(row.uid)
        if len(page.rows) < min(_CHUNK, most_scanned):
            return found, page.until
        if scanned >= most_scanned:
            return found, after


def revision(tx: Transaction) -> int:
    """The newest revision of the change feed."""
    return changes.last_revision(tx)


def find_job(tx: Transaction, uid: str) -> Workload:
    """The workload row. Raises Rejected: NotFound; Forbidden if it may only be seen."""
    row = workloads.get(tx, uid)
    if row is None or not is_shown(tx, row):
        raise Rejected(RejectCode.NOT_FOUND, f"there is no job {uid[:64]}")
    return require(tx, row)


def is_shown(tx: Transaction, row: Workload) -> bool:
    """True if it exists for the caller."""
    return tx.scope.shows(row.namespace, row.queue, row.owner)


def require(tx: Transaction, row: Workload) -> Workload:
    """The row, which the caller may see and act on. Raises Rejected: Forbidden."""
    if (refusal := refusal_of(tx, row)) is not None:
        raise refusal
    return row


def refusal_of(tx: Transaction, row: Workload) -> Rejected | None:
    """The reason why the caller may not do that to it, seen or not."""
    return refusal_within(tx, row.namespace, row.name, row.queue, row.owner)


def refusal_within(
    tx: Transaction, namespace: str, name: str, queue: str, owner: str
) -> Rejected | None:
    """The same of whatever has that name, queue and owner."""
    if tx.scope.allows(namespace, queue, owner):
        return None
    text = f"job {namespace}/{name} is another's, and no role that you have allows this there; "
    return Rejected(RejectCode.FORBIDDEN, text + "roadstead whoami shows them")


def find_job_by_name(tx: Transaction, namespace: str, name: str) -> Workload:
    """The Job that has this name now, else the newest that had it, else a bare Workload's.

    Raises Rejected: NotFound.
    """
    row = workloads.newest_by_name(tx, namespace, name)
    row = row or workloads.newest_by_name(tx, namespace, name, "Workload")
    if row is None or not is_shown(tx, row):
        namespace, name = namespace[:64], name[:64]
        text = f"there is no job {namespace}/{name}"
        cron_job = objects.find(tx, "batch", "CronJob", namespace, name)
        if cron_job is not None and tx.scope.shows(namespace):
            text += f": {_of_cron_job(cron_job)}"
        elif hub_cluster_uid(tx):
            seen = f"kubectl describe job {name} -n {namespace}"
            text += f"; if kubectl made one and the hub refused it, this says why: {seen}"
        raise Rejected(RejectCode.NOT_FOUND, text)
    return require(tx, row)


def _of_cron_job(row: StoredObject) -> str:
    """Words for the caller that names a CronJob as a job."""
    if not row.is_scheduled:
        return "it is a CronJob without a queue, and the hub runs no Jobs of it"
    return (
        f"it is a CronJob, whose runs are the Jobs {row.name}-MINUTES: "
        f"roadstead jobs ls -n {row.namespace} lists them"
    )


def show_job(tx: Transaction, row: Workload) -> Json:
    """Everything about one job, its manifest included."""
    manifest = manifests.latest(tx, row.uid)
    shape = manifests.get_shapes(tx, [row.shape])
    told = rendering.whole_job(
        row, None if manifest is None else orjson.loads(manifest[1]), shape.get(row.shape)
    )
    told["status"] = member_status.of_job(tx, row)
    return told | cluster_loss.view(tx, row) | shown.view(tx, row)


def get_job(tx: Transaction, uid: str) -> Json:
    """One job by uid. Raises Rejected: NotFound."""
    return show_job(tx, find_job(tx, uid))


def get_job_by_name(tx: Transaction, namespace: str, name: str) -> Json:
    """One job by name. Raises Rejected: NotFound."""
    return show_job(tx, find_job_by_name(tx, namespace, name))


def job_events(tx: Transaction, uid: str, limit: int) -> Json:
    """The newest `limit` events of a job, oldest first. Raises Rejected: NotFound."""
    job = find_job(tx, uid)
    rows = events.list_events(tx, uid=uid, limit=limit, newest_first=True, of_found=True)
    if len(rows) < limit:
        rows.append(_submitted(job))
    return {"items": [rendering.event(row) for row in reversed(rows)]}


def list_events(
    tx: Transaction, filters: Mapping[str, str], pager: Pager, token: str | None, limit: int
) -> Json:
    """A page of the fleet's history: the newest `limit`, oldest first; "continue" goes back in time."""
    position = pager.position(token)
    rows = events.list_events(
        tx,
        uid=filters.get("uid", ""),
        namespace=filters.get("namespace", ""),
        kind=filters.get("kind", ""),
        name=filters.get("name", ""),
        before=0 if position is None else int(position[0]),
        limit=limit + 1,
        newest_first=True,
    )
    more = len(rows) > limit
    rows = rows[:limit]
    return {
        "items": [rendering.event(row) for row in reversed(rows)],
        "continue": pager.token([rows[-1].id]) if more else "",
    }


def _submitted(job: Workload) -> StoredEvent:
    """The first event of every job. It says what the job's row says, so it is not stored beside it."""
    return StoredEvent(
        id=0,
        at=job.created_at,
        uid=job.uid,
        kind=job.kind,
        namespace=job.namespace,
        name=job.name,
        type="Normal",
        reason="Submitted",
        message=f"from {job.origin}, to queue {job.queue or '(none)'}",
    )


def _token(pager: Pager, after: Position) -> str:
    return pager.token([after[0].isoformat(), after[1]])

"""The status of an object that members run, as its operator wrote it in its member."""

from hub.store import works
from hub.store.records.workloads import Workload
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.documents import Json


def of_job(tx: Transaction, row: Workload) -> Json | None:
    """What the member of its present epoch last said; None of a Job, and where nothing was said."""
    if row.kind == "Job" or not row.epoch:
        return None
    return next((found for each in works.of_uids(tx, [row.uid]) if (found := of(row, each))), None)


def of(row: Workload, work: Work) -> Json | None:
    """The same, of a work that may be its."""
    if row.kind == "Job" or (work.cluster, work.epoch) != (row.cluster, row.epoch):
        return None
    found: Json | None = (work.observed or {}).get("status")
    return found

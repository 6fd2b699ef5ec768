"""Questions about Workloads: a page of them, or one by the name that Kueue gives it."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from hub.domain.workloads.states import CHARGED, QUEUED, TERMINAL, State
from hub.services.context.paging import PAGE_BYTES, Pager, within
from hub.services.kueue_view import held_workloads
from hub.services.kueue_view.conditions import CONDITIONS
from hub.services.kueue_view.workload import workload_name, workload_object
from hub.store import manifests, objects, workload_pages
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP
from shared.reject_codes import RejectCode

# Rows looked at for one page where a condition is asked for that states do not tell.
MAX_SCANNED: Final = 5_000
FILTERS: Final[tuple[str, ...]] = ("namespace", "queue", "clusterQueue", "state", "condition")
_ENDED: Final = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED})
_HELD: Final = CHARGED | {State.SUCCEEDED, State.FAILED, State.CANCELLED, State.DEACTIVATED}
# States in which a condition may have a status: others need not be read.
_MAY: Final[Mapping[tuple[str, str], frozenset[State]]] = {
    ("QuotaReserved", "True"): _HELD,
    ("QuotaReserved", "False"): QUEUED | TERMINAL,
    ("Admitted", "True"): _HELD - {State.RESERVED},
    ("Admitted", "False"): QUEUED | TERMINAL | {State.RESERVED},
    ("Finished", "True"): _ENDED,
}
_OF_JOB: Final = re.compile(r"job-(?P<name>.+)-[0-9a-f]{5}")


def list_workloads(
    tx: Transaction, filters: Mapping[str, str], pager: Pager, token: str | None, limit: int
) -> Json:
    """A page of Workloads, newest first: a WorkloadList with {"items", "metadata.continue"}. After them
    come those that are kept until their queue is there.

    `filters`: FILTERS; `condition` is a type, or `type=status`. Raises Rejected: InvalidCondition.
    """
    condition = _condition(filters.get("condition", ""))
    position = pager.position(token)
    items: list[Json] = []
    on = position
    if on is None or on[0] != held_workloads.MARK:
        items, on = _units(tx, filters, condition, position, limit)
    if on is None or on[0] == held_workloads.MARK:
        start = on or held_workloads.START
        held, on = held_workloads.page(tx, filters, start, limit - len(items))
        items += [each for each in held if _holds(each, *condition)]
    further = "" if on is None else pager.token(on)
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "WorkloadList",
        "metadata": {"continue": further},
        "items": items,
        "continue": further,
    }


def _units(
    tx: Transaction,
    filters: Mapping[str, str],
    condition: tuple[str, str],
    position: list[Any] | None,
    limit: int,
) -> tuple[list[Json], list[Any] | None]:
    """Units of admission after a position, at most `limit`; and the position to go on from."""
    states = frozenset(str(s) for s in _MAY.get(condition, frozenset()))
    queues = None
    if filters.get("clusterQueue"):
        queues = _entrances(tx, filters["clusterQueue"])
    after = None if position is None else (dt.datetime.fromisoformat(position[0]), position[1])
    items: list[Json] = []
    scanned = size = 0
    more = queues is None or bool(queues)
    while more and len(items) < limit and scanned < MAX_SCANNED and size < PAGE_BYTES:
        sizes, until = workload_pages.sizes(tx, filters, states, queues, after, limit + 1)
        taken, read = within(sizes[:limit], PAGE_BYTES - size)
        more, size = taken < len(sizes), size + read
        rows = workload_pages.page(tx, filters, states, queues, after, taken) if taken else []
        scanned += len(rows)
        for row, item in zip(rows, shown(tx, rows), strict=True):
            if len(items) == limit:
                more = True
                break
            after = (row.created_at, row.uid)
            if _holds(item, *condition):
                items.append(item)
        if until is not None and not more:  # many rows were read, and there are others
            return items, [until[0].isoformat(), until[1]]
    return items, [after[0].isoformat(), after[1]] if more and after is not None else None


def get_workload(tx: Transaction, namespace: str, name: str) -> Json:
    """One Workload by its own name. Raises Rejected: NotFound."""
    try:
        return shown(tx, [find_row(tx, namespace, name)])[0]
    except Rejected:
        held = held_workloads.find(tx, namespace, name)
        if held is None:
            raise
        return held


def find_row(tx: Transaction, namespace: str, name: str) -> Workload:
    """The row whose Workload has this name. Raises Rejected: NotFound."""
    of_job = _OF_JOB.fullmatch(name)
    for called in (name, of_job["name"] if of_job else ""):
        for row in workload_pages.named(tx, namespace, called) if called else ():
            if workload_name(row) == name:
                return row
    raise Rejected(RejectCode.NOT_FOUND, f"there is no Workload {namespace[:64]}/{name[:64]}")


def shown(tx: Transaction, rows: Sequence[Workload]) -> list[Json]:
    """The Workloads of rows, with their pod templates."""
    rows = list(rows)
    shapes = manifests.get_shapes(tx, {row.shape for row in rows})
    sent = manifests.latest_of(tx, [row.uid for row in rows])
    return [
        workload_object(
            row,
            shapes.get(row.shape),
            orjson.loads(sent[row.uid]) if row.uid in sent else None,
            now=tx.now,
        )
        for row in rows
    ]


def _entrances(tx: Transaction, cluster_queue: str) -> set[tuple[str, str]]:
    """LocalQueues that lead to a ClusterQueue."""
    return {
        (row.namespace, row.name)
        for row in objects.list_kind(tx, GROUP, "LocalQueue")
        if (row.spec or {}).get("clusterQueue") == cluster_queue
    }


def _condition(text: str) -> tuple[str, str]:
    kind, _, status = text.partition("=")
    if text and (kind not in CONDITIONS or status not in {"", "True", "False"}):
        expected = f"one of {', '.join(CONDITIONS)}, alone or with =True or =False"
        raise Rejected(RejectCode.INVALID_CONDITION, f"must be {expected}", "condition")
    return kind, status or "True"


def _holds(item: Json, kind: str, status: str) -> bool:
    """Does it have the condition? All have none in particular."""
    return not kind or any(
        each["type"] == kind and each["status"] == status for each in item["status"]["conditions"]
    )

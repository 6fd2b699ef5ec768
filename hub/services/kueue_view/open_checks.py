"""Admission checks as outsiders see them: those of one workload, and all that wait for an answer."""

from collections.abc import Mapping

from hub.domain.instants import stamp
from hub.domain.workloads import admission_checks
from hub.domain.workloads.admission_checks import States
from hub.services.context.paging import Pager
from hub.services.index.check_catalog import read_check
from hub.store import checks as stored, objects, workloads
from hub.store.records.workloads import ReservedWorkload, Workload
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.reject_codes import RejectCode


def checks_of(tx: Transaction, uid: str) -> Json:
    """A workload's checks: {"items": [...]}. Raises Rejected: NotFound."""
    row = find_job(tx, uid)
    return shown(tx, row, row.checks or {})


def shown(tx: Transaction, row: Workload, states: States) -> Json:
    controllers = controllers_by_check(tx)
    return {
        "uid": row.uid,
        "state": row.state,
        "cluster": row.cluster,
        "items": [_view(name, states[name], controllers) for name in sorted(states)],
    }


def list_open(
    tx: Transaction, check: str, controller: str, pager: Pager, token: str | None, limit: int
) -> Json:
    """Workloads that wait for an answer: a page of (workload, check), by uid; of one check or controller."""
    position = pager.position(token)
    after = "" if position is None else str(position[0])
    items: list[Json] = []
    controllers = controllers_by_check(tx)
    more = True
    while more and len(items) < limit:
        rows = stored.reserved(tx, after, limit + 1)
        more = len(rows) > limit
        for place, row in enumerate(rows[:limit], start=1):
            after, states = row.uid, row.checks or {}
            items += [
                _open(row, name, states[name], controllers)
                for name in admission_checks.still_open(states)
                if check in ("", name) and controller in ("", controllers.get(name, ""))
            ]
            if len(items) >= limit:
                more = place < len(rows)
                break
    return {"items": items, "continue": pager.token([after]) if more else ""}


def find_job(tx: Transaction, uid: str) -> Workload:
    row = workloads.get(tx, uid)
    if row is not None and not tx.scope.shows(row.namespace, row.queue, row.owner):
        row = None
    if row is None or (row.deleted_at is not None and row.live is None):
        raise Rejected(RejectCode.NOT_FOUND, f"there is no job {uid[:64]}")
    return row


def controllers_by_check(tx: Transaction) -> dict[str, str]:
    """Controllers by check; read once where many answers share a transaction."""

    def read() -> dict[str, str]:
        rows = objects.list_kind(tx, KUEUE, "AdmissionCheck")
        return {row.name: read_check(row).controller for row in rows}

    return tx.remembered("objects", "controllers of admission checks", read)


def _view(name: str, state: JsonView, controllers: Mapping[str, str]) -> Json:
    return {
        "name": name,
        "controllerName": controllers.get(name, ""),
        "state": state["state"],
        "message": state.get("message") or "",
        "at": state.get("at"),
        "requeueAfterSeconds": state.get("requeueAfterSeconds"),
        "retryCount": state.get("retryCount") or 0,
        "podSetUpdates": state.get("podSetUpdates") or [],
    }


def _open(
    row: ReservedWorkload, check: str, state: JsonView, controllers: Mapping[str, str]
) -> Json:
    return {
        "uid": row.uid,
        "kind": row.kind,
        "namespace": row.namespace,
        "workload": row.name,
        "queue": row.queue,
        "clusterQueue": row.cluster_queue,
        "cluster": row.cluster,
        "admission": row.admission,
        "reservedAt": stamp(row.reserved_at),
        **_view(check, state, controllers),
    }

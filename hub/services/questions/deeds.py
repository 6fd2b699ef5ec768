"""Queries of the audit, newest first."""

import datetime as dt
from collections.abc import Mapping

from hub.domain.instants import stamp
from hub.services.context.paging import Pager
from hub.store import audit
from hub.store.records.history import AuditEntry
from hub.store.transaction import Transaction
from shared.documents import Json


def list_audit(
    tx: Transaction,
    filters: Mapping[str, str],
    since: dt.datetime | None,
    pager: Pager,
    token: str | None,
    limit: int,
) -> Json:
    """A page: {"items", "continue"}. `filters`: principal, verb, kind, namespace, exact."""
    position = pager.position(token)
    before = 0 if position is None else int(position[0])
    entries = audit.list_entries(tx, filters, since, before=before, limit=limit + 1)
    more = len(entries) > limit
    entries = entries[:limit]
    return {
        "items": [_view(entry) for entry in entries],
        "continue": pager.token([entries[-1].id]) if more else "",
    }


def _view(entry: AuditEntry) -> Json:
    return {
        "id": entry.id,
        "at": stamp(entry.at),
        "principal": entry.principal,
        "verb": entry.verb,
        "kind": entry.kind,
        "namespace": entry.namespace,
        "name": entry.name,
        "object": entry.object,
        "outcome": entry.outcome,
    }

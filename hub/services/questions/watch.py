"""Following workloads: the states of those that commits touched, without holes, level not edge.

What followers get are rows as they are now, not every step between: one that was placed and evicted
since the last look is seen waiting. Its `epoch` says that it was placed meanwhile.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from hub.services.context import rendering
from hub.services.questions import overview
from hub.store import workload_pages
from hub.store.records.workloads import WorkloadProgress
from hub.store.transaction import Transaction

FILTERS: Final = ("namespace", "queue", "kind", "state")


def news(
    tx: Transaction, revision: int, filters: Mapping[str, str], limit: int
) -> tuple[int, list[dict[str, Any]], bool]:
    """Workloads touched after `revision`: the revision reached, those that pass, is there more?

    Raises Rejected: Expired.
    """
    page, more = overview.changes_since(tx, revision, limit)
    touched: set[str] = set()
    for change in page:
        revision = change["revision"]
        if change["kind"] == "workloads":
            touched.update(change["keys"])
    return revision, states(tx, touched, filters), more


def states(
    tx: Transaction, uids: Collection[str], filters: Mapping[str, str]
) -> list[dict[str, Any]]:
    """How these workloads stand, those that pass the filters."""
    rows = workload_pages.states(tx, uids)
    return [rendering.state(row) for row in rows if _passes(row, filters)]


def _passes(row: WorkloadProgress, filters: Mapping[str, str]) -> bool:
    return all(getattr(row, name) in wanted.split(",") for name, wanted in filters.items())

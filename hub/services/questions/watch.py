"""Following workloads: the states of those that commits touched, without holes, level not edge.

What followers get are rows as they are now, not every step between: one that was placed and evicted
since the last look is seen waiting. Its `epoch` says that it was placed meanwhile.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from hub.services.context import rendering
from hub.services.questions import overview
from hub.store import scoping, workload_pages
from hub.store.records.workloads import WorkloadProgress
from hub.store.transaction import Transaction
from shared.documents import Json


class FeedPage(NamedTuple):
    """Rows of the change feed that may be seen: up to which revision, and is there more?"""

    changes: Sequence[Json]
    revision: int
    more: bool


FILTERS: Final = ("namespace", "queue", "kind", "state")


def news(
    tx: Transaction, revision: int, filters: Mapping[str, str], limit: int
) -> tuple[int, list[Json], bool]:
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


def changes(tx: Transaction, revision: int, limit: int) -> FeedPage:
    """The change feed after `revision`, as the caller may see it. Raises Rejected: Expired.

    Of part of the fleet: workloads, objects, works and bindings in it. Removed rows are not reported,
    because their place is no longer known.
    """
    page, more = overview.changes_since(tx, revision, limit)
    reached = page[-1]["revision"] if page else revision
    if tx.scope.is_everything:
        return FeedPage(page, reached, more)
    touched: dict[str, set[str]] = {}
    for change in page:
        touched.setdefault(change["kind"], set()).update(change["keys"])
    seen = {kind: scoping.seen_keys(tx, kind, keys) for kind, keys in touched.items()}
    cut = [
        {**change, "keys": keys}
        for change in page
        if (keys := [key for key in change["keys"] if key in seen[change["kind"]]])
    ]
    return FeedPage(cut, reached, more)


def states(tx: Transaction, uids: Collection[str], filters: Mapping[str, str]) -> list[Json]:
    """The states of these workloads, those that pass the filters."""
    rows = workload_pages.states(tx, uids)
    return [rendering.state(row) for row in rows if _passes(row, filters)]


def _passes(row: WorkloadProgress, filters: Mapping[str, str]) -> bool:
    return all(getattr(row, name) in wanted.split(",") for name, wanted in filters.items())

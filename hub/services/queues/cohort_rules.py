"""Rules across cohorts: whether their parents form a cycle."""

from collections import ChainMap

from hub.domain.quota.tree import find_cycle
from hub.store import objects
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.groups import KUEUE
from shared.reject_codes import RejectCode


class Parents:
    """The cohort tree, read at the first query, and kept as cohorts are applied."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._known: dict[str, str] | None = None

    def hang(self, name: str, parent: str) -> None:
        """Note a cohort's parent. Raises Rejected (CohortCycle, with the path) if that closes a cycle."""
        known = self._parents()
        cycle = find_cycle(name, ChainMap({name: parent}, known))
        if cycle and cycle[0] == name:
            detail = f"cohorts would form a cycle: {' -> '.join(cycle)}"
            raise Rejected(RejectCode.COHORT_CYCLE, detail, "spec.parentName")
        known[name] = parent

    def _parents(self) -> dict[str, str]:
        if self._known is None:
            self._known = {
                row.name: str((row.spec or {}).get("parentName") or "")
                for row in objects.list_kind(self._tx, KUEUE, "Cohort")
                if row.deleted_at is None
            }
        return self._known

"""Maps staged update runs to placements, and changes of runs, strategies and requests to runs.

In memory; rules only, no decisions.
"""

from hub.services.placements.staged.drive import placement_of, refuse_all
from hub.services.placements.staged.status import is_initialized, is_over
from hub.store import objects
from hub.store.placements import GROUP
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.kinds.staged_v1 import REQUEST_KINDS, RUN_KINDS, STRATEGY_KINDS

Key = tuple[str, str, str]  # kind, namespace, name
_KINDS = frozenset({*RUN_KINDS, *STRATEGY_KINDS, *REQUEST_KINDS})


class RunIndex:
    """Runs that are not over, by uid, and the placements that they are for."""

    def __init__(self) -> None:
        self._placements: dict[Key, str] = {}
        self._keys: dict[str, Key] = {}  # of placements, by uid
        self._targets: dict[str, Key] = {}  # of runs: the placement that each is for
        self._of: dict[Key, set[str]] = {}  # the same the other way
        self._waiting: set[str] = set()  # runs that are not worked out yet
        self._names: dict[Key, str] = {}  # of runs, and the other way
        self._called: dict[str, Key] = {}

    def put_placement(self, row: StoredObject) -> None:
        """Take a placement's name."""
        key = (row.kind, row.namespace, row.name)
        self._placements[key], self._keys[row.uid] = row.uid, key

    def drop_placement(self, uid: str) -> None:
        """Forget a placement."""
        key = self._keys.pop(uid, None)
        if key is not None and self._placements.get(key) == uid:
            del self._placements[key]

    def of(self, placement: str) -> frozenset[str]:
        """Runs of a placement that are not over."""
        key = self._keys.get(placement)
        return frozenset() if key is None else frozenset(self._of.get(key, ()))

    def orphans(self) -> list[str]:
        """Runs whose placement is not there."""
        return [
            uid for key, runs in self._of.items() if key not in self._placements for uid in runs
        ]

    def concerned(self, uid: str, row: StoredObject | None) -> set[str] | None:
        """Placements that news of this object concerns; None if it is no kind of runs.

        `row` None: it is gone.
        """
        if row is None:
            target = self._targets.get(uid)
            if target is None:
                return None
            self._forget(uid)
            return self._uids(target)
        if row.api_group != GROUP or row.kind not in _KINDS:
            return None
        if row.kind in RUN_KINDS:
            return self.put(row)
        if row.kind in STRATEGY_KINDS:
            return {each for run in self._waiting for each in self._uids(self._targets[run])}
        run = RUN_KINDS[REQUEST_KINDS.index(row.kind)]
        parent = str((row.spec or {}).get("parentStageRollout") or "")
        found = self._names.get((run, row.namespace, parent), "")
        return self._uids(self._targets[found]) if found in self._targets else set()

    def put(self, row: StoredObject) -> set[str]:
        """Take a run's row; the placement that it is for."""
        target = placement_of(row)
        if is_over(row.status) or row.deleted_at is not None:
            self._forget(row.uid)
            return self._uids(target)
        self._targets[row.uid] = target
        self._of.setdefault(target, set()).add(row.uid)
        name = (row.kind, row.namespace, row.name)
        self._names[name], self._called[row.uid] = row.uid, name
        if is_initialized(row.status):
            self._waiting.discard(row.uid)
        else:
            self._waiting.add(row.uid)
        return self._uids(target)

    def _forget(self, uid: str) -> None:
        target, name = self._targets.pop(uid, None), self._called.pop(uid, None)
        self._waiting.discard(uid)
        if target is not None:
            self._of[target].discard(uid)
            if not self._of[target]:
                del self._of[target]
        if name is not None and self._names.get(name) == uid:
            del self._names[name]

    def _uids(self, target: Key) -> set[str]:
        uid = self._placements.get(target)
        return set() if uid is None else {uid}


def tell_orphans(tx: Transaction, uids: list[str], term: int) -> None:
    """Say of runs that their placement is not there; those that were under way end. Raises StaleTerm."""
    tx.require_term(term)
    for row in objects.get_many(tx, uids).values():
        kind, namespace, name = placement_of(row)
        if objects.find(tx, GROUP, kind, namespace, name) is None:
            place = "/".join(part for part in (namespace, name) if part)
            refuse_all(tx, [row], f"there is no {kind} {place}", final=False)

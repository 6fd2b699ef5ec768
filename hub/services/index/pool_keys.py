"""Node label keys that matter: those agents group nodes by, each with the revision that brought it.

A report grouped by older keys counts only for jobs that need no newer key.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from hub.store import settings
from hub.store.transaction import Transaction
from shared.documents import Json

SETTING = "pool_keys"
MOST_KEYS = 128  # beyond, keys that only old workloads named are forgotten


@dataclass(frozen=True, slots=True)
class PoolKeys:
    """The keys in force and since which revision each is."""

    revision: int = 0
    since: Mapping[str, int] = field(default_factory=dict)

    def covers(self, needed: Collection[str]) -> bool:
        return all(key in self.since for key in needed)


def load(tx: Transaction) -> PoolKeys:
    """As the store has them."""
    stored: Json = settings.get(tx, SETTING) or {}
    revision = int(stored.get("revision") or 0)
    since = stored.get("since") or dict.fromkeys(stored.get("keys") or (), revision)
    return PoolKeys(revision, {str(k): int(r) for k, r in since.items()})


def require(tx: Transaction, present: PoolKeys, needed: Collection[str]) -> PoolKeys:
    """Add keys under a new revision; agents receive them with their next sync."""
    if present.covers(needed):
        return present
    kept = dict(present.since)
    if len(kept) + len(needed) > MOST_KEYS:
        kept = {k: r for k, r in kept.items() if k in needed}
    revision = present.revision + 1
    since = {**dict.fromkeys(sorted(needed), revision), **kept}
    settings.put(tx, SETTING, {"revision": revision, "keys": sorted(since), "since": since})
    return PoolKeys(revision, since)

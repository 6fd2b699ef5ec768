"""Namespaces in which work waits: agents report for these whether the member's people accept the hub.

A workload carries its namespace as a constraint only while some member does not accept it, so that workloads
of different namespaces stay equals where every member takes them.
"""

import datetime as dt
from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from hub.domain.fleet.clusters import Cluster, accepts
from hub.store import settings
from hub.store.transaction import Transaction
from shared.consent import MOST_NAMES
from shared.documents import Json

SETTING: Final = "named_namespaces"
_HUB_ID: Final = "hub_id"
_REPORTS_WITHIN: Final = dt.timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class AskedNamespaces:
    """The namespaces whose consent agents report, as the store has them."""

    revision: int = 0
    names: frozenset[str] = frozenset()
    hub_id: str = ""
    named_at: dt.datetime | None = None  # when the last of them were named

    @property
    def reports_due(self) -> dt.datetime | None:
        """Until then workloads wait for members that have yet to report."""
        return None if self.named_at is None else self.named_at + _REPORTS_WITHIN


def load(tx: Transaction) -> AskedNamespaces:
    """As the store has them."""
    stored: Json = settings.get(tx, SETTING) or {}
    names = frozenset(stored.get("names") or ())
    at = stored.get("named_at")
    return AskedNamespaces(
        int(stored.get("revision") or 0),
        names,
        str(settings.get(tx, _HUB_ID) or ""),
        dt.datetime.fromisoformat(at) if at else None,
    )


def require(
    tx: Transaction, present: AskedNamespaces, needed: AbstractSet[str]
) -> AskedNamespaces:
    """Name more namespaces under a new revision; beyond the bound only those that are needed, by name."""
    names = present.names | needed
    if len(names) > MOST_NAMES:
        names = frozenset(sorted(needed)[:MOST_NAMES])
    if names == present.names:
        return present
    revision = present.revision + 1
    at = tx.now
    told = {"revision": revision, "names": sorted(names), "named_at": at.isoformat()}
    settings.put(tx, SETTING, told)
    return AskedNamespaces(revision, names, present.hub_id, at)


class Consents:
    """Follows what members report of namespaces."""

    def __init__(self, clusters: Mapping[str, Cluster]) -> None:
        self._clusters = clusters
        self.named = AskedNamespaces()
        self._constrained: dict[str, bool] = {}  # by each namespace that a workload has

    def of(self, namespace: str) -> tuple[str, str] | None:
        """The constraint of a workload: its namespace and the hub's id; None where every member takes it."""
        found = self._constrained.get(namespace)
        if found is None:
            found = self._constrained[namespace] = self._is_constrained(namespace)
        return (namespace, self.named.hub_id) if found else None

    def unnamed(self) -> frozenset[str] | None:
        """All namespaces met, if some of them are not named to the agents yet; else None."""
        if all(cluster.consent is None for cluster in self._clusters.values()):
            return None
        met = frozenset(self._constrained)
        if met <= self.named.names or len(self.named.names) >= MOST_NAMES:
            return None
        return met

    def look_again(self) -> frozenset[str]:
        """Namespaces whose workloads get or lose the constraint, after members reported."""
        before, self._constrained = self._constrained, {}
        for namespace in before:
            self.of(namespace)
        return frozenset(n for n, was in before.items() if was != self._constrained[n])

    def _is_constrained(self, namespace: str) -> bool:
        if namespace not in self.named.names and len(self.named.names) >= MOST_NAMES:
            return False  # beyond the bound the agent alone enforces
        return not all(accepts(cluster, namespace) for cluster in self._clusters.values())

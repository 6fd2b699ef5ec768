"""Namespaces in which work waits: agents report for these whether the member's people accept the hub.

A workload carries its namespace as a constraint only while some member does not accept it, so that workloads
of different namespaces stay equals where every member takes them.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final

from hub.domain.fleet.clusters import Cluster, takes_jobs
from hub.domain.workloads.states import State
from hub.services.context import identity
from hub.store import objects, settings, tallies
from hub.store.transaction import Transaction
from shared.consent import MOST_NAMES
from shared.documents import Json

SETTING: Final = "named_namespaces"
PLACED: Final = "placed_namespaces"  # those of them in which placements have objects
REPORTS_WITHIN: Final = dt.timedelta(seconds=5)
_LOOK_FOR_ROOM_EVERY: Final = dt.timedelta(minutes=1)  # at the bound


@dataclass(frozen=True, slots=True)
class AskedNamespaces:
    """The namespaces whose consent agents report, as the store has them."""

    revision: int = 0
    names: frozenset[str] = frozenset()
    hub_id: str = ""
    reports_due: Mapping[str, dt.datetime] = field(default_factory=dict)
    """Until then a workload of that namespace waits for members that have yet to report: new names only."""
    renewed: Mapping[str, int] = field(default_factory=dict)
    """Revision since which a name has its present id: what was reported before is of an earlier namespace."""
    beyond: frozenset[str] = frozenset()
    """Namespaces in which workloads wait, and that the bound leaves unnamed; not stored."""


def load(tx: Transaction) -> AskedNamespaces:
    """As the store has them."""
    stored: Json = settings.get(tx, SETTING) or {}
    return AskedNamespaces(
        int(stored.get("revision") or 0),
        frozenset(stored.get("names") or ()),
        identity.hub_id_of(tx),
        {
            name: dt.datetime.fromisoformat(due)
            for name, due in (stored.get("reports_due") or {}).items()
        },
        {name: int(since) for name, since in (stored.get("renewed") or {}).items()},
    )


def ids_of(tx: Transaction, names: Iterable[str]) -> dict[str, str]:
    """Ids of the hub's namespaces by name (`hub.services.consent.identity`); absent ones are left out."""
    found = objects.uids_of(tx, [("", "Namespace", "", name) for name in sorted(names)])
    return {name: uid for (_, _, _, name), uid in found.items()}


def renewed(tx: Transaction, name: str) -> None:
    """A namespace was made, perhaps again: agents are told its id, and report its state anew."""
    stored: Json = settings.get(tx, SETTING) or {}
    if name not in (stored.get("names") or ()):
        return
    revision = int(stored["revision"]) + 1
    due = (tx.now + REPORTS_WITHIN).isoformat()
    told = {
        "revision": revision,
        "reports_due": {**(stored.get("reports_due") or {}), name: due},
        "renewed": {**(stored.get("renewed") or {}), name: revision},
    }
    settings.put(tx, SETTING, {**stored, **told})


def require(tx: Transaction, needed: AbstractSet[str]) -> AskedNamespaces:
    """Name more namespaces under a new revision.

    At the bound those go in which no workload waits and no placement has objects.
    """
    present = load(tx)
    kept, wanted = present.names, frozenset(needed) - present.names
    if len(kept) + len(wanted) > MOST_NAMES:
        waiting = tallies.namespaces_with(tx, State.PENDING) | set(settings.get(tx, PLACED) or ())
        kept, wanted = kept & waiting, wanted & waiting
    added = frozenset(sorted(wanted)[: MOST_NAMES - len(kept)])
    beyond, names = wanted - added, kept | added
    if names == present.names:
        return replace(present, beyond=beyond)
    due = {name: at for name, at in present.reports_due.items() if at > tx.now and name in names}
    due |= dict.fromkeys(added, tx.now + REPORTS_WITHIN)
    renewed = {name: since for name, since in present.renewed.items() if name in names}
    told = {
        "revision": present.revision + 1,
        "names": sorted(names),
        "reports_due": {name: at.isoformat() for name, at in sorted(due.items())},
        "renewed": renewed,
    }
    settings.put(tx, SETTING, told)
    return AskedNamespaces(present.revision + 1, names, present.hub_id, due, renewed, beyond)


class Consents:
    """Follows what members report of namespaces."""

    def __init__(self, clusters: Mapping[str, Cluster]) -> None:
        self._clusters = clusters
        self.named = AskedNamespaces()
        self._constrained: dict[str, bool] = {}  # by each namespace that a workload has
        self._asked_at: dt.datetime | None = None
        self._moved: frozenset[str] = frozenset()  # across the bound, since the last look

    def of(self, namespace: str) -> tuple[str, str] | None:
        """The constraint of a workload: its namespace and the hub's id; None where every member takes it."""
        found = self._constrained.get(namespace)
        if found is None:
            found = self._constrained[namespace] = self._is_constrained(namespace)
        return (namespace, self.named.hub_id) if found else None

    def is_unasked(self, namespace: str) -> bool:
        """Do agents report consent, and not that of this namespace, because nothing has waited there?"""
        reporting = any(cluster.consent is not None for cluster in self._clusters.values())
        return reporting and namespace not in self.named.names

    def would_be(self, namespace: str) -> tuple[str, str] | None:
        """The constraint of a workload that is only planned: agents are not asked because of it."""
        if namespace not in self.named.names:
            return None
        return (namespace, self.named.hub_id) if self._is_constrained(namespace) else None

    def unnamed(self, now: dt.datetime) -> frozenset[str] | None:
        """All namespaces met, if some of them are to be named to the agents now; else None."""
        if all(cluster.consent is None for cluster in self._clusters.values()):
            return None
        met = frozenset(self._constrained)
        if met - self.named.beyond <= self.named.names and not self._looks_for_room(now):
            return None
        self._asked_at = now
        return met

    def took(self, named: AskedNamespaces) -> None:
        """Follow what `require` has named; namespaces in which nothing waits any more are forgotten."""
        self._moved |= named.beyond ^ self.named.beyond
        known = named.names | named.beyond
        self.named = named
        self._constrained = {n: is_so for n, is_so in self._constrained.items() if n in known}

    def look_again(self, reported: frozenset[str] | None) -> frozenset[str]:
        """Namespaces whose workloads get or lose the constraint, or have it and another report.

        `reported`: those of which a member has told another state; None: any.
        """
        looked: AbstractSet[str] = self._constrained.keys()
        if reported is not None:
            looked = looked & (reported | self._moved)
        self._moved = frozenset()
        now = {namespace: self._is_constrained(namespace) for namespace in looked}
        changed = frozenset(n for n, is_so in now.items() if is_so != self._constrained[n])
        self._constrained |= now
        told = frozenset(
            n for n in reported or () if now.get(n)
        )  # their reasons are written again
        return changed | told

    def _looks_for_room(self, now: dt.datetime) -> bool:
        asked = self._asked_at
        return bool(self.named.beyond) and (asked is None or now >= asked + _LOOK_FOR_ROOM_EVERY)

    def _is_constrained(self, namespace: str) -> bool:
        if namespace in self.named.beyond:
            return False  # the agent alone enforces
        return not all(takes_jobs(cluster, namespace) for cluster in self._clusters.values())

"""Namespaces of what placements select: agents report for these too whether they accept the hub.

The controller of placements names them, at most half of all that the hub asks about; beyond that the agent
alone decides. A placement's namespaces are known once it is reconciled; objects are not read for them.
"""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from hub.domain.fleet.clusters import Cluster, accepts, changed_namespaces
from hub.domain.placement.plugins.consent import NamespacesAccepted
from hub.services.consent import namespaces as consents
from hub.services.consent.namespaces import PLACED, REPORTS_WITHIN, AskedNamespaces
from hub.store import settings
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.consent import MOST_NAMES

MOST_PLACED: Final = MOST_NAMES // 2
_NAMESPACE: Final = ("", "Namespace")
ObjectName = tuple[str, str, str, str]  # group, kind, namespace, name


def namespaces_of(objects: Iterable[ObjectName]) -> frozenset[str]:
    """Namespaces that objects live in, and those that are among them."""
    return frozenset(
        name if (group, kind) == _NAMESPACE else namespace
        for group, kind, namespace, name in objects
    ) - {""}


def namespaces_of_rows(rows: Iterable[StoredObject]) -> frozenset[str]:
    """The same of stored objects."""
    return namespaces_of((row.api_group, row.kind, row.namespace, row.name) for row in rows)


def acceptance(
    asked: AskedNamespaces,
    namespaces: Collection[str],
    now: dt.datetime,
    holding: Collection[str] = (),
) -> NamespacesAccepted:
    """The filter of a placement of objects in these namespaces.

    `holding`: clusters that hold them already and stay. A namespace that is not named yet is about to be.
    """
    judged = sorted(frozenset(namespaces) - asked.beyond)
    unnamed = dict.fromkeys(frozenset(judged) - asked.names, now + REPORTS_WITHIN)
    due = {**asked.reports_due, **unnamed}
    return NamespacesAccepted(judged, asked.hub_id, due, frozenset(holding))


def name_placed(tx: Transaction, needed: frozenset[str], *, whole: bool = True) -> AskedNamespaces:
    """Name the namespaces of placements; those that have room already keep it.

    `whole`: these are all placements; else those that a new leader has yet to look at keep their names.
    """
    stored = settings.get(tx, PLACED) or []
    kept = [name for name in stored if name in needed or not whole][:MOST_PLACED]
    kept += sorted(needed.difference(kept))[: MOST_PLACED - len(kept)]
    if kept != stored:
        settings.put(tx, PLACED, kept)
    named = consents.require(tx, frozenset(kept))
    return replace(named, beyond=needed - named.names)


def planned_acceptance(
    asked: AskedNamespaces,
    namespaces: Collection[str],
    now: dt.datetime,
    holding: Collection[str] = (),
) -> NamespacesAccepted:
    """The filter of a placement that is only planned: of namespaces that are named; no report is awaited."""
    beyond = frozenset(namespaces) - asked.names
    return acceptance(replace(asked, beyond=beyond, reports_due={}), namespaces, now, holding)


class PlacedNamespaces:
    """By placement the namespaces of its objects, and by namespace the placements. In memory."""

    def __init__(self, asked: AskedNamespaces | None = None) -> None:
        self.asked = asked or AskedNamespaces()
        self._of: dict[str, frozenset[str]] = {}
        self._in: dict[str, set[str]] = {}
        self._changed = True  # since they were last named

    def put(self, uid: str, namespaces: frozenset[str]) -> None:
        """Take the namespaces of one placement; none once it is gone."""
        before = self._of.get(uid, frozenset())
        for name in before - namespaces:
            self._in[name].discard(uid)
            if not self._in[name]:
                del self._in[name]
                self._changed = True
        for name in namespaces - before:
            self._changed = self._changed or name not in self._in
            self._in.setdefault(name, set()).add(uid)
        if namespaces:
            self._of[uid] = namespaces
        else:
            self._of.pop(uid, None)

    def unnamed(self, fleet: Mapping[str, Cluster], *, whole: bool) -> frozenset[str] | None:
        """All of them, if they are to be named now: they have changed, and some agent reports consent.

        `whole`: the controller has reconciled every placement; until then only new names count.
        """
        if not self._changed or all(each.consent is None for each in fleet.values()):
            return None
        known = self.asked.names | self.asked.beyond
        return frozenset(self._in) if whole or not known.issuperset(self._in) else None

    def took(self, asked: AskedNamespaces, *, whole: bool) -> None:
        """Follow what `name_placed` has named."""
        self.asked, self._changed = asked, not whole

    def concerned(self, old: Cluster | None, new: Cluster | None) -> set[str]:
        """Placements that look again, as a member accepts the hub in their namespaces, or does no longer."""
        if old is None or new is None:
            return set()
        changed = changed_namespaces(old.consent, new.consent)
        if changed is None:
            return set(self._of)
        moved = [name for name in changed if _answer(old, name) != _answer(new, name)]
        return set().union(*(self._in.get(name, ()) for name in moved))


def _answer(cluster: Cluster, namespace: str) -> tuple[bool, bool]:
    """Does its agent report the namespace, and may the hub use it?"""
    return namespace in (cluster.consent or ()), accepts(cluster, namespace)

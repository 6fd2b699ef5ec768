"""Placements to reconcile when something changes. In memory; rules only, no decisions.

Never misses a placement that is concerned; occasionally names one too many, which costs a check.
"""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hub.domain.fleet.clusters import Cluster
from hub.domain.placement.plugins.affinity import satisfies
from hub.domain.quota.placed_queues import QueueSelection, read_queue_selection
from hub.domain.workloads.placement_policy import Required, read_policy
from hub.services.placements.history.rolled_back import Pin, read_pin
from hub.services.placements.selecting import NAMESPACE, SelectionRules, read_rules
from hub.services.placements.staged.index import RunIndex
from hub.store import objects, placed_jobs, placements, works
from hub.store.records.objects import StoredObject
from hub.store.records.placements import JobTraits
from hub.store.transaction import Transaction
from shared.documents import JsonView
from shared.errors import Rejected


@dataclass(frozen=True, slots=True)
class _Known:
    """A placement's rules, and the mark by which a change of its own status is no news.

    That somebody has it rolled back is news, which stands in the status alone.
    """

    rules: SelectionRules
    queues: QueueSelection
    mark: tuple[int, str, bool, Pin | None]
    terms: tuple[tuple[Required, ...], ...]  # which of them hold of a member decides about it


_Key = tuple[str, ...]


class _Candidates:
    """The placements that may concern one resource: a thousand need not be asked about each."""

    def __init__(self) -> None:
        self._by_key: dict[_Key, set[str]] = {}
        self._keys: dict[str, set[_Key]] = {}

    def put(self, uid: str, rules: SelectionRules) -> None:
        self.drop(uid)
        self._keys[uid] = keys = set(_keys_of(rules))
        for key in keys:
            self._by_key.setdefault(key, set()).add(uid)

    def drop(self, uid: str) -> None:
        for key in self._keys.pop(uid, ()):
            self._by_key[key].discard(uid)
            if not self._by_key[key]:
                del self._by_key[key]

    def of(self, group: str, kind: str, namespace: str, name: str) -> set[str]:
        """By kind in the namespace, by kind with this or any name, by the whole namespace."""
        keys: list[_Key] = [
            ("in", namespace, group, kind),
            ("kind", group, kind, name),
            ("kind", group, kind, ""),
        ]
        if namespace:
            keys += [("whole", namespace), ("whole", "")]
        return set().union(*(self._by_key.get(key, ()) for key in keys))


def _keys_of(rules: SelectionRules) -> Iterable[_Key]:
    for rule in rules.rules:
        if rules.namespace:
            yield "in", rules.namespace, rule.group, rule.kind
            continue
        yield "kind", rule.group, rule.kind, rule.name
        if (rule.group, rule.kind) == NAMESPACE:
            yield "whole", rule.name


class PlacementIndex:
    """All placements by uid."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._candidates = _Candidates()
        self.expected: dict[str, SelectionRules] = {}  # of those that are about to be stored
        self.unsettled: set[str] = set()  # would gain from other clusters or other placements
        self.overrides: set[str] = set()  # uids of those that are stored
        self.awaiting: dict[str, frozenset[str]] = {}  # by uid, clusters that must release it
        self.runs = RunIndex()
        self._watched: dict[
            str, frozenset[str]
        ] = {}  # by uid, objects of which it does not place all
        self._watching: dict[str, set[str]] = {}  # the same by uids of these
        self._queues: dict[str, tuple[object, ...]] = {}  # by uid, labels and spec as last seen

    def __len__(self) -> int:
        return len(self._known)

    def uids(self) -> list[str]:
        """Every placement."""
        return list(self._known)

    def put(self, row: StoredObject) -> bool:
        """Take a placement's row; False if nothing but its status has changed."""
        rules = read_rules(row.kind, row.namespace, row.spec or {})
        queues = read_queue_selection(row.kind, row.spec or {})
        self.runs.put_placement(row)
        mark = (row.generation, row.hash, row.deleted_at is not None, read_pin(row.status))
        old = self._known.get(row.uid)
        if old is not None and old.mark == mark:
            return False
        self._known[row.uid] = _Known(rules, queues, mark, _terms(row.spec or {}))
        self._candidates.put(row.uid, rules)
        return True

    def is_override(self, uid: str, row: StoredObject | None) -> bool:
        """Is it one, or was it (None: it is gone)? Any placement may say something else by it."""
        if row is None:
            was = uid in self.overrides
            self.overrides.discard(uid)
            return was
        if row.api_group != placements.GROUP or row.kind not in placements.OVERRIDES:
            return False
        self.overrides.add(uid)
        return True

    def drop(self, uid: str) -> bool:
        """Forget a placement; False if it was none."""
        self._queues.pop(uid, None)
        self.unsettled.discard(uid)
        self.awaiting.pop(uid, None)
        self.runs.drop_placement(uid)
        self.watch(uid, frozenset())
        self._candidates.drop(uid)
        return self._known.pop(uid, None) is not None

    def watch(self, uid: str, watched: frozenset[str]) -> None:
        """A placement looks again whatever becomes of these: no work of their uids would tell."""
        for each in self._watched.pop(uid, frozenset()) - watched:
            self._watching[each].discard(uid)
            if not self._watching[each]:
                del self._watching[each]
        for each in watched:
            self._watching.setdefault(each, set()).add(uid)
        if watched:
            self._watched[uid] = watched

    def watching(self, uid: str) -> set[str]:
        """Placements that look again when the object of this uid changes or goes."""
        return set(self._watching.get(uid, ()))

    def comparing(self, keys: Iterable[str]) -> set[str]:
        """Placements that watch the objects of these works, by feed keys, also of other placements."""
        if not self._watching:
            return set()
        found: set[str] = set()
        for key in keys:
            found |= self._watching.get(key.partition("/")[2], set())
        return found

    def awaited(self, keys: Iterable[str]) -> set[str]:
        """Placements that wait for one of the clusters behind feed keys to let something go."""
        if not self.awaiting:
            return set()
        clusters = {each.partition("/")[0] for each in keys}
        return {uid for uid, waits in self.awaiting.items() if waits & clusters}

    @property
    def leaving(self) -> set[str]:
        """Placements that are being deleted: they go when the last of what they placed is gone."""
        return {uid for uid, known in self._known.items() if known.mark[2]}

    def selects_jobs(self) -> bool:
        """Does any placement select Jobs?"""
        return any(known.rules.selects_jobs for known in self._known.values())

    def selects_queues(self, uid: str) -> bool:
        """Does this placement select ClusterQueues, and so decide who chooses clusters for their Jobs?"""
        known = self._known.get(uid)
        return known is not None and not known.queues.is_empty

    def put_queue(self, row: StoredObject) -> set[str]:
        """Take a queue's row; placements that must look at their waiting Jobs again.

        Its status is no news.
        """
        mark = (row.labels, row.spec, row.deleted_at is not None)
        if self._queues.get(row.uid) == mark:
            return set()
        self._queues[row.uid] = mark
        return self.selecting_jobs(row.namespace)

    def selecting_jobs(self, namespace: str = "") -> set[str]:
        """Placements that may select Jobs in a namespace, or in any if ""."""
        return {
            uid
            for uid, known in self._known.items()
            if known.rules.selects_jobs
            and (not namespace or known.rules.namespace in ("", namespace))
        }

    def concerned(
        self, group: str, kind: str, namespace: str, name: str, labels: Mapping[str, str]
    ) -> set[str]:
        """Placements that may select this resource."""
        return {
            uid
            for uid in self._candidates.of(group, kind, namespace, name)
            if self._known[uid].rules.may_select(group, kind, namespace, name, labels)
        }

    def is_concerned(
        self, group: str, kind: str, namespace: str, name: str, labels: Mapping[str, str]
    ) -> bool:
        """May any placement, or one that is expected, select this resource?"""
        given = (group, kind, namespace, name, labels)
        return any(rules.may_select(*given) for rules in self.expected.values()) or bool(
            self.concerned(*given)
        )

    def rules_of(self, uid: str) -> SelectionRules | None:
        """The selection of a placement; None of one that is not known."""
        known = self._known.get(uid)
        return None if known is None else known.rules

    def affected(self, old: Cluster, new: Cluster) -> set[str]:
        """Placements that `new` would gain or lose, whose terms hold of one of the two alone."""
        return {
            uid
            for uid, known in self._known.items()
            if any(satisfies(terms, old) != satisfies(terms, new) for terms in known.terms)
        }

    def of_jobs(self, traits: Iterable[JobTraits]) -> set[str]:
        """Placements concerned by Jobs."""
        found: set[str] = set()
        for job in traits:
            if job.placement:
                found.add(job.placement)
            group = job.api_version.rpartition("/")[0]
            found |= self.concerned(group, job.kind, job.namespace, job.name, job.labels)
        return found


def _terms(spec: JsonView) -> tuple[tuple[Required, ...], ...]:
    """Those by which a member is added where all are picked, and those by which it may be left."""
    with contextlib.suppress(Rejected):  # its condition reports an unreadable one
        policy = read_policy(spec.get("policy"))
        required = policy.required if policy.type == "PickAll" else ()
        return tuple(terms for terms in (required, policy.enduring) if terms)
    return ()


def load_placements(tx: Transaction) -> list[StoredObject]:
    """All placements."""
    return placements.list_all(tx)


def load_overrides(tx: Transaction) -> set[str]:
    """The uids of all overrides."""
    return placements.override_uids(tx)


def load_runs(tx: Transaction) -> list[StoredObject]:
    """All staged update runs."""
    return placements.list_runs(tx)


def job_traits(tx: Transaction, uids: Iterable[str]) -> list[JobTraits]:
    """Inputs of which placements a Job concerns."""
    return placed_jobs.job_traits(tx, list(uids))


def object_rows(
    tx: Transaction, uids: Iterable[str]
) -> tuple[dict[str, StoredObject], dict[str, set[str]]]:
    """Objects by uid, and the placements that have placed them, whatever they select now."""
    wanted = list(uids)
    placed: dict[str, set[str]] = {}
    for work in works.of_uids(tx, wanted):
        if work.placed_by:
            placed.setdefault(work.uid, set()).add(work.placed_by)
    return objects.get_many(tx, wanted), placed


def placements_of_works(tx: Transaction, keys: Iterable[str]) -> dict[str, set[str]]:
    """Placements whose works were observed again, and the clusters of these works."""
    return placements.behind_works(tx, keys)

"""Reads the scheduler's index from the store: everything at start, then the changed rows.

Run in a store thread; the rows are applied by `hub.services.index.index`, many of them in parts.
"""

import datetime as dt
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hub.domain.workloads.states import State
from hub.services.consent import namespaces as consents
from hub.services.index import pool_keys
from hub.services.index.catalog import DEFAULT_QUEUE, KINDS
from hub.services.index.pool_keys import PoolKeys
from hub.services.index.waiting.at_start import AtStart, read_at_start
from hub.store import changes, clusters, schedule, usage
from hub.store.records.members import Member
from hub.store.records.objects import RuleObject
from hub.store.schedule import ProgressRow, SchedulingRow
from hub.store.transaction import Transaction
from hub.store.workloads import TERMS
from shared.documents import Json

PART: Final = 500  # workloads applied in one go: some ten milliseconds of the event loop
FOLLOWED: Final = ("workloads", "objects", "clusters", "settings", usage.CHANGED, TERMS)


@dataclass(slots=True)
class News:
    """Rows read again after a change. `whole`: everything there is, at start."""

    whole: bool = False
    backlog: AtStart | None = None  # whoever waits, at start; `workloads` are the others then
    workloads: list[SchedulingRow] = field(default_factory=list)
    pulses: list[ProgressRow] = field(default_factory=list)  # of workloads known to be charged
    gone: frozenset[str] = frozenset()  # uids of workloads looked for that are not there
    shapes: Json = field(default_factory=dict)
    rules: list[RuleObject] = field(default_factory=list)
    rules_gone: frozenset[str] = frozenset()  # uids of objects looked for
    clusters: list[tuple[Member, bytes | None]] = field(default_factory=list)
    clusters_gone: frozenset[str] = frozenset()
    heartbeats: dict[str, dt.datetime | None] = field(default_factory=dict)
    keys: PoolKeys | None = None
    named: consents.AskedNamespaces | None = None
    consumed: list[usage.Consumed] | None = None  # of all LocalQueues, where a sample was taken
    read_at: dt.datetime | None = None
    revision: int = 0  # of the feed, at start: everything up to it is in this

    def parts(self) -> "Iterator[News]":
        """The same in parts of `PART` workloads, to be applied in this order with others in between.

        Rules, members and the like come first, whole. What was given is let go of part by part:
        nobody else runs while a million rows are freed at once.
        """
        if len(self.workloads) + len(self.gone) <= PART:
            yield self
            return
        rows, gone, shapes = self.workloads, list(self.gone), dict(self.shapes)
        self.workloads, self.gone, self.shapes = [], frozenset(), {}
        for alike in self.backlog.classes if self.backlog is not None else ():
            if alike.shape in shapes:
                self.shapes[alike.shape] = shapes.pop(alike.shape)
        yield self
        rows.reverse()
        while rows:
            some = rows[: -PART - 1 : -1]
            del rows[-PART:]
            met = {row.shape for row in some} & shapes.keys()
            new = {digest: shapes.pop(digest) for digest in met}
            yield News(workloads=some, shapes=new, read_at=self.read_at)
        for start in range(0, len(gone), PART):
            yield News(gone=frozenset(gone[start : start + PART]), read_at=self.read_at)


@dataclass(frozen=True, slots=True)
class Affected:
    """The rows whose way into a queue changed: LocalQueues (namespace, name), placements by uid."""

    queues: frozenset[tuple[str, str]] = frozenset()
    placements: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()  # whose workloads get or lose the constraint

    def __bool__(self) -> bool:
        return bool(self.queues or self.placements or self.namespaces)


class Known(NamedTuple):
    """The index's present content: shapes, and the epochs of charged workloads by uid."""

    shapes: Collection[str]
    charged: Mapping[str, int]


def read_all(tx: Transaction) -> News:
    """Everything there is."""
    named = consents.load(tx)
    news = News(whole=True, keys=pool_keys.load(tx), named=named, read_at=tx.now)
    news.revision = changes.last_revision(tx)
    news.rules = schedule.rules(tx, KINDS)
    news.clusters = read_clusters(tx, None)
    news.consumed = usage.every(tx)
    news.backlog = backlog = read_at_start(tx)
    news.workloads = [*schedule.charged(tx), *schedule.standing(tx, backlog.apart)]
    shapes = {alike.shape for alike in backlog.classes}
    news.shapes = schedule.pod_sets(tx, shapes.union(w.shape for w in news.workloads))
    return news


def read_news(
    tx: Transaction,
    keys: Mapping[str, Collection[str]],
    known: Known,
    *,
    heartbeats: bool = True,
) -> News:
    """What a change touched, and when each agent was last heard (which enters no feed)."""
    heard = schedule.heartbeats(tx) if heartbeats else {}
    news = News(heartbeats=heard, read_at=tx.now)
    if pool_keys.SETTING in keys.get("settings", ()):
        news.keys = pool_keys.load(tx)
    if consents.SETTING in keys.get("settings", ()):
        news.named = consents.load(tx)
    if keys.get(usage.CHANGED):
        news.consumed = usage.every(tx)
    if uids := keys.get("objects"):
        news.rules_gone = frozenset(uids)
        news.rules = schedule.rules(tx, KINDS, uids)
    if names := keys.get("clusters"):
        news.clusters_gone = frozenset(names)
        news.clusters = read_clusters(tx, names)
    if uids := keys.get("workloads"):
        anew = keys.get(TERMS, ())
        on_clusters = [uid for uid in uids if uid in known.charged and uid not in anew]
        news.pulses = schedule.pulses(tx, on_clusters)
        same = {p.uid for p in news.pulses if _goes_on(p, known)}
        news.pulses = [p for p in news.pulses if p.uid in same]
        _read_workloads(tx, news, set(uids) - same, known)
    return news


def _goes_on(pulse: ProgressRow, known: Known) -> bool:
    """Is it still the same placement, or has it ended? Anything else is read whole."""
    if pulse.state in (State.PENDING, State.RESERVED):
        return False
    return pulse.epoch == known.charged[pulse.uid]


def read_affected(tx: Transaction, affected: Affected, known: Known) -> News:
    """The workloads whose way into a queue a rule has changed."""
    uids: set[str] = set(schedule.pending_of_placements(tx, affected.placements))
    for namespace, queue in affected.queues:
        uids.update(schedule.pending_uids(tx, namespace, queue))
        if queue == DEFAULT_QUEUE:
            uids.update(schedule.pending_uids(tx, namespace, ""))
    for namespace in affected.namespaces:
        uids.update(schedule.pending_uids(tx, namespace))
    news = News()
    _read_workloads(tx, news, uids, known)
    return news


def _read_workloads(tx: Transaction, news: News, uids: Collection[str], known: Known) -> None:
    news.workloads = schedule.standing(tx, uids)
    news.gone = frozenset(uids).difference(row.uid for row in news.workloads)
    news.shapes = schedule.pod_sets(tx, {w.shape for w in news.workloads}.difference(known.shapes))


def read_clusters(
    tx: Transaction, names: Collection[str] | None
) -> list[tuple[Member, bytes | None]]:
    """Members with what they reported, all or those of `names`."""
    capacities = clusters.get_capacities(tx, names)
    return [
        (member, capacities.get(member.name, (None, None))[0])
        for member in clusters.list_all(tx)
        if names is None or member.name in names
    ]

"""Desired sets of every member cluster, in memory: an index of the `works` rows that follows the feed.

A sync without news is answered from here and costs no SQL. Each change gets the next number of its
cluster's counter, so that a reply can be a delta since the number an agent holds; a number is trusted
only together with the digest that went out with it, so a counter that starts anew after a restart
can not be mistaken for an older one. Between pages there is no digest: hubs that share a store begin to
count at different numbers, so that a page of one is none of another's.
"""

import asyncio
import secrets
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import orjson

from hub.services.consent import namespaces as consents
from hub.services.reading import kind_definitions
from hub.services.works import declared_rules
from hub.store import clusters, kind_versions, settings, works
from hub.store.records.works import Desired
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.wire.agent_v1 import DesiredBase, SyncRequest, desired_line, told_hash
from shared.wire.set_digest import SetDigest

# Removals remembered per cluster; an agent further behind gets the whole set.
MAX_REMOVED = 10_000
# Digests remembered per cluster for the replies that carried them.
MAX_SENT = 64
_FIRST_NUMBERS = 1 << 40
warm = kind_definitions.warm  # before agents are told: reading definitions takes long


@dataclass(slots=True)
class DesiredEntry:
    """One desired work: its row, the number of its last change, its line in the digest."""

    row: Desired
    number: int
    line: str


@dataclass(frozen=True, slots=True)
class Delta:
    """The delta for an agent: entries in order of their numbers, and removed uids."""

    full: bool
    entries: list[DesiredEntry]
    removed: list[tuple[int, str]]


class ClusterSet:
    """The desired set of one cluster."""

    def __init__(self, first: int = 1) -> None:
        self.number = first  # 0 is what an agent holds that was never answered
        self._entries: OrderedDict[str, DesiredEntry] = OrderedDict()  # in order of their numbers
        self._removed: deque[tuple[int, str]] = deque()
        self._forgotten = 0  # removals up to this number are no longer remembered
        self._digest = SetDigest()
        self._sent: OrderedDict[int, str] = OrderedDict()
        self._partial: tuple[str, int] | None = None
        self._waiters: set[asyncio.Future[None]] = set()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def digest(self) -> str:
        """Digest of the whole set."""
        return self._digest.hex()

    def put(self, row: Desired) -> None:
        """Take a row as it now stands; one that agents see unchanged makes no news."""
        line = digest_line(row)
        old = self._entries.get(row.uid)
        if old is not None:
            if old.line == line:
                old.row = row
                return
            self._digest.remove(old.line)
            del self._entries[row.uid]
        self.number += 1
        self._entries[row.uid] = DesiredEntry(row, self.number, line)
        self._digest.add(line)
        self._wake()

    def settle(self, row: Desired) -> bool:
        """Take a row whose hash was settled when it was prepared for sending: same number, no news.

        False where the index has another row by now, perhaps a newer one, such as a withdrawal that was
        committed meanwhile: the caller reads the row again.
        """
        entry = self._entries.get(row.uid)
        if entry is None or _asked(entry.row) != _asked(row):
            return False
        self._digest.remove(entry.line)
        entry.row, entry.line = row, digest_line(row)
        self._digest.add(entry.line)
        return True

    def drop(self, uid: str) -> None:
        """The cluster should hold nothing of `uid` any more."""
        old = self._entries.pop(uid, None)
        if old is None:
            return
        self._digest.remove(old.line)
        self.number += 1
        self._removed.append((self.number, uid))
        if len(self._removed) > MAX_REMOVED:
            self._forgotten = self._removed.popleft()[0]
        self._wake()

    def get(self, uid: str) -> DesiredEntry | None:
        """The entry of one uid."""
        return self._entries.get(uid)

    def delta(self, session: str, base: DesiredBase) -> Delta | None:
        """The delta for an agent that holds `base`; None if it holds the present set."""
        if base.revision and base.digest == self.digest:
            return None
        known = self._sent.get(base.revision) == base.digest and base.revision > 0
        if self._partial == (session, base.revision):
            known = True  # between pages the agent's digest means nothing
        if not known or base.revision < self._forgotten:
            return Delta(full=True, entries=list(self._entries.values()), removed=[])
        entries: list[DesiredEntry] = []
        for entry in reversed(self._entries.values()):
            if entry.number <= base.revision:
                break
            entries.append(entry)
        entries.reverse()
        removed = [
            each
            for each in self._removed
            if each[0] > base.revision and each[1] not in self._entries  # it may be back
        ]
        return Delta(full=False, entries=entries, removed=removed)

    def sent(self, session: str, number: int, *, more: bool) -> str:
        """Note that a reply brings an agent to `number`; the digest to send with it."""
        if more:
            self._partial = (session, number)
            return ""
        self._partial = None
        self._sent[number] = self.digest
        self._sent.move_to_end(number)
        while len(self._sent) > MAX_SENT:
            self._sent.popitem(last=False)
        return self.digest

    async def news(self, after: int) -> None:
        """Return once something has changed after number `after`."""
        if self.number > after:
            return
        future = asyncio.get_running_loop().create_future()
        self._waiters.add(future)
        try:
            await future
        finally:
            self._waiters.discard(future)

    def announce(self) -> None:
        """Have everybody who waits look again, though nothing of the set has changed."""
        self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)


def _asked(row: Desired) -> tuple[int, int, str]:
    """The requests of a row; preparing it for sending settles only its hash."""
    return row.epoch, row.generation, row.action


class DesiredSets:
    """The desired sets of all clusters. `counts_alone`: no other hub answers the same agents."""

    def __init__(self, *, counts_alone: bool = True) -> None:
        self._first = 1 if counts_alone else 1 + secrets.randbelow(_FIRST_NUMBERS)
        self._sets: dict[str, ClusterSet] = {}

    def of(self, cluster: str) -> ClusterSet:
        """The set of one cluster, empty if it was never heard of."""
        found = self._sets.get(cluster)
        if found is None:
            found = self._sets[cluster] = ClusterSet(self._first)
        return found

    def __iter__(self) -> Iterator[ClusterSet]:
        return iter(list(self._sets.values()))

    def load(self, rows: Iterable[Desired]) -> None:
        """Take all rows, at start."""
        for row in rows:
            self.of(row.cluster).put(row)

    def refresh(self, keys: Iterable[str], rows: Iterable[Desired]) -> None:
        """Take `rows` as what now stands behind feed `keys`; keys without a row are gone."""
        absent = set(keys)
        for row in rows:
            absent.discard(f"{row.cluster}/{row.uid}")
            self.of(row.cluster).put(row)
        for each in absent:
            cluster, _, uid = each.partition("/")
            self.of(cluster).drop(uid)


def digest_line(row: Desired) -> str:
    """The line of a row in the digest; the same as `agent_v1.Work.digest_line` of what is sent."""
    told = told_hash(row.action, row.hash)
    return desired_line(row.uid, row.epoch, row.generation, row.action, told)


# --- what the exchange with agents reads as it begins, and when that was touched ---------------------------


class Holds(NamedTuple):
    """Revisions that an agent holds of the common part of replies; None: it knows of none."""

    availability: int | None = None
    namespaces: int | None = None
    namespace_ids: bool | None = None  # with the ids of the namespaces?
    kinds: int | None = None


def held_by(request: SyncRequest) -> Holds:
    """Revisions that the agent says it holds."""
    ids = request.namespace_ids_held
    return Holds(request.availability, request.namespaces_held, ids, request.kinds_held)


class ForAll(NamedTuple):
    """The common part of all replies, as stored."""

    pool_keys: Json
    availability: Json
    namespaces: Json = {"revision": 0, "names": [], "ids": {}}  # noqa: RUF012 - never changed
    kinds: Json | None = None  # None: those that are built in alone

    def told(self, holds: Holds) -> Json:
        """The part of a reply, for an agent that holds these revisions."""
        told: Json = {"pool_keys": self.pool_keys}
        if holds.availability not in {None, self.availability["revision"]}:
            told["availability"] = self.availability
        revision = self.namespaces["revision"]
        lacks_ids = (
            holds.namespace_ids is False and revision > 0
        )  # told by a hub that knew of none
        if holds.namespaces is not None and (holds.namespaces != revision or lacks_ids):
            told["namespaces"] = self.namespaces
        kinds = self.kinds or kind_definitions.told()
        if holds.kinds is not None and holds.kinds != kinds["revision"]:
            told["kinds"] = kinds
        return told

    def are_kinds_held(self, request: SyncRequest) -> bool:
        """True if the agent holds the present definitions of kinds, or knows of none."""
        if request.kinds_held is None:
            return True
        return bool(request.kinds_held == (self.kinds or kind_definitions.told())["revision"])

    def is_news(self, before: "ForAll | None", holds: Holds) -> bool:
        """True if there is more for an agent that holds `before` and these revisions."""
        return self != before or self.told(holds).keys() != {"pool_keys"}


FOR_ALL: Final = frozenset(
    {"pool_keys", declared_rules.SETTING, consents.SETTING, kind_versions.SETTING}
)  # the settings of which it is made


def at_start(tx: Transaction) -> tuple[list[Desired], ForAll]:
    """All desired works, and the common part of replies."""
    return works.all_desired(tx), for_all(tx)


def for_all(tx: Transaction) -> ForAll:
    """The present common part of replies."""
    asked = consents.load(tx)
    ids = consents.ids_of(tx, asked.names)
    named = {"revision": asked.revision, "names": sorted(asked.names), "ids": ids}
    kinds = kind_definitions.told_with(kind_versions.to_tell(tx))
    return ForAll(pool_keys(tx), declared_rules.load(tx), named, kinds)


def pool_keys(tx: Transaction) -> Json:
    """The node label keys that agents group by, as the scheduler last set them."""
    stored: Json = settings.get(tx, "pool_keys") or {}
    return {"revision": stored.get("revision", 0), "keys": stored.get("keys", [])}


def queue_managers(tx: Transaction, cluster: str) -> frozenset[str]:
    """LocalQueues ("namespace/name") that were Active in a cluster when it last told."""
    found, _ = clusters.get_capacities(tx, [cluster]).get(cluster, (b"{}", None))
    return frozenset(orjson.loads(found).get("queue_managers") or ())

"""Kinds of the hub cluster that are watched because placements select them.

What has to be asked of the API server is asked in a turn of the bridge, which tries again where that
fails; following the hub's feed costs no request. A kind that may not be read is remembered with the
placements that lack it: their condition says so, and the kind is looked at again rarely.

What a placement selects is taken before the placement itself: of the first version that it gives to
members everything is a part that was there, and nothing of it waits as a change for members to be ready.
"""

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Final

import structlog

from hub.bridge.kinds import JOB, STATIC, Mirrored
from hub.bridge.sources import Place, Sources
from hub.services.placements.index import PlacementIndex
from hub.services.placements.selecting import SelectionRules, needed_kinds, read_rules
from hub.store.records.objects import StoredObject
from shared.clock import Clock
from shared.documents import JsonView
from shared.groups import KUEUE, PLACEMENT
from shared.kinds import parse
from shared.kinds.scopes import is_never_placed
from shared.kube import errors
from shared.kube.client import KubeClient, Object

Kind = tuple[str, str]  # group, kind
PLACEMENTS = frozenset({"ClusterResourcePlacement", "ResourcePlacement"})
GATHER_S: Final = (
    0.2  # each kind is watched by itself: what was applied just before may be seen just after
)
HELD_S: Final = 5.0  # at most, a placement waits until the kinds that it selects were read
log = structlog.get_logger(__name__)


class Following:
    """The kinds that placements need: followed, still to be followed, not readable."""

    def __init__(
        self, client: KubeClient, sources: Sources, index: PlacementIndex, clock: Clock
    ) -> None:
        self._client = client
        self._sources = sources
        self._index = index
        self._clock = clock
        self._held: dict[str, float] = {}  # by uid: since when a placement waits for its kinds
        self._due: dict[str, JsonView] = {}  # specs whose kinds are not followed yet
        self._whole: dict[str, JsonView] = {}  # specs that take all kinds of a namespace
        self._needs: dict[str, frozenset[Kind]] = {}
        self._said: dict[str, str] = {}

    def learn(self, rows: Iterable[StoredObject]) -> bool:
        """Take placements' rows; True where some have changed, so that a turn has something to do."""
        for row in rows:
            if row.kind in PLACEMENTS and row.api_group == PLACEMENT and self._index.put(row):
                self._due[row.uid] = row.spec or {}
        return bool(self._due)

    def drop(self, uid: str) -> None:
        """A placement is gone."""
        self._index.drop(uid)
        self._due.pop(uid, None)
        self._whole.pop(uid, None)
        self._needs.pop(uid, None)
        self._said.pop(uid, None)

    async def turn(self) -> None:
        """Follow the kinds that new placements select, and look at their objects again.

        Raises KubeError where the API server does not answer: what was due stays due.
        """
        due = dict(self._due)
        if not due:
            return
        for uid, spec in due.items():
            self._whole.pop(uid, None)
            if needed_kinds(spec)[1]:
                self._whole[uid] = spec
            self._needs[uid] = await self._follow(spec)
            rules = self._index.rules_of(uid)
            if rules is not None:
                self._look_at(rules)
            if self._due.get(uid) is spec:
                del self._due[uid]

    @contextlib.asynccontextmanager
    async def ahead(self) -> AsyncIterator[set[Place]]:
        """While new and changed placements are taken: what they select concerns the hub already.

        Gives the places of those of whose kinds some were not read yet: they are for a later turn.
        """
        later: set[Place] = set()
        held: dict[str, float] = {}
        now = self._clock.monotonic()
        for place in [each for each in self._sources.changed if each[1] in PLACEMENTS]:
            uid, rules, spec = self._news_at(place)
            if rules is None or rules == self._index.rules_of(uid):
                continue
            since = self._held.get(uid, now)
            if now - since < HELD_S and await self._is_early(spec, now - since):
                held[uid] = since
                later.add(place)
            else:
                self._index.expected[uid] = rules
                self._look_at(rules)
        self._held = held
        try:
            yield later
        finally:
            self._index.expected.clear()

    def _news_at(self, place: Place) -> tuple[str, SelectionRules | None, JsonView]:
        """The placement there: its uid, what it selects (None: nothing is to be taken), its spec."""
        found = self._sources.get(place)
        if found is None or place[0] != PLACEMENT:
            return "", None, {}
        obj: Object = found[1]
        if self._sources.is_mirror(obj) or obj["metadata"].get("deletionTimestamp"):
            return "", None, {}
        try:
            spec = parse(obj, strict=False, origin="hub-cluster", lenient_versions=True).spec
            return str(obj["metadata"]["uid"]), read_rules(place[1], place[2], spec), spec
        except Exception:  # noqa: BLE001 - what is odd about it is said when it is taken
            return "", None, {}

    async def _is_early(self, spec: JsonView, seen_s: float) -> bool:
        """May there be more of what it selects than is known? It was seen `seen_s` seconds ago.

        One that selects queues is never early: whether their jobs wait for a placement hangs on it.
        """
        named, whole = needed_kinds(spec)
        if any(group == KUEUE for group, _, _ in named):
            return False
        if not whole and all((group, kind) in STATIC for group, _, kind in named):
            return False
        return seen_s < GATHER_S or not await self._is_read(spec)

    async def _is_read(self, spec: JsonView) -> bool:
        """Were all kinds that it selects read, or refused? Begins to follow them."""
        try:
            kinds = await self._follow(spec)
        except errors.KubeError as failure:
            log.info("kinds.retry", error=str(failure))
            return False
        sources = [self._sources.source(*each) for each in kinds]
        return all(
            each is None or each.informer.synced.is_set() or each.informer.refused
            for each in sources
        )

    async def _follow(self, spec: JsonView) -> frozenset[Kind]:
        """Follow the kinds that a placement selects; those that are not followed anyway. Raises KubeError."""
        named, whole = needed_kinds(spec)
        if whole:
            known = {(group, kind) for group, _, kind in named}
            served = await self._followable()
            named |= {each for each in served if (each[0], each[2]) not in known}
        wanted = [
            (group, version, kind)
            for group, version, kind in named
            if (group, kind) not in STATIC and not is_never_placed(group, kind)
        ]
        for group, version, kind in wanted:
            await self._sources.add(Mirrored(group, kind, (version,)))
        return frozenset((group, kind) for group, _, kind in wanted)

    def _look_at(self, rules: SelectionRules) -> None:
        """Take every object that these rules may select for changed."""
        for source in self._sources:
            of = source.kind.group, source.kind.kind
            if of in STATIC and source.kind != JOB:
                continue
            self._sources.look_at(
                (*of, *key)
                for key, obj in source.informer.cache.items()
                if rules.may_select(*of, *key, obj["metadata"].get("labels") or {})
            )

    async def look_for_kinds(self) -> None:
        """Ask what is served now: placements that take whole namespaces take kinds that came since.

        Raises KubeError. One look at everything, whatever the number of placements.
        """
        if not self._whole:
            return
        before = await self._followable()
        if await self._followable(refresh=True) - before:
            self._due = {**self._whole, **self._due}

    async def _followable(self, *, refresh: bool = False) -> set[tuple[str, str, str]]:
        """(group, version, kind) of all that is served in namespaces and can be watched."""
        found: dict[Kind, tuple[str, str, str]] = {}
        for endpoint in (await self._client.server_resources(refresh)).values():
            group, _, version = endpoint.api_version.rpartition("/")
            if endpoint.namespaced and {"list", "watch"} <= endpoint.verbs:
                found.setdefault((group, endpoint.kind), (group, version, endpoint.kind))
        return set(found.values())

    def unreadable(self, uid: str) -> str:
        """What a placement selects and the hub may not read, as a sentence; "" where all is readable."""
        refused = sorted(
            f"{kind}.{group}" if group else kind
            for group, kind in self._needs.get(uid, ())
            if (source := self._sources.source(group, kind)) and source.informer.refused
        )
        if not refused:
            return ""
        return (
            f"the hub may not list and watch {', '.join(refused)}: grant its account these kinds, or "
            "select only what it may read"
        )

    def news(self) -> list[str]:
        """Placements about which `unreadable` says something else than before."""
        told = {uid: self.unreadable(uid) for uid in self._needs}
        changed = [uid for uid, text in told.items() if text != self._said.get(uid, "")]
        self._said = told
        return changed

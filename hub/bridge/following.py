"""Which kinds of the hub cluster are followed because placements select them.

What has to be asked of the API server is asked in a turn of the bridge, which tries again where that
fails; following the hub's feed costs no request. A kind that may not be read is remembered with the
placements that lack it: their condition says so, and the kind is looked at again rarely.
"""

from collections.abc import Iterable

from hub.bridge.kinds import JOB, STATIC, Mirrored
from hub.bridge.sources import Sources
from hub.services.placements.index import PlacementIndex
from hub.services.placements.selecting import needed_kinds
from hub.store.records.objects import StoredObject
from shared.documents import JsonView
from shared.groups import PLACEMENT
from shared.kinds.scopes import is_never_placed
from shared.kube.client import KubeClient

Kind = tuple[str, str]  # group, kind
PLACEMENTS = frozenset({"ClusterResourcePlacement", "ResourcePlacement"})


class Following:
    """The kinds that placements need: followed, still to be followed, not readable."""

    def __init__(self, client: KubeClient, sources: Sources, index: PlacementIndex) -> None:
        self._client = client
        self._sources = sources
        self._index = index
        self._due: dict[str, JsonView] = {}  # specs whose kinds are not followed yet
        self._whole: dict[str, JsonView] = {}  # specs that take all kinds of a namespace
        self._expected: dict[str, JsonView] = {}  # of those that are about to be taken
        self._needs: dict[str, frozenset[Kind]] = {}
        self._said: dict[str, str] = {}

    def learn(self, rows: Iterable[StoredObject]) -> bool:
        """Take placements' rows; True where some have changed, so that a turn has something to do."""
        for row in rows:
            if row.kind in PLACEMENTS and row.api_group == PLACEMENT and self._index.put(row):
                spec = row.spec or {}
                if self._expected.pop(row.uid, None) != spec:
                    self._due[row.uid] = spec
        return bool(self._due)

    def expect(self, uid: str, kind: str, namespace: str, spec: JsonView) -> None:
        """A placement is about to be taken: what it selects is to be taken with it."""
        self._index.expect(uid, kind, namespace, spec)
        self._expected[uid] = self._due[uid] = spec

    def has_read(self, uid: str) -> bool:
        """Is all that this placement needs known: read, not served, or not to be read?"""
        if uid in self._due:
            return False
        sources = (self._sources.source(*each) for each in self._needs.get(uid, ()))
        return all(
            source is None or source.informer.synced.is_set() or source.informer.refused
            for source in sources
        )

    def drop(self, uid: str) -> None:
        """A placement is gone."""
        self._index.drop(uid)
        self._due.pop(uid, None)
        self._expected.pop(uid, None)
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
        served = None
        for uid, spec in due.items():
            named, whole = needed_kinds(spec)
            self._whole.pop(uid, None)
            if whole:
                self._whole[uid] = spec
                served = served or await self._followable()
                known = {(group, kind) for group, _, kind in named}
                named |= {each for each in served if (each[0], each[2]) not in known}
            wanted = [
                (group, version, kind)
                for group, version, kind in named
                if (group, kind) not in STATIC and not is_never_placed(group, kind)
            ]
            for group, version, kind in wanted:
                await self._sources.add(Mirrored(group, kind, (version,)))
            self._needs[uid] = frozenset((group, kind) for group, _, kind in wanted)
            if self._due.get(uid) is spec:
                del self._due[uid]
        for source in self._sources:
            if (source.kind.group, source.kind.kind) not in STATIC or source.kind == JOB:
                self._sources.look_again(source.kind.group, source.kind.kind)

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

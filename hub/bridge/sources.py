"""The bridge's caches of the hub cluster: one informer per kind, and what has changed in them.

Kinds that some placement selects are added and dropped as placements come and go.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from hub.bridge.kinds import STATIC, Mirrored, mirror_of
from hub.bridge.slimming import slimmed
from shared.clock import Clock
from shared.kube import errors
from shared.kube.client import KubeClient, Object
from shared.kube.informer import EventType, Informer, Key, key_of

# How often a kind that some placement selects and the hub may not read is looked at again.
REFUSED_S: Final = 300.0
Place = tuple[str, str, str, str]  # group, kind, namespace, name


@dataclass(slots=True)
class Absence:
    """An object that is no longer there. `certain`: the watch told of its deletion; `shows`: the row
    that it was a mirror of, "" of others.
    """

    kind: Mirrored
    last: Object
    certain: bool
    shows: str = ""


@dataclass(slots=True)
class Source:
    """One kind's informer and the task that runs it."""

    kind: Mirrored
    informer: Informer[Object]
    task: asyncio.Task[None] = field(repr=False)
    relists: int = 0  # those whose version was looked at
    compared: bool = False  # the first complete list was held against the store


class Sources:
    """All caches. `wake` is called whenever something has changed."""

    def __init__(self, client: KubeClient, clock: Clock, wake: Callable[[], None]) -> None:
        self._client = client
        self._clock = clock
        self._wake = wake
        self._sources: dict[tuple[str, str], Source] = {}
        self._by_uid: dict[str, Place] = {}  # by uid of the object, and of the row that it shows
        self._shows: dict[str, str] = {}  # uid of a mirror: of the hub's row that it shows
        self.changed: dict[Place, None] = {}  # in the order in which they changed first
        self.making: set[str] = (
            set()
        )  # Namespaces that the bridge makes: read once the hub knows that
        self.absent: list[Absence] = []

    def __iter__(self) -> Iterator[Source]:
        return iter(list(self._sources.values()))

    async def add(self, kind: Mirrored) -> None:
        """Begin to follow a kind, in the first of its versions that is served."""
        if (kind.group, kind.kind) in self._sources:
            return
        version = kind.versions[0]
        for each in kind.versions:
            try:
                await self._client.endpoint(kind.api_version(each), kind.kind)
            except errors.NotServed:
                continue
            version = each
            break
        informer = Informer(
            self._client,
            kind.api_version(version),
            kind.kind,
            transform=slimmed,
            on_event=lambda event, old, new: self._noted(kind, event, old, new),
            forbidden_s=None if (kind.group, kind.kind) in STATIC else REFUSED_S,
            clock=self._clock,
            slim=slimmed,
        )
        task = asyncio.create_task(informer.run(), name=f"bridge-{kind.kind}")
        self._sources[(kind.group, kind.kind)] = Source(kind, informer, task)

    async def synced(self) -> None:
        """Wait until every cache has been complete once."""
        for source in list(self._sources.values()):
            await source.informer.synced.wait()

    async def close(self) -> None:
        """End all informers."""
        for source in self._sources.values():
            source.task.cancel()
        for source in self._sources.values():
            with contextlib.suppress(asyncio.CancelledError):
                await source.task

    def source(self, group: str, kind: str) -> Source | None:
        return self._sources.get((group, kind))

    def get(self, place: Place) -> tuple[Source, Object] | None:
        """The object at a place, as last seen."""
        source = self._sources.get(place[:2])
        obj = None if source is None else source.informer.cache.get(place[2:])
        return None if source is None or obj is None else (source, obj)

    def place_of(self, uid: str) -> Place | None:
        """Where the object of this uid is."""
        return self._by_uid.get(uid)

    def places(self, uids: Iterable[str]) -> dict[str, Place]:
        """Those of `uids` that are there; what a mirror shows under the uid of its row."""
        return {
            self._shows.get(uid, uid): self._by_uid[uid] for uid in uids if uid in self._by_uid
        }

    def row_of(self, obj: Object) -> str:
        """The uid by which the hub knows an object: a mirror's row, else the object's own."""
        uid = str(obj["metadata"]["uid"])
        return self._shows.get(uid, uid)

    def is_mirror(self, obj: Object) -> bool:
        """Does it show what came by REST? Whoever takes its label off makes it nobody else's."""
        return obj["metadata"]["uid"] in self._shows

    def let_go(self, obj: Object) -> None:
        """A mirror was made the hub cluster's own: it is looked at as such."""
        uid = obj["metadata"]["uid"]
        row, place = self._shows.pop(uid, None), self._by_uid.get(uid)
        if row is not None and row != uid:
            self._by_uid.pop(row, None)
        if place is not None:
            self.changed[place] = None
            self._wake()

    def all_of(self, group: str, kind: str) -> list[Place]:
        """Every object of a kind."""
        source = self._sources.get((group, kind))
        return [] if source is None else [(group, kind, *key) for key in source.informer.cache]

    def look_again(self, group: str, kind: str) -> None:
        """Take every object of a kind for changed."""
        self.look_at(self.all_of(group, kind))

    def look_at(self, places: Iterable[Place]) -> None:
        """Take these for changed."""
        self.changed.update(dict.fromkeys(places))
        self._wake()

    def _noted(
        self, kind: Mirrored, event: EventType, old: Object | None, new: Object | None
    ) -> None:
        if event == "DELETED":
            last = new or old
            assert last is not None
            self.absent.append(Absence(kind, last, new is not None, self._forget(last)))
        elif new is not None:
            place, uid = _place(kind, key_of(new)), new["metadata"]["uid"]
            self._by_uid[uid] = place
            row = mirror_of(new)
            if row:
                self._shows[uid] = row
                self._by_uid[row] = place
            self.changed[place] = None
        self._wake()

    def _forget(self, last: Object) -> str:
        """The row that it showed, if it was a mirror."""
        uid = last["metadata"]["uid"]
        place, row = self._by_uid.pop(uid, None), self._shows.pop(uid, "")
        if row and self._by_uid.get(row) == place:
            del self._by_uid[row]
        return row


def _place(kind: Mirrored, key: Key) -> Place:
    return (kind.group, kind.kind, *key)

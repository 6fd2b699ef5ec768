"""Records of placements on the hub cluster, read-only for kubectl and kept equal to the store.

Level-based: a turn takes some placements of which anything may have changed, makes what their records are
to say, holds that against the cache by a digest, and writes the difference. What nobody would see is not
written: times alone change nothing. A placement's records are shown whole or not at all, as many as the
settings let; whoever changes one, or deletes it, finds it put back (docs/adr/0018-records-there.md).
Turns are bounded, and take at most a part of the time: nothing waits for them.
"""

import asyncio
import contextlib
import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple

import structlog

from hub.bridge import mirror_writes
from hub.bridge.kinds import has_written
from hub.bridge.record_words import (
    FLEET,
    Key,
    ShownRecord,
    object_of,
    records_of,
    units_of,
)
from hub.services.context.hub import Hub
from hub.services.mirror import records as store
from hub.services.mirror.records import PlacementFacts
from shared import labels
from shared.conditions import Condition
from shared.kinds.records import API_VERSION, RECORDS, RESOURCE_SNAPSHOTS
from shared.kube import errors
from shared.kube.client import KubeClient, Object
from shared.kube.informer import EventType, Informer, key_of

TOGETHER: Final = 8  # placements of one turn
ASKED: Final = 1000  # changes that are looked up in one turn
PART: Final = 10  # at most this part of the time goes into turns
LONGEST_REST_S: Final = 10.0
PACE: Final = 40  # records written in a second
SOON_S: Final = 1.0  # until what was in between two states is looked at again
REFUSED_S: Final = 300.0  # until a kind that may not be read is asked for again
SELDOM_S: Final = 60.0  # until what was refused is tried again
_WRITES: Final = 4  # at a time
_SNAPSHOTS: Final = frozenset(each.kind for each in RESOURCE_SNAPSHOTS)
log = structlog.get_logger(__name__)


class Live(NamedTuple):
    """What is kept of a record that is there. Others' objects of these kinds have no `placement`."""

    key: Key
    uid: str
    version: str  # resourceVersion
    placement: str  # uid
    digest: str
    touched: bool  # somebody else has written into it
    units: int
    revision: tuple[
        str, str, str, str
    ]  # of a resource snapshot: index, hash, parts, whether latest
    conditions: tuple[Condition, ...]

    @property
    def number(self) -> int:
        """Of the revision of resources that it is a part of; -1 of other records."""
        return int(self.revision[0]) if self.revision[0].isdecimal() else -1


def slimmed(kind: str, obj: Object, _previous: Live | None) -> Live:
    """What is to be kept of an object."""
    metadata = obj["metadata"]
    marks, notes = metadata.get("labels") or {}, metadata.get("annotations") or {}
    ours = has_written(metadata, labels.MIRROR_OF)
    return Live(
        Key(kind, *key_of(obj)),
        metadata["uid"],
        metadata["resourceVersion"],
        str(notes.get(labels.MIRROR_OF) or "") if ours else "",
        str(notes.get(labels.SPEC_HASH) or ""),
        any(
            each.get("manager") != labels.BRIDGE_FIELD_MANAGER
            for each in metadata.get("managedFields") or ()
        ),
        units_of(obj),
        (
            marks.get(f"{FLEET}resource-index", ""),
            notes.get(f"{FLEET}resource-hash", ""),
            notes.get(f"{FLEET}number-of-resource-snapshots", ""),
            marks.get(f"{FLEET}is-latest-snapshot", ""),
        ),
        tuple((obj.get("status") or {}).get("conditions") or ()),
    )


class Records:
    """Brings records level with the store."""

    def __init__(
        self, hub: Hub, client: KubeClient, wake: Callable[[], None], making: set[str]
    ) -> None:
        """`wake`: called where others have changed something. `making`: see `mirror_writes.create`."""
        self._hub = hub
        self._client = client
        self._wake = wake
        self._making = making
        self._informers: dict[str, Informer[Live]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._live: dict[str, dict[Key, Live]] = {}  # what is there, by placement
        self._due: dict[str, None] = {}  # placements
        self._unread: set[str] = set()  # objects that may be placements
        self._unread_works: set[str] = set()
        self._later: dict[str, float] = {}
        self._units: dict[str, int] = {}  # of placements that are shown
        self._left_out: set[str] = set()
        self._wrote = 0
        self._rests_until = 0.0

    @property
    def extent(self) -> str:
        """Whose records are shown: of None, All or Some placements."""
        if not self._is_on:
            return "None"
        return "Some" if self._left_out else "All"

    @property
    def _is_on(self) -> bool:
        return self._hub.settings.bridge.records == "On"

    async def begin(self) -> None:
        """Follow what is there, and look at everything once."""
        for kind in RECORDS:
            informer: Informer[Live] = Informer(
                self._client,
                API_VERSION,
                kind.kind,
                transform=functools.partial(slimmed, kind.kind),
                on_event=self._noted,
                forbidden_s=REFUSED_S,
                clock=self._hub.clock,
            )
            self._informers[kind.kind] = informer
            self._tasks.append(
                asyncio.create_task(informer.run(), name=f"bridge-record-{kind.kind}")
            )
        for informer in self._informers.values():
            await informer.synced.wait()
        self._note(self._live)
        self._note(await self._hub.read(store.all_placements))

    async def close(self) -> None:
        """End following."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def follow(self, kind: str, keys: Iterable[str]) -> None:
        """Take a change of the store."""
        if kind == "bindings":
            self._note(keys)
        elif kind == "objects":
            self._unread.update(keys)
        elif kind == "observed":
            self._unread_works.update(keys)

    async def turn(self) -> float | None:
        """Level at most `TOGETHER` placements; seconds until the next turn where there is more to do."""
        began, self._wrote = self._hub.clock.monotonic(), 0
        if began < self._rests_until:
            return self._rests_until - began
        await self._find_concerned()
        self._note(uid for uid, at in list(self._later.items()) if at <= began)
        uids = list(self._due)[:TOGETHER]
        for uid in uids:
            del self._due[uid]
            self._later.pop(uid, None)
        if uids:
            try:
                await self._level_all(uids)
            except Exception:
                self._note(uids)
                raise
        now = self._hub.clock.monotonic()
        rest = max(min(PART * (now - began), LONGEST_REST_S), self._wrote / PACE)
        self._rests_until = now + rest
        if self._due or self._unread or self._unread_works:
            return rest
        return max(0.0, min(self._later.values()) - now) if self._later else None

    async def _find_concerned(self) -> None:
        uids, works = _some(self._unread), _some(self._unread_works)
        if not uids and not works:
            return
        if self._is_on:
            self._note(await self._hub.read(store.concerned, uids, works))
        self._note(uid for uid in uids if uid in self._units or uid in self._live)
        self._unread -= set(uids)
        self._unread_works -= set(works)

    def _note(self, uids: Iterable[str]) -> None:
        self._due.update(dict.fromkeys(uids))

    # --- what is there ------------------------------------------------------------------------------

    def _noted(self, event: EventType, old: Live | None, new: Live | None) -> None:
        """A record is there, has changed, or is away; what others did is looked at."""
        if old is not None and old.placement:
            self._forget(old)
        if event != "DELETED" and new is not None and new.placement:
            self._live.setdefault(new.placement, {})[new.key] = new
            if not new.touched:
                return
        for one in (old, new):
            if one is not None and one.placement:
                self._note((one.placement,))
        self._wake()

    # --- some of them -------------------------------------------------------------------------------

    async def _level_all(self, uids: list[str]) -> None:
        known = {uid: self._known_revisions(uid) for uid in uids}
        pairs = {(uid, number) for uid, numbers in known.items() for number in numbers}
        facts = await self._hub.read(store.placement_facts, uids, pairs) if self._is_on else {}
        for uid in uids:
            try:
                await self._one(uid, facts.get(uid), known[uid])
            except Exception:
                self._later[uid] = self._hub.clock.monotonic() + SELDOM_S
                log.exception("record.failed", uid=uid)

    def _known_revisions(self, uid: str) -> dict[int, tuple[str, bool]]:
        """Revisions of resources of which every part is there, untouched: with hash, and whether latest."""
        parts: dict[tuple[str, str, str, str], int] = {}
        for live in self._live.get(uid, {}).values():
            if live.key.kind in _SNAPSHOTS and not live.touched:
                parts[live.revision] = parts.get(live.revision, 0) + 1
        return {
            int(index): (hashed, latest == "true")
            for (index, hashed, count, latest), found in parts.items()
            if index.isdecimal() and count == str(found)
        }

    async def _one(
        self, uid: str, facts: PlacementFacts | None, known: Mapping[int, tuple[str, bool]]
    ) -> None:
        """One placement: all its records, or none of them."""
        present = dict(self._live.get(uid, {}))
        if facts is None:
            self._make_room(uid)
            self._left_out.discard(uid)
            await self._write_all(uid, present, {})
            return
        newest = facts.resources[0].number if facts.resources else -1
        right = {each.number: (each.hash, each.number == newest) for each in facts.resources}
        stays = {number for number, told in known.items() if right.get(number) == told}
        if any(
            number in right for number in known.keys() - stays
        ):  # such as the one that was newest
            pairs = {(uid, number) for number in stays}
            facts = (await self._hub.read(store.placement_facts, [uid], pairs)).get(uid, facts)
        kept = {key for key, each in present.items() if each.number in stays}
        wanted = {each.key: (each, each.digest) for each in records_of(facts, stays)}
        units = sum(each.units for each, _ in wanted.values())
        if self._has_room(uid, units + sum(present[key].units for key in kept)):
            left = {key: each for key, each in present.items() if key not in kept}
            await self._write_all(uid, left, wanted)
        else:
            await self._write_all(uid, present, {})

    def _has_room(self, uid: str, units: int) -> bool:
        """Is this placement to be shown? Who is left out is looked at again when there is room."""
        others = sum(self._units.values()) - self._units.get(uid, 0)
        if others + units > self._hub.settings.bridge.records_at_most:
            self._left_out.add(uid)
            self._make_room(uid)
            return False
        self._units[uid] = units
        self._left_out.discard(uid)
        return True

    def _make_room(self, uid: str) -> None:
        if self._units.pop(uid, None) is not None:
            self._note(self._left_out - {uid})

    # --- writing ------------------------------------------------------------------------------------

    async def _write_all(
        self, uid: str, present: Mapping[Key, Live], wanted: Mapping[Key, tuple[ShownRecord, str]]
    ) -> None:
        """Make, change and take away what differs."""
        gate = asyncio.Semaphore(_WRITES)

        async def one(key: Key) -> None:
            async with gate:
                await self._write(uid, key, present.get(key), wanted.get(key))

        differing = [
            key
            for key in {**dict.fromkeys(wanted), **dict.fromkeys(present)}
            if _differs(present.get(key), wanted.get(key))
        ]
        await asyncio.gather(*(one(key) for key in differing))

    async def _write(
        self, uid: str, key: Key, live: Live | None, wanted: tuple[ShownRecord, str] | None
    ) -> None:
        """One request; what was refused is tried again seldom."""
        self._wrote += 1
        delay = SOON_S  # the cache is behind, or somebody was faster
        try:
            await self._request(key, live, wanted)
        except (errors.Conflict, errors.NotFound) as passing:
            if isinstance(passing, errors.KindNotServed):
                delay = SELDOM_S
        except errors.KubeError as refusal:
            delay = SELDOM_S
            log.info("record.refused", record="/".join(key), error=refusal.message)
        else:
            return
        self._later[uid] = self._hub.clock.monotonic() + delay

    async def _request(
        self, key: Key, live: Live | None, wanted: tuple[ShownRecord, str] | None
    ) -> None:
        if wanted is None:
            assert live is not None, "it differs"
            await self._client.delete(API_VERSION, *key, uid=live.uid)
            self._forget(live)
            return
        before = live.conditions if live is not None else ()
        obj = object_of(*wanted, before, self._hub.clock.now())
        if live is None:
            made = await mirror_writes.create(self._client, obj, self._hub, self._making)
        else:
            obj["metadata"] |= {"uid": live.uid, "resourceVersion": live.version}
            made = await self._client.replace(obj, field_manager=labels.BRIDGE_FIELD_MANAGER)
        now = slimmed(key.kind, made, None)
        self._live.setdefault(now.placement, {})[key] = now

    def _forget(self, live: Live) -> None:
        held = self._live.get(live.placement, {})
        held.pop(live.key, None)
        if not held:
            self._live.pop(live.placement, None)


def _differs(live: Live | None, wanted: tuple[ShownRecord, str] | None) -> bool:
    if live is None or wanted is None:
        return live is not None or wanted is not None
    return live.touched or live.digest != wanted[1]


def _some(keys: Collection[str]) -> list[str]:
    return list(keys)[:ASKED]

"""Mirrors REST's objects to the hub cluster: one mirror for each row, kept equal to it by the hub alone.

Level-based: a turn takes some uids of which anything may have changed, reads their rows, holds them against
the cache, and writes the difference. A mirror is written, never read: whoever edits or deletes one finds
it put back, and what is absent, older or odd there changes no row (docs/explain/exactly-once.md, rule 13).
Turns are bounded, and take at most a part of the time: nothing waits for them.
"""

import asyncio
import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import structlog

from hub.bridge import mirror_writes, shown
from hub.bridge.events import EventRecorder
from hub.bridge.job_status import is_finished
from hub.bridge.kinds import JOB, SHOWN as KINDS, mirror_of
from hub.bridge.shown_jobs import ShownJobs
from hub.bridge.sources import Source, Sources
from hub.domain.workloads.states import TERMINAL
from hub.services.context.hub import Hub
from hub.services.mirror import shown as store
from hub.services.mirror.shown import MirrorNews
from hub.services.objects.hand_over import is_handed_over
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from shared.documents import Json
from shared.kube import errors
from shared.kube.client import KubeClient, Object

TOGETHER: Final = 100  # mirrors looked at in one turn
PART: Final = 10  # at most this part of the time goes into turns, but no rest is longer than …
REST_S: Final = 3.0
PACE: Final = 40  # mirrors written in a second: each has statuses and Events to follow
SOON_S: Final = 1.0  # until what was in between two states is looked at again
REFUSED_S: Final = 30.0  # until what was refused is tried again, at first …
SELDOM_S: Final = 300.0  # … and in the end
_WRITES: Final = 8  # at a time
_KINDS: Final = frozenset((each.group, each.kind) for each in KINDS)
_PUT_BACK: Final = "ChangedElsewhere"
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Refusal:
    """What the hub cluster would not have, and how often."""

    message: str
    times: int = 1


class _Written(NamedTuple):
    """How a mirror was left: over which resourceVersion it was written, and how it looked then."""

    over: str
    look: bytes


Row = StoredObject | Workload


class Showing:
    """Brings mirrors level with the rows of what came by REST."""

    def __init__(
        self,
        hub: Hub,
        client: KubeClient,
        sources: Sources,
        term: Callable[[], int],
        events: EventRecorder,
        appeared: Callable[[str], None],
        jobs_are_safe: Callable[[], bool] = lambda: True,
    ) -> None:
        self._hub = hub
        self._client = client
        self._sources = sources
        self._term = term
        self._events = events
        self._appeared = appeared  # called with the uid of a row whose mirror is there
        self._jobs_are_safe = jobs_are_safe  # does nothing there start a Job that is shown?
        self._jobs = ShownJobs(hub, sources)
        self._due: dict[str, None] = {}
        self._later: dict[str, float] = {}  # uid: when, of the monotonic clock
        self._refused: dict[str, _Refusal] = {}
        self._written: dict[str, _Written] = {}
        self._wrote = 0  # in this turn
        self._rests_until = 0.0
        self._removed: set[str] = set()  # mirrors that we are taking away
        self._known: dict[str, str] = {}  # of rows: the uids of their mirrors, as far as seen
        self._told: list[MirrorNews] = []

    @property
    def jobs_shown(self) -> str:
        """None, All or Some of REST's Jobs."""
        return self._jobs.extent

    @property
    def _is_on(self) -> bool:
        return self._hub.settings.bridge.objects == "On"

    async def begin(self) -> None:
        """Look at everything once: what came by REST, and the mirrors that are there."""
        if self._is_on:
            kinds = [(each.group, each.kind) for each in KINDS]
            self._note(await self._hub.read(store.objects_of_rest, kinds))
        for source in self._sources:
            for obj in source.informer.cache.values():
                if self._sources.is_mirror(obj):
                    self.seen(self._sources.row_of(obj))

    def follow(self, kind: str, uids: Iterable[str]) -> None:
        """Take a change of the store."""
        if kind == "objects":
            self._note(uids)
        elif kind == "workloads":
            self._note(self._jobs.concern(uids))

    def seen(self, uid: str) -> None:
        """The mirror of this row is there, as it is now."""
        found = self._mirror(uid)
        if found is None:
            self._note((uid,))
            return
        source, live = found
        if source.kind == JOB:
            self._jobs.keep(uid)
        if self._known.get(uid) != live["metadata"]["uid"]:
            self._known[uid] = live["metadata"]["uid"]
            self._appeared(uid)
        known = self._written.get(uid)
        if known is None or known.look != shown.look(live):
            self._note((uid,))

    def gone(self, uid: str) -> None:
        """The mirror of this row is away: made again, unless the row is, too."""
        self._written.pop(uid, None)
        self._known.pop(uid, None)
        if uid in self._removed:
            self._removed.discard(uid)
        else:
            text = "its mirror on the hub cluster was deleted there, and is made again: delete it by REST"
            self._told.append(MirrorNews(uid, store.TAKEN_AWAY, text))
        self._note((uid,))

    async def turn(self) -> float | None:
        """Level at most `TOGETHER`; seconds until the next turn where there is more to do.

        News does not bring a turn nearer than that: called earlier it does nothing.
        """
        began, self._wrote = self._hub.clock.monotonic(), 0
        if began < self._rests_until:
            return self._rests_until - began
        if self._jobs.look_at_switches():
            self._note(self._jobs.held())
        if len(self._due) < TOGETHER:
            self._note(await self._jobs.find_more())
        self._note(uid for uid, at in list(self._later.items()) if at <= began)
        uids = list(self._due)[:TOGETHER]
        for uid in uids:
            del self._due[uid]
            self._later.pop(uid, None)
        try:
            if uids:
                await self._level_all(uids)
            await self._say()
        except Exception:
            self._note(uids)
            raise
        now = self._hub.clock.monotonic()
        rest = max(min(PART * (now - began), REST_S), self._wrote / PACE)
        self._rests_until = now + rest
        if self._due or self._jobs.may_find_more:
            return rest
        return max(0.0, min(self._later.values()) - now) if self._later else None

    def _note(self, uids: Iterable[str]) -> None:
        self._due.update(dict.fromkeys(uids))

    async def _level_all(self, uids: list[str]) -> None:
        facts = await self._hub.read(store.facts, uids, _KINDS if self._is_on else frozenset())
        now = self._hub.clock.now()
        gate = asyncio.Semaphore(_WRITES)

        async def one(uid: str) -> None:
            async with gate:
                await self._level(uid, facts.objects.get(uid) or facts.jobs.get(uid), now)

        await asyncio.gather(*(one(uid) for uid in uids))

    async def _say(self) -> None:
        told, self._told = self._told, []
        if told:
            try:
                await self._hub.write(store.say, self._term(), told)
            except Exception:
                self._told = [*told, *self._told][-self._hub.settings.bridge.jobs_at_most :]
                raise

    def _mirror(self, uid: str) -> tuple[Source, Object] | None:
        """The mirror of a row; what people made themselves is none, whatever its uid."""
        place = self._sources.place_of(uid)
        found = None if place is None else self._sources.get(place)
        return found if found is not None and self._sources.is_mirror(found[1]) else None

    def _own(self, uid: str) -> tuple[Source, Object] | None:
        """What kubectl made, and was handed over to REST: it is no mirror yet."""
        place = self._sources.place_of(uid)
        found = None if place is None else self._sources.get(place)
        return found if found is not None and found[1]["metadata"]["uid"] == uid else None

    # --- one of them ------------------------------------------------------------------------------

    async def _level(self, uid: str, row: Row | None, now: dt.datetime) -> None:
        """One mirror: nothing that is wrong with it stops the others."""
        try:
            await self._one(uid, row, now)
        except (errors.Conflict, errors.AlreadyExists, errors.NotFound) as passing:
            if isinstance(passing, errors.KindNotServed):
                self._refuse(uid, passing)
            else:  # the cache is behind, or somebody was faster
                self._again(uid, SOON_S)
        except (errors.TooManyRequests, errors.Unavailable, errors.Unauthorized) as failure:
            self._again(uid, SOON_S * 2)
            log.info("mirror.retry", uid=uid, error=str(failure))
        except errors.KubeError as refusal:
            self._refuse(uid, refusal)
        except Exception:
            self._again(uid, SELDOM_S)
            log.exception("mirror.failed", uid=uid)

    async def _one(self, uid: str, row: Row | None, now: dt.datetime) -> None:
        found = self._mirror(uid)
        own = None if row is None or found is not None else self._own(uid)
        if own is not None and row is not None:
            await self._change(row, *own)
            self._again(uid, SOON_S)  # as a mirror: is it to be shown?
            return
        if isinstance(row, StoredObject) and is_handed_over(row) and found is not None:
            if not self._is_level(row, found[1]):  # what is handed over is what REST wrote last
                await self._follow(row, *found, now)
                self._again(uid, SOON_S)
                return
            await self._hand_over(*found)
            return
        if isinstance(row, Workload) and not self._jobs.wants(
            row, now, has_mirror=found is not None
        ):
            row = None
        if row is None:
            await self._remove(uid, found)
        elif found is None:
            await self._create(row)
        else:
            await self._follow(row, *found, now)

    async def _remove(self, uid: str, found: tuple[Source, Object] | None) -> None:
        if found is None:
            for memory in (self._later, self._refused, self._written):
                memory.pop(uid, None)
            self._jobs.drop(uid)
            return
        source, live = found
        if live["metadata"].get("deletionTimestamp"):
            return
        self._wrote += 1
        self._removed.add(uid)
        try:
            await mirror_writes.remove(self._client, source, live)
        except errors.KubeError:
            self._removed.discard(uid)
            raise

    async def _create(self, row: Row) -> None:
        group, kind = (JOB.group, JOB.kind)
        if isinstance(row, StoredObject):
            group, kind = row.api_group, row.kind
        other = self._sources.get((group, kind, row.namespace, row.name))
        if other is not None:
            self._name_is_taken(row, other[1])
            return
        if kind == JOB.kind and not self._jobs_are_safe():
            self._refuse(row.uid, _unsafe())
            return
        wanted = await self._wanted(row)
        if wanted is None:
            return
        self._wrote += 1
        made = await mirror_writes.create(self._client, wanted, self._hub, self._sources.making)
        self._written[row.uid] = _Written("", shown.look(made))
        self._settle(row.uid)

    async def _wanted(self, row: Row) -> Json | None:
        if isinstance(row, StoredObject):
            return shown.object_mirror(row)
        manifest = await self._hub.read(store.manifest_of, row.uid)
        return None if manifest is None else shown.job_mirror(row, manifest)

    def _name_is_taken(self, row: Row, other: Object) -> None:
        """By a predecessor's mirror, which goes, or by what is there in its own right."""
        if isinstance(row, StoredObject) and is_handed_over(row):
            return  # it is on its way in
        predecessor = mirror_of(other)
        if predecessor:
            self._note((predecessor,))
            self._again(row.uid, SOON_S)
            return
        where = "/".join(part for part in (row.namespace, row.name) if part)
        text = (
            f"{row.kind} {where} is on the hub cluster already and not Roadstead's mirror: it is left "
            "alone; this one, which came by REST, goes on without being shown there"
        )
        self._refuse(row.uid, errors.AlreadyExists(409, "NameTaken", text))

    async def _follow(self, row: Row, source: Source, live: Object, now: dt.datetime) -> None:
        """Bring a mirror that is there up to date, and undo what others did to it."""
        metadata = live["metadata"]
        if metadata.get("deletionTimestamp"):
            return
        if isinstance(row, Workload):
            if row.finished_at is not None:
                left = row.finished_at + self._hub.settings.bridge.ended_jobs - now
                self._again(row.uid, max(SOON_S, left.total_seconds()))
            if row.state not in TERMINAL and is_finished(live.get("status")):
                await self._remove(row.uid, (source, live))  # it was released: it begins anew
                return
        known = self._written.get(row.uid)
        if known is not None and known.over == metadata["resourceVersion"]:
            return  # the cache does not show yet what was written
        if self._is_level(row, live):
            if known is None:
                self._written[row.uid] = _Written("", shown.look(live))
            self._settle(row.uid)
            return
        if known is not None and self._is_touched(row, live):
            self._say_put_back(source, live, row)
        await self._change(row, source, live)

    def _is_level(self, row: Row, live: Object) -> bool:
        """Whether a mirror is what its row says, as the hub has written it."""
        version = shown.version_of(row)
        return version == shown.written_version(live) and not self._is_touched(row, live)

    def _is_touched(self, row: Row, live: Object) -> bool:
        known = self._written.get(row.uid)
        return shown.is_touched(live) if known is None else known.look != shown.look(live)

    async def _change(self, row: Row, source: Source, live: Object) -> None:
        wanted = await self._wanted(row)
        if wanted is None:
            return
        self._wrote += 1
        made = await mirror_writes.change(self._client, row, source, live, wanted)
        self._written[row.uid] = _Written(live["metadata"]["resourceVersion"], shown.look(made))
        self._settle(row.uid)

    async def _hand_over(self, source: Source, live: Object) -> None:
        """The mirror becomes the hub cluster's own, and is taken in."""
        await mirror_writes.hand_over(self._client, source, live)
        self._sources.let_go(live)

    def _say_put_back(self, source: Source, live: Object, row: Row) -> None:
        text = "it shows what came by REST and was put back: change it there, with roadstead"
        self._events.warn(source, live, _PUT_BACK, f"{text} ({row.kind.lower()} {row.name})")

    # --- what did not go --------------------------------------------------------------------------

    def _settle(self, uid: str) -> None:
        if self._refused.pop(uid, None) is not None:
            self._told.append(MirrorNews(uid, store.SHOWN, "it is shown on the hub cluster"))

    def _again(self, uid: str, seconds: float) -> None:
        self._later[uid] = self._hub.clock.monotonic() + seconds

    def _refuse(self, uid: str, refusal: errors.KubeError) -> None:
        """Say so once, and ask again ever more seldom."""
        before = self._refused.get(uid)
        times = before.times + 1 if before else 1
        delay = min(REFUSED_S * 2 ** min(times - 1, 10), SELDOM_S)
        self._refused[uid] = _Refusal(refusal.message, times)
        self._again(uid, delay)
        if before is None or before.message != refusal.message:
            self._told.append(MirrorNews(uid, store.NOT_SHOWN, refusal.message[:500]))


def _unsafe() -> errors.KubeError:
    text = (
        "nothing keeps a suspended Job from being started on the hub cluster by hand: "
        "apply deploy/hub-cluster/job-guard.yaml"
    )
    return errors.Forbidden(403, "JobsUnprotected", text)

"""Status back to the hub cluster: level-based, from the feed, at most one write per object and turn.

A turn compares what each status should be with what the cache shows and writes the difference. What
fails is tried again; what is lost to a restart is found again, for at start everything is compared.
"""

import asyncio
import contextlib
import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import structlog

from hub.bridge import job_status, object_status
from hub.bridge.check_conditions import CHECK, answered_outside
from hub.bridge.events import EventRecorder
from hub.bridge.kinds import JOB, is_marked
from hub.bridge.mirror import PLACEMENTS, Mirror
from hub.bridge.refusals import MirrorRefusal
from hub.bridge.sources import Place, Source, Sources
from hub.bridge.work_status import work_writes, works_among
from hub.domain.workloads.states import State
from hub.services.context.hub import Hub
from hub.services.mirror import objects as mirrored
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from shared import labels
from shared.documents import Json
from shared.groups import CLUSTER, KUEUE, PLACEMENT
from shared.kube import errors
from shared.kube.client import KubeClient, Object

QUEUES_S: Final = 1.0  # how often counts of queues are looked at …
QUEUES_PART: Final = 20  # … and at most this part of the time goes into it
MEMBERS_S: Final = 30.0  # how often times in a member's status are renewed
WAITS: Final = dt.timedelta(seconds=5)  # a Job that waits for less is not spoken of
_WAITING: Final = frozenset({State.PENDING, State.HELD, State.RESERVED})
_WRITES: Final = 16  # at a time
_TOGETHER: Final = 1000  # Jobs looked up in one question
_QUEUES: Final = ("ClusterQueue", "LocalQueue", "Cohort")
Write = tuple[Source, Object, Json]
log = structlog.get_logger(__name__)


class Writeback:
    """Brings the hub cluster's statuses level with the store."""

    def __init__(
        self,
        hub: Hub,
        client: KubeClient,
        sources: Sources,
        mirror: Mirror,
        events: EventRecorder,
        unreadable: Callable[[str], str],
        keeps_mark: Callable[[], bool] = lambda: True,
    ) -> None:
        self._hub = hub
        self._client = client
        self._sources = sources
        self._mirror = mirror
        self._events = events
        self._unreadable = unreadable  # of a placement's uid: what the hub may not read of it
        self._keeps_mark = keeps_mark  # does the API server know spec.managedBy?
        self._pending: set[str] = set()  # uids whose status may differ
        self._waits: dict[str, dt.datetime] = {}  # of Jobs: when it is worth saying why they wait
        self._written: dict[
            str, int
        ] = {}  # by uid: the version that a write made and no cache shows
        self._queues_due = True
        self._queues_at = -QUEUES_S
        self._queues_every_s = QUEUES_S
        self._members_due = True
        self._members_at = -MEMBERS_S
        self._gate = asyncio.Semaphore(_WRITES)

    def note(self, uid: str) -> None:
        """Look at this object's status in the next turn."""
        self._pending.add(uid)

    def appeared(self, uid: str) -> None:
        """A mirror is there, which its row has waited for."""
        self._pending.add(uid)
        self._queues_due = self._members_due = True

    def was_seen(self, obj: Object) -> None:
        """It has another version, though nothing that is declared has changed: was that our own write?"""
        uid, version = self._sources.row_of(obj), _version(obj)
        written = self._written.get(uid, -1)
        if version >= written:
            self._written.pop(uid, None)
        if version != written:
            self._pending.add(uid)

    def follow(self, kind: str, keys: Iterable[str]) -> None:
        """Take a change of the store."""
        if kind == "clusters":
            self._members_due = True
            return
        found = self._sources.places(keys)
        self._pending.update(found)
        self._queues_due = True

    async def turn(self) -> None:
        """Compare and write. Raises StoreUnavailable: what was to be looked at stays so."""
        now = self._hub.clock.now()
        pending, self._pending = self._pending, set()
        ready = [uid for uid, due in self._waits.items() if due <= now]
        for uid in ready:
            del self._waits[uid]
        pending.update(ready)
        try:
            writes = await self._differing(pending, now)
        except Exception:
            self._pending |= pending
            self._queues_due = self._members_due = True
            raise
        await asyncio.gather(*(self._write(*each) for each in writes))

    async def _differing(self, uids: set[str], now: dt.datetime) -> list[Write]:
        """The statuses that are not as they should be."""
        places = self._sources.places(uids)
        jobs = {uid: place for uid, place in places.items() if place[:2] == (JOB.group, JOB.kind)}
        others = {uid: place for uid, place in places.items() if uid not in jobs}
        facts = await self._hub.read(mirrored.job_facts, works_among(others))
        works = {uid: (others.pop(uid), fact) for uid, fact in facts.items()}
        writes: list[Write] = []
        for place, fact in works.values():
            if (found := self._sources.get(place)) is not None:
                self._warn_of_refusal(*found)
                self._say_why_it_waits(*found, fact.row, now)
                with _alone(place):
                    writes += work_writes(*found, fact, now)
        for start in range(0, len(jobs), _TOGETHER):
            some = dict(list(jobs.items())[start : start + _TOGETHER])
            writes += await self._jobs(some, now)
        writes += await self._objects(others, now)
        writes += await self._queues(now)
        writes += await self._members(now)
        return writes

    # --- Jobs ---------------------------------------------------------------------------------------

    async def _jobs(self, places: dict[str, Place], now: dt.datetime) -> list[Write]:
        facts = await self._hub.read(mirrored.job_facts, list(places))
        writes: list[Write] = []
        for uid, place in places.items():
            found = self._sources.get(place)
            if found is not None:
                with _alone(place):
                    writes += self._job(*found, facts.get(uid), now)
        return writes

    def _job(
        self, source: Source, obj: Object, fact: mirrored.JobFacts | None, now: dt.datetime
    ) -> list[Write]:
        refusal = self._mirror.refusals.get(obj["metadata"]["uid"])
        self._warn_of_refusal(source, obj)
        if fact is None:
            return [] if refusal is None else _refused(source, obj, refusal, now)
        self._say_why_it_waits(source, obj, fact.row, now)
        live = obj.get("status")
        wanted = job_status.job_status(
            obj.get("spec") or {},
            live,
            fact.row,
            fact.observed,
            now,
            keeps_mark=self._keeps_mark(),
        )
        if wanted is None:
            return []
        wanted = job_status.with_double_run(wanted, live, fact.beside, now)
        return [(source, obj, wanted)] if job_status.differs(wanted, live) else []

    def _say_why_it_waits(
        self, source: Source, obj: Object, row: Workload, now: dt.datetime
    ) -> None:
        """An Event for a Job that waits for longer than most: the first for each reason."""
        if row.state not in _WAITING or not row.reason:
            return
        due = row.created_at + WAITS
        if due > now:
            self._waits[row.uid] = due
        else:
            self._events.explain(source, obj, row.reason, row.message)

    def _warn_of_refusal(self, source: Source, obj: Object) -> None:
        if refusal := self._mirror.refusals.get(obj["metadata"]["uid"]):
            self._events.warn(source, obj, refusal.code, refusal.detail)

    # --- everything else ------------------------------------------------------------------------

    async def _objects(self, places: dict[str, Place], now: dt.datetime) -> list[Write]:
        rows = await self._hub.read(mirrored.object_facts, list(places)) if places else {}
        writes: list[Write] = []
        for uid, place in places.items():
            found = self._sources.get(place)
            if found is None:
                continue
            self._warn_of_refusal(*found)
            source, obj = found
            if _version(obj) < self._written.get(uid, -1):
                self._pending.add(
                    uid
                )  # what the cache shows was written over: there is no telling yet
                continue
            if not _has_status(place):
                row = rows.get(uid)
                with _alone(place):
                    wanted = object_status.reported(place[0], row.status if row else None, obj)
                    if wanted is not None:
                        writes.append((source, obj, wanted))
                continue
            with _alone(place):
                wanted = self._wanted(uid, place, obj, rows.get(uid), now)
                if object_status.differs(wanted, obj.get("status") or {}, whole=True):
                    writes.append((source, obj, wanted))
        return writes

    def _wanted(
        self, uid: str, place: Place, obj: Object, row: StoredObject | None, now: dt.datetime
    ) -> Json:
        """The status of a placement or Workload; of other kinds the Accepted condition alone."""
        generation = int(obj["metadata"].get("generation") or 1)
        live = obj.get("status") or {}
        wanted: Json = {}
        told_there = place[1] == CHECK and answered_outside(obj)
        elsewhere = told_there or place[1] in (*_QUEUES, "MemberCluster")
        if row is not None and row.status and not elsewhere:
            wanted = object_status.with_generation(row.status, row.generation, generation)
        refusal = self._mirror.refusals.get(uid)
        said = {object_status.ACCEPTED: (refusal.code, refusal.detail) if refusal else ("", "")}
        if place[0] == PLACEMENT:
            if (
                wanted
            ):  # nobody else writes there: what the hub no longer says goes, such as a rollback
                gone = live.keys() - wanted.keys() - {"conditions"}
                wanted = {**wanted, **dict.fromkeys(gone)}
            text = self._unreadable(uid)
            said[object_status.COMPLETE] = ("KindsNotReadable" if text else "", text)
        base = wanted.get("conditions") or live.get("conditions") or []
        former = [each for each in live.get("conditions") or () if each["type"] in said]
        conditions = [each for each in base if each["type"] not in said] + former
        for kind, (code, detail) in said.items():
            conditions = object_status.objection(
                conditions, kind, code=code, detail=detail, generation=generation, now=now
            )
        return {**wanted, "conditions": conditions} if conditions else wanted

    async def _queues(self, now: dt.datetime) -> list[Write]:
        at = self._hub.clock.monotonic()
        if not self._queues_due or at - self._queues_at < self._queues_every_s:
            return []
        self._queues_due, self._queues_at = False, at
        places = [place for kind in _QUEUES for place in self._sources.all_of(KUEUE, kind)]
        if not places:
            return []
        uids = {
            place: self._sources.row_of(found[1])
            for place in places
            if (found := self._sources.get(place))
        }
        rows = await self._hub.read(mirrored.queue_statuses, list(uids.values()))
        took = self._hub.clock.monotonic() - at  # a long queue takes long to count
        self._queues_every_s = max(QUEUES_S, QUEUES_PART * took)
        writes: list[Write] = []
        for place, uid in uids.items():
            found, row = self._sources.get(place), rows.get(uid)
            if found is None or row is None or not row.status:
                continue
            source, obj = found
            with _alone(place):
                generation = int(obj["metadata"].get("generation") or 1)
                wanted = object_status.with_generation(row.status, row.generation, generation)
                if object_status.differs(wanted, obj.get("status") or {}):
                    writes.append((source, obj, wanted))
        return writes

    async def _members(self, now: dt.datetime) -> list[Write]:
        at = self._hub.clock.monotonic()
        renew = at - self._members_at >= MEMBERS_S
        if not self._members_due and not renew:
            return []
        self._members_due = False
        if renew:
            self._members_at = at
        places = self._sources.all_of(CLUSTER, "MemberCluster")
        facts = await self._hub.read(mirrored.cluster_facts) if places else {}
        writes: list[Write] = []
        for place in places:
            found, fact = self._sources.get(place), facts.get(place[3])
            if found is None or fact is None:
                continue
            source, obj = found
            member, cluster, reported_at = fact
            live = obj.get("status") or {}
            with _alone(place):
                generation = int(obj["metadata"].get("generation") or 1)
                silent_s = self._hub.settings.scheduling.suspect_after_s
                wanted = object_status.member_status(
                    member, cluster, reported_at, live, generation, now, silent_s
                )
                if (renew and wanted != live) or _is_news(wanted, live):
                    writes.append((source, obj, wanted))
        return writes

    def _note_written(self, source: Source, made: Object) -> None:
        """Until the cache shows it, what a placement is to say is held against nothing older."""
        if (source.kind.group, source.kind.kind) not in PLACEMENTS:
            return
        found = self._sources.get(_place_of(source, made))
        if found is not None and _version(found[1]) < _version(made):
            self._written[self._sources.row_of(made)] = _version(made)

    # --- writing ----------------------------------------------------------------------------------

    async def _write(self, source: Source, obj: Object, status: Json) -> None:
        metadata = obj["metadata"]
        exactly = {"uid": metadata["uid"]}
        if source.kind == JOB and not is_marked(obj):  # the Job controller writes there too
            exactly["resourceVersion"] = metadata["resourceVersion"]
        async with self._gate:
            try:
                made = await self._client.merge_patch(
                    source.informer.api_version,
                    source.kind.kind,
                    metadata.get("namespace") or "",
                    metadata["name"],
                    {"metadata": exactly, "status": status},
                    field_manager=labels.BRIDGE_FIELD_MANAGER,
                    subresource="status",
                )
                self._note_written(source, made)
            except errors.NotFound:
                return
            except errors.Invalid as refusal:
                log.warning("status.refused", name=metadata["name"], error=refusal.message)
            except errors.KubeError as failure:
                self._pending.add(self._sources.row_of(obj))
                self._queues_due |= source.kind.kind in _QUEUES  # their figures come by other ways
                self._members_due |= source.kind.kind == "MemberCluster"
                if _is_unentitled(
                    source, failure
                ):  # written when the status changes, if it may be then
                    self._pending.discard(self._sources.row_of(obj))
                log.info("status.retry", name=metadata["name"], error=str(failure))


@contextlib.contextmanager
def _alone(place: Place) -> Iterator[None]:
    """What is odd about one object is its own: it is logged, and the others' statuses are written."""
    try:
        yield
    except Exception:
        log.exception("status.failed", kind=place[1], namespace=place[2], name=place[3])


def _version(obj: Object) -> int:
    """Versions of one object grow; -1 where that can not be told."""
    text = str(obj["metadata"].get("resourceVersion") or "")
    return int(text) if text.isascii() and text.isdecimal() else -1


def _place_of(source: Source, obj: Object) -> Place:
    metadata = obj["metadata"]
    where = (metadata.get("namespace") or "", metadata["name"])
    return (source.kind.group, source.kind.kind, *where)


def _refused(source: Source, obj: Object, refusal: MirrorRefusal, now: dt.datetime) -> list[Write]:
    live = obj.get("status")
    spec = obj.get("spec") or {}
    wanted = job_status.refused_status(spec, live, refusal.code, refusal.detail, now)
    return [(source, obj, wanted)] if job_status.differs(wanted, live) else []


def _has_status(place: Place) -> bool:
    """Do objects of this kind have conditions that are ours to write?"""
    return place[0] in (KUEUE, PLACEMENT, CLUSTER) and place[1] not in (
        "ResourceFlavor",
        "WorkloadPriorityClass",
        "MultiKueueConfig",
    )


def _is_unentitled(source: Source, failure: errors.KubeError) -> bool:
    """Whether it is a right that the chart does not give: to write what members report."""
    of = (source.kind.group, source.kind.kind, "", "")
    return isinstance(failure, errors.Forbidden) and source.kind != JOB and not _has_status(of)


def _is_news(wanted: Json, live: Json) -> bool:
    """Has a condition, of the member or of its agent, changed?"""
    parts = ("conditions", "agentStatus")
    return object_status.differs(
        {name: wanted.get(name) or [] for name in parts},
        {name: live.get(name) or [] for name in parts},
    )

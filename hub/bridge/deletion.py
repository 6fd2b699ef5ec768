"""Deletions on the hub cluster: withdraws their effects before the finalizer is removed.

Objects with our finalizer tell of their deletion themselves; if one is absent without having said so,
the bridge stops and asks. Plain objects are deleted when the watch says so; when only a complete list
lacks them, not more than a fifth may vanish at once.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import structlog

from hub.bridge.condition import BridgeCondition
from hub.bridge.kinds import JOB, NAMESPACE, WORKLOAD, Mirrored
from hub.bridge.mirror import Mirror
from hub.bridge.refusals import MirrorRefusal
from hub.bridge.sources import Absence, Place, Source, Sources
from hub.bridge.work_kinds import is_other_work, is_work_kind
from hub.bridge.workload_words import is_orphan, job_of
from hub.domain.quota.declared import DRAIN
from hub.services.context.hub import Hub
from hub.services.mirror import objects as mirrored
from shared import labels
from shared.errors import Rejected
from shared.failpoints import failpoint
from shared.finalizers import finalizers_of, without
from shared.kube import errors
from shared.kube.client import KubeClient, Object
from shared.reject_codes import RejectCode

# Fewer than this may always vanish: a fifth of a handful is nothing.
FEW: Final = 3
ABSENT: Final = "AbsentWithoutDeletion"
TOO_MANY: Final = "TooManyDeletions"
_PATCHES: Final = 16
_OWED_EVERY_S: Final = 5.0
log = structlog.get_logger(__name__)


class Deletions:
    """Carries deletions out, and notices those that happened while nobody watched."""

    def __init__(
        self,
        hub: Hub,
        client: KubeClient,
        sources: Sources,
        mirror: Mirror,
        standing: BridgeCondition,
        gone: Callable[[str], None] = lambda uid: None,
    ) -> None:
        self._hub = hub
        self._client = client
        self._sources = sources
        self._mirror = mirror
        self._standing = standing
        self._gone = gone  # called with the uid of the row whose mirror is away
        self._released: set[str] = set()  # uids whose finalizer we took off
        self._owed: set[str] = (
            set()
        )  # uids of Namespaces that are gone there, and hold something here yet
        self._owed_at = 0.0

    async def turn(self, term: int) -> None:
        """Take back what is being deleted, and conclude from what is absent."""
        absent, self._sources.absent = self._sources.absent, []
        try:
            await self._conclude(absent, term)
        except Exception:  # nobody tells of a deletion twice
            self._sources.absent = [*absent, *self._sources.absent]
            raise
        if not self._standing.stopped:
            await self._let_go(term)
            await self._retry_namespaces(term)
            await self._end_orphans()

    async def compare(self, source: Source, term: int) -> None:
        """After the first complete list of a kind: what the hub has of it and the list lacks."""
        if source.kind == NAMESPACE:
            await self._compare_namespaces(source, term)
            return
        kind = source.kind
        known = await self._hub.read(mirrored.uids_of_kind, kind.group, kind.kind)
        present = {self._sources.row_of(obj) for obj in source.informer.cache.values()}
        self._mirror.recall(present.intersection(known))
        missing = [uid for uid in known if uid not in present]
        if is_work_kind(kind) and missing:
            told = await self._hub.write(mirrored.led, term, mirrored.conclude_deletions, missing)
            missing = [uid for uid in missing if uid not in told]
        if not missing:
            return
        if not kind.finalized:
            if await self._is_plausible(kind.kind, len(missing), len(known)):
                await self._delete(missing, term)
        elif self._standing.lifted == ABSENT:
            await self._carry_out(kind, missing, term)
        else:
            await self._ask(kind.kind, known[missing[0]], len(missing))

    async def _compare_namespaces(self, source: Source, term: int) -> None:
        """Those that were on the hub cluster, and are not: somebody deleted them while nobody watched."""
        known = await self._hub.read(mirrored.namespaces_there)
        present = {str(obj["metadata"]["uid"]) for obj in source.informer.cache.values()}
        await self._delete(sorted(known - present), term)  # of those that hold nothing here

    async def _retry_namespaces(self, term: int) -> None:
        """What was in a Namespace goes after it: its own row once nothing is left in it."""
        now = self._hub.clock.monotonic()
        if self._owed and now >= self._owed_at + _OWED_EVERY_S:
            self._owed_at = now
            owed, self._owed = self._owed, set()
            await self._delete(owed, term)

    async def _conclude(self, absent: Sequence[Absence], term: int) -> None:
        certain: list[Absence] = []
        listed: dict[str, list[Absence]] = {}
        for each in absent:
            metadata = each.last["metadata"]
            uid = metadata["uid"]
            where = metadata.get("namespace") or "", metadata["name"]
            self._mirror.forget(uid, (each.kind.group, each.kind.kind, *where))
            if each.shows:  # a mirror is written, never read: its absence says nothing
                self._gone(each.shows)
            elif each.kind == WORKLOAD and (job := job_of(each.last)):
                self._mirror.tell(job)  # made again, if its Job is still there
                certain += (
                    [each] if is_orphan(each.last) else []
                )  # taken for a bare one by earlier hubs
            elif uid in self._released:
                self._released.discard(uid)
            elif each.certain or metadata.get("deletionTimestamp"):
                certain.append(each)
            elif not self._is_served(each):
                continue  # its whole API is away: that is no deletion
            elif each.kind.finalized and labels.FINALIZER in (metadata.get("finalizers") or ()):
                where = (metadata.get("namespace") or "", metadata["name"])
                await self._ask(each.kind.kind, where, 1)
            else:
                listed.setdefault(each.kind.kind, []).append(each)
        for kind, some in listed.items():
            source = self._sources.source(some[0].kind.group, kind)
            left = len(source.informer.cache) if source is not None else 0
            if await self._is_plausible(kind, len(some), left + len(some)):
                certain += some
        work = [_uid(each) for each in certain if await self._is_work(each)]
        await self._delete([_uid(e) for e in certain if _uid(e) not in work], term)
        await self._carry_out(JOB, work, term)

    async def _is_work(self, absence: Absence) -> bool:
        """Was it a Job, or is it another kind's work? An object of such a kind may be placed as it is."""
        if absence.kind == JOB or not is_work_kind(absence.kind):
            return absence.kind == JOB
        return bool(await self._hub.read(mirrored.known_uids, [_uid(absence)]))

    async def _carry_out(self, kind: Mirrored, uids: Sequence[str], term: int) -> None:
        """What is gone on the hub cluster is taken back in the hub."""
        work: set[str] = set(uids) if kind == JOB else set()
        if kind != JOB and is_work_kind(kind):
            work = await self._hub.read(mirrored.known_uids, uids)
        await self._delete([uid for uid in uids if uid not in work], term)
        if work:
            await self._hub.write(mirrored.led, term, mirrored.delete_jobs, sorted(work))

    def _is_served(self, absence: Absence) -> bool:
        source = self._sources.source(absence.kind.group, absence.kind.kind)
        return source is not None and source.informer.served is True

    async def _delete(self, uids: Iterable[str], term: int) -> None:
        """Objects that are gone on the hub cluster go in the hub."""
        for uid in uids:
            try:
                await self._hub.write(mirrored.led, term, mirrored.delete_object, uid)
            except Rejected as refusal:
                if refusal.code == RejectCode.NAMESPACE_NOT_EMPTY:
                    self._owed.add(uid)
                    continue
                log.warning("deletion.refused", uid=uid, code=refusal.code, detail=refusal.detail)

    async def _ask(self, kind: str, where: tuple[str, str], count: int) -> None:
        name = "/".join(part for part in where if part)
        text = (
            f"{count} {kind} (first {name}) are absent without having been deleted: was the hub "
            "cluster restored, or our finalizer taken off?"
        )
        await self._standing.stop(ABSENT, text)

    async def _is_plausible(self, kind: str, missing: int, known: int) -> bool:
        if missing <= FEW or missing * 5 <= known or self._standing.lifted == TOO_MANY:
            return True
        text = f"{missing} of {known} {kind} would vanish at once: more than a fifth"
        await self._standing.stop(TOO_MANY, text)
        return False

    # --- objects that are being deleted ---------------------------------------------------------

    async def _let_go(self, term: int) -> None:
        """Take back what leaving objects caused; remove our finalizer where nothing is left."""
        work = await self._places_of_work()
        jobs: list[tuple[Place, Source, Object]] = []
        done: list[tuple[Place, Source, Object]] = []
        for place in sorted(self._mirror.leaving):
            found = self._sources.get(place)
            if found is None or not found[1]["metadata"].get("deletionTimestamp"):
                self._mirror.leaving.discard(place)
                continue
            source, obj = found
            if labels.FINALIZER not in finalizers_of(obj):
                self._mirror.leaving.discard(place)
            elif source.kind == JOB or place in work:
                jobs.append((place, source, obj))
            elif await self._is_taken_back(obj, term):
                done.append((place, source, obj))
        if jobs:
            uids = [obj["metadata"]["uid"] for _, _, obj in jobs]
            gone = await self._hub.write(mirrored.led, term, mirrored.delete_jobs, uids)
            done += [one for one in jobs if one[2]["metadata"]["uid"] in gone]
        if done:
            failpoint("H23")
        gate = asyncio.Semaphore(_PATCHES)
        await asyncio.gather(*(self._release(gate, *one) for one in done))

    async def _places_of_work(self) -> set[Place]:
        """Of leaving objects, those of other kinds than Job that the hub has as work."""
        found = {
            str(known[1]["metadata"]["uid"]): place
            for place in self._mirror.leaving
            if is_other_work(place[:2]) and (known := self._sources.get(place))
        }
        known_uids = await self._hub.read(mirrored.known_uids, list(found)) if found else set()
        return {found[uid] for uid in known_uids}

    async def _end_orphans(self) -> None:
        """A Workload that lost its owner goes once its Job is gone, as one that is owned does."""
        for place in sorted(self._mirror.orphans):
            found = self._sources.get(place)
            if found is None or not is_orphan(found[1]):
                self._mirror.orphans.discard(place)
            elif self._sources.place_of(job_of(found[1])) is None:
                source, obj = found
                try:
                    await self._client.delete(
                        source.informer.api_version,
                        source.kind.kind,
                        obj["metadata"]["namespace"],
                        obj["metadata"]["name"],
                        uid=obj["metadata"]["uid"],
                    )
                except errors.KubeError as refusal:
                    if not isinstance(refusal, errors.NotFound):
                        log.info("orphan.stays", name=place[3], error=str(refusal))
                        continue
                self._mirror.orphans.discard(place)

    async def _is_taken_back(self, obj: Object, term: int) -> bool:
        uid = obj["metadata"]["uid"]
        try:
            drain = _drains(obj)
            done = await self._hub.write(mirrored.led, term, mirrored.delete_object, uid, drain)
        except Rejected as refusal:
            self._mirror.refusals[uid] = MirrorRefusal(refusal.code, refusal.detail)
            self._mirror.tell(uid)
            return False
        return bool(done)

    async def _release(
        self, gate: asyncio.Semaphore, place: Place, source: Source, obj: Object
    ) -> None:
        metadata = obj["metadata"]
        async with gate:
            try:
                self._released.add(metadata["uid"])
                await self._client.merge_patch(
                    source.informer.api_version,
                    source.kind.kind,
                    metadata.get("namespace") or "",
                    metadata["name"],
                    without(obj, labels.FINALIZER),
                    field_manager=labels.BRIDGE_FIELD_MANAGER,
                )
            except errors.NotFound:
                pass
            except errors.KubeError as refusal:
                self._released.discard(metadata["uid"])
                log.info("finalizer.stays", name=metadata["name"], error=str(refusal))
                return
        self._mirror.leaving.discard(place)


def _drains(obj: Object) -> bool:
    """A ClusterQueue can be drained after `kubectl delete`, by its stopPolicy."""
    spec = obj.get("spec") if obj["kind"] == "ClusterQueue" else None
    return isinstance(spec, dict) and spec.get("stopPolicy") == DRAIN


def _uid(absence: Absence) -> str:
    return str(absence.last["metadata"]["uid"])

"""From the hub cluster into the hub: what is declared there enters by the same intake as REST.

Level-based: a turn looks at what has changed, puts our finalizer on what needs one, and hands
everything to the intake in one transaction, by uid. A refusal stays with its object until either
changes. Deletions are `hub.bridge.deletion`'s.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final

import orjson
import structlog

from hub.bridge.arrivals import Arrivals
from hub.bridge.drafts import as_it_came, draft_of
from hub.bridge.job_status import is_finished
from hub.bridge.kinds import (
    JOB,
    NAMESPACE,
    STATIC,
    SYSTEM_NAMESPACES,
    WORKLOAD,
    WORKS_NAMESPACE,
    has_our_jobs,
    is_managed,
    is_marked,
    runs_here,
)
from hub.bridge.refusals import MirrorRefusal
from hub.bridge.sources import Place, Source, Sources
from hub.bridge.work_kinds import (
    has_ended,
    is_left_alone,
    is_other_work,
    is_queued,
    is_work_kind,
    no_longer_left_alone,
    not_left_alone,
)
from hub.bridge.workload_words import is_orphan, job_of
from hub.services.context.hub import Hub
from hub.services.mirror import objects as mirrored, unprotected
from hub.services.mirror.not_taken import NotTaken
from hub.services.objects.apply import REJECTED, Applied
from hub.services.placements.index import PlacementIndex
from hub.services.reading.draft import Draft
from hub.store.errors import StaleTerm, StoreUnavailable
from shared import labels
from shared.errors import Rejected
from shared.failpoints import failpoint
from shared.finalizers import finalizers_of, patch
from shared.groups import PLACEMENT
from shared.kinds.metadata import controllers_of
from shared.kube import errors
from shared.kube.client import KubeClient, Object
from shared.reject_codes import RejectCode

# Nobody else has a say in their statuses.
PLACEMENTS: Final = {(PLACEMENT, "ClusterResourcePlacement"), (PLACEMENT, "ResourcePlacement")}
TOGETHER: Final = 500  # objects of one transaction
_PATCHES: Final = 16  # finalizers written at a time
log = structlog.get_logger(__name__)


class Mirror:
    """What the hub has taken of the hub cluster, and what it has refused."""

    def __init__(
        self,
        hub: Hub,
        client: KubeClient,
        sources: Sources,
        index: PlacementIndex,
        told: Callable[[str], None],
        protected: Callable[[], bool] = lambda: True,
        seen: Callable[[str], None] = lambda uid: None,
        not_taken: NotTaken | None = None,
    ) -> None:
        self._hub = hub
        self._client = client
        self._sources = sources
        self._index = index
        self.tell = told  # called with the uid of what was taken or refused
        self._not_taken = not_taken or NotTaken()
        self._protected = protected  # do Jobs without the mark stay suspended?
        self._seen = seen  # called with the uid of the row that a changed mirror shows
        self.unchanged: Callable[[Object], None] = lambda obj: (
            None
        )  # in all but its status, perhaps
        self.left: Callable[[Source, Object], None] = lambda source, obj: None  # not taken
        self._marks: dict[str, bytes] = {}  # of what was looked at, by uid
        self._taken: set[str] = set()  # uids of what the hub has
        self._arrivals = Arrivals()
        self._of_our_jobs: set[str] = set()  # namespaces in which every Job is ours
        self.refusals: dict[str, MirrorRefusal] = {}
        self._lost: set[str] = set()  # of what was taken, and has no managedBy any more
        self.leaving: set[Place] = set()
        self.orphans: set[Place] = set()  # Workloads that the bridge made, without their owner

    def recall(self, uids: Iterable[str]) -> None:
        """The hub has these, from before this process's life: they are followed whatever they say now."""
        self._taken.update(uids)

    def forget(self, uid: str, place: Place) -> None:
        """It is gone, and perhaps another is there."""
        if self._sources.get(place) is None:
            self._not_taken.drop(place)
        self._marks.pop(uid, None)
        self._taken.discard(uid)
        self.refusals.pop(uid, None)

    async def turn(self, term: int, intake: object, later: Collection[Place] = ()) -> None:
        """Take what has changed, in the order in which things refer to each other, then as it came.

        Objects at the places of `later` wait for another turn.
        """
        later = {*later, *(("", "Namespace", "", name) for name in self._sources.making)}
        changed, self._sources.changed = self._sources.changed, dict.fromkeys(later)
        places = [place for place in changed if place not in later]
        found = [(place, *each) for place in places if (each := self._sources.get(place))]
        found.sort(key=lambda one: one[1].kind.order)
        fresh: list[tuple[Place, Source, Object]] = []
        for place, source, obj in found:
            if self._sources.is_mirror(obj):  # of what came by REST: nothing is taken from it
                self.refusals.pop(_uid(obj), None)
                self._not_taken.drop(place)
                self._taken.discard(_uid(obj))
                self._seen(self._sources.row_of(obj))
            elif obj["metadata"].get("deletionTimestamp"):
                self.leaving.add(place)
            elif not self._concerns_us(source, obj):
                self.refusals.pop(_uid(obj), None)
                self._not_taken.drop(place)
                self.left(source, obj)
            elif self._marks.get(_uid(obj)) != _mark(obj):
                fresh.append((place, source, obj))
            elif place[:2] in PLACEMENTS:
                self.unchanged(obj)
        if fresh:
            failpoint("H21")
        try:
            for start in range(0, len(fresh), TOGETHER):
                await self._take(fresh[start : start + TOGETHER], term, intake)
        except Exception:
            again = dict.fromkeys(place for place, _, _ in fresh)
            self._sources.changed = again | self._sources.changed  # these came first
            raise

    def retry_refused(self) -> None:
        """Look again at what was refused: what stood against it may be gone."""
        for known in self._not_taken.identities():
            source = self._sources.source(*known[:2])
            if source and source.informer.synced.is_set() and self._sources.get(known) is None:
                self._not_taken.drop(known)  # deleted since
        self.look_again(self.refusals)

    def look_again(self, uids: Iterable[str]) -> bool:
        """Look at those of these that were refused in the next turn; whether there are any."""
        refused = [uid for uid in uids if uid in self.refusals]
        for uid in refused:
            self._marks.pop(uid, None)
        places = map(self._sources.place_of, refused)
        self._sources.changed.update(dict.fromkeys(filter(None, places)))
        return bool(refused)

    def _concerns_us(self, source: Source, obj: Object) -> bool:
        metadata = obj["metadata"]
        kind = source.kind
        if kind == WORKLOAD:  # others write in its status too
            job = job_of(obj)
            self.tell(job or metadata["uid"])
            if job:  # ours, of a Job
                if is_orphan(obj):
                    self.orphans.add(_place(source, obj))
                return False
        if kind == JOB:
            among_ours = metadata["namespace"] in self._of_our_jobs
            return is_managed(obj, known=metadata["uid"] in self._taken, among_ours=among_ours)
        if is_other_work((kind.group, kind.kind)) and is_queued(obj):
            return True
        if kind == NAMESPACE:
            self._note_label(obj)
            name: str = metadata["name"]
            return name not in SYSTEM_NAMESPACES and not name.startswith(WORKS_NAMESPACE)
        if (kind.group, kind.kind) in STATIC or metadata["uid"] in self._taken:
            return True  # what was taken is followed: by losing its labels it is let go
        return self._index.is_concerned(
            kind.group,
            kind.kind,
            metadata.get("namespace") or "",
            metadata["name"],
            metadata.get("labels") or {},
        )

    def _note_label(self, namespace: Object) -> None:
        name = namespace["metadata"]["name"]
        if has_our_jobs(namespace) == (name in self._of_our_jobs):
            return
        self._of_our_jobs ^= {name}
        jobs = self._sources.all_of(JOB.group, JOB.kind)
        self._sources.look_at(place for place in jobs if place[2] == name)

    async def _take(
        self, fresh: Sequence[tuple[Place, Source, Object]], term: int, intake: Any
    ) -> None:
        """One transaction's worth."""
        fresh = [one for one in fresh if not self._could_run_here(*one[1:])]
        if lost := {uid: told.detail for uid in self._lost if (told := self.refusals.get(uid))}:
            await self._hub.write(unprotected.hold_back, term, lost)
        self._lost.clear()
        loose = [
            (source, obj)
            for _, source, obj in fresh
            if (source.kind.finalized and labels.FINALIZER not in finalizers_of(obj))
            or _is_loose(source, obj)
        ]
        held = await self._hold(loose)
        ready = [one for one in fresh if _uid(one[2]) not in held]
        now = self._hub.clock.now()
        read = [(obj, await draft_of(obj, now, self._hub.kinds)) for _, _, obj in ready]
        news = [is_work_kind(s.kind) and _uid(obj) not in self._taken for _, s, obj in ready]
        read = [
            (obj, as_it_came(given, self._arrivals) if is_new else given)
            for (obj, given), is_new in zip(read, news, strict=True)
        ]
        over = await self._over([obj for _, source, obj in ready if is_work_kind(source.kind)])
        read = [(obj, given) for obj, given in read if _uid(obj) not in over]
        for obj, given in read:
            if isinstance(given, Rejected):
                self._settle(obj, Applied(0, REJECTED, error=given))
        await self._hand_over(
            [(obj, given) for obj, given in read if not isinstance(given, Rejected)], term, intake
        )
        failpoint("H22")

    def _could_run_here(self, source: Source, obj: Object) -> bool:
        """Refuse a Job that nothing but its `suspend` keeps from running on the hub cluster too.

        Another kind is refused where its operator there would start it.
        """
        if is_other_work((source.kind.group, source.kind.kind)):
            return self._is_not_left_alone(obj)
        if source.kind != JOB or is_marked(obj) or _uid(obj) in self._taken or self._protected():
            return False
        text = (
            "nothing keeps it from being started on the hub cluster while it runs in a member: "
            "apply deploy/hub-cluster/job-guard.yaml, or give it spec.managedBy: "
            f"{labels.JOB_CONTROLLER}"
        )
        self._settle(obj, Applied(0, REJECTED, error=Rejected(RejectCode.JOBS_UNPROTECTED, text)))
        return True

    def _is_not_left_alone(self, obj: Object) -> bool:
        if not is_queued(obj) or is_left_alone(obj):
            return False
        refusal = not_left_alone(obj)
        if (uid := _uid(obj)) in self._taken:  # its row stays as it is, so that no result is lost
            if has_ended(obj.get("status")):
                return False
            self._lost.add(uid)
            refusal = no_longer_left_alone(obj)
        self._settle(obj, Applied(0, REJECTED, error=refusal))
        return True

    async def _over(self, jobs: Iterable[Object]) -> set[str]:
        """Uids of Jobs that have ended and are not in the store (any more): nothing is begun again."""
        ended = {_uid(job): job for job in jobs if _has_ended(job)}
        known = await self._hub.read(mirrored.known_uids, list(ended)) if ended else set()
        over = {uid: job for uid, job in ended.items() if uid not in known}
        self._marks.update((uid, _mark(job)) for uid, job in over.items())
        return set(over)

    async def _hand_over(
        self, read: Sequence[tuple[Object, Draft]], term: int, intake: Any
    ) -> None:
        """Give drafts to the intake; one that breaks it is found by halving, and refused alone."""
        if not read:
            return
        try:
            results = await self._hub.write(
                mirrored.led, term, mirrored.take, [given for _, given in read], intake
            )
        except (StaleTerm, StoreUnavailable):
            raise
        except Exception as fault:
            log.exception("intake.failed", objects=len(read))
            if len(read) == 1:
                error = Rejected(
                    RejectCode.UNREADABLE, f"the hub can not take it: {fault!r}"[:500]
                )
                self._settle(read[0][0], Applied(0, REJECTED, error=error))
                return
            half = len(read) // 2
            await self._hand_over(read[:half], term, intake)
            await self._hand_over(read[half:], term, intake)
            return
        for (obj, _), result in zip(read, results, strict=True):
            self._settle(obj, result)

    def _settle(self, obj: Object, result: Applied) -> None:
        uid = _uid(obj)
        self._marks[uid] = _mark(obj)
        self._note_refusal(obj, result.error)
        if result.error is not None:
            self.refusals[uid] = MirrorRefusal(result.error.code, result.error.detail)
            if result.error.code == RejectCode.OWNED_ELSEWHERE:
                self._seen(uid)  # was it handed over to REST?
        else:
            self.refusals.pop(uid, None)
            self._taken.add(uid)
        self.tell(uid)

    def _note_refusal(self, obj: Object, error: Rejected | None) -> None:
        """For placements. What a controller owns, and what the hub has by REST, none of them selects."""
        metadata = obj["metadata"]
        group, _, version = str(obj["apiVersion"]).rpartition("/")
        place = (group, str(obj["kind"]), str(metadata.get("namespace") or ""), metadata["name"])
        of_others = error is not None and error.code == RejectCode.OWNED_ELSEWHERE
        if error is None or of_others or controllers_of(metadata):
            self._not_taken.drop(place)
        else:
            labels = metadata.get("labels") or {}
            self._not_taken.put(place, version, labels, error.code, error.detail)

    async def _hold(self, loose: Iterable[tuple[Source, Object]]) -> set[str]:
        """Put our finalizer on objects before the hub acts on them; uids of those where it failed.

        A Job of ours that was started on the hub cluster is suspended again.
        """
        failed: set[str] = set()
        gate = asyncio.Semaphore(_PATCHES)

        async def one(source: Source, obj: Object) -> None:
            metadata = obj["metadata"]
            others = [each for each in finalizers_of(obj) if each != labels.FINALIZER]
            marked = patch(obj, [*others, labels.FINALIZER])
            if _is_loose(source, obj):
                marked["spec"] = {"suspend": True}
                log.warning("job.suspended-again", name=metadata["name"])
            async with gate:
                try:
                    await self._client.merge_patch(
                        source.informer.api_version,
                        source.kind.kind,
                        metadata.get("namespace") or "",
                        metadata["name"],
                        marked,
                        field_manager=labels.BRIDGE_FIELD_MANAGER,
                    )
                except errors.KubeError as refusal:
                    failed.add(_uid(obj))
                    self._sources.changed[_place(source, obj)] = None  # if it is still there
                    log.info("finalizer.failed", name=metadata["name"], error=str(refusal))

        await asyncio.gather(*(one(source, obj) for source, obj in loose))
        return failed


def _is_loose(source: Source, obj: Object) -> bool:
    """Is this a Job that its hub cluster runs, though it is ours?"""
    return source.kind == JOB and runs_here(obj) and not is_finished(obj.get("status"))


def _has_ended(obj: Object) -> bool:
    of_job = obj["kind"] == JOB.kind
    return is_finished(obj.get("status")) if of_job else has_ended(obj.get("status"))


def _uid(obj: Object) -> str:
    return str(obj["metadata"]["uid"])


def _place(source: Source, obj: Object) -> Place:
    metadata = obj["metadata"]
    return (
        source.kind.group,
        source.kind.kind,
        metadata.get("namespace") or "",
        metadata["name"],
    )


def _mark(obj: Object) -> bytes:
    """What must change for the hub to look again: neither status nor managed fields.

    Owners are named beside the generation, which does not count them.
    """
    metadata = obj["metadata"]
    version = metadata.get("generation") or metadata.get("resourceVersion")
    return orjson.dumps(
        [
            version,
            metadata.get("labels"),
            metadata.get("annotations"),
            metadata.get("ownerReferences"),
        ],
        option=orjson.OPT_SORT_KEYS,
    )

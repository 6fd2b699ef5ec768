"""Workload objects on the hub cluster: one beside every Job that came from there, as Kueue would keep it.

`kubectl get workloads` shows queue, reservation, admission and end of each Job; outside controllers
answer checks there. Level-based, in turns of bounded size: what should be is made from the row, held
against the cache, and the difference is written. One that was deleted is made again while its Job lives.
Bare Workloads are their users' objects: of them the status alone is written.
"""

import asyncio
import datetime as dt
from collections.abc import Callable, Iterable
from typing import Any, Final

import structlog

from hub.bridge import job_status, workload_words as words
from hub.bridge.kinds import JOB
from hub.bridge.sources import Place, Source, Sources
from hub.services.context.hub import Hub
from hub.services.kueue_view.workload import (
    JOB_UID,
    WORKLOAD,
    owner_of,
    workload_name,
    workload_object,
)
from hub.services.mirror import workloads
from hub.services.mirror.workloads import Heard, WorkloadFacts
from hub.store.errors import StaleTerm, StoreUnavailable
from shared import labels
from shared.errors import Rejected
from shared.groups import KUEUE
from shared.kube import errors
from shared.kube.client import KubeClient, Object

TOGETHER: Final = 300  # workloads of one turn
AGAIN_S: Final = 0.0
_WRITES: Final = 8  # at a time: fewer than statuses of Jobs have
_REMEMBERED: Final = 50_000
_COLLECTED: Final = dt.timedelta(
    seconds=1
)  # until an earlier mirror's Workload is looked for again
log = structlog.get_logger(__name__)


class WorkloadObjects:
    """Brings Workload objects level with the store, and hears what others write into them."""

    def __init__(
        self, hub: Hub, client: KubeClient, sources: Sources, term: Callable[[], int]
    ) -> None:
        self._hub = hub
        self._client = client
        self._sources = sources
        self._term = term
        self._due: dict[str, None] = {}  # uids of Jobs and bare Workloads, in order
        self._later: dict[str, dt.datetime] = {}  # time alone changes what they say
        self._written: dict[str, dict[str, str]] = {}  # states of checks, by uid
        self._heard: dict[str, tuple[int, Any]] = {}  # what was taken or refused, by uid
        self._commands: dict[str, int] = {}  # generations of which `spec.active` was taken, by uid
        self._gate = asyncio.Semaphore(_WRITES)

    def note(self, uids: Iterable[str]) -> None:
        """Look at those of them that are there in the next turn, whatever they are."""
        self._due.update(dict.fromkeys(self._sources.places(uids)))

    async def turn(self) -> float | None:
        """Level at most `TOGETHER` of them; seconds until the next turn if there are more."""
        now = self._hub.clock.now()
        ready = [uid for uid, at in self._later.items() if at <= now]
        for uid in ready:
            del self._later[uid]
        self.note(ready)
        uids = list(self._due)[:TOGETHER]
        for uid in uids:
            del self._due[uid]
        places = self._sources.places(uids)
        mine = {uid: place for uid, place in places.items() if place[:2] in _KINDS}
        if mine:
            try:
                facts = await self._hub.read(workloads.workload_facts, list(mine))
            except Exception:
                self._due.update(dict.fromkeys(mine))
                raise
            await asyncio.gather(*(self._level(facts[uid], mine[uid], now) for uid in facts))
        return AGAIN_S if self._due else None

    async def _level(self, fact: WorkloadFacts, place: Place, now: dt.datetime) -> None:
        """One workload: nothing that is wrong with it stops the others."""
        uid = fact.row.uid
        async with self._gate:
            try:
                await self._one(fact, place, now)
            except errors.NotFound:
                return
            except errors.Invalid as refusal:
                log.warning("workload.refused", name=fact.row.name, error=refusal.message)
            except (errors.KubeError, StaleTerm, StoreUnavailable) as failure:
                self._later[uid] = now + dt.timedelta(seconds=2)
                log.info("workload.retry", name=fact.row.name, error=str(failure))
            except Exception:
                log.exception("workload.failed", name=fact.row.name)

    async def _one(self, fact: WorkloadFacts, place: Place, now: dt.datetime) -> None:
        found = self._sources.get(place)
        if found is None or found[1]["metadata"].get("deletionTimestamp"):
            return
        row, until = fact.row, fact.row.requeue_at
        if until is not None and until > now:
            self._later[row.uid] = until
        if place[1] == WORKLOAD:
            await self._follow(fact, found[0], found[1], now, bare=True)
            return
        source = self._sources.source(KUEUE, WORKLOAD)
        if source is None or not source.informer.served:
            return
        at: Place = (KUEUE, WORKLOAD, row.namespace, workload_name(row))
        kept = self._sources.get(at)
        if kept is None:
            if not job_status.is_finished(found[1].get("status")):
                await self._create(fact, source, found[1], now)
        elif words.job_of(kept[1]) == found[1]["metadata"]["uid"]:
            await self._follow(fact, source, kept[1], now, job=found[1])
        elif words.job_of(kept[1]):  # of an earlier mirror: the garbage collector deletes it
            self._later[row.uid] = now + _COLLECTED

    async def _create(
        self, fact: WorkloadFacts, source: Source, job: Object, now: dt.datetime
    ) -> None:
        wanted = workload_object(fact.row, fact.pod_sets, job, now=now, generation=1)
        version = source.informer.api_version
        metadata = {k: v for k, v in wanted["metadata"].items() if k != "creationTimestamp"}
        uid = job["metadata"]["uid"]  # a mirror has another than the job that it shows
        metadata["labels"] = {**metadata["labels"], JOB_UID: uid}
        metadata["ownerReferences"] = [{**owner_of(fact.row), "uid": uid}]
        made = {**wanted, "apiVersion": version, "metadata": metadata}
        live = await self._client.create(made, field_manager=labels.BRIDGE_FIELD_MANAGER)
        live.pop("status", None)
        await self._write_status(fact, source, live, now, job)

    async def _follow(
        self,
        fact: WorkloadFacts,
        source: Source,
        live: Object,
        now: dt.datetime,
        job: Object | None = None,
        *,
        bare: bool = False,
    ) -> None:
        """Hear what others wrote; then write what differs."""
        if live["metadata"].get("deletionTimestamp"):
            return  # made again once it is gone
        if await self._hear(fact, live, bare=bare):
            return  # the row has changed: the next turn writes
        if not bare:
            wanted = workload_object(fact.row, fact.pod_sets, job, now=now)
            patch = words.spec_patch(wanted, live)
            if patch:
                live = await self._patch(source, live, {"spec": patch})
        await self._write_status(fact, source, live, now, job)

    async def _write_status(
        self,
        fact: WorkloadFacts,
        source: Source,
        live: Object,
        now: dt.datetime,
        job: Object | None,
    ) -> None:
        generation = int(live["metadata"].get("generation") or 1)
        wanted = workload_object(fact.row, fact.pod_sets, job, now=now, generation=generation)
        patch = words.status_patch(wanted, live)
        uid = fact.row.uid
        self._written[uid] = {
            each["name"]: each["state"] for each in wanted["status"].get("admissionChecks", ())
        }
        while len(self._written) > _REMEMBERED:
            del self._written[next(iter(self._written))]
        if patch:
            await self._patch(source, live, {"status": patch}, "status")

    async def _patch(
        self, source: Source, live: Object, patch: Object, subresource: str | None = None
    ) -> Object:
        metadata = live["metadata"]
        exactly = {"uid": metadata["uid"]}
        if "admissionChecks" in patch.get("status", ()):  # others write there too: nothing is lost
            exactly["resourceVersion"] = metadata["resourceVersion"]
        return await self._client.merge_patch(
            source.informer.api_version,
            WORKLOAD,
            metadata["namespace"],
            metadata["name"],
            {"metadata": exactly, **patch},
            field_manager=labels.BRIDGE_FIELD_MANAGER,
            subresource=subresource,
        )

    async def _hear(self, fact: WorkloadFacts, live: Object, *, bare: bool) -> bool:
        """Take in what was written by others; True if the row may have changed.

        What was taken or refused once is not taken again: it is set back to what the row says.
        """
        row = fact.row
        uid = row.uid
        active = None if bare else words.commanded(live, row)
        checks = words.answered(live, row, self._written.get(uid, {}))
        status = words.reported(live, row) if bare else None
        generation = int(live["metadata"].get("generation") or 1)
        if active is not None and self._commands.get(uid) == generation:
            active = None  # taken already: the conditions of that generation are not written yet
        if active is None and not checks and status is None:
            self._heard.pop(uid, None)
            if words.observed(live) >= generation:
                self._commands.pop(uid, None)
            return False
        said = (generation, (active, checks, status))
        if self._heard.get(uid) == said:
            return False
        self._heard[uid] = said
        while len(self._heard) > _REMEMBERED:
            del self._heard[next(iter(self._heard))]
        try:
            heard = Heard(uid, checks, active, status)
            await self._hub.write(workloads.hear, self._term(), heard)
        except Rejected as refusal:
            log.info("workload.unheard", name=row.name, code=refusal.code)
            return False
        except (StaleTerm, StoreUnavailable):
            self._heard.pop(uid, None)  # neither taken nor refused: it is not set back
            raise
        if active is not None:
            self._commands[uid] = generation
            while len(self._commands) > _REMEMBERED:
                del self._commands[next(iter(self._commands))]
        self.note((uid,))
        return True


_KINDS: Final = ((JOB.group, JOB.kind), (KUEUE, WORKLOAD))

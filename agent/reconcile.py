"""Brings the member level with what is desired: decides about what changed, and has it carried out.

Everything that changes (a work, an object, pods, a finished step, a timer) marks its uid; marked
uids are decided about in bursts, each in constant time, and at most one step per uid is under way.
It goes on without the hub.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace

import structlog

from agent.applier import Applier, Outcome
from agent.audit import Audit
from agent.holding import Holding
from agent.holdings import ObservedSet
from agent.lease import Lease
from agent.observer import KindKey, Observer
from agent.plan import (
    JOB,
    Decision,
    Object,
    Picture,
    Trouble,
    decide,
    finished,
    outdated,
)
from agent.telemetry import Meters
from agent.timers import Timers
from agent.waves import Waves
from shared.clock import Clock
from shared.failpoints import failpoint
from shared.kube.client import KubeClient
from shared.wire.agent_v1 import Observed, Work

log = structlog.get_logger(__name__)

_STEPS_AT_ONCE = 32
_BURST = 200  # uids decided about before the event loop gets a turn
_COALESCE_S = 0.01  # after a burst
# What was seen is decided about twenty times a second at most: events that come together cost one decision.
_SEEN_S = 0.05
# First steps that end at once are not worth a report; whatever delays them is.
_ROUTINE = frozenset({"Creating", "Applying"})
_CRD = "CustomResourceDefinition"


class Reconciler:
    """All holdings of one member. Implements `observer.Listener`."""

    def __init__(
        self,
        client: KubeClient,
        hub_id: str,
        lease: Lease,
        news: Callable[[], None],
        clock: Clock,
        meters: Meters,
    ) -> None:
        self.holdings: dict[str, Holding] = {}
        self.observed = ObservedSet()
        self.observer = Observer(client, hub_id, self, clock)
        self._applier = Applier(client, hub_id, clock)
        self._hub_id = hub_id
        self._lease = lease
        self._news = news
        self._clock = clock
        self._meters = meters
        self._audit = Audit(self.holdings, self.observer, self._applier, clock, self)
        self._waves = Waves()
        self._wave_waiters: set[str] = set()
        self._lease_waiters: set[str] = set()
        self._marked: dict[str, None] = {}
        self._kick = asyncio.Event()
        self._soon: dict[str, None] = {}
        self._soon_set = asyncio.Event()
        self._timers = Timers(clock, self.mark)
        self._steps: asyncio.Queue[tuple[Holding, Decision]] = asyncio.Queue()
        self._namespaces: set[str] = set()  # names of Namespaces among the works

    # --- what is desired -------------------------------------------------------------------------

    def desire(self, changed: Iterable[Work], removed: Iterable[str]) -> None:
        """Take in new and changed works, and uids that are no longer desired."""
        for work in changed:
            holding = self._holding(work.uid)
            holding.desire(work)
            self.observer.want(work.api_version, work.kind)
            if work.kind == "Namespace":
                self._namespaces.add(work.name)
            if holding.seen.live is not None:
                holding.compare(self._clock)
            self._note_wave(holding, pending=work.action == "Apply")
            self.mark(work.uid)
        for uid in removed:
            gone = self.holdings.get(uid)
            if gone is not None:
                if gone.work is not None and gone.work.kind == "Namespace":
                    self._namespaces.discard(gone.work.name)
                self._note_wave(gone, pending=False)
                gone.work = None
                self.mark(uid)

    def lease_renewed(self) -> None:
        """The hub has answered: what waited for the lease may go on."""
        if self._lease_waiters:
            for uid in self._lease_waiters:
                self.mark(uid)
            self._lease_waiters.clear()

    def acknowledged(self, entries: Iterable[Observed]) -> None:
        """The hub has stored these entries."""
        sent = list(entries)
        self.observed.acknowledge((entry.uid, entry.seq) for entry in sent)
        for entry in sent:
            if entry.drift:
                holding = self.holdings.get(entry.uid)
                if holding is not None and holding.reported(entry):
                    self.mark(entry.uid)

    def unfinished(self, uid: str) -> bool:
        """Whether this uid's job has not ended, as far as is known."""
        entry = self.observed.entries.get(uid)
        return entry is None or entry.job is None or entry.job.result is None

    # --- what is seen (Listener) -----------------------------------------------------------------

    def object_changed(self, uid: str, obj: Object) -> None:
        holding = self._holding(uid)
        if not self._is_addressed(holding, obj):
            return
        holding.is_here(obj, self._clock.monotonic())
        holding.compare(self._clock)
        self._mark_soon(uid)

    def object_gone(self, uid: str, obj: Object) -> None:
        holding = self.holdings.get(uid)
        if holding is None or not self._is_addressed(holding, obj):
            return
        live = holding.seen.live
        if live is not None and live["metadata"].get("uid") != obj["metadata"].get("uid"):
            return
        if holding.is_job:
            holding.is_here(obj, self._clock.monotonic())
            holding.observed(Decision("Applied"), self.observer.pods.get(uid))  # keep its result
        holding.went()
        self.mark(uid)

    def pods_changed(self, uid: str) -> None:
        if uid in self.holdings:
            self._mark_soon(uid)

    def kind_changed(self, key: KindKey) -> None:
        for uid, holding in self.holdings.items():
            work = holding.work
            if work is not None and (work.api_version, work.kind) == key:
                self.mark(uid)

    # --- the loops -------------------------------------------------------------------------------

    async def run(self) -> None:
        """Decide and act until cancelled."""
        await self.observer.start()
        loops = [self._decide_marked(), self._gather_soon(), self._timers.run(), self._audit.run()]
        loops += [self._step() for _ in range(_STEPS_AT_ONCE)]
        tasks = [asyncio.create_task(loop) for loop in loops]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.observer.stop()

    def mark(self, uid: str) -> None:
        """Have this uid decided about soon."""
        self._marked[uid] = None
        self._kick.set()

    def _mark_soon(self, uid: str) -> None:
        """Have this uid decided about with what else is seen of it within a moment."""
        if not self._soon:
            self._soon_set.set()
        self._soon[uid] = None

    async def _gather_soon(self) -> None:
        while True:
            await self._soon_set.wait()
            self._soon_set.clear()
            await self._clock.sleep(_SEEN_S)
            self._marked.update(self._soon)
            self._soon.clear()
            self._kick.set()

    def look_again(self, holding: Holding) -> None:
        """Read one object back, for the audit."""
        holding.busy = True
        self._steps.put_nowait((holding, Decision("Applied", "ReadBack")))

    async def _decide_marked(self) -> None:
        while True:
            await self._kick.wait()
            self._kick.clear()
            burst = list(self._marked)[:_BURST]
            for uid in burst:
                self._marked.pop(uid, None)
                try:
                    self._decide(uid)
                except Exception:
                    log.exception("decide.failed", uid=uid)
            if self._marked:
                self._kick.set()
            await self._clock.sleep(_COALESCE_S)

    def _decide(self, uid: str) -> None:
        holding = self.holdings.get(uid)
        if holding is None:
            return
        work, seen = holding.work, holding.seen
        if work is None:
            self._decide_orphan(holding)
            return
        pods = self.observer.pods.get(uid)
        seen.pods = len(pods) if pods is not None else 0
        picture = self._picture(work)
        decision = decide(work, seen, picture)
        if decision.do != "Nothing" and not holding.busy and not self._lease.revoked:
            decision = self._begin(holding, work, decision)
        self._note_wave(
            holding, pending=work.action == "Apply" and decision.phase not in {"Applied", "Failed"}
        )
        if decision.reason == "EarlierWave":
            self._wave_waiters.add(uid)
        elif decision.reason in {"LeaseExpired", "LeaseWait"}:
            self._wait_for_lease(uid)
        if decision.wake_at is not None:
            self._timers.set(decision.wake_at, uid)
        if decision.reason in _ROUTINE and uid not in self.observed.entries:
            return
        failpoint("A07" if decision.phase == "Gone" else "A08")
        if self.observed.put(holding.observed(decision, pods)):
            self._news()

    def _decide_orphan(self, holding: Holding) -> None:
        """Not desired (any more): told to the hub while it is there, forgotten afterwards."""
        live = holding.seen.live
        if live is None:
            if not holding.busy:
                del self.holdings[holding.uid]
                self.observed.drop(holding.uid)
                self._news()
            return
        decision = Decision("Applied", reason="Orphan", message="the hub does not ask for it")
        if self.observed.put(holding.observed(decision, self.observer.pods.get(holding.uid))):
            self._news()

    def _begin(self, holding: Holding, work: Work, decision: Decision) -> Decision:
        """Hand a step over to the workers."""
        now = self._clock.monotonic()
        if decision.do in {"Apply", "PatchJob"} and holding.seen.live is not None:
            if holding.doubtful:
                holding.busy = True
                self._steps.put_nowait((holding, replace(decision, do="Nothing")))
                return decision
            holding.mend()
            if not outdated(work, holding.seen.live):
                holding.fight_back(now)
        holding.busy = True
        self._steps.put_nowait((holding, decision))
        return decision

    async def _step(self) -> None:
        while True:
            holding, decision = await self._steps.get()
            try:
                outcome = await self._carry_out(holding, decision)
                holding.settle(decision, outcome, self._clock.monotonic())
                self._after(holding, decision, outcome)
            except Exception as fault:
                log.exception("step.failed", uid=holding.uid, step=decision.do)
                trouble = Trouble("ApplyFailed", f"{type(fault).__name__}: {fault}")
                holding.settle(decision, Outcome(trouble=trouble), self._clock.monotonic())
            finally:
                holding.busy = False
                if decision.do == "Create" and holding.seen.trouble is None:
                    self._mark_soon(holding.uid)
                else:
                    self.mark(holding.uid)

    async def _carry_out(self, holding: Holding, decision: Decision) -> Outcome:
        work, live = holding.work, holding.seen.live
        if work is None or self._lease.revoked:
            return Outcome()
        failpoint("A05")
        self._meters.steps.labels(decision.do).inc()
        if decision.do == "Create":
            left = self._lease.left(self._clock.monotonic())
            if left <= 0:
                return Outcome()
            make = work.namespace not in self._namespaces
            return await self._applier.create(work, left, make_namespace=make)
        if decision.do == "PatchJob":
            return await self._applier.patch_job(work, decision.patch)
        if decision.do == "Delete" and live is not None:
            return await self._applier.delete(live, decision.propagation)
        if decision.do == "Apply":
            return await self._applier.apply(work, live, holding.known_uid, holding.leave)
        if decision.do == "ReadBack":
            return await self._applier.read_back(work, holding.known_uid)
        if live is not None and holding.doubtful:
            holding.settle_doubt(await self._applier.dry_run(work, live), self._clock)
        return Outcome()

    def _after(self, holding: Holding, decision: Decision, outcome: Outcome) -> None:
        if outcome.live is not None:
            holding.compare(self._clock)
        if outcome.taken_by:
            self._make_room(outcome.taken_by)
        if outcome.trouble is not None:
            log.info(
                "step.refused",
                step=decision.do,
                uid=holding.uid,
                reason=outcome.trouble.reason,
                message=outcome.trouble.message,
            )
        work = holding.work
        if decision.do == "Apply" and work is not None and work.kind == _CRD:
            self.observer.rediscover()

    def _make_room(self, uid: str) -> None:
        """An ended Job of ours goes before its time when a newer one needs its name."""
        other = self.holdings.get(uid)
        if other is not None and other.seen.live is not None and finished(other.seen.live):
            other.seen.make_room = True
            self.mark(uid)

    # --- time ------------------------------------------------------------------------------------

    def _wait_for_lease(self, uid: str) -> None:
        self._lease_waiters.add(uid)
        settles_at = self._lease.settles_at
        if settles_at is not None and settles_at > self._clock.monotonic():
            self._timers.set(settles_at, uid)

    # --- internals -------------------------------------------------------------------------------

    def _holding(self, uid: str) -> Holding:
        holding = self.holdings.get(uid)
        if holding is None:
            holding = self.holdings[uid] = Holding(uid)
        return holding

    @staticmethod
    def _is_addressed(holding: Holding, obj: Object) -> bool:
        """Whether the object is the one the work means: a copy of it under another name is not."""
        work = holding.work
        if work is None:
            return True
        metadata = obj["metadata"]
        return (work.api_version, work.kind, work.namespace, work.name) == (
            obj.get("apiVersion"),
            obj.get("kind"),
            metadata.get("namespace") or "",
            metadata["name"],
        )

    def _picture(self, work: Work) -> Picture:
        now = self._clock.monotonic()
        key = (work.api_version, work.kind)
        return Picture(
            hub_id=self._hub_id,
            now=now,
            wall=self._clock.now(),
            may_create=self._lease.left(now) > 0,
            settled=self._lease.settled(now),
            synced=self.observer.is_synced(*key),
            served=self.observer.is_served(*key),
            wave_open=key == JOB or self._waves.is_open(work.kind, work.namespace),
        )

    def _note_wave(self, holding: Holding, *, pending: bool) -> None:
        work = holding.work
        if work is None or holding.is_job:
            return
        if self._waves.set_pending(holding.uid, work.kind, work.namespace, pending):
            for uid in self._wave_waiters:
                self.mark(uid)
            self._wave_waiters.clear()

"""Brings the member level with what is desired: decides about what changed, and has it carried out.

Everything that changes (a work, an object, pods, a finished step, a timer) marks its uid; marked
uids are decided about in bursts, each in constant time, and at most one step per uid is under way.
It goes on without the hub.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace

import structlog

from agent.decide.decision import Decision, Outcome, Picture, Trouble
from agent.decide.jobs import decide_orphan
from agent.decide.member_policy import Gate
from agent.decide.next_step import decide
from agent.decide.waves import Waves
from agent.member.applier import Applier
from agent.member.observer import KindKey, Observer
from agent.metrics import Meters
from agent.objects.facts import JOB, Object, finished, is_unstarted, outdated
from agent.reconcile.copies import Copies
from agent.reconcile.finalizers import Releases
from agent.reconcile.resync import Audit
from agent.reconcile.steps import Steps
from agent.reconcile.timers import Timers
from agent.reconcile.work_queue import Due
from agent.works.lease import Lease
from agent.works.marks import Marks
from agent.works.observed_set import ObservedSet
from agent.works.tracked import Holding
from shared.clock import Clock
from shared.failpoints import failpoint
from shared.kube.client import KubeClient
from shared.wire.agent_v1 import Observed, Order, Work

log = structlog.get_logger(__name__)

_STEPS_AT_ONCE = 32
# Steps that end at once are not worth a report; whatever delays them is.
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
        gate: Gate | None = None,
    ) -> None:
        self.holdings: dict[str, Holding] = {}
        self.observed = ObservedSet()
        self.observer = Observer(client, hub_id, self, clock)
        self._applier = Applier(client, hub_id, clock)
        self._hub_id = hub_id
        self._lease = lease
        self._news = news
        self._clock = clock
        self._audit = Audit(self.holdings, self.observer, self._applier, clock, self)
        self._copies = Copies(hub_id, self.observer, self._applier, lease, clock)
        self._waves = Waves()
        self._wave_waiters: set[str] = set()
        self._lease_waiters: set[str] = set()
        self._due = Due(clock)
        self._timers = Timers(clock, self.mark)
        self._steps: asyncio.Queue[tuple[Holding, Decision]] = asyncio.Queue()
        self.marks = Marks()
        self._namespaces: set[str] = set()  # names of Namespaces among the works
        self._hands = Steps(
            self._applier, lease, clock, meters, self._namespaces, self.marks, gate or Gate()
        )
        self._releases = Releases(clock, self._release)

    # --- what is desired -------------------------------------------------------------------------

    def desire(self, changed: Iterable[Work], removed: Iterable[str]) -> None:
        """Take in new and changed works, and uids that are no longer desired."""
        for work in changed:
            holding = self._holding(work.uid)
            self._copies.put_aside(holding, work)
            holding.desire(work)
            self.observer.want(work.api_version, work.kind)
            if work.kind == "Namespace":
                self._namespaces.add(work.name)
            if holding.seen.live is not None:
                holding.compare(self._clock.now())
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
        for uid in self._lease_waiters:
            self.mark(uid)
        self._lease_waiters.clear()

    def acknowledged(self, entries: Iterable[Observed]) -> None:
        """The hub has stored these entries."""
        sent = list(entries)
        self.observed.acknowledge((entry.uid, entry.seq) for entry in sent)
        for entry in sent:
            holding = self.holdings.get(entry.uid)
            if holding is not None and holding.reported(entry):
                self.mark(entry.uid)

    def order(self, orders: Iterable[Order]) -> None:
        """What the hub says of things that it does not want."""
        for order in orders:
            holding = self.holdings.get(order.uid)
            if holding is not None and holding.work is None:
                holding.seen.order(order)
                self.mark(order.uid)

    def unfinished(self, uid: str) -> bool:
        """Whether this uid's job has not ended, as far as is known."""
        entry = self.observed.entries.get(uid)
        return entry is None or entry.job is None or entry.job.result is None

    # --- what is seen (Listener) -----------------------------------------------------------------

    def object_changed(self, uid: str, obj: Object) -> None:
        holding = self._holding(uid)
        self.marks.found(obj)
        if not holding.means(obj):
            self._copies.seen(obj)
            return
        holding.is_here(obj, self._clock.monotonic())
        if holding.busy and holding.is_job and is_unstarted(obj):
            return  # the step that is under way goes on with it
        holding.compare(self._clock.now())
        self._due.mark_soon(uid)

    def object_gone(self, uid: str, obj: Object) -> None:
        holding = self.holdings.get(uid)
        if holding is None or not holding.means(obj):
            return
        live = holding.seen.live
        if live is not None and live["metadata"].get("uid") != obj["metadata"].get("uid"):
            return
        holding.is_here(obj, self._clock.monotonic())
        if holding.is_job:
            holding.observed(Decision("Applied"), self.observer.pods.get(uid))  # keep its result
        holding.went()
        self.mark(uid)

    def pods_changed(self, uid: str) -> None:
        if uid in self.holdings:
            self._due.mark_soon(uid)

    def kind_changed(self, key: KindKey) -> None:
        for uid, holding in self.holdings.items():
            work = holding.work
            if work is not None and (work.api_version, work.kind) == key:
                self.mark(uid)

    # --- the loops -------------------------------------------------------------------------------

    async def run(self) -> None:
        """Decide and act until cancelled."""
        await self.observer.start()
        loops = [self._decide_due(), self._due.gather(), self._timers.run(), self._audit.run()]
        loops += [self._releases.run(), self._copies.run()]
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
        self._due.mark(uid)

    def look_again(self, holding: Holding) -> None:
        """Read one object back, for the audit."""
        self._hand_over(holding, Decision("Applied", "ReadBack"))

    async def _decide_due(self) -> None:
        async for burst in self._due.bursts():
            for uid in burst:
                try:
                    self._decide(uid)
                except Exception:
                    log.exception("decide.failed", uid=uid)

    def _decide(self, uid: str) -> None:
        holding = self.holdings.get(uid)
        if holding is None:
            return
        work, seen = holding.work, holding.seen
        if work is None:
            self._decide_orphan(holding)
            return
        holding.look_at(pods := self.observer.pods.get(uid))
        picture = self._picture(work)
        decision = decide(work, seen, picture)
        if decision.phase in {"Gone", "Missing"}:
            holding.close(decision.phase)
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
        holding.look_at(pods := self.observer.pods.get(holding.uid))
        decision = decide_orphan(holding.seen, self._picture_of(JOB, wave_open=True))
        if decision.do != "Nothing" and not holding.busy and not self._lease.revoked:
            self._hand_over(holding, decision)
        if decision.wake_at is not None:
            self._timers.set(decision.wake_at, holding.uid)
        if self.observed.put(holding.observed(decision, pods)):
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
        if decision.do == "Start":
            holding.seen.started = True
        self._hand_over(holding, decision)
        return decision

    def _hand_over(self, holding: Holding, decision: Decision) -> None:
        """Have a step carried out; one that nobody waits for, when there is nothing else to do."""
        holding.busy = decision.urgent
        if decision.urgent:
            self._releases.give_way()
            self._steps.put_nowait((holding, decision))
        else:
            self._releases.put(holding.uid)

    async def _step(self) -> None:
        while True:
            await self._take(*await self._steps.get())

    async def _take(self, holding: Holding, decision: Decision) -> None:
        """Carry one step out and take in how it ended; a Job that was made is started at once."""
        holding.busy = True
        try:
            await self._carry_out(holding, decision)
            if decision.do == "Create" and (start := self._start_of(holding)) is not None:
                decision = start
                await self._carry_out(holding, decision)
        except Exception as fault:
            log.exception("step.failed", uid=holding.uid, step=decision.do)
            trouble = Trouble("ApplyFailed", f"{type(fault).__name__}: {fault}")
            holding.settle(decision, Outcome(trouble=trouble), self._clock.monotonic())
        finally:
            holding.busy = False
            if decision.do == "Start" and holding.seen.trouble is None:
                self._due.mark_soon(holding.uid)
            else:
                self.mark(holding.uid)

    async def _release(self, uid: str) -> None:
        """Take our finalizer off an ended Job whose result the hub has, if that is still so."""
        holding = self.holdings.get(uid)
        if holding is None or holding.work is None or holding.busy:
            return
        decision = decide(holding.work, holding.seen, self._picture(holding.work))
        if decision.do == "Release":
            await self._take(holding, decision)

    async def _carry_out(self, holding: Holding, decision: Decision) -> None:
        before = holding.seen.live
        outcome = await self._hands.carry_out(holding, decision)
        if before is not None and not holding.means(before):
            outcome = Outcome()  # it was done to a copy
        if (other := self.holdings.get(outcome.taken_by)) is not None:
            outcome = other.in_the_way(outcome)
        holding.settle(decision, outcome, self._clock.monotonic())
        self._after(holding, decision, outcome)

    def _start_of(self, holding: Holding) -> Decision | None:
        """The start of a Job that was just made, if it is still what is wanted."""
        if holding.work is None or holding.seen.live is None:
            return None
        decision = decide(holding.work, holding.seen, self._picture(holding.work))
        holding.seen.started = holding.seen.started or decision.do == "Start"
        return decision if decision.do == "Start" else None

    def _after(self, holding: Holding, decision: Decision, outcome: Outcome) -> None:
        if outcome.live is not None:
            holding.compare(self._clock.now())
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

    def _picture(self, work: Work) -> Picture:
        key = (work.api_version, work.kind)
        wave_open = key == JOB or self._waves.is_open(work.kind, work.namespace)
        return self._picture_of(key, wave_open=wave_open)

    def _picture_of(self, key: KindKey, *, wave_open: bool) -> Picture:
        now = self._clock.monotonic()
        return Picture(
            hub_id=self._hub_id,
            now=now,
            wall=self._clock.now(),
            may_start=self._lease.left(now) > 0,
            settled_at=self._lease.settled_at(now),
            synced=self.observer.is_synced(*key),
            served=self.observer.is_served(*key),
            wave_open=wave_open,
        )

    def _note_wave(self, holding: Holding, *, pending: bool) -> None:
        work = holding.work
        if work is None or holding.is_job:
            return
        if self._waves.set_pending(holding.uid, work.kind, work.namespace, pending):
            for uid in self._wave_waiters:
                self.mark(uid)
            self._wave_waiters.clear()

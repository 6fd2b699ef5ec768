"""Brings the member level with what is desired: decides about what changed, and has it carried out.

Everything that changes (a work, an object, pods, a finished step, a timer) marks its uid; marked
uids are decided about in bursts, each in constant time, and at most one step per uid is under way.
It continues without the hub.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import structlog

from agent.decide.decision import Decision, Outcome, Trouble
from agent.decide.jobs import decide_orphan
from agent.decide.member_policy import MemberPolicy
from agent.decide.next_step import decide
from agent.decide.waves import Waves, holds_up
from agent.member.acceptance import Acceptance
from agent.member.applier import Applier
from agent.member.namespace_watch import NamespaceWatch
from agent.member.observer import KindKey, Observer
from agent.member.rights import Rights
from agent.member.upkeep import NamespaceUpkeep
from agent.metrics import Meters
from agent.objects.facts import Object, is_unstarted, outdated
from agent.objects.holds import is_job_work
from agent.objects.rules import AvailabilityRules
from agent.reconcile.copies import Copies, in_the_way
from agent.reconcile.finalizers import FinalizerRemoval
from agent.reconcile.jobs_read import JobsRead, kinds_to_read
from agent.reconcile.kind_readings import KindReadings
from agent.reconcile.leftover_kinds import LeftoverKinds
from agent.reconcile.moments import Moments
from agent.reconcile.resync import Resync
from agent.reconcile.steps import Steps
from agent.reconcile.timers import Timers
from agent.reconcile.waiting import mark_waiting
from agent.reconcile.work_queue import WorkQueue
from agent.works.lease import Lease
from agent.works.marks import Marks
from agent.works.observed_set import ObservedSet, with_left, with_origin
from agent.works.tracked import TrackedWork
from agent.works.withdrawn import WithdrawnObjects
from shared.clock import Clock
from shared.failpoints import failpoint
from shared.kube.client import KubeClient
from shared.wire.agent_v1 import Observed, Order, Work

log = structlog.get_logger(__name__)

_STEPS_AT_ONCE = 32
# Steps that end at once are not worth a report; whatever delays them is.
_ROUTINE = frozenset({"Creating", "Applying", "Comparing"})
_CRD = "CustomResourceDefinition"


class Reconciler:
    """All tracked works of one member. Implements `observer.Listener`."""

    def __init__(
        self,
        client: KubeClient,
        hub_id: str,
        lease: Lease,
        news: Callable[[], None],
        clock: Clock,
        meters: Meters,
        policy: MemberPolicy | None = None,
    ) -> None:
        self.tracked_works: dict[str, TrackedWork] = {}
        self.rules = AvailabilityRules()
        self.observed = ObservedSet()
        self.observer = Observer(client, hub_id, self, clock)
        self._policy = policy = policy or MemberPolicy()
        self._applier = Applier(client, hub_id, clock, policy)
        self.watch = NamespaceWatch(client, Acceptance(hub_id, policy), clock, news)
        self.watch.follow(partial(mark_waiting, self.tracked_works, self.mark))
        self._upkeep = NamespaceUpkeep(client, self.watch, self.observer, hub_id, clock)
        self._hub_id, self._lease, self._news, self._clock = hub_id, lease, news, clock
        self._leftovers = LeftoverKinds(client, self.observer, hub_id, clock, policy)
        self._resync = Resync(self.tracked_works, self.observer, self._applier, clock, self)
        self._copies = Copies(hub_id, self.observer, self._applier, lease, clock)
        self._waves = Waves()
        self._moments = Moments(hub_id, self.observer, lease, self._waves, self.watch, clock)
        self._withdrawn = WithdrawnObjects()
        self._wave_waiters, self._lease_waiters = set[str](), set[str]()
        self._work_queue = WorkQueue(clock)
        self._timers = Timers(clock, self.mark)
        self._steps: asyncio.Queue[tuple[TrackedWork, Decision]] = asyncio.Queue()
        self.marks = Marks()
        self.rights = Rights(client, clock, news, self.watch.named)
        carried = clock, meters, self.marks, policy
        seen = self.watch, self.rights, self.observer.hostname_of
        self.carrier = Steps(self._applier, lease, *carried, *seen)
        self._removals = FinalizerRemoval(clock, self._release)
        self.kinds = KindReadings(self.mark, self.observer.watch_served, clock)
        read = self.observed.entries, partial(kinds_to_read, self.observer, self.kinds)
        places = policy.profile != "jobs"
        self.jobs_read = JobsRead(client, hub_id, lease, *read, clock, news, places=places)

    # --- what is desired -------------------------------------------------------------------------

    def desire(self, changed: Iterable[Work], removed: Iterable[str]) -> None:
        """Take in new and changed works, and uids that are no longer desired."""
        for work in changed:
            tracked = self._tracked(work.uid)
            self._copies.put_aside(tracked, work)
            tracked.desire(work)
            self._withdrawn.desired(work)
            want = self.observer.want_jobs if is_job_work(work) else self.observer.want
            want(work.api_version, work.kind)
            if work.kind == "Namespace":
                self.watch.place(work)
            if tracked.seen.live is not None:
                tracked.compare(self._clock.now())
            self._note_wave(tracked, pending=work.action == "Apply")
            self.mark(work.uid)
        for uid in removed:
            gone = self.tracked_works.get(uid)
            if gone is not None:
                self.watch.unplace(uid)
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
            tracked = self.tracked_works.get(entry.uid)
            if tracked is not None and tracked.reported(entry):
                self.mark(entry.uid)

    def order(self, orders: Iterable[Order]) -> None:
        """The hub's orders about objects that it does not want."""
        for order in orders:
            tracked = self.tracked_works.get(order.uid)
            if tracked is not None and tracked.work is None:
                tracked.seen.order(order)
                if tracked.is_left_over() and tracked.written is None and not tracked.busy:
                    self.look_again(tracked)
                self.mark(order.uid)

    def has_ended(self, uid: str) -> bool:
        """Whether the object of this uid's job says that the job has ended."""
        tracked = self.tracked_works.get(uid)
        return tracked is not None and tracked.seen.ended() is not None

    def unfinished(self, uid: str) -> bool:
        """True if this uid's job has not ended, as far as known."""
        entry = self.observed.entries.get(uid)
        return entry is None or entry.job is None or entry.job.result is None

    # --- what is seen (Listener) -----------------------------------------------------------------

    def object_changed(self, uid: str, obj: Object) -> None:
        tracked = self._tracked(uid)
        self.marks.found(obj)
        if not tracked.means(obj):
            self._copies.seen(obj)
            return
        tracked.is_here(obj, self._clock.monotonic())
        if tracked.busy and tracked.is_job and is_unstarted(obj):
            return  # the running step continues with it
        tracked.compare(self._clock.now())
        self._work_queue.mark_soon(uid)

    def object_gone(self, uid: str, obj: Object) -> None:
        tracked = self.tracked_works.get(uid)
        if tracked is None or not tracked.means(obj) or not tracked.may_have_gone(obj):
            return
        tracked.is_here(obj, self._clock.monotonic())
        tracked.kept_until = None
        if tracked.is_job:
            tracked.observed(Decision("Applied"), self.observer.pods.get(uid))  # keep its result
        tracked.went()
        self.mark(uid)

    def pods_changed(self, uid: str) -> None:
        if uid in self.tracked_works:
            self._work_queue.mark_soon(uid)

    def kind_changed(self, key: KindKey) -> None:
        for uid, tracked in self.tracked_works.items():
            work = tracked.work
            if work is not None and (work.api_version, work.kind) == key:
                self.mark(uid)

    # --- the loops -------------------------------------------------------------------------------

    async def run(self) -> None:
        """Decide and act until cancelled."""
        await self.observer.start()
        loops = [self._decide_due(), self._work_queue.gather(), self._upkeep.run(self._policy)]
        loops += [r.run() for r in (self._resync, self._removals, self._copies, self._leftovers)]
        loops += [
            r.run() for r in (self._timers, self.rights, self.jobs_read, self.kinds, self.watch)
        ]
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
        self._work_queue.mark(uid)

    def look_again(self, tracked: TrackedWork) -> None:
        """Read one object back, for the resync."""
        self._hand_over(tracked, Decision("Applied", "ReadBack"))

    async def _decide_due(self) -> None:
        async for burst in self._work_queue.bursts():
            for uid in burst:
                try:
                    self._decide(uid)
                except Exception:
                    log.exception("decide.failed", uid=uid)

    def _decide(self, uid: str) -> None:
        tracked = self.tracked_works.get(uid)
        if tracked is None:
            return
        work, seen = tracked.work, tracked.seen
        if work is None:
            self._decide_orphan(tracked)
            return
        self.kinds.look(tracked)
        tracked.look_at(pods := self.observer.pods.get(uid))
        decision = decide(work, seen, moment := self._moments.of_work(work))
        if decision.phase in {"Gone", "Missing"}:
            tracked.close(decision.phase)
            self._withdrawn.note(tracked, work)
        if decision.do != "Nothing" and not tracked.busy and not self._lease.revoked:
            decision = self._begin(tracked, work, decision)
        self._note_wave(tracked, pending=holds_up(work, decision, tracked.tries))
        if decision.reason == "EarlierWave":
            self._wave_waiters.add(uid)
        elif decision.reason in {"LeaseExpired", "LeaseWait"}:
            self._wait_for_lease(uid)
        self._wake(uid, decision.wake_at)
        self._wake(uid, tracked.account(moment.now))
        if decision.reason in _ROUTINE and uid not in self.observed.entries:
            return
        failpoint("A07" if decision.phase == "Gone" else "A08")
        entry = tracked.observed(decision, pods)
        if self.observed.put(with_origin(entry, work, tracked.seen.live, self._hub_id)):
            self._news()

    def _decide_orphan(self, tracked: TrackedWork) -> None:
        """Not desired (any more): told to the hub while it is there, forgotten afterwards."""
        live = tracked.seen.live
        if live is None:
            if not tracked.busy:
                del self.tracked_works[tracked.uid]
                self.jobs_read.leaves(tracked.uid)
                self.observed.drop(tracked.uid)
                self._news()
            return
        self._withdrawn.order(tracked)
        self.kinds.look(tracked)
        tracked.look_at(pods := self.observer.pods.get(tracked.uid))
        decision = decide_orphan(tracked.seen, self._moments.of_orphan(tracked))
        if decision.do != "Nothing" and not tracked.busy and not self._lease.revoked:
            self._hand_over(tracked, decision)
        self._wake(tracked.uid, decision.wake_at)
        if self.observed.put(with_left(tracked.observed(decision, pods), live, self._hub_id)):
            self._news()

    def _begin(self, tracked: TrackedWork, work: Work, decision: Decision) -> Decision:
        """Hand a step over to the workers."""
        if decision.do in {"Apply", "PatchJob"} and tracked.seen.live is not None:
            if tracked.doubtful:
                tracked.busy = True
                self._steps.put_nowait((tracked, replace(decision, do="Nothing")))
                return decision
            tracked.mend()
            if not outdated(work, tracked.seen.live):
                tracked.fight_back(self._clock.monotonic())
        if decision.do == "Start":
            tracked.seen.started = True
        self._hand_over(tracked, decision)
        return decision

    def _hand_over(self, tracked: TrackedWork, decision: Decision) -> None:
        """Schedule a step; a low-priority one runs when there is nothing else to do."""
        tracked.busy = decision.urgent
        if decision.urgent:
            self._removals.give_way()
            self._steps.put_nowait((tracked, decision))
        else:
            self._removals.put(tracked.uid)

    async def _step(self) -> None:
        while True:
            await self._take(*await self._steps.get())

    async def _take(self, tracked: TrackedWork, decision: Decision) -> None:
        """Carry one step out and take in how it ended; a Job that was made is started at once."""
        tracked.busy = True
        try:
            await self._carry_out(tracked, decision)
            if decision.do == "Create" and (start := self._start_of(tracked)) is not None:
                decision = start
                await self._carry_out(tracked, decision)
        except Exception as fault:
            log.exception("step.failed", uid=tracked.uid, step=decision.do)
            trouble = Trouble("ApplyFailed", f"{type(fault).__name__}: {fault}")
            tracked.settle(decision, Outcome(trouble=trouble), self._clock.monotonic())
        finally:
            tracked.busy = False
            if decision.do == "Start" and tracked.seen.trouble is None:
                self._work_queue.mark_soon(tracked.uid)
            else:
                self.mark(tracked.uid)

    async def _release(self, uid: str) -> None:
        """Take our finalizer off an ended Job whose result the hub has, if that is still so."""
        tracked = self.tracked_works.get(uid)
        if tracked is None or tracked.work is None or tracked.busy:
            return
        decision = decide(tracked.work, tracked.seen, self._moments.of_work(tracked.work))
        if decision.do == "Release":
            await self._take(tracked, decision)

    async def _carry_out(self, tracked: TrackedWork, decision: Decision) -> None:
        before = tracked.seen.live
        outcome = await self.carrier.carry_out(tracked, decision)
        if before is not None and not tracked.means(before):
            outcome = Outcome()  # it was done to a copy
        if (other := self.tracked_works.get(outcome.taken_by)) is not None:
            outcome = in_the_way(other, outcome)
        tracked.settle(decision, outcome, self._clock.monotonic())
        self._after(tracked, decision, outcome)

    def _start_of(self, tracked: TrackedWork) -> Decision | None:
        """The start of a Job that was just made, if it is still what is wanted."""
        if tracked.work is None or tracked.seen.live is None:
            return None
        decision = decide(tracked.work, tracked.seen, self._moments.of_work(tracked.work))
        tracked.seen.started = tracked.seen.started or decision.do == "Start"
        return decision if decision.do == "Start" else None

    def _after(self, tracked: TrackedWork, decision: Decision, outcome: Outcome) -> None:
        if outcome.live is not None:
            tracked.compare(self._clock.now())
        if outcome.taken_by:
            self._make_room(outcome.taken_by)
        if (why := outcome.trouble) is not None:
            told = {"reason": why.reason, "message": why.message}
            log.info("step.refused", step=decision.do, uid=tracked.uid, **told)
        work = tracked.work
        if decision.do == "Apply" and work is not None and work.kind == _CRD:
            self.observer.rediscover()

    def _make_room(self, uid: str) -> None:
        """An ended Job of ours goes before its time when a newer one needs its name."""
        other = self.tracked_works.get(uid)
        if other is not None and other.seen.ended():
            other.seen.make_room = True
            self.mark(uid)

    def _wake(self, uid: str, at: float | None) -> None:
        if at is not None:
            self._timers.set(at, uid)

    def _wait_for_lease(self, uid: str) -> None:
        self._lease_waiters.add(uid)
        settles_at = self._lease.settles_at
        if settles_at is not None and settles_at > self._clock.monotonic():
            self._timers.set(settles_at, uid)

    def _tracked(self, uid: str) -> TrackedWork:
        if uid not in self.tracked_works:
            self.tracked_works[uid] = TrackedWork(uid, rules=self.rules)
        return self.tracked_works[uid]

    def _note_wave(self, tracked: TrackedWork, *, pending: bool) -> None:
        work = tracked.work
        if work is None or tracked.is_job:
            return
        if self._waves.set_pending(tracked.uid, work.kind, work.namespace, pending):
            for uid in self._wave_waiters:
                self.mark(uid)
            self._wave_waiters.clear()

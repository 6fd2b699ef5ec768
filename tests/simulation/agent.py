"""One agent process: the product's reconciler, applier, eyes and exchange, without their event loop.

What the product starts as tasks is driven here by the world: decisions fall due, steps are coroutines
that wait for the member, a reply is taken in by the product's own exchange.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from types import SimpleNamespace
from typing import Any

from agent.decide.decision import Decision, Do, Trouble
from agent.decide.member_policy import MemberPolicy
from agent.decide.waves import Waves
from agent.hub.client import HubError
from agent.hub.sync import AcceptedError, Exchange, _Sent
from agent.member.applier import Applier
from agent.reconcile.copies import Copies
from agent.reconcile.jobs_read import JobsRead
from agent.reconcile.moments import Moments
from agent.reconcile.reconciler import Reconciler
from agent.reconcile.resync import Resync
from agent.reconcile.steps import Steps
from agent.reconcile.waiting import mark_waiting
from agent.works.lease import Lease
from agent.works.marks import Marks
from agent.works.observed_set import ObservedSet
from agent.works.tracked import TrackedWork
from agent.works.withdrawn import WithdrawnObjects
from shared.wire.agent_v1 import LEASE_S, Capacity, Work
from tests.simulation import rights
from tests.simulation.agent_io import CLIENT, HUB_ID, QUIET, OwnClock, SimulatedObserver
from tests.simulation.consents import POOLS, QUIET_KINDS, SpaceWatch
from tests.simulation.model_readings import ModelReadings
from tests.simulation.network import Network
from tests.simulation.queues import QUEUE
from tests.simulation.requests import Base, Request, Saying
from tests.simulation.spaces import NAMESPACE
from tests.simulation.world import Call, Violation, World


def _nothing() -> None:
    return None


class Undrifting(TrackedWork):
    """Drift of fields is not modelled."""

    __slots__ = ()

    def compare(self, clock: Any) -> None:
        return None


class OpenGate(MemberPolicy):
    """What a member refuses on its own authority is not modelled."""

    def refuse(self, work: Work, step: Do) -> Trouble | None:
        return None


OPEN = OpenGate()


class Driven(Reconciler):
    """The product's reconciler; its queues are the world's."""

    def __init__(self, agent: "Agent") -> None:
        self.tracked_works = {}
        self.observed = ObservedSet()
        self.agent = agent
        self.observer = self.eyes = SimulatedObserver(agent, self)
        self._applier = Applier(CLIENT, HUB_ID, agent.clock)
        self._hub_id = HUB_ID
        self._lease = agent.lease
        self._news = agent.news
        self._clock = agent.clock
        self._resync = Resync(self.tracked_works, self.observer, self._applier, agent.clock, self)
        self._copies = Copies(HUB_ID, self.observer, self._applier, agent.lease, agent.clock)
        self._waves, self._withdrawn = Waves(), WithdrawnObjects()
        self._wave_waiters = set()
        self._lease_waiters = set()
        self._work_queue = self  # type: ignore[assignment]  # see `mark`
        self._timers = self  # type: ignore[assignment]  # see `mark`
        self._steps = self  # type: ignore[assignment]  # see `mark`
        removals: Any = SimpleNamespace(put=self._release_soon, give_way=lambda: None)
        self._removals = removals
        self.marks = Marks()
        self.watch = self.space = SpaceWatch(agent)
        self.watch.follow(partial(mark_waiting, self.tracked_works, self.mark))
        self.carrier = Steps(
            self._applier,
            agent.lease,
            agent.clock,
            QUIET,
            self.marks,
            OPEN,
            self.watch,
            rights.of_agent(agent, self.watch.named),
        )
        self.jobs_read = JobsRead(
            CLIENT,
            HUB_ID,
            agent.lease,
            self.observed.entries,
            lambda: list(agent.member.kinds),
            agent.clock,
            agent.news,
        )
        self._moments = Moments(
            HUB_ID, self.observer, agent.lease, self._waves, self.watch, agent.clock
        )
        self.kinds = ModelReadings(agent)  # type: ignore[assignment]  # in the world's time
        self._marked: set[str] = set()
        self._to_release: set[str] = set()
        self._rings: set[tuple[float, str]] = set()

    def _tracked(self, uid: str) -> TrackedWork:
        found = self.tracked_works.get(uid)
        if found is None:
            found = self.tracked_works[uid] = Undrifting(uid)
        return found

    # Stands for `Due`, `Timers`, the queue of steps, and `Releases`.
    def mark(self, uid: str) -> None:
        self._decide_in(0.01, uid)

    def mark_soon(self, uid: str) -> None:
        self._decide_in(0.05, uid)

    def _decide_in(self, seconds: float, uid: str) -> None:
        # The coroutines of a dead agent are collected whenever that happens to be, and mark then.
        if uid not in self._marked and not self.agent.dead:
            self._marked.add(uid)
            self.agent.world.after(seconds, self._decide_now, uid)

    def _decide_now(self, uid: str) -> None:
        self._marked.discard(uid)
        if not self.agent.dead:
            self._decide(uid)

    def set(self, instant: float, uid: str) -> None:
        if (instant, uid) not in self._rings:
            self._rings.add((instant, uid))
            at = max(self.agent.world.now, self.agent.clock.instant(instant)) + 0.001
            self.agent.world.at(at, self._ring, instant, uid)

    def _ring(self, instant: float, uid: str) -> None:
        self._rings.discard((instant, uid))
        self.mark(uid)

    def put_nowait(self, step: tuple[TrackedWork, Decision]) -> None:
        self.agent.drive(self._take(*step))

    def _release_soon(self, uid: str) -> None:
        if uid not in self._to_release:
            self._to_release.add(uid)
            self.agent.world.after(0.5 + self.agent.world.random.random(), self._release_now, uid)

    def _release_now(self, uid: str) -> None:
        self._to_release.discard(uid)
        if not self.agent.dead:
            self.agent.drive(self._release(uid))

    def look_over(self) -> None:
        """What the audit does now and then."""
        now = self._clock.monotonic()
        for tracked in list(self.tracked_works.values()):
            if self._resync._is_unseen(tracked, now):
                self.look_again(tracked)


class Talk(Exchange):
    """The product's exchange; when it sends and when an answer comes is the world's."""

    def compose(self) -> _Sent:
        """The next request."""
        now = self._started_at = self._clock.monotonic()
        observed = self._reconciler.observed
        if self._full:
            observed.resend()
        entries = observed.page(self._page_size)
        self._seq += 1
        held = self.desired
        base = Base(held._revision, held._digest.hex())
        said = Saying(self._full, observed.digest, list(entries))
        request: Any = Request(
            self._session, self._seq, self._cluster_uid, self.incarnation,
            self._reconciler.marks.tell(everything=self._full), base, said,
            **self._reconciler.jobs_read.told(),
        )  # fmt: skip
        mark = self._consent_news()
        if self.reports_consent:
            request.namespaces_held = self._reconciler.watch.holds["namespaces_held"]
        request.follows = self._follows
        if mark is not None:
            request.capacity = Capacity(
                pools_revision=0, pools=POOLS, bound=[], queue_managers=self._queues()
            )
            request.capacity.jobs_forbidden_in = self._forbidden()
            self._stored.fill(request.capacity, QUIET_KINDS, self._reconciler.watch)
        return _Sent(request, now, entries, mark)

    def _queues(self) -> list[str]:
        driven: Any = self._reconciler
        managed = driven.agent.network.queue_manager is not None
        return [f"{NAMESPACE}/{QUEUE}"] if managed else []

    def _forbidden(self) -> list[str] | None:
        rights = self._reconciler.carrier._rights
        if rights is None:
            return []
        return rights.told() if rights.is_asked else rights.told() or []

    @property
    def reports_consent(self) -> bool:
        """Whether this seed has consent; else the agent is as one of a release before it."""
        driven: Any = self._reconciler
        return bool(driven.agent.network.space.is_watched)

    def _consent_news(self) -> tuple[int, int, int] | None:
        """What marks a report of capacity, where the hub has not stored this one."""
        rights = self._reconciler.carrier._rights
        mark = (self._reconciler.watch.revision, rights.revision if rights is not None else 0, 0)
        settled = rights is None or rights.is_settled
        is_news = self.reports_consent and settled and mark != self._capacity_sent
        return mark if is_news else None

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to say or to ask for."""
        news = self._consent_news() is not None
        return not (self._reconciler.observed.unsent or self._full or self._more or news)


class Agent:
    """A session. It acts until it is killed, or learns that another has taken over."""

    def __init__(self, world: World, network: Network, session: str, rate: float) -> None:
        self.world, self.network, self.session = world, network, session
        self.member = network.member
        self.clock = OwnClock(world, rate)
        self.lease = Lease(LEASE_S)
        self.dead = False
        self.ended: Callable[[], None] = _nothing  # told when it has given way to another
        self.cut_until = 0.0  # it alone does not reach the hub
        self.slow_until = 0.0  # its requests to the member are carried out some time before then
        self.calls_left = -1  # it dies with this many calls to come; -1: it does not
        self.dies_when = ""
        self.reconciler = Driven(self)
        self.eyes = self.reconciler.eyes
        self.talk = Talk(
            None,
            "",
            session,
            f"uid-{network.name}",
            self.reconciler,
            self.lease,
            lease_s=LEASE_S,
            clock=self.clock,
            health=QUIET,
            declared=QUIET,
            meters=QUIET,
            adopt=QUIET,
        )
        self.waiting = False  # for the answer to a request that says something
        self.due_at = float("inf")
        self.failures = 0
        self.member.watchers.append(self._hear)
        self._send_in(0.05)
        world.after(10.0, self._audit)
        asked = self.reconciler.carrier._rights
        if asked is not None:
            world.after(0.0, self.drive, asked.run())

    def die(self) -> None:
        if not self.dead:
            self.dead = True
            self.member.watchers.remove(self._hear)

    def _hear(self, kind: str) -> None:
        if self.eyes.positions[kind] >= 0:
            self.eyes.hear(kind)

    def _audit(self) -> None:
        if not self.dead:
            self.reconciler.look_over()
            self.drive(self.reconciler.jobs_read.look())
            self.world.after(10.0, self._audit)

    # --- coroutines ------------------------------------------------------------------------------

    def drive(self, coroutine: Coroutine[Call, Any, Any], answer: Any = None) -> None:
        """Go on with a coroutine up to its next call; `answer` to the last one, or its failure."""
        if self.dead:
            coroutine.close()
            return
        try:
            failed = isinstance(answer, BaseException)
            call = coroutine.throw(answer) if failed else coroutine.send(answer)
        except StopIteration:
            return
        if call.verb == "sleep":
            self.world.after(call.args[0], self.drive, coroutine)
            return
        if self.calls_left == 0 and self.dies_when == "before":
            self._killed(call)
            return
        self.reconciler.space.check(call)
        self.network.send(self, call, coroutine)
        if self.calls_left == 0 and self.dies_when == "sent":
            self._killed(call)
        elif self.calls_left > 0:
            self.calls_left -= 1

    def answered(self, call: Call, coroutine: Coroutine[Call, Any, Any], answer: Any) -> None:
        """The member answered, or the time for it is over."""
        if self.calls_left == 0 and self.dies_when == "answered" and not self.dead:
            self._killed(call)
        self.drive(coroutine, answer)

    def _killed(self, call: Call) -> None:
        self.world.note(f"{self.session} dies ({self.dies_when} {call.verb})")
        self.die()

    # --- the exchange ----------------------------------------------------------------------------

    def news(self) -> None:
        self._send_in(0.2 if self.talk._more else 0.3)

    def _send_in(self, seconds: float) -> None:
        at = self.world.now + seconds
        if at < self.due_at and not self.waiting:
            self.due_at = at
            self.world.at(at, self._send, at)

    def _send(self, at: float) -> None:
        if self.dead or at != self.due_at:
            return
        self.due_at = float("inf")
        quiet = self.talk.is_quiet
        self.waiting = not quiet
        sent = self.talk.compose()
        self.network.sync(self, sent, parked=quiet)

    def replied(self, sent: _Sent, answer: Any) -> None:
        """A reply or a failure to a request; taken in by the product's exchange if it is the newest."""
        if self.dead:
            return
        newest = sent.request.seq == self.talk._seq
        if newest:
            self.waiting = False
        if isinstance(answer, HubError):
            if answer.status == 409 and answer.code == "SessionSuperseded":
                self.lease.revoked = True
                self.world.note(f"{self.session} is told that another has taken over")
                self.die()
                self.world.after(10.0, self.ended)
            elif newest:
                self.failures += 1
                self._send_in(min(10.0, 0.2 * 2**self.failures))
            return
        self.failures = 0
        self.member.convert(answer)
        held = None if newest else self.talk.desired.base
        sent.task = _Given(answer)  # type: ignore[assignment]
        try:
            self.talk._finish(sent).send(None)
        except StopIteration:
            pass
        except AcceptedError:
            self.world.note(f"{self.session} hears that the hub's store was restored: begins anew")
            self.die()
            self.world.after(0.0, self.ended)
            return
        if held is not None and self.talk.desired.base != held:
            raise Violation("R-06", f"{self.session} takes the reply to an older request")
        if newest:
            self._send_in(0.0 if not self.talk.is_quiet else 0.3)


class _Given:
    """An answer that is there."""

    __slots__ = ("answer",)

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __await__(self) -> Any:
        return self.answer
        yield

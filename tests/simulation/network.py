"""What lies between an agent, its member and the hub: requests come late, twice, or never."""

from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agent.hub.client import HubError
from shared.errors import Rejected
from shared.kube import errors
from tests.simulation.member import Member
from tests.simulation.queues import QueueManager
from tests.simulation.rights import Granted
from tests.simulation.spaces import Space, is_start
from tests.simulation.world import Call, World

if TYPE_CHECKING:
    from tests.simulation.agent import Agent
    from tests.simulation.hub import SimHub

_TROUBLES = ("lost", "cut", "cut after", "late", "doubled", "slow", "paced")
UNREACHABLE = HubError(0, "", "no answer", None)


class Network:
    """All that one cluster's agents say goes through here."""

    def __init__(self, world: World, hub: "SimHub", member: Member) -> None:
        self.world, self.hub, self.member = world, hub, member
        self.name = member.name
        self.hangs_until = 0.0  # the API server answers nobody
        self.cut_until = 0.0  # no way to the hub
        self.replies_lost_until = 0.0
        self.next_reply_late = False
        self.doubled_until = 0.0  # each request arrives twice
        self.refused_until = 0.0  # a webhook admits no Job
        self.destroyed = False  # there is no such cluster any more
        self.under_way = 0  # requests that the API server may still carry out
        self.deaf = {"Job": 0.0, "Pod": 0.0}  # watches bring nothing until then
        self.trouble = 0.0  # share of requests that go wrong
        self.bounded = True  # waits for 429 and pacing count within a request's time
        self.space = Space()
        self.granted = Granted()
        self.queue_manager: QueueManager | None = None
        self.parked: dict[tuple[str, int], Any] = {}  # by session and number: what waits for news

    # --- to the member ---------------------------------------------------------------------------

    def send(self, agent: "Agent", call: Call, coroutine: Coroutine[Call, Any, Any]) -> None:
        """Carry a call to the API server, and what it says back."""
        world, draw = self.world, self.world.random
        world.happens(call.verb, self.name)
        timeout = call.args[0] / agent.clock.rate
        state = {"open": True}
        fate = draw.random()
        # An agent's own way to the API server may be slow.
        late = 0.005 + draw.random() * max(0.02, agent.slow_until - world.now)
        answer_late = 0.005 + draw.random() * 0.02
        doubled = self.doubled_until > world.now
        if fate < self.trouble or doubled:
            kind = "doubled" if doubled else draw.choice(_TROUBLES)
            world.note(f"{self.name}: {call.verb} of {agent.session} goes wrong: {kind}")
            if kind in {"lost", "cut"}:
                wait = timeout if kind == "lost" else late
                world.after(wait, self._silence, agent, call, coroutine, state)
                return
            if kind == "late":
                late += draw.random() * 120.0
            elif kind == "slow":
                late += draw.random() * 14.0
            elif kind == "cut after":
                world.after(late + 0.001, self._silence, agent, call, coroutine, state)
            elif kind == "doubled":
                self._carry_out_in(late + draw.random() * 60.0, agent, call, None, state, 0.0)
            elif not self.bounded:  # it is sent late, and its time counts from then
                pause = draw.random() * 60.0
                world.after(pause, self._sent_late, agent, call, coroutine, timeout)
                return
            elif call.verb in {"create", "patch"}:
                pause = draw.random() * 20.0
                if pause >= timeout:
                    world.after(late, self._silence, agent, call, coroutine, state)
                    return
                late += pause
        world.after(timeout, self._silence, agent, call, coroutine, state)
        self._carry_out_in(late, agent, call, coroutine, state, answer_late)

    def _carry_out_in(self, seconds: float, *request: Any) -> None:
        self.under_way += 1
        self.world.after(seconds, self._carry_out, *request)

    def _sent_late(self, agent: "Agent", call: Call, coroutine: Any, timeout: float) -> None:
        if agent.dead:
            return
        state = {"open": True}
        self.world.after(timeout, self._silence, agent, call, coroutine, state)
        self._carry_out_in(0.01, agent, call, coroutine, state, 0.01)

    def _silence(self, agent: "Agent", call: Call, coroutine: Any, state: dict[str, bool]) -> None:
        if state["open"]:
            state["open"] = False
            if not agent.dead:
                agent.answered(call, coroutine, errors.Unavailable(0, "Timeout", "no answer"))

    def _carry_out(
        self, agent: "Agent", call: Call, coroutine: Any, state: dict[str, bool], back: float
    ) -> None:
        """The API server does it, now or when it answers again: whether anybody still waits or not."""
        world = self.world
        if self.destroyed:
            self.under_way -= 1
            return
        if self.hangs_until > world.now:
            at = self.hangs_until + world.random.random()
            world.at(at, self._carry_out, agent, call, coroutine, state, back)
            return
        self.under_way -= 1
        answer: Any
        try:
            answer = self._does(call)
        except errors.KubeError as refusal:
            answer = refusal
        if coroutine is not None:
            world.after(back, self._answer, agent, call, coroutine, state, answer)

    def _answer(
        self, agent: "Agent", call: Call, coroutine: Any, state: dict[str, bool], answer: Any
    ) -> None:
        if state["open"]:
            state["open"] = False
            if not agent.dead:
                agent.answered(call, coroutine, answer)

    def _does(self, call: Call) -> Any:
        member, args = self.member, call.args[1:]
        self.granted.admit(call.verb, self.world.now)
        match call.verb:
            case "create":
                if self.refused_until > self.world.now:
                    raise errors.Invalid(400, "BadRequest", "a webhook does not answer")
                self.space.admit()
                return member.create(*args)
            case "patch":
                if is_start(args[1]):
                    if self.refused_until > self.world.now:
                        raise errors.Forbidden(403, "Forbidden", "a webhook denies the start")
                    self.space.admit()
                return member.merge_patch(*args)
            case "delete":
                return member.delete(*args)
            case "review":
                return self.granted.review(self.world.now)
            case "get":
                return member.get(*args)
            case "jobs":
                return list(member.jobs.values())  # past the caches, and of every label
        return member.pods_of(*args)

    # --- to the hub ------------------------------------------------------------------------------

    def sync(self, agent: "Agent", sent: Any, *, parked: bool) -> None:
        """Carry a request to the hub. One that says nothing may wait there for news."""
        world, draw = self.world, self.world.random
        cut = max(self.cut_until, agent.cut_until) > world.now
        if cut or draw.random() < self.trouble / 2:
            world.after(0.5 + draw.random() * 5.0, agent.replied, sent, UNREACHABLE)
            return
        late = 0.005 + draw.random() * 0.02
        if draw.random() < self.trouble / 2:
            late += draw.random() * 20.0
        if draw.random() < self.trouble / 2:
            world.after(late + draw.random() * 60.0, self._again, sent)
        if parked:
            world.after(late, self._park, agent, sent)
        else:
            world.after(late, self._arrives, agent, sent)

    def _again(self, sent: Any) -> None:
        """A copy of a request, long after it was answered."""
        if self.hub.up:
            with suppress(Rejected):
                self._ask(sent)

    def _ask(self, sent: Any) -> Any:
        """What the hub says to a request. Raises Rejected."""
        answer = self.hub.answer(self.name, sent.request)
        if answer is not None:
            self.hub.checks.said(sent.request.observed.entries)
        if answer is not None and answer.orders:
            self.hub.checks.ordered(answer.orders, self.member.jobs.values())
            self.world.happens("ordered", self.name)
        return answer

    def _park(self, agent: "Agent", sent: Any) -> None:
        if not self.hub.up or self.hub.has_news(self.name, sent.request):
            self._arrives(agent, sent)
            return
        self.parked[agent.session, sent.request.seq] = (agent, sent)
        self.world.after(20.0 * (0.9 + self.world.random.random() * 0.1), self.unpark, sent)

    def unpark(self, only: Any = None) -> None:
        """There is news for this cluster, or the time of a waiting request is over."""
        for at, (agent, sent) in list(self.parked.items()):
            wanted = only is None or sent is only
            # One that arrives may be news for the others, which then arrive within it.
            if wanted and self.parked.pop(at, None) is not None:
                self._arrives(agent, sent, in_vain=only is not None)

    def _arrives(self, agent: "Agent", sent: Any, *, in_vain: bool = False) -> None:
        world, draw = self.world, self.world.random
        if not self.hub.up or max(self.cut_until, agent.cut_until) > world.now:
            world.after(1.0, agent.replied, sent, UNREACHABLE)
            return
        answer: Any
        try:
            answer = self.hub.held_out(self.name, sent.request) if in_vain else None
            answer = answer or self._ask(sent)
        except Rejected as refusal:
            answer = HubError(409, refusal.code, refusal.detail, None)
        if (
            answer is None
            or self.replies_lost_until > world.now
            or draw.random() < self.trouble / 2
        ):
            answer = UNREACHABLE
        back = 0.005 + draw.random() * 0.02
        if draw.random() < self.trouble / 2 or self.next_reply_late:
            self.next_reply_late = False
            back += draw.random() * 30.0
        world.after(back, agent.replied, sent, answer)

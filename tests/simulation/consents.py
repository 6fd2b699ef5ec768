"""Consent of a member's namespace: people give it and withdraw it, agents watch it and report it.

Modelled on levels of the whole hub, in the seeds that draw it. In the others agents report no consent, as
those of a release before it.
"""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from agent.decide.member_policy import MemberPolicy
from agent.member.acceptance import Acceptance
from agent.member.namespace_watch import NamespaceWatch
from shared.consent import NOT_ACCEPTED
from shared.kube.watch import WatchEvent
from shared.wire.agent_v1 import Pool
from tests.services.hubs import a_pool
from tests.simulation.agent_io import CLIENT, HUB_ID
from tests.simulation.spaces import NAMESPACE, is_start
from tests.simulation.world import Call, Violation

if TYPE_CHECKING:
    from tests.simulation.agent import Agent
    from tests.simulation.scenario import Run

POOLS: Final = [Pool.model_validate(a_pool(2, cpu="8"))]  # what each member has
QUIET_KINDS: Any = SimpleNamespace(kinds=None)  # kinds that are served are not modelled


class SpaceWatch(NamespaceWatch):
    """The product's watch of namespaces. What happens to the namespace comes here after a while."""

    def __init__(self, agent: "Agent") -> None:
        acceptance = Acceptance(HUB_ID, MemberPolicy())
        super().__init__(CLIENT, acceptance, agent.clock, agent.news)
        self._agent = agent
        self._simulated = agent.network.space
        self._informer._replace([self._simulated.read()])
        self._informer.synced.set()
        self._simulated.watchers.append(self.hear)

    def hear(self) -> None:
        world = self._agent.world
        lag = world.random.random() * self._agent.member.lag_s
        world.after(lag, self._take_in)

    def _take_in(self) -> None:
        network, world = self._agent.network, self._agent.world
        if network.hangs_until > world.now:
            world.at(network.hangs_until, self._take_in)
        elif not self._agent.dead:
            self._informer._take(WatchEvent("MODIFIED", self._simulated.read()))

    def check(self, call: Call) -> None:
        """R-22: no agent creates or starts a Job in a namespace that it sees withdrawn."""
        starts = call.verb == "patch" and is_start(call.args[2])
        if (starts or call.verb == "create") and self._cached(NAMESPACE) == NOT_ACCEPTED:
            text = f"{self._agent.session} sends {call.verb} into a namespace without consent"
            raise Violation("R-22", text)


def withdraw(run: "Run", where: str, seconds: float) -> None:
    """People of a member withdraw their consent, and give it again some time later."""
    space = run.hub.networks[where].space
    run.world.note(f"{where}: the namespace no longer accepts the hub")
    space.set(accepts=False)
    run.world.after(seconds, grant, run, where)


def grant(run: "Run", where: str) -> None:
    space = run.hub.networks[where].space
    if not space.accepts:
        run.world.note(f"{where}: the namespace accepts the hub")
        run.world.happens("granted", where)
        space.set(accepts=True)

"""Rights that a member takes away from its agent and gives back: to create, or to patch.

Its API server answers 403 meanwhile. On level `services` agents ask what they may, by the product's own
reviews, and report it; on the other levels they know of no rights, like those of earlier releases, and try
again.
"""

from typing import TYPE_CHECKING, Any, Final

from agent.member.rights import Rights
from shared.kube import errors
from tests.simulation.agent_io import CLIENT

if TYPE_CHECKING:
    from tests.simulation.agent import Agent
    from tests.simulation.faults import Fault
    from tests.simulation.scenario import Run

VERBS: Final = {"create denied": "create", "patch denied": "patch"}


class Granted:
    """What the account of a cluster's agents may do."""

    def __init__(self) -> None:
        self.is_asked = False  # agents ask and report
        self._denied_until: dict[str, float] = {}

    def deny(self, verb: str, until: float) -> None:
        self._denied_until[verb] = until

    def allow_all(self) -> None:
        self._denied_until.clear()

    def allows(self, verb: str, now: float) -> bool:
        return self._denied_until.get(verb, 0.0) <= now

    def admit(self, verb: str, now: float) -> None:
        """Raises Forbidden, as RBAC words it."""
        if not self.allows(verb, now):
            text = f'jobs.batch is forbidden: User "agent" cannot {verb} resource "jobs"'
            raise errors.Forbidden(403, "Forbidden", text)

    def review(self, now: float) -> dict[str, Any]:
        """The answer to a SelfSubjectAccessReview about creates."""
        return {"status": {"allowed": self.allows("create", now)}}


def of_agent(agent: "Agent", named: Any) -> Rights | None:
    """The product's rights of an agent; None on levels and in seeds in which it does not ask."""
    if not agent.network.granted.is_asked:
        return None
    return Rights(CLIENT, agent.clock, agent.news, named)


def befall(run: "Run", fault: "Fault", until: float) -> None:
    """A right is taken away until then."""
    run.hub.networks[fault.where].granted.deny(VERBS[fault.kind], until)

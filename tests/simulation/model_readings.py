"""Whether a JobSet of the model has ended, as its definition says."""

from typing import TYPE_CHECKING, Any

from agent.objects.readings import read
from agent.works.tracked import TrackedWork
from shared.workkinds.catalog import read_definitions
from shared.workkinds.jq_language import JqLanguage

if TYPE_CHECKING:
    from tests.simulation.agent import Agent


def _definition() -> Any:
    """JobSets of the model: their conditions have the names of a Job's, which the checks read."""
    states = {
        state: [{"byConditions": [{"type": kind, "status": "True"}]}]
        for state, kind in (("completed", "Complete"), ("failed", "Failed"))
    }
    root = {
        "name": "jobset",
        "kind": {"group": "jobset.x-k8s.io", "version": "v1alpha2", "kind": "JobSet"},
        "statusDefinition": {"statusMappings": states},
    }
    karta = {
        "apiVersion": "run.ai/v1alpha1",
        "kind": "Karta",
        "metadata": {"name": "jobset"},
        "spec": {"structureDefinition": {"rootComponent": root}},
    }
    return read_definitions([karta], "model")[0]


_DEFINITION = _definition()


class ModelReadings:
    """`KindReadings`, which reads a moment later and in one thread."""

    revision = 0

    def __init__(self, agent: "Agent") -> None:
        self._agent, self._due = agent, set[str]()
        self._language = JqLanguage()

    def declare(self, told: None) -> None:
        """The definition is known."""

    def look(self, tracked: TrackedWork) -> None:
        if tracked.seen.is_unread() and tracked.uid not in self._due:
            self._due.add(tracked.uid)
            self._agent.world.after(self._agent.world.random.random(), self._read, tracked)

    def _read(self, tracked: TrackedWork) -> None:
        self._due.discard(tracked.uid)
        live, seen = tracked.seen.live, tracked.seen
        if self._agent.dead or live is None:
            return
        given = _DEFINITION, live, self._language, seen.reading, self._agent.clock.now()
        seen.reading = read(*given)
        self._agent.reconciler.mark(tracked.uid)

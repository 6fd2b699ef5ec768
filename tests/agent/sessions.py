"""The parts that a session gives its `JobsRead`, and what its report holds."""

from agent.member.observer import KindKey
from agent.objects.holds import JOB
from agent.reconcile.jobs_read import JobsRead
from agent.works.lease import Lease
from shared import labels
from shared.clock import ManualClock
from shared.wire.agent_v1 import LEASE_MARGIN, LEASE_S, Observed, Phase
from tests.agent.scripted_hub import HUB_ID

SETTLED_S = LEASE_S * LEASE_MARGIN + 1


def a_job(uid: str = "u-1") -> dict[str, object]:
    """A Job of the hub, as the member holds it."""
    marks = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: uid, labels.EPOCH: "1"}
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": uid, "namespace": "team", "labels": marks},
        "spec": {"suspend": True, "template": {"spec": pod}},
    }


def an_entry(phase: Phase) -> Observed:
    """An entry of the report, about job u-1."""
    return Observed(uid="u-1", epoch=1, generation=1, seq=1, phase=phase)


class Session:
    """The parts that a session gives its `JobsRead`; `reported` is what its report holds."""

    def __init__(
        self,
        client,
        *,
        answered: bool = True,
        kinds: tuple[KindKey, ...] = (JOB,),
        places: bool = False,
    ) -> None:
        self.kinds: list[KindKey] | None = list(kinds)
        self.clock, self.lease, self.news = ManualClock(), Lease(LEASE_S), 0
        self.reported: dict[str, Observed] = {}
        if answered:
            self.lease.answered(self.clock.monotonic(), self.clock.monotonic())
        given = self.lease, self.reported, lambda: self.kinds, self.clock, self._note
        self.read = JobsRead(client, HUB_ID, *given, places=places)

    def _note(self) -> None:
        self.news += 1


JOB_SET: KindKey = ("jobset.x-k8s.io/v1alpha2", "JobSet")

"""A session says that it has read all its Jobs only once a list past the caches proves it."""

import pytest

from agent.objects.holds import JOB
from agent.reconcile.jobs_read import JobsRead
from agent.works.lease import Lease
from shared import labels
from shared.clock import ManualClock
from shared.wire.agent_v1 import LEASE_MARGIN, LEASE_S, Observed, Phase
from tests.agent.scripted_hub import HUB_ID

pytestmark = pytest.mark.anyio
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

    def __init__(self, client, *, answered: bool = True) -> None:
        self.clock, self.lease, self.news = ManualClock(), Lease(LEASE_S), 0
        self.reported: dict[str, Observed] = {}
        if answered:
            self.lease.answered(self.clock.monotonic(), self.clock.monotonic())
        self.read = JobsRead(
            client, HUB_ID, self.lease, self.reported, lambda: [JOB], self.clock, self._note
        )

    def _note(self) -> None:
        self.news += 1


async def test_nothing_is_read_while_an_earlier_session_may_start_jobs(member):
    """A list that began before then may miss a Job that such a session starts."""
    session = Session(member.kube)
    await session.read.look()
    assert not session.read.done
    session.clock.advance(SETTLED_S)
    await session.read.look()
    assert session.read.done
    assert session.news == 1


async def test_a_job_that_the_report_lacks_keeps_the_session_from_saying_so(member):
    """The cache is behind the list: the session waits until the Job is reported."""
    await member.kube.create(a_job(), field_manager="test")
    session = Session(member.kube)
    session.clock.advance(SETTLED_S)
    await session.read.look()
    assert not session.read.done
    session.reported["u-1"] = an_entry("Gone")
    await session.read.look()
    assert not session.read.done, "an end of another epoch is no report of this Job"
    session.reported["u-1"] = an_entry("Applied")
    await session.read.look()
    assert session.read.done


async def test_an_api_server_that_does_not_answer_proves_nothing(member):
    """A refused list is retried; the session says nothing meanwhile."""
    session = Session(member.kube)
    session.clock.advance(SETTLED_S)
    member.cluster.faults.add("503", verb="list", resource="jobs", count=0)
    await session.read.look()
    assert not session.read.done

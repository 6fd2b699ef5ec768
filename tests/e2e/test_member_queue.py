"""A simulated member whose queue manager starts what it is given: the stories that are told of Kueue itself.

tests/realkube/test_kueue.py tells them of a real control plane.
"""

from collections.abc import Iterator

import pytest

from tests.e2e import member_queue, withdrawn_consent
from tests.e2e.member_queue import MEMBER, Kubectl, Scene, Watching
from tests.e2e.running import RunningFleet, a_pool, running_fleet

pytestmark = [
    pytest.mark.slow,
    pytest.mark.kubectl,
    pytest.mark.timeout(240),
]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A fleet of one member with a queue manager, the guide's queues placed there."""
    members = [{"name": MEMBER, "queueManager": True, "pools": [a_pool(3)]}]
    folder = tmp_path_factory.mktemp("queue")
    with running_fleet(folder, members, packed=True) as fleet, fleet.client() as hub:
        watching = Watching(fleet.kubeconfig(MEMBER))
        with watching:
            made = Scene(hub, _typed(fleet, "hub"), _typed(fleet, MEMBER), watching)
            member_queue.queues_are_placed(made)
            yield made


def _typed(fleet: RunningFleet, cluster: str) -> Kubectl:
    def kubectl(*arguments: str, stdin: str | None = None) -> str:
        done = fleet.kubectl(*arguments, cluster=cluster, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    return kubectl


def test_jobs_are_started_by_the_members_queue(scene):
    """Under each applyStrategy: admitted and started there, no drift, not suspended again, run once."""
    member_queue.jobs_are_admitted_there(scene)


def test_a_comparison_starts_nothing(scene):
    """ReportDiff is refused for a Job: the member's queue never sees it."""
    member_queue.a_comparison_starts_nothing(scene)


def test_what_its_queue_evicts_waits_there(scene):
    """HoldAndDrain of the member's queue: WaitsInMemberQueue, no second run, and it goes on afterwards."""
    member_queue.an_eviction_is_waited_for(scene)


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_a_stopped_queue_is_respected(scene, policy):
    """The Job is applied suspended with the queue's label, and only the member's queue manager starts it."""
    member_queue.a_stopped_queue_is_respected(scene, policy)


def test_what_waits_there_is_taken_back_without_consent(scene):
    """Its namespace withdraws consent: the Job goes, never ran, and runs once consent is back."""
    withdrawn_consent.a_waiting_job_is_taken_back(scene)

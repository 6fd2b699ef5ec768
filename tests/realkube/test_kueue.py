"""Kueue itself in a member: a real control plane, on which Kueue as it is released starts what it is given.

The queues come from the hub as the guide places them; the Jobs that go to them are given suspended, Kueue
admits them, writes node selectors into them and starts them. Whatever the placement says of applying, that
is no drift, nothing suspends them again, and each runs once (docs/explain/exactly-once.md).
"""

from collections.abc import Iterator

import pytest

from tests.e2e import member_queue, withdrawn_consent
from tests.e2e.member_queue import MEMBER, NODE_LABELS, Scene, Watching
from tests.e2e.running import REPOSITORY, until
from tests.realkube import plane
from tests.realkube.kueue.process import running_kueue
from tests.realkube.processes import (
    hub_and_agents,
    kubeconfig_by_script,
    protect,
    token_of_hub,
)

pytestmark = [
    pytest.mark.realkube,
    pytest.mark.timeout(400),
    pytest.mark.kube_from("1.36", "Kueue is built for the newest one alone"),
]
POOL = {
    "name": "p",
    "count": 3,
    "labels": NODE_LABELS,
    "allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"},
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One hub cluster and one member with Kueue, the guide's queues placed there."""
    folder = tmp_path_factory.mktemp("kueue")
    fleet = plane.start_fleet([{"name": MEMBER, "pools": [POOL]}], folder / "fleet")
    try:
        member = fleet.members[MEMBER]
        with running_kueue(member, folder / "kueue"):
            member.kubectl("apply", "-f", str(REPOSITORY / "deploy" / "member"))
            protect(fleet.hub)
            until(lambda: token_of_hub(fleet.hub), 30, "its token is made")
            of_hub = kubeconfig_by_script(fleet.hub, folder / "hub.kubeconfig")
            watching = Watching(member.kubeconfig_for("watches", cluster_role="view"))
            with hub_and_agents(fleet, folder, hub_kubeconfig=of_hub) as hub, watching:
                served = "resourceplacements.v1.placement.kubernetes-fleet.io"
                until(lambda: fleet.hub.find(served), 60, "the kinds of placements are served")
                made = Scene(hub, fleet.hub.kubectl, member.kubectl, watching)
                member_queue.queues_are_placed(made)
                yield made
    finally:
        fleet.stop()


def test_kueue_starts_what_it_is_given(scene):
    """Under each applyStrategy: admitted and started by Kueue, no drift, not suspended again, run once."""
    member_queue.jobs_are_admitted_there(scene)
    workloads = scene.there("workloads", "-n", member_queue.NAMESPACE)["items"]
    assert len(workloads) == len(member_queue.STRATEGIES), "one of each Job"
    assert all(member_queue.condition(each, "Finished") for each in workloads)


def test_a_comparison_starts_nothing(scene):
    """ReportDiff is refused for a Job: Kueue never sees it."""
    member_queue.a_comparison_starts_nothing(scene)


def test_what_kueue_evicts_waits_there(scene):
    """HoldAndDrain of the member's queue: WaitsInMemberQueue, no second run, and it goes on afterwards."""
    member_queue.an_eviction_is_waited_for(scene)


def test_what_waits_there_is_taken_back_without_consent(scene):
    """Its namespace withdraws consent: the Job goes, never ran, and runs once consent is back."""
    withdrawn_consent.a_waiting_job_is_taken_back(scene)

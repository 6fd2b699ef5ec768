"""An earlier agent with a lease left, and a later one that says Gone."""

import pytest

from agent.decide.decision import Seen
from tests import waiting
from tests.agent.conftest import Member
from tests.agent.moments import a_live_job, settled
from tests.agent.scripted_hub import a_job, eventually

pytestmark = pytest.mark.anyio


async def test_nothing_starts_after_gone_was_said(member, tmp_path):
    """The object was deleted and ended; what an earlier session's POST makes then is not started."""
    pods = []

    def note(event):
        if event.resource_key == "pods" and event.type == "ADDED":
            pods.append(event.object["metadata"]["name"])

    member.cluster.store.subscribe(note)
    late = member.cluster.faults.add("hold", verb="create", resource="jobs")
    member.hub.put(a_job(fresh=True, run_seconds="600"))
    member.start(lease_s=8.0)  # the earlier agent: told of the job, then cut off from the hub
    await eventually(lambda: late.hits)
    member.hub.down = True
    folder = tmp_path / "later"
    folder.mkdir()
    (folder / "kubeconfig").write_text(member.cluster.kubeconfig_text())
    other = Member(folder, member.cluster, member.kube)
    try:
        other.hub.put(a_job(run_seconds="600"))
        other.start(lease_s=8.0)
        await other.hub.job_says("u-1", "running_since")
        other.hub.put(a_job(action="Withdraw"))
        await other.hub.seen("u-1", "Gone")
        other.hub.drop("u-1")  # from here on the job may run in another cluster
        before = len(pods)
        member.cluster.faults.remove()
        await waiting.span(8, why="the lease of the earlier agent passes")
        assert pods[before:] == []
    finally:
        await other.stop()


def test_gone_waits_for_earlier_sessions_whatever_the_evidence():
    """A deleted object may be followed by another one, which a session with a lease left starts."""
    work = a_job(action="Withdraw")
    live = a_live_job(deleting=True)
    seen = Seen(live=live, ever=True, foreground="m-1")
    assert settled(work, seen, settled_at=None)[1] != "Gone"


@pytest.mark.parametrize("known", [{"closed": "Missing"}, {"ever": True}])
def test_a_second_object_of_an_epoch_is_not_started(known):
    """What was said to be gone, or was seen to have run, is not begun again by a POST that lands late."""
    live = a_live_job(waiting=True)
    assert settled(a_job(), Seen(live=live, **known))[0] != "Start"


def test_a_second_object_is_not_started_where_the_hub_knows_of_the_first():
    """The hub has seen this epoch's Job: one that was never started is another one."""
    live = a_live_job(waiting=True)
    assert settled(a_job(seen=True), Seen(live=live))[0] != "Start"

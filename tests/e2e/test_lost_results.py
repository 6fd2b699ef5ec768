"""A job that has completed is Succeeded and does not run again, whatever happens to its object.

The member's word on how a job ended must survive: a person deletes the object in the instant of its
end, and a user takes the job back while the agent still takes it for running.
"""

import contextlib
import signal
from collections.abc import Iterator

import pytest

from shared import labels
from tests.chaos.manifests import NAMESPACE
from tests.chaos.member import Member
from tests.e2e.running import until
from tests.e2e.stories import Story, told

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

_RUNS_S = 2.5


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """One member, for all tests of this module."""
    with told(tmp_path_factory.mktemp("results"), members=1) as story:
        yield story


def test_a_completed_job_deleted_by_hand_at_once_is_succeeded(story: Story) -> None:
    """The agent learns of Complete and of the deletion in one burst: the result counts."""
    uid = _running(story, "deleted")
    with _agent_asleep(story):
        story.delete_by_hand(_completed(story, uid))
    assert story.violations() == []
    assert story.job(uid)["state"] == "Succeeded"


def test_a_completed_job_deleted_by_hand_and_held_does_not_run_again(story: Story) -> None:
    """Complete, deleted by hand and held meanwhile, then released: Succeeded, and no second run."""
    uid = _running(story, "held")
    with _agent_asleep(story):
        story.delete_by_hand(_completed(story, uid))
        story.ask("hold", uid)
    story.until_state(uid, "Held", "Succeeded")
    _release(story, uid)
    assert story.violations() == []
    assert story.job(uid)["state"] == "Succeeded"


@pytest.mark.parametrize("wish", ["hold", "cancel"])
def test_a_completed_job_wins_over_a_wish_that_came_later(story: Story, wish: str) -> None:
    """Held or cancelled while the agent's watch is silent: it had completed, and so it is told."""
    uid = _running(story, f"{wish}-later")
    member = Member("m1", story.fleet.kubeconfig("m1"))
    member.add_fault(action="stall", resource="jobs", seconds=8)
    until(lambda: _has_completed(story, uid), 30, "it has completed")
    story.ask(wish, uid)
    story.until_state(uid, "Held", "Cancelled", "Succeeded")
    _release(story, uid)
    assert story.violations() == []
    assert story.job(uid)["state"] == "Succeeded"


def _running(story: Story, name: str) -> str:
    uid = story.submit(name, run_s=_RUNS_S)
    story.until_state(uid, "Running")
    return uid


@contextlib.contextmanager
def _agent_asleep(story: Story):
    """SIGSTOP of the agent for the length of the block."""
    story.fleet.signal("agent-m1", signal.SIGSTOP)
    try:
        yield
    finally:
        story.fleet.signal("agent-m1", signal.SIGCONT)


def _has_completed(story: Story, uid: str) -> bool:
    """The recorder reads other watches than the agent: where all are silent the server is asked."""
    member = Member("m1", story.fleet.kubeconfig("m1"))
    listing = member.request("GET", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs")
    return any(
        job["metadata"]["labels"].get(labels.JOB_UID) == uid
        and (job.get("status") or {}).get("completionTime")
        for job in listing["items"]
    )


def _completed(story: Story, uid: str):
    """The sighting of its completed copy."""

    def there():
        return next((copy for copy in story.copies(uid) if copy.result), None)

    return until(there, 30, "it has completed")


def _release(story: Story, uid: str) -> None:
    if story.job(uid)["state"] == "Held":
        story.ask("release", uid)
